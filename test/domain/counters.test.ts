import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { COUNTERS, type Counters, isSuccess, noCounters, openCounter, summaryOf } from '../../src/domain/counters.ts'
import { OPEN_STATUSES, OPERATION_RESULTS, OPERATION_STATUSES } from '../../src/domain/operation.ts'

const counters: fc.Arbitrary<Counters> = fc
  .array(fc.nat({ max: 1_000_000 }), { minLength: COUNTERS.length, maxLength: COUNTERS.length })
  .map(values => Object.fromEntries(COUNTERS.map((counter, i) => [counter, values[i]!])) as Counters)

describe('the summary of a job', () => {
  test('counts every operation once: the total is the sum of all counters', () => {
    fc.assert(
      fc.property(counters, each => {
        const { total, inProgress, finished, finishedOutOfTime } = summaryOf(each)
        expect(total).toBe(COUNTERS.reduce((sum, counter) => sum + each[counter], 0))
        expect(total).toBe(inProgress.total + finished.total + finishedOutOfTime.total)
      }),
    )
  })

  test('each total is the sum of its parts', () => {
    const partsOf = ({ total, ...parts }: { total: number } & Record<string, number | { total: number }>) => ({
      total,
      sum: Object.values(parts).reduce<number>((sum, part) => sum + (typeof part === 'number' ? part : part.total), 0),
    })
    fc.assert(
      fc.property(counters, each => {
        const { inProgress, finished, finishedOutOfTime } = summaryOf(each)
        for (const block of [inProgress, finished, finished.cancelled, finishedOutOfTime]) {
          const { total, sum } = partsOf(block as never)
          expect(total).toBe(sum)
        }
      }),
    )
  })

  test('of a job without operations is all zero', () => {
    expect(summaryOf(noCounters())).toMatchObject({ total: 0, finished: { cancelled: { total: 0 } } })
  })
})

describe('the counter of an open operation', () => {
  test.each([
    ['PENDING', 'scheduled'],
    ['QUEUED', 'pending_execution'],
    ['WAITING_FOR_ACK', 'pending_execution'],
    ['WAITING_FOR_CONNECTION', 'waiting_for_connection'],
    ['IN_PROGRESS', 'started'],
  ] as const)('%s counts as %s', (status, counter) => {
    expect(openCounter(status)).toBe(counter)
  })

  test('a final status has none: its counter is kept with the operation', () => {
    const open = new Set<string>(OPEN_STATUSES)
    for (const status of OPERATION_STATUSES.filter(each => !open.has(each))) {
      expect(() => openCounter(status)).toThrow(status)
    }
  })
})

test('SUCCESSFUL and PARTIAL_SUCCESS are successes, nothing else is', () => {
  expect(OPERATION_RESULTS.filter(isSuccess)).toEqual(['SUCCESSFUL', 'PARTIAL_SUCCESS'])
})
