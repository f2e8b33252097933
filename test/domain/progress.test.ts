import { describe, expect, test } from 'vitest'
import type { Launching } from '../../src/domain/launching.ts'
import { expectedEnd, type Pace, plannedBy } from '../../src/domain/progress.ts'

const start = Date.parse('2026-03-02T10:00:00Z')
const hour = 3_600_000
const launching = (spreadMs: number): Launching => ({
  places: 100,
  spreadMs,
  launchAt: start,
  window: undefined,
  overdue: null,
})
const pace = (given: Partial<Pace>): Pace => ({
  status: 'IN_PROGRESS',
  launching: launching(0),
  stopAt: null,
  endedAt: null,
  open: 50,
  meanMs: null,
  endedPerMs: 0,
  ...given,
})

describe('the expected end of a job', () => {
  test('is what is left at the pace of lately, where all is launched at once', () => {
    expect(expectedEnd(pace({ endedPerMs: 0.01 }), start)).toBe(start + 5_000)
  })

  test('is the last launch and the time that an operation takes, where launches are spread', () => {
    const asked = pace({ launching: launching(hour), meanMs: 4_000, endedPerMs: 0.01 })
    expect(expectedEnd(asked, start)).toBe(start + hour * 0.99 + 4_000)
  })

  test('is never later than the stop, and the stop where nothing has ended yet', () => {
    expect(expectedEnd(pace({ endedPerMs: 0.000_001, stopAt: start + hour }), start)).toBe(start + hour)
    expect(expectedEnd(pace({ stopAt: start + hour }), start)).toBe(start + hour)
    expect(expectedEnd(pace({}), start)).toBeNull()
  })

  test('is unknown while the job waits for a person, and the end itself once there is one', () => {
    expect(expectedEnd(pace({ status: 'PAUSED', endedPerMs: 1, stopAt: start }), start)).toBeNull()
    expect(expectedEnd(pace({ status: 'FINISHED', endedAt: start + 7 }), start + hour)).toBe(start + 7)
  })
})

test('the plan counts the places that are reached by an instant', () => {
  expect(plannedBy(launching(100_000), start - 1)).toBe(0)
  expect(plannedBy(launching(100_000), start)).toBe(1)
  expect(plannedBy(launching(100_000), start + 50_000)).toBe(51)
  expect(plannedBy(launching(100_000), start + hour)).toBe(100)
})
