/**
 * The engine against chance: random fleets, jobs, devices, commands and deaths of processes, on two processes and one database under
 * the virtual clock. After every step the invariants hold, and in the end everything has ended. A failure prints its seed and path;
 * `DROVER_MODEL_SEED` and `DROVER_MODEL_PATH` run it again, `DROVER_MODEL_RUNS` and `DROVER_MODEL_MS` say how long to look.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createTestDatabase } from '../database.ts'
import { RECEIVER } from './model-clients.ts'
import { DEATH_STATEMENTS } from './model-processes.ts'
import { createWorld, type World } from './model-world.ts'

const { DROVER_MODEL_SEED, DROVER_MODEL_PATH, DROVER_MODEL_RUNS, DROVER_MODEL_MS } = process.env
const seed = Number(DROVER_MODEL_SEED ?? Math.floor(Math.random() * 2 ** 31))
const limitMs = Number(DROVER_MODEL_MS ?? 30_000)

const index = fc.nat({ max: 1_000 })
const point = fc.record({
  statement: fc.constantFrom(...DEATH_STATEMENTS),
  when: fc.constantFrom('before' as const, 'after' as const),
})

const schedule = fc.record(
  {
    start: fc.constantFrom({ delayed: 30_000 }, { delayed: 600_000 }, { date: '2026-03-02T10:15:00.000Z' }),
    stop: fc.constantFrom({ delayed: 120_000 }, { delayed: 1_800_000 }, { date: '2026-03-02T10:45:00.000Z' }),
    window: fc.constantFrom(
      { weekly: [{ daily: { start: '10:00:00Z', stop: '11:00:00Z' } }] },
      { weekly: [{ daily: { start: '11:00:00Z', stop: '10:00:00Z' } }] },
      { weekly: [{ daily: { start: '00:00:00Z', stop: '00:00:00Z' } }] },
    ),
    scattering: fc.constantFrom({ maxSpread: 50 }, { maxSpread: 100 }),
  },
  { requiredKeys: [] },
)

const job = fc.record({
  active: fc.constantFrom(true, true, true, false),
  devices: fc.array(index, { minLength: 1, maxLength: 8 }),
  tag: fc.constantFrom(null, null, 'all' as const, 'http' as const, 'mqtt' as const, 'pull' as const),
  second: fc.boolean(),
  schedule,
  callback: fc.constantFrom(RECEIVER, RECEIVER, ''),
  operationParameters: fc.record({
    ackTimeout: fc.constantFrom(0, 20_000, 60_000),
    timeout: fc.constantFrom(50_000),
    retries: fc.nat({ max: 2 }),
    retriesDelay: fc.constantFrom(0, 0, 7_500),
    retryResultList: fc.subarray([
      'ERROR_TIMEOUT' as const,
      'ERROR_PROCESSING' as const,
      'ALREADY_IN_PROGRESS' as const,
    ]),
  }),
})

type Step = { readonly name: string; readonly run: (world: World) => Promise<unknown> }
const step = <T>(name: string, values: fc.Arbitrary<T>, run: (world: World, value: T) => Promise<unknown>) =>
  values.map((value): Step => ({ name: `${name} ${JSON.stringify(value)}`, run: world => run(world, value) }))

const create = step('create', job, (world, value) => world.create(value))

const steps = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: create },
    { weight: 2, arbitrary: step('pause', index, (world, i) => world.close('pause', i)) },
    { weight: 3, arbitrary: step('open', index, (world, i) => world.open(i)) },
    { weight: 1, arbitrary: step('cancel', index, (world, i) => world.close('cancel', i)) },
    { weight: 3, arbitrary: step('connect', index, (world, i) => world.connect(i)) },
    { weight: 2, arbitrary: step('disconnect', index, (world, i) => world.disconnect(i)) },
    { weight: 4, arbitrary: step('poll', index, (world, i) => world.poll(i)) },
    { weight: 4, arbitrary: step('advance', fc.integer({ min: 1, max: 30_000 }), (world, ms) => world.advance(ms)) },
    { weight: 1, arbitrary: step('advance far', fc.constant(900_000), (world, ms) => world.advance(ms)) },
    {
      weight: 1,
      arbitrary: step('outage', fc.constantFrom(3_000, 60_000, 3_600_000), (world, ms) => world.outage(ms)),
    },
    { weight: 1, arbitrary: step('kill', index, (world, i) => world.kill(i, null)) },
    { weight: 1, arbitrary: step('trespass', index, (world, i) => world.trespass(i)) },
    {
      weight: 2,
      arbitrary: step('stand still', fc.tuple(index, fc.constantFrom(3_000, 8_000, 60_000)), (world, [i, ms]) =>
        world.standStill(i, ms),
      ),
    },
    { weight: 3, arbitrary: step('kill at', fc.tuple(index, point), (world, [i, at]) => world.kill(i, at)) },
  ),
  { minLength: 5, maxLength: 12 },
)

const firstJobs = fc.array(create, { minLength: 2, maxLength: 4 })
const fleet = fc.record({
  http: fc.integer({ min: 1, max: 15 }),
  mqtt: fc.nat({ max: 10 }),
  pull: fc.integer({ min: 1, max: 6 }),
})

/** Worlds side by side: most of the time each waits for the database. One alone where a path is run again. */
const lanes = DROVER_MODEL_PATH === undefined ? [0, 1, 2] : [0]

test.concurrent.each(lanes)(
  'whatever happens, the invariants hold after every step, and everything ends (lane %i)',
  {
    timeout: limitMs + 180_000,
  },
  async lane => {
    const until = performance.now() + limitMs
    let runs = 0
    let stepsDone = 0
    const figures = new Map<string, number>()
    await fc.assert(
      fc.asyncProperty(fleet, fc.nat(), firstJobs, steps, async (devices, chance, first, script) => {
        // At least one world each, however slow the machine.
        if (runs > 0 && performance.now() > until) return
        const { database, close } = await createTestDatabase({ max: 12 })
        try {
          const world = await createWorld(database, devices, chance)
          for (const { run } of [...first, ...script]) {
            await run(world)
            await world.hold()
            stepsDone += 1
          }
          await world.comeToRest()
          await world.hold()
          await world.holdEnd()
          await world.end()
          runs += 1
          for (const [what, count] of Object.entries(world.figures()))
            figures.set(what, (figures.get(what) ?? 0) + count)
        } finally {
          await close()
        }
      }),
      {
        numRuns: Number(DROVER_MODEL_RUNS ?? 200),
        endOnFailure: true,
        seed: seed + lane,
        ...(DROVER_MODEL_PATH !== undefined && { path: DROVER_MODEL_PATH }),
      },
    )
    expect(runs).toBeGreaterThan(0)
    expect(runs).toBeGreaterThan(0)
    process.stdout.write(
      `model: seed ${seed + lane}, ${runs} worlds, ${stepsDone} steps, ${JSON.stringify(Object.fromEntries(figures))}\n`,
    )
  },
)
