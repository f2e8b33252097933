/** The commands of the model test as values of chance: what a client, a device or an accident may do next. Refuses to carry them out. */
import fc from 'fast-check'
import { RECEIVER } from './model-clients.ts'
import { NAMES } from './model-ground.ts'
import type { JobPlan } from './model-plans.ts'
import { DEATH_STATEMENTS } from './model-processes.ts'
import type { World } from './model-world.ts'

export interface Step {
  readonly name: string
  readonly run: (world: World) => Promise<unknown>
}

/** Values are as they come out of JSON, as requests are. */
const step = <T>(name: string, values: fc.Arbitrary<T>, run: (world: World, value: T) => Promise<unknown>) =>
  values.map((value): Step => {
    const text = JSON.stringify(value)
    return { name: `${name} ${text}`, run: world => run(world, JSON.parse(text) as T) }
  })

const index = fc.nat({ max: 1_000 })
const point = fc.record({
  statement: fc.constantFrom(...DEATH_STATEMENTS),
  when: fc.constantFrom('before' as const, 'after' as const),
})

/** Instants are told from the beginning of the world. */
const moment = (...others: { inMs: number }[]) =>
  fc.constantFrom<({ delayed: number } | { inMs: number })[]>(
    { delayed: 30_000 },
    { delayed: 600_000 },
    { inMs: 900_000 },
    ...others,
  )

/** From an hour of the clock at the beginning of the world on, in its zone. */
const window = fc.record({
  zone: fc.constantFrom(null, 'Europe/Madrid', 'America/New_York'),
  opensIn: fc.constantFrom(0, 0, 0, 1, 2, -1),
  hours: fc.constantFrom(1, 2, 23, 24),
  days: fc.constantFrom('every', 'every', 'every', 'first', 'others'),
})

const scattering = fc.oneof(
  fc.record({ maxSpread: fc.constantFrom(50, 100) }),
  fc.record({
    maxSpread: fc.constantFrom(0, 50, 100),
    strategy: fc.record(
      {
        field: fc.constant('subscription.collected.cellInfo' as const),
        factor: fc.constantFrom(0, 37, 100),
        warningMaxRate: fc.constantFrom(0.001, 100),
      },
      { requiredKeys: ['field', 'factor'] },
    ),
  }),
)

const start = moment()
const stop = moment({ inMs: 2_700_000 }, { inMs: 1_000 })
const schedule = fc.oneof(
  { weight: 2, arbitrary: fc.record({}) },
  { weight: 1, arbitrary: fc.record({ scattering }) },
  { weight: 1, arbitrary: fc.record({ window, scattering }, { requiredKeys: ['window'] }) },
  { weight: 3, arbitrary: fc.record({ start, stop, window, scattering }, { requiredKeys: [] }) },
)

const FIELD = 'provision.device.identifier'
const filter = fc.constantFrom<Record<string, unknown>[]>(
  {},
  { eq: { [FIELD]: 'http-0' } },
  { in: { [FIELD]: ['http-0', 'mqtt-0', 'pull-0', 'function-0', 'nobody'] } },
  { like: { [FIELD]: '^(http|pull)-[0-3]$' } },
  { and: [{ like: { [FIELD]: '-[1-5]$' } }, { not: { eq: { [FIELD]: 'http-1' } } }] },
  { or: [{ like: { [FIELD]: '^mqtt' } }, { eq: { [FIELD]: 'function-0' } }] },
)
const tag = fc.constantFrom('all', 'http', 'mqtt', 'pull', 'function', 'odd')
const devices = fc.array(index, { minLength: 1, maxLength: 8 })
const target = fc.oneof(
  { weight: 3, arbitrary: fc.record({ devices }) },
  { weight: 2, arbitrary: fc.record({ tag }) },
  { weight: 2, arbitrary: fc.record({ filter, beside: fc.boolean() }) },
)

const callback = fc.constantFrom(RECEIVER, RECEIVER, '')
const operationParameters = fc.record({
  ackTimeout: fc.constantFrom(0, 20_000, 60_000),
  timeout: fc.constantFrom(50_000),
  retries: fc.nat({ max: 2 }),
  retriesDelay: fc.constantFrom(0, 0, 7_500),
  retryResultList: fc.subarray(['ERROR_TIMEOUT' as const, 'ERROR_PROCESSING' as const, 'ALREADY_IN_PROGRESS' as const]),
})

const job: fc.Arbitrary<JobPlan> = fc.record({
  active: fc.constantFrom(true, true, true, false),
  target,
  name: fc.constantFrom(...NAMES),
  schedule,
  callback,
  operationParameters,
})

/** Most PUTs are those that an inactive job takes; the others are refused. */
const change = fc.record(
  {
    notify: fc.boolean(),
    callback,
    schedule: fc.record({ start, stop }, { requiredKeys: [] }),
    append: fc.oneof(fc.record({ devices }), fc.record({ tag })),
    remove: fc.oneof(fc.record({ devices }), fc.record({ tag })),
    active: fc.boolean(),
  },
  { requiredKeys: [] },
)

