/**
 * The engine against chance: random fleets, jobs, devices, commands and deaths of processes, on two processes and one database under
 * the virtual clock. After every step the invariants hold, and in the end everything has ended. A failure prints its seed and path;
 * `DROVER_MODEL_SEED` and `DROVER_MODEL_PATH` run it again, `DROVER_MODEL_RUNS` and `DROVER_MODEL_MS` say how long to look.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createTestDatabase } from '../database.ts'
import { guided } from './model-guided.ts'
import { type Step, script, setting } from './model-steps.ts'
import { createWorld, type World } from './model-world.ts'

const { DROVER_MODEL_SEED, DROVER_MODEL_PATH, DROVER_MODEL_RUNS, DROVER_MODEL_MS } = process.env
const seed = Number(DROVER_MODEL_SEED ?? Math.floor(Math.random() * 2 ** 31))
const limitMs = Number(DROVER_MODEL_MS ?? 20_000)

/** Has a world go through its steps, holds it to the rules after each, and brings it to its end. Answers how many there were. */
async function live(world: World, steps: readonly Pick<Step, 'run'>[]): Promise<number> {
  for (const { run } of steps) {
    await run(world)
    await world.hold()
  }
  await world.comeToRest()
  await world.hold()
  await world.holdEnd()
  await world.end()
  return steps.length
}

test.concurrent.each(guided)('$story', { timeout: 300_000 }, async ({ setting, steps }) => {
  const { database, close } = await createTestDatabase({ max: 12 })
  try {
    const world = await createWorld(database, setting)
    await live(
      world,
      steps.map(run => ({ run })),
    )
    expect(world.figures().requests).toBeGreaterThan(0)
  } finally {
    await close()
  }
})

/** Worlds side by side: most of the time each waits for the database. One alone where a path is run again. */
const lanes = DROVER_MODEL_PATH === undefined ? [0, 1, 2] : [0]

test.concurrent.each(lanes)(
  'whatever happens, the invariants hold after every step, and everything ends (lane %i)',
  {
    timeout: limitMs + 180_000,
  },
  async lane => {
    // Said beforehand, too: a run that is ended from outside says nothing in the end.
    process.stdout.write(`model: seed ${seed + lane} begins\n`)
    const until = performance.now() + limitMs
    let runs = 0
    let stepsDone = 0
    const figures = new Map<string, number>()
    await fc.assert(
      fc.asyncProperty(setting, script, async (beginning, steps) => {
        // At least one world each, however slow the machine.
        if (runs > 0 && performance.now() > until) return
        const { database, close } = await createTestDatabase({ max: 12 })
        try {
          const world = await createWorld(database, beginning)
          stepsDone += await live(world, steps)
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
    process.stdout.write(
      `model: seed ${seed + lane}, ${runs} worlds, ${stepsDone} steps, ${JSON.stringify(Object.fromEntries(figures))}\n`,
    )
  },
)
