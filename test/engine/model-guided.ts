/**
 * Worlds of the model test in which every kind of command has its turn, where it has most to do: chance comes to each of them only now and
 * then. They are held to the same rules.
 */
import { RECEIVER } from './model-clients.ts'
import { NAMES } from './model-ground.ts'
import type { JobPlan, TaskPlanned } from './model-plans.ts'
import type { Setting, World } from './model-world.ts'

export interface Guided {
  readonly story: string
  readonly setting: Setting
  readonly steps: readonly ((world: World) => Promise<unknown>)[]
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const CELL = 'subscription.collected.cellInfo'

const operationParameters: JobPlan['operationParameters'] = {
  ackTimeout: 20_000,
  timeout: 50_000,
  retries: 1,
  retriesDelay: 0,
  retryResultList: ['ERROR_TIMEOUT', 'ERROR_PROCESSING'],
}

const job = (plan: Partial<JobPlan> & Pick<JobPlan, 'target'>): JobPlan => ({
  active: true,
  name: NAMES[0],
  schedule: {},
  callback: RECEIVER,
  operationParameters,
  ...plan,
})

const task = (plan: Partial<Omit<TaskPlanned, 'request'>> & { request: Parameters<typeof job>[0] }): TaskPlanned => {
  const { active: _, ...request } = job(plan.request)
  return { active: true, rhythm: { everyS: 90, startInMs: 0, stop: null }, ...plan, request }
}

const setting: Setting = {
  fleet: { http: 5, mqtt: 3, pull: 2, function: 4 },
  beginsAt: '2026-03-02T10:00:00Z',
  claimsByPartition: false,
  chance: 7,
}
const everybody = Array.from({ length: 14 }, (_, index) => index)
/** The place of one that nobody has provisioned. */
const NOBODY = 14

export const guided: readonly Guided[] = [
  {
    story: 'a job is built up by PUTs while devices come and go, on processes that claim by partition',
    setting: { ...setting, claimsByPartition: true },
    steps: [
      world => world.create(job({ active: false, target: { devices: [0, 1, 2, 6] } })),
      world => world.put(0, { append: { devices: [3, 4, 0, NOBODY] }, remove: { devices: [1] }, notify: true }),
      world => world.put(0, { append: { tag: 'function' }, schedule: { start: { delayed: 30_000 } } }),
      world => world.put(0, { remove: { tag: 'odd' }, callback: '' }),
      world => world.put(0, { schedule: { stop: { inMs: 0 } } }),
      world => world.put(0, { append: { tag: 'all' }, schedule: { stop: { delayed: HOUR_MS } } }),
      world => world.removeDevice(2),
      world => world.put(0, { callback: RECEIVER, active: true }),
      world => world.put(0, { append: { devices: [1] } }),
      world => world.read(0),
      world => world.advance(30_500),
      world => world.put(0, { notify: false }),
      world => world.connect(0),
      world => world.poll(0),
      world => world.removeDevice(5),
      world => world.removeDevice(0),
      world => world.removeDevice(8),
      world => world.provisionDevice(0),
      world => world.trespass(0),
      world => world.pause(0),
      world => world.kill(0, null),
      world => world.open(0),
      world => world.advance(5 * MINUTE_MS),
      world => world.create(job({ target: { devices: [0, 2, NOBODY] } })),
      world => world.read(1),
      world => world.cancel(1),
      world => world.put(1, { active: true }),
    ],
  },
  {
    story: 'tasks are paused, changed and deleted, with and without a run of theirs',
    setting,
    steps: [
      world => world.createTask(task({ request: { target: { tag: 'http' } } })),
      world =>
        world.createTask(
          task({
            rhythm: { everyS: 20, startInMs: 15_000, stop: { executions: 3 } },
            request: { target: { devices: [0, 5, NOBODY] }, name: NAMES[1], schedule: { stop: { delayed: 15_000 } } },
          }),
        ),
      world =>
        world.createTask(
          task({ active: false, request: { target: { tag: 'mqtt' }, schedule: { start: { delayed: 5_000 } } } }),
        ),
      world => world.createTask(task({ request: { target: { tag: 'all' }, schedule: { stop: { delayed: 90_000 } } } })),
      world => world.advance(100_000),
      world => world.changeTask(0, { active: false }),
      world => world.changeTask(2, { active: true }),
      world => world.advance(100_000),
      world => world.changeTask(0, { name: NAMES[1], target: { tag: 'pull' } }),
      world => world.changeTask(0, { active: true }),
      world => world.trespass(0),
      world => world.outage(10 * MINUTE_MS),
      world => world.advance(1_000),
      world => world.changeTask(2, { rhythm: { everyS: 600, startInMs: 20_000, stop: { inMs: 1_500_000 } } }),
      world => world.advance(30_000),
      world => world.changeTask(2, { name: 'another' }),
      world => world.pause(2),
      world => world.cancelTask(1),
      world => world.cancelTask(2),
      world => world.advance(90_000),
      world => world.cancelTask(0),
      world => world.changeTask(0, { active: true }),
    ],
  },
  {
    story: 'a task that has run twice is to run once, and is over',
    setting,
    steps: [
      world => world.createTask(task({ request: { target: { tag: 'http' } } })),
      world => world.advance(100_000),
      world => world.changeTask(0, { rhythm: { everyS: 90, startInMs: 0, stop: { executions: 1 } } }),
      world => world.advance(100_000),
    ],
  },
  {
    story: 'jobs by filter are scattered by cell in windows of Madrid in the night in which its clocks are put forward',
    // 0:50 in Madrid; at 1:00Z, 2:00 becomes 3:00.
    setting: { ...setting, beginsAt: '2026-03-28T23:50:00Z' },
    steps: [
      ...[37, 100].map(
        factor => (world: World) =>
          world.create(
            job({
              target: {
                filter: { like: { 'provision.device.identifier': '^(http|function)' } },
                beside: factor === 37,
              },
              name: factor === 37 ? NAMES[0] : NAMES[1],
              schedule: {
                window: { zone: 'Europe/Madrid', opensIn: 0, hours: factor === 37 ? 4 : 2, days: 'every' },
                scattering: { maxSpread: 100, strategy: { field: CELL, factor, warningMaxRate: 0.001 } },
              },
            }),
          ),
      ),
      world =>
        world.create(
          job({
            target: { devices: everybody },
            schedule: { window: { zone: 'Europe/Madrid', opensIn: 3, hours: 1, days: 'first' } },
          }),
        ),
      world => world.put(0, { append: { devices: [0] } }),
      world => world.advance(HOUR_MS / 2),
      world => world.removeDevice(1),
      world => world.advance(HOUR_MS / 2),
      world => world.pause(0),
      world => world.advance(HOUR_MS / 2),
      world => world.open(0),
      world => world.advance(HOUR_MS / 2),
      world => world.advance(HOUR_MS),
      world => world.read(0),
    ],
  },
]