const rhythm = fc.record({
  everyS: fc.constantFrom(20, 90, 600),
  startInMs: fc.constantFrom(0, 0, 15_000, 300_000),
  stop: fc.constantFrom(null, { executions: 1 }, { executions: 3 }, { inMs: 200_000 }),
})
const task = fc.record({
  active: fc.constantFrom(true, true, false),
  rhythm,
  request: fc.record({
    target,
    name: fc.constantFrom(...NAMES),
    schedule: fc.record(
      {
        start: fc.constantFrom({ delayed: 5_000 }, { delayed: 60_000 }),
        stop: fc.constantFrom({ delayed: 15_000 }, { delayed: 80_000 }),
        scattering,
      },
      { requiredKeys: [] },
    ),
    callback,
    operationParameters,
  }),
})
const taskTurn = fc.oneof(
  { weight: 3, arbitrary: fc.record({ active: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ name: fc.constantFrom('one', 'other') }) },
  { weight: 2, arbitrary: fc.record({ rhythm }) },
  { weight: 2, arbitrary: fc.record({ target, name: fc.constantFrom(...NAMES) }) },
)

const create = step('create', job, (world, value) => world.create(value))
/** A job that waits to be changed, and is. */
const createIdle = step(
  'create inactive',
  job.map(plan => ({ ...plan, active: false })),
  (world, value) => world.create(value),
)
const put = step('PUT', fc.tuple(index, change), (world, [i, value]) => world.put(i, value))
const createTask = step('create task', task, (world, value) => world.createTask(value))

/** What comes after the first jobs, each kind as often as its weight says. */
const others: readonly (readonly [number, fc.Arbitrary<Step>])[] = [
  [4, create],
  [2, step('pause', index, (world, i) => world.pause(i))],
  [3, step('open', index, (world, i) => world.open(i))],
  [1, step('cancel', index, (world, i) => world.cancel(i))],
  [3, put],
  [1, createIdle],
  [2, createTask],
  [3, step('change task', fc.tuple(index, taskTurn), (world, [i, turn]) => world.changeTask(i, turn))],
  [1, step('cancel task', index, (world, i) => world.cancelTask(i))],
  [2, step('delete device', index, (world, i) => world.removeDevice(i))],
  [2, step('provision device', index, (world, i) => world.provisionDevice(i))],
  [3, step('connect', index, (world, i) => world.connect(i))],
  [2, step('disconnect', index, (world, i) => world.disconnect(i))],
  [4, step('poll', index, (world, i) => world.poll(i))],
  [4, step('advance', fc.integer({ min: 1, max: 30_000 }), (world, ms) => world.advance(ms))],
  [2, step('advance far', fc.constantFrom(100_000, 900_000, 3_600_000), (world, ms) => world.advance(ms))],
  [1, step('outage', fc.constantFrom(3_000, 60_000, 3_600_000), (world, ms) => world.outage(ms))],
  [1, step('kill', index, (world, i) => world.kill(i, null))],
  [1, step('trespass', index, (world, i) => world.trespass(i))],
  [1, step('read', index, (world, i) => world.read(i))],
  [
    2,
    step('stand still', fc.tuple(index, fc.constantFrom(3_000, 8_000, 60_000)), (world, [i, ms]) =>
      world.standStill(i, ms),
    ),
  ],
  [3, step('kill at', fc.tuple(index, point), (world, [i, at]) => world.kill(i, at))],
]

/** What happens in a world, from its first jobs on. */
export const script = fc
  .tuple(
    fc.array(fc.oneof({ weight: 3, arbitrary: create }, { weight: 1, arbitrary: createIdle }), {
      minLength: 1,
      maxLength: 3,
    }),
    fc.array(createTask, { maxLength: 1 }),
    fc.array(fc.oneof(...others.map(([weight, arbitrary]) => ({ weight, arbitrary }))), {
      minLength: 5,
      maxLength: 12,
    }),
  )
  .map(parts => parts.flat())

/** The devices of a world, when it begins, and how its processes claim. */
export const setting = fc.record({
  fleet: fc.record({
    http: fc.integer({ min: 1, max: 12 }),
    mqtt: fc.nat({ max: 8 }),
    pull: fc.integer({ min: 1, max: 5 }),
    function: fc.nat({ max: 6 }),
  }),
  // Hours before clocks are put forward and back: in Europe on 29 March and 25 October at 1:00Z, in New York on 8 March at 7:00Z.
  beginsAt: fc.constantFrom(
    '2026-03-02T10:00:00Z',
    '2026-03-28T23:50:00Z',
    '2026-10-25T00:10:00Z',
    '2026-03-08T06:40:00Z',
    '2026-11-01T05:10:00Z',
  ),
  claimsByPartition: fc.constantFrom(false, false, true),
  chance: fc.nat(),
})
