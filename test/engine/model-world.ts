/**
 * A world around the engine for the model test: two processes that may die, devices that behave as chance says, and clients whose
 * commands are its steps. It holds every launch and hand-out to the gates.
 */
import { expect } from 'vitest'
import type { JobRequest } from '../../src/domain/job.ts'
import { isOpen } from '../../src/domain/window.ts'
import type { OperationRequest } from '../../src/engine/connector.ts'
import { storedWindow } from '../../src/engine/job-launching.ts'
import type { Database } from '../../src/store/database.ts'
import { sql } from '../../src/store/statement.ts'
import { createVirtualClock } from '../virtual-clock.ts'
import { createChance } from './model-chance.ts'
import { createModelDevices } from './model-devices.ts'
import { type Fleet, type Flow, flowsOf, layGround, NAMES } from './model-ground.ts'
import { createModelProcesses, type ModelProcesses } from './model-processes.ts'
import type { DeathPoint } from './mortal-database.ts'
import { deviceOf, say } from './scenario.ts'
import { EPOCH, jobRequest, type Workbench } from './workbench.ts'

export type World = Awaited<ReturnType<typeof createWorld>>

export async function createWorld(database: Database, fleet: Fleet, seed: number) {
  const clock = createVirtualClock(EPOCH)
  const chance = createChance(seed)
  const flows = flowsOf(fleet)
  const identifiers = [...flows.keys()]
  const jobs: bigint[] = []
  const closed = new Set<bigint>()
  const taken: string[] = []
  const created = new Set<bigint>()
  const cancelled = new Set<bigint>()
  const breaches: string[] = []
  let letters = 0

  const devices = createModelDevices({
    clock,
    chance,
    flows,
    losses: () => processes.losses(),
    breach: what => breaches.push(what),
  })
  const processes: ModelProcesses = await createModelProcesses({
    database,
    clock,
    choose: count => Math.floor(chance('living', letters) * count),
    receive(by, request, report) {
      devices.receive(by, request, report)
      void holdGate(request)
    },
    onDeath: devices.loseProcess,
  })
  const { first, command } = processes
  const stranger = await layGround(database, first, flows)

  /** Nothing reaches a device outside the window, while paused, before the start, after a cancel was answered. */
  async function holdGate({ key, id }: OperationRequest): Promise<void> {
    const now = clock.now()
    const wasClosed = closed.has(key.job)
    const [job] = await database.query<{ window: unknown; startAt: Date }>(sql`
      select request -> 'schedule' -> 'window' as window, start_at as "startAt" from job where job = ${key.job}`)
    breaches.push(
      ...(wasClosed ? [`${id} left while its job was closed`] : []),
      ...(isOpen(storedWindow(job!.window), now.getTime()) ? [] : [`${id} left outside the window`]),
      ...(job!.startAt <= now ? [] : [`${id} left before the start`]),
    )
  }

  /** Delivers what has arrived. */
  async function deliver(): Promise<void> {
    devices.land(bench => !processes.isStanding(bench))
    await Promise.all(
      devices.letters().map(async letter => {
        letters += 1
        const raw = `letter ${letters}`
        const { job, device, resultCode, step } = letter
        const word = {
          ...(resultCode !== undefined && { resultCode }),
          steps: step === undefined ? [] : [{ name: step, result: 'SUCCESSFUL' }],
          raw,
        }
        const answer = await say(processes.living(), job, device, word).catch(() => null)
        if (answer === null) devices.sendAgain(letter)
        if (answer === 'taken' && (resultCode !== undefined || step !== undefined)) taken.push(raw)
      }),
    )
  }

  async function settle(): Promise<number | null> {
    const next = await processes.settle()
    expect(breaches).toEqual([])
    return next
  }

  /** Goes on in time by at most a few strides, so that what is due is done late now and then, as it is by busy processes. */
  async function advance(ms: number, strides = 8): Promise<void> {
    const until = clock.now().getTime() + ms
    let next = await settle()
    while (clock.now().getTime() < until) {
      const stride = clock.now().getTime() + Math.ceil(ms / strides)
      await clock.advanceTo(new Date(Math.min(until, Math.max(stride, next ?? until))))
      await processes.beat()
      await deliver()
      next = await settle()
    }
  }

  const numbersOf = (query: ReturnType<typeof sql>) =>
    database.query<{ job: bigint }>(query).then(rows => rows.map(({ job }) => job))
  const jobAt = (index: number): bigint | undefined => jobs[index % Math.max(1, jobs.length)]

  return {
    clock,
    advance,
    settle,
    answered: { taken, created, cancelled },
    figures: () => ({ jobs: jobs.length, answers: taken.length, ...devices.figures(), ...processes.figures() }),
    async create(
      request: Omit<Partial<JobRequest>, 'target'> & {
        devices: readonly number[]
        tag: Flow | 'all' | null
        second: boolean
      },
    ) {
      const { devices: chosen, tag, second, ...rest } = request
      const entities = [...new Set(chosen.map(index => identifiers[index % identifiers.length]!))]
      const append = tag === null ? { entities } : { tags: [tag] }
      await command(async bench => {
        const request = jobRequest({ ...rest, name: NAMES[second ? 1 : 0], target: { append } })
        created.add((await bench.jobs.create(bench.caller, request)).job)
      })
      jobs.splice(0, jobs.length, ...(await numbersOf(sql`select job from job order by job`)))
    },
    async close(how: 'pause' | 'cancel', index: number) {
      const job = jobAt(index)
      if (job === undefined) return
      const answeredIt = await command(bench =>
        how === 'cancel'
          ? bench.jobs.cancel(bench.caller, job)
          : bench.jobs.change(bench.caller, job, { active: false }),
      )
      if (answeredIt) closed.add(job)
      if (answeredIt && how === 'cancel') cancelled.add(job)
    },
    /** Somebody of another organization tries what only the owner may. */
    async trespass(index: number) {
      const job = jobAt(index)
      if (job === undefined) return
      for (const attempt of [
        (bench: Workbench) => bench.jobs.cancel(stranger, job),
        (bench: Workbench) => bench.jobs.change(stranger, job, { active: false }),
      ]) {
        if (await command(attempt)) breaches.push(`job ${job} obeyed a stranger`)
      }
      expect(await numbersOf(sql`select job from job where organization = ${stranger.organization}`)).toEqual([])
    },
    standStill: (index: number, ms: number) => processes.standStill(index, () => advance(ms)),
    async open(index: number) {
      const job = jobAt(index)
      if (job === undefined) return
      // Open from the moment it is asked: the answer comes after the first launch may.
      closed.delete(job)
      const opened = await command(bench => bench.jobs.change(bench.caller, job, { active: true }))
      if (!opened) {
        const [row] = await database.query<{ status: string }>(sql`select status from job where job = ${job}`)
        if (row!.status !== 'IN_PROGRESS' && row!.status !== 'SCHEDULED') closed.add(job)
      }
    },
    async connect(index: number) {
      const next = devices.nextConnection(index)
      if (!next) return
      const { device, connection } = next
      await command(async bench => {
        devices.connect(device, connection, bench)
        await bench.engine.presence.connected(
          await deviceOf(first, device).catch(() => deviceOf(bench, device)),
          connection,
        )
      })
    },
    async disconnect(index: number) {
      const ended = devices.disconnect(index)
      if (!ended) return
      const { device, connection } = ended
      await command(async bench => bench.engine.presence.disconnected(await deviceOf(bench, device), connection))
    },
    async poll(index: number) {
      const device = devices.pulling(index)
      if (device === undefined) return
      await command(async bench => {
        const request = await bench.engine.pending.take(await deviceOf(bench, device), 0, new AbortController().signal)
        if (!request) return
        await holdGate(request)
        devices.taken(request)
      })
    },
    kill: (index: number, point: DeathPoint | null) => processes.kill(index, point),
    async outage(ms: number) {
      await clock.advanceTo(new Date(clock.now().getTime() + ms))
    },
    /** From here on everybody behaves: what is left must come to its end. */
    async comeToRest() {
      devices.calm()
      processes.spare()
      // What time has carried past the end of a window is there for the next day's.
      for (let round = 0; round < 60; round += 1) {
        for (let i = 0; i < jobs.length; i += 1) await this.open(i)
        // A job whose target was empty cannot be activated.
        if (round === 3) {
          for (const job of await numbersOf(sql`select job from job where status = 'IDLE'`)) {
            await command(bench => bench.jobs.cancel(bench.caller, job))
          }
        }
        for (let i = 0; i < fleet.mqtt; i += 1) await this.connect(i)
        for (let i = 0; i < fleet.pull * 2; i += 1) await this.poll(i)
        await advance(round < 4 ? 60_000 : 3_600_000, 3)
        if ((await numbersOf(sql`select job from job where finished_at is null limit 1`)).length === 0) return
      }
    },
  }
}
