import { expect, test } from 'vitest'
import type { PlanView } from '../../src/contract/client/client.ts'
import { leftOutWords, nothingRunsWords, whyNothingRuns } from '../../src/contract/client/plan-words.ts'

/** A plan on so many devices, with what a test is about. */
function plan(total: number, { notLaunched = 0, refused = 0, openMs = 1 } = {}): PlanView {
  const refusal = { reason: 'notAllowed' as const, words: '', count: refused, entities: [] }
  return {
    target: { total, resourceTypes: {}, refusals: refused === 0 ? [] : [refusal] },
    launch: {
      startDate: '2026-03-02T09:00:00.000Z',
      stopDate: '2026-03-02T10:00:00.000Z',
      firstLaunchDate: null,
      lastLaunchDate: null,
      expectedEndDate: '2026-03-02T10:00:00.000Z',
      perHour: [],
      launchesLater: 0,
      notLaunched,
      mayNotEnd: 0,
      windows: [],
    },
    scattering: { effectiveMs: openMs, drainReserveMs: 0, spreadMs: 0, operationsPerSecond: null },
    warnings: [],
  }
}
const told = (of: PlanView) => nothingRunsWords(of, at => `<${at}>`).join('')

test('nothing of a plan runs where it has no device, or its stop cancels all that it has', () => {
  expect(whyNothingRuns(plan(0))).toBe('noDevice')
  expect(whyNothingRuns(plan(3, { notLaunched: 3 }))).toBe('stopsFirst')
  expect([whyNothingRuns(plan(3)), whyNothingRuns(plan(3, { notLaunched: 2 }))]).toEqual([null, null])
})

test('why it runs nothing is said with what is refused, or with the stop and what it cancels', () => {
  expect(told(plan(0))).toBe('The target finds no device that the operation applies to.')
  expect(told(plan(0, { refused: 1_200 }))).toBe('Of what the target names, all is refused: 1,200 not allowed.')
  const at = 'The stop, at <2026-03-02T10:00:00.000Z>, would cancel'
  expect(told(plan(1, { notLaunched: 1 }))).toBe(`${at} the one operation before the first launch.`)
  expect(told(plan(1_200, { notLaunched: 1_200, openMs: 0 }))).toBe(
    `${at} all 1,200 operations before the first launch: the window does not open between the start and the stop.`,
  )
})

test('a plan that finds fewer than were chosen says how many it leaves out', () => {
  expect(leftOutWords(1_300, 100)).toMatch(/^Left out of those chosen: 1,200, no longer there or /)
  expect([leftOutWords(3, 3), leftOutWords(3, 4)]).toEqual([null, null])
})
