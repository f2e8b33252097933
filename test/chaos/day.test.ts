import { expect, onTestFinished, test } from 'vitest'
import { runDay } from './day.ts'

const LONG_MS = 600_000
const OPERATIONS = 1_500

// Whether it stays flat needs the size of `npm run chaos -- day`, and is judged in day-judge.ts.
test(
  'a day in a minute has its operations, its month ends in the middle of it, and everything that is to stay flat is measured',
  async () => {
    const lines: string[] = []
    onTestFinished(() => console.log(lines.join('\n')))
    const { wrong, leftOut, figures } = await runDay({
      minutes: 1,
      devices: 60,
      operations: OPERATIONS,
      tell: line => lines.push(line),
    })
    expect(wrong.filter(each => !/ grew from \d+ to \d+$/.test(each))).toEqual([])
    expect(leftOut).toEqual([])
    expect(figures.operations).toBeGreaterThanOrEqual(OPERATIONS)
    for (const name of ['residentMb', 'heapMb', 'hotMb', 'deadRows', 'readMs', 'createMs', 'commitMs']) {
      expect(figures[name], name).toMatch(/^\d+ to \d+$/)
    }
    expect(figures.residentMb).not.toBe('0 to 0')
    expect(figures.createMs).not.toBe('0 to 0')
  },
  LONG_MS,
)
