import { describe, expect, onTestFinished, test } from 'vitest'
import { runChaos } from './run.ts'
import { drawSchedule, FAULTS } from './schedule.ts'
import { mosquittoProgram } from './world.ts'

/** `DROVER_TEST_SEED=…` tries another; `npm run chaos` tries for minutes. */
const SEED = Number(process.env.DROVER_TEST_SEED ?? 21)
const LONG_MS = 600_000
const NAMES = Object.keys(FAULTS).toSorted()

describe('a schedule of faults', () => {
  test('follows from its seed alone', () => {
    const schedule = (seed: number) => drawSchedule({ seed, count: 40, nodes: 3 })
    expect(schedule(4)).toEqual(schedule(4))
    expect(schedule(5)).not.toEqual(schedule(4))
  })

  test('has every fault once before it has any a second time', () => {
    const first = drawSchedule({ seed: 4, count: NAMES.length, nodes: 3 })
    expect(first.map(({ fault }) => fault).toSorted()).toEqual(NAMES)
  })
})

test(
  `three nodes, their database and their broker meet every kind of fault once, and everything holds (seed ${SEED})`,
  async () => {
    const lines: string[] = []
    onTestFinished(() => console.log(lines.join('\n')))
    const { wrong, leftOut, figures, faults } = await runChaos({
      seed: SEED,
      faults: mosquittoProgram === undefined ? NAMES.length - 3 : NAMES.length,
      pace: 0.2,
      operations: 3_000,
      devices: 250,
      tell: line => lines.push(line),
    })
    lines.push(JSON.stringify(figures))
    expect(wrong).toEqual([])
    if (leftOut.length === 0) expect(faults.map(({ fault }) => fault).toSorted()).toEqual(NAMES)
  },
  LONG_MS,
)
