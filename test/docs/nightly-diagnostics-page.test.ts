/** The guide to what is done every night: the rhythms that it offers are read by the service, and run when it says. */
import { expect, test } from 'vitest'
import { nextOccurrence } from '../../src/domain/recurrence.ts'
import { parseTaskSchedule } from '../../src/domain/task-schedule.ts'
import { codeIn, readPage } from './page.ts'

const page = await readPage('guides/nightly-diagnostics.md')
const rhythms = page.table('Other rhythms')

/** A Wednesday, an hour and a second into it on the clock of the examples. */
const NOW = Date.parse('2026-01-07T00:00:01Z')

const RUNS: Readonly<Record<string, readonly string[]>> = {
  'quarter of an hour': ['2026-01-07T00:15:01.000Z', '2026-01-07T00:30:01.000Z'],
  'Monday and Thursday': ['2026-01-08T02:00:00.000Z', '2026-01-12T02:00:00.000Z'],
  'first of each quarter': ['2026-04-01T02:00:00.000Z', '2026-07-01T02:00:00.000Z'],
  'New Year': ['2026-12-31T23:00:00.000Z', '2027-12-31T23:00:00.000Z'],
}

test('the guide says when each of its rhythms runs, and names no other', () => {
  expect(rhythms.map(([every]) => every)).toEqual(Object.keys(RUNS))
})

test.each(rhythms)('every %s: %s', (every, cell) => {
  const read = parseTaskSchedule({ repeating: JSON.parse(codeIn(cell!)[0]!) }, NOW)
  if (!read.ok) throw new Error(JSON.stringify(read.problems))
  const first = nextOccurrence(read.value, NOW, false)
  const second = nextOccurrence(read.value, first!, false)
  expect([first, second].map(at => new Date(at!).toISOString())).toEqual(RUNS[every!])
})
