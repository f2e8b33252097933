/**
 * A world around the engine for the model test: two processes that may die, devices that behave as chance says, and clients whose
 * commands are its steps. It puts the parts together, and lets time pass.
 */
import { expect } from 'vitest'
import { operationId } from '../../src/domain/identity.ts'
import type { Database } from '../../src/store/database.ts'
import { sql } from '../../src/store/statement.ts'
import { createVirtualClock } from '../virtual-clock.ts'
import { createChance } from './model-chance.ts'
import { createModelClients } from './model-clients.ts'
import { createModelDevices } from './model-devices.ts'
import { createModelEntities } from './model-entities.ts'
import { createModelGates } from './model-gates.ts'
import { type Fleet, flowsOf, layGround } from './model-ground.ts'
import { createJudge } from './model-invariants.ts'
import { createModelJobs } from './model-jobs.ts'
import { createModelPlaces } from './model-places.ts'
import {
  type ChangePlan,
  createModelPlans,
  type JobPlan,
  type TaskPlanned,
  type TaskTurnPlanned,
} from './model-plans.ts'
import { createModelProcesses, type ModelProcesses } from './model-processes.ts'
import { createModelStrangers } from './model-strangers.ts'
import { createModelTargets } from './model-targets.ts'
import { createModelTasks } from './model-tasks.ts'
import type { DeathPoint } from './mortal-database.ts'
import { jobRequest } from './workbench.ts'

/** As soon as this looks for work who could not claim when it last looked, ms. */
const LOOKS_AGAIN_MS = 20

/** What a world begins with. */
export interface Setting {
  readonly fleet: Fleet
  readonly beginsAt: string
  /** whether processes claim of their share of the partitions alone */
  readonly claimsByPartition: boolean
  readonly chance: number
}

export type World = Awaited<ReturnType<typeof createWorld>>

