import { afterAll, describe, expect, test } from 'vitest'
import { runChaos } from './run.ts'
import { drawSchedule, FAULTS } from './schedule.ts'

/** `DROVER_TEST_SEED=…` tries another; `npm run chaos` tries for minutes. */
const SEED = Number(process.env.DROVER_TEST_SEED ?? 21)
const LONG_MS = 600_000

describe('a schedule of faults', () => {
  test('follows from its seed alone', () => {
    const schedule = (seed: number) => drawSchedule({ seed, count: 40, nodes: 3 })
    expect(schedule(4)).toEqual(schedule(4))
    expect(schedule(5)).not.toEqual(schedule(4))
  })

  test('has every fault once before it has any a second time', () => {
    const names = Object.keys(FAULTS)
    const first = drawSchedule({ seed: 4, count: names.length, nodes: 3 })
    expect(first.map(({ fault }) => fault).toSorted()).toEqual(names.toSorted())
  })
})

test(
  `three nodes, their database and their broker are killed, frozen and cut off, and everything holds (seed ${SEED})`,
  async () => {
    const lines: string[] = []
    afterAll(() => console.log(lines.join('\n')))
    const { wrong, figures, faults } = await runChaos({
      seed: SEED,
      faults: 6,
      operations: 3_000,
      devices: 250,
      tell: line => lines.push(line),
    })
    lines.push(JSON.stringify(figures))
    expect(wrong).toEqual([])
    expect(faults.filter(({ failure }) => failure !== undefined)).toEqual([])
  },
  LONG_MS,
)
