/**
 * A world around the engine for the model test: two processes that may die, devices that behave as chance says, and clients whose
 * commands are its steps. It holds every launch and hand-out to the gates.
 */
import { expect } from 'vitest'
import type { JobRequest, JobStatus } from '../../src/domain/job.ts'
import type { OperationRequest } from '../../src/engine/connector.ts'
import type { Database } from '../../src/store/database.ts'
import { readJob } from '../../src/store/jobs.ts'
import { sql } from '../../src/store/statement.ts'
import { createVirtualClock } from '../virtual-clock.ts'
import { createChance } from './model-chance.ts'
import { createModelClients } from './model-clients.ts'
import { createModelDevices } from './model-devices.ts'
import { type Fleet, type Flow, flowsOf, layGround, NAMES } from './model-ground.ts'
import { createJudge } from './model-invariants.ts'
import { createModelProcesses, type ModelProcesses } from './model-processes.ts'
import { earliestStart, placesDue, type ScheduledJob, scheduleForbids, stopOf } from './model-schedule.ts'
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
  const launches = new Map<string, Set<number>>()
  const judging: Promise<void>[] = []
  let letters = 0

  const devices = createModelDevices({
    clock,
    chance,
    flows,
    losses: () => processes.losses(),
    breach: what => breaches.push(what),
  })
  const clients = createModelClients({ database, clock, chance })
  const judge = createJudge(database, clients)
  const processes: ModelProcesses = await createModelProcesses({
    database,
    clock,
    clients,
    choose: count => Math.floor(chance('living', letters) * count),
    receive(by, request, report) {
      devices.receive(by, request, report)
      judging.push(holdGate(request))
    },
    onDeath: devices.loseProcess,
  })
  const { first, command } = processes
  const stranger = await layGround(database, first, flows)
  const { job: theirs } = await first.jobs.create(
    stranger,
    jobRequest({ active: false, target: { append: { entities: identifiers.slice(0, 5) } } }),
  )

  const scheduleSql = sql`j.job, j.request, j.activated_at as "activatedAt", j.started_at as "startedAt"`

  /**
   * Nothing reaches a device outside the window, while paused, before the start, from the stop on and after a cancel was answered; nor
   * more often than it may be tried.
   */
  async function holdGate({ key, id, launchedAt }: OperationRequest): Promise<void> {
    const now = clock.now().getTime()
    const wasClosed = closed.has(key.job)
    const attempts = (launches.get(id) ?? new Set()).add(launchedAt)
    launches.set(id, attempts)
    const [job] = await database.query<ScheduledJob>(sql`select ${scheduleSql} from job j where j.job = ${key.job}`)
    breaches.push(
      ...(wasClosed ? [`${id} left while its job was closed`] : []),
      ...scheduleForbids(job!, now).map(why => `${id} left ${why}`),
      ...(attempts.size <= job!.request.operationParameters.retries + 1
        ? []
        : [`${id} left at ${attempts.size} launches`]),
    )
  }

  /** Whoever is awake has done all that is due by now: each job stands where its schedule has it, and has launched what it may. */
  async function holdSchedules(): Promise<void> {
    const now = clock.now().getTime()
    const jobs = await database.query<Standing>(sql`
      select ${scheduleSql}, j.status, j.unresolved = '[]' as resolved, j.start_at as "startAt", j.stop_at as "stopAt",
             j.overdue_at is not null as overdue,
             (select count(*)::int from operation o where o.job = j.job) as open,
             (select count(*)::int from operation_ended e where e.job = j.job) as ended,
             (select count(*)::int from operation o where o.job = j.job and o.status = 'PENDING' and o.started_at is null
                and exists (select from operation_ready r where r.job = o.job and r.entity = o.entity)) as waiting
        from job j where j.finished_at is null and j.organization <> ${stranger.organization}`)
    for (const job of jobs) breaches.push(...misplaced(job, now).map(what => `job ${job.job} ${what}`))
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
    await Promise.all(judging.splice(0))
    expect(breaches).toEqual([])
    return next
  }

  /** Has everything done that is due by now, whoever dies over it, and holds the world to what must be so then. */
  async function hold(): Promise<void> {
    for (let deaths = -1; deaths !== processes.deaths(); ) {
      deaths = processes.deaths()
      await settle()
    }
    taken.push(...devices.takeExchanged())
    await holdSchedules()
    expect(breaches).toEqual([])
    await judge.hold({ taken, created, cancelled })
  }

  /** Goes on in time by at most a few strides, so that what is due is done late now and then, as it is by busy processes. */
  async function advance(ms: number, strides = 5): Promise<void> {
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
    hold,
    holdEnd: judge.holdEnd,
    end: processes.end,
    figures: () => ({
      jobs: jobs.length,
      answers: taken.length,
      ...devices.figures(),
      ...clients.figures(),
      ...processes.figures(),
    }),
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
      const own = sql`select job from job where organization <> ${stranger.organization} order by job`
      jobs.splice(0, jobs.length, ...(await numbersOf(own)))
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
      expect(await readJob(database, stranger.organization, job)).toBeUndefined()
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
      clients.calm()
      processes.spare()
      await first.jobs.cancel(stranger, theirs).catch(() => processes.living().jobs.cancel(stranger, theirs))
      for (let i = 0; i < fleet.mqtt; i += 1) await this.connect(i)
      // What time has carried past the end of a window is there for the next day's.
      for (let round = 0; round < 200; round += 1) {
        const closed = await numbersOf(sql`select job from job where status in ('IDLE', 'PAUSED')`)
        for (const [i, job] of jobs.entries()) if (closed.includes(job)) await this.open(i)
        // A job whose target was empty, or whose stop has passed, cannot be activated.
        if (round === 3) {
          for (const job of await numbersOf(sql`select job from job where status = 'IDLE'`)) {
            await command(bench => bench.jobs.cancel(bench.caller, job))
          }
        }
        const waiting = await numbersOf(sql`
          select job from operation where status in ('WAITING_FOR_CONNECTION', 'IN_PROGRESS', 'WAITING_FOR_ACK') limit 1`)
        if (waiting.length > 0) for (let i = 0; i < fleet.pull * 2; i += 1) await this.poll(i)
        const next = await settle()
        if ((await numbersOf(sql`select job from job where finished_at is null limit 1`)).length === 0) return
        const untilNext = (next ?? 0) - clock.now().getTime()
        await advance(round < 4 ? 60_000 : Math.max(3_600_000, Math.min(untilNext, 24 * 3_600_000)), 2)
      }
    },
  }
}