export async function createWorld(database: Database, { fleet, beginsAt, claimsByPartition, chance: seed }: Setting) {
  const clock = createVirtualClock(new Date(beginsAt))
  const chance = createChance(seed)
  const flows = flowsOf(fleet)
  const plans = createModelPlans([...flows.keys()], new Date(beginsAt))
  const taken: string[] = []
  const breaches: string[] = []
  const breach = (what: string) => void breaches.push(what)
  const judging: Promise<void>[] = []
  let letters = 0

  const devices = createModelDevices({ clock, chance, flows, losses: () => processes.losses(), breach })
  const clients = createModelClients({ database, clock, chance })
  const processes: ModelProcesses = await createModelProcesses({
    database,
    clock,
    clients,
    claimsByPartition,
    choose: count => Math.floor(chance('living', letters) * count),
    receive(by, request, report) {
      devices.receive(by, request, report)
      judging.push(gates.holdLaunch(request))
    },
    onDeath: devices.loseProcess,
  })
  const { first, command } = processes
  const { caller } = first
  const { organization } = caller
  const stranger = await layGround(database, first, flows)
  const elsewhere = jobRequest({ active: false, target: { append: { entities: [...flows.keys()].slice(0, 5) } } })
  const { job: theirs } = await first.jobs.create(stranger, elsewhere)

  const entities = await createModelEntities({ database, caller, flows, command, onGone: devices.forget, breach })
  const { living } = entities
  const targets = createModelTargets(organization)
  const jobs = createModelJobs({ database, clock, caller, command, targets, living, breach })
  const tasks = createModelTasks({
    database,
    clock,
    caller,
    command,
    onCancelled: jobs.noteCancelled,
    onActivated: jobs.reopen,
    isTouched: jobs.isTouched,
    breach,
  })
  const others = { database, owner: caller, stranger, theirs, bench: first, jobs, tasks, command, breach }
  const strangers = createModelStrangers(others)
  const gates = createModelGates({
    database,
    clock,
    organization,
    isClosed: jobs.isClosed,
    isGone: entities.isGone,
    wholeForMs: processes.wholeForMs,
    breach,
  })
  const places = createModelPlaces(organization)
  const judge = createJudge(database, [
    clients.judge,
    devices.judge,
    db => targets.judge(db, living()),
    db => places.judge(db, clock.now().getTime()),
    () => tasks.judge(),
  ])

  /** Delivers what has arrived; the word of a device that was deleted is not listened to, and of its successor it is not its own. */
  async function deliver(): Promise<void> {
    devices.land(bench => !processes.isStanding(bench))
    await Promise.all(
      devices.letters().map(async letter => {
        letters += 1
        const raw = `letter ${letters}`
        const { key, device: deviceId, resultCode, step } = letter
        const device = entities.find(deviceId)
        if (!device) return
        const { partition, entity } = device
        const answer = await processes
          .living()
          .engine.answers.submit({
            operationId: operationId(key),
            organization,
            deviceId,
            partition,
            entity,
            ...(resultCode !== undefined && { resultCode }),
            steps: step === undefined ? [] : [{ name: step, result: 'SUCCESSFUL' }],
            raw,
          })
          .catch(() => null)
        if (answer === null) devices.sendAgain(letter)
        if (answer === 'taken' && entity !== key.entity) breach(`${deviceId} answered for the device before it`)
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

  async function settleWhole(): Promise<void> {
    for (let deaths = -1; deaths !== processes.deaths(); ) {
      deaths = processes.deaths()
      await settle()
    }
  }

  /** Has everything done that is due by now, whoever dies over it, and holds the world to what must be so then. */
  async function hold(): Promise<void> {
    await settleWhole()
    // Who claimed nothing, since it had been silent for long when it looked, looks again once it has been heard of.
    await clock.advanceTo(new Date(clock.now().getTime() + LOOKS_AGAIN_MS))
    await settleWhole()
    taken.push(...devices.takeExchanged())
    await jobs.look()
    await gates.holdSchedules()
    expect(breaches).toEqual([])
    await judge.hold({ taken, created: jobs.created, cancelled: jobs.cancelled })
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

  return {
    clock,
    advance,
    hold,
    holdEnd: judge.holdEnd,
    end: processes.end,
    figures: () => ({
      jobs: jobs.numbers().length,
      tasks: tasks.count(),
      answers: taken.length,
      ...devices.figures(),
      ...clients.figures(),
      ...processes.figures(),
    }),
    create: (plan: JobPlan) => jobs.create(plans.job(plan)),
    put: (index: number, plan: ChangePlan) => jobs.change(index, plans.change(plan)),
    pause: (index: number) => jobs.change(index, { active: false }),
    open: (index: number) => jobs.change(index, { active: true }),
    cancel: jobs.cancel,
    createTask: (plan: TaskPlanned) => tasks.create(plans.task(plan)),
    changeTask: (index: number, turn: TaskTurnPlanned) => tasks.change(index, plans.taskTurn(turn)),
    cancelTask: tasks.cancel,
    removeDevice: entities.remove,
    provisionDevice: entities.provision,
    trespass: strangers.trespass,
    read: strangers.read,
    standStill: (index: number, ms: number) => processes.standStill(index, () => advance(ms)),
    async connect(index: number) {
      const { device: identifier, connection } = devices.nextConnection(index) ?? {}
      const device = identifier === undefined ? undefined : entities.find(identifier)
      if (!device || connection === undefined) return
      await command(async bench => {
        devices.connect(device.identifier, connection, bench)
        await bench.engine.presence.connected(device, connection)
      })
    },
    async disconnect(index: number) {
      const { device: identifier, connection } = devices.disconnect(index) ?? {}
      const device = identifier === undefined ? undefined : entities.find(identifier)
      if (!device || connection === undefined) return
      await command(bench => bench.engine.presence.disconnected(device, connection))
    },
    async poll(index: number) {
      const device = entities.find(devices.pulling(index) ?? '')
      if (!device) return
      await command(async bench => {
        const request = await bench.engine.pending.take(device, 0, new AbortController().signal)
        if (!request) return
        await gates.holdLaunch(request)
        devices.taken(request)
      })
    },
    kill: (index: number, point: DeathPoint | null) => processes.kill(index, point),
    async outage(ms: number) {
      devices.outage()
      await clock.advanceTo(new Date(clock.now().getTime() + ms))
      processes.outage()
    },
    /** From here on everybody behaves: what is left must come to its end. */
    async comeToRest() {
      devices.calm()
      clients.calm()
      processes.spare()
      await processes.living().jobs.cancel(stranger, theirs)
      for (const index of await tasks.goingOn()) await tasks.cancel(index)
      for (let i = 0; i < fleet.mqtt + fleet.function; i += 1) await this.connect(i)
      // What time has carried past the end of a window is there for the next day's.
      for (let round = 0; round < 200; round += 1) {
        const closed = await numbersOf(sql`select job from job where status in ('IDLE', 'PAUSED')`)
        await jobs.look()
        for (const [i, job] of jobs.numbers().entries()) {
          // A job that has nothing to launch, or whose stop has passed, cannot be activated.
          if (closed.includes(job)) await (round < 3 ? this.open(i) : this.cancel(i))
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
