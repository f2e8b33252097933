import { describe, expect, onTestFinished, test } from 'vitest'
import { runChaos } from './run.ts'
import { drawSchedule, FAULTS } from './schedule.ts'

/** Two halves of all kinds of faults; `DROVER_TEST_SEED=…` tries another seed, `npm run chaos` tries for minutes. */
const SEEDS = process.env.DROVER_TEST_SEED ? [Number(process.env.DROVER_TEST_SEED)] : [21, 1_472]
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

const halfOf = (seed: number) => drawSchedule({ seed, count: NAMES.length / 2, nodes: 3 }).map(({ fault }) => fault)

test.runIf(process.env.DROVER_TEST_SEED === undefined)('every kind of fault is in one of the runs here', () => {
  expect(SEEDS.flatMap(halfOf).toSorted()).toEqual(NAMES)
})

test.for(SEEDS)(
  'three nodes, their database and their broker meet half of the kinds of faults, and everything holds (seed %i)',
  { timeout: LONG_MS },
  async (seed, { skip }) => {
    const lines: string[] = []
    onTestFinished(() => console.log(lines.join('\n')))
    const { wrong, leftOut, figures, faults } = await runChaos({
      seed,
      faults: NAMES.length / 2,
      pace: 0.2,
      operations: 1_500,
      devices: 250,
      tell: line => lines.push(line),
    })
    lines.push(...leftOut, JSON.stringify(figures))
    expect(wrong).toEqual([])
    if (leftOut.length > 0) skip(leftOut.join(', '))
    expect(faults.map(({ fault }) => fault).toSorted()).toEqual(halfOf(seed).toSorted())
  },
)