/** A job as it stands. */
interface Standing extends ScheduledJob {
  readonly job: bigint
  readonly status: JobStatus
  readonly resolved: boolean
  readonly startAt: Date | null
  readonly stopAt: Date | null
  /** whether something of it was spread anew */
  readonly overdue: boolean
  readonly open: number
  readonly ended: number
  /** never launched, and ready */
  readonly waiting: number
}

/** What is wrong with how a job stands at an instant at which all that is due has been done. */
function misplaced(job: Standing, now: number): string[] {
  const { status, resolved, overdue, open, ended, waiting } = job
  const wrong: string[] = []
  const [start, stop] = [earliestStart(job), stopOf(job)]
  if (status === 'SCHEDULED' && job.startAt?.getTime() !== start) wrong.push('waits for another start')
  if (status === 'SCHEDULED' && resolved && start !== null && start <= now) wrong.push('has not started')
  if (status.startsWith('CANCELLING')) wrong.push('has not been cancelled')
  if (status !== 'IN_PROGRESS' && status !== 'PAUSED') return wrong
  if ((job.stopAt?.getTime() ?? null) !== stop) wrong.push('has another stop')
  if (stop !== null && stop <= now) wrong.push('has not stopped')
  if (open === 0) wrong.push('has not ended')
  const [come, due] = [open + ended - waiting, placesDue(job, open + ended, now)]
  const may = status === 'IN_PROGRESS' && scheduleForbids(job, now).length === 0
  if (come > due) wrong.push(`has launched ${come}, and ${due} were due`)
  if (may && !overdue && come < due) wrong.push(`has launched ${come} only, and ${due} were due`)
  return wrong
}
