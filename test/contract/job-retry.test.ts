import { describe, expect, test } from 'vitest'
import {
  mayHaveOwnParameters,
  ownParametersSearch,
  passedStop,
  RETRIED_UNLESS_TOLD,
  RETRY_WAYS,
  resourceTypeOf,
  retryRequest,
  unsuccessfulByWay,
} from '../../src/contract/client/job-retry.ts'
import { COUNTERS, summaryOf } from '../../src/domain/counters.ts'
import { COUNTERS_OF_SUCCESS, ENDED_COUNTERS } from '../../src/store/ended-counters.ts'

const retry = (request: Readonly<Record<string, unknown>>) =>
  retryRequest({ id: '00000000000000aa', request: { name: 'UPDATE', ...request } }, ['failed', 'stopped'])
const onUnsuccessful = {
  name: 'UPDATE',
  target: {
    append: {
      filter: {
        in: {
          'operations.unsuccessfulIn': [
            '00000000000000aa/error',
            '00000000000000aa/outOfTimeError',
            '00000000000000aa/byEngine',
          ],
        },
      },
    },
  },
  userNotes: 'Again for what did not succeed in 00000000000000aa: failed, stopped',
  active: true,
}

describe('a job retried on the devices without success', () => {
  test('carries over parameters, window, scattering, relative stop, limits, callback and notice', () => {
    const kept = {
      parameters: { bundleName: 'valves', deploymentElements: [{ name: 'core', version: '2' }] },
      operationParameters: { ackTimeout: 30_000, timeout: 600_000, retries: 2, retryResultList: ['ERROR_PROCESSING'] },
      notify: true,
      callback: 'https://example.com/done',
    }
    const schedule = {
      stop: { delayed: 3_600_000 },
      window: { weekly: [{ days: ['SAT'], daily: { start: '22:00:00Z', stop: '06:00:00Z' } }], timezone: 'Asia/Tokyo' },
      scattering: { maxSpread: 80, strategy: { field: 'subscription.collected.cellInfo', factor: 50 } },
    }
    const first = { target: { append: { entities: ['a', 'b'] } }, active: false, userNotes: 'first', user: 'ana' }
    expect(retry({ ...kept, schedule, ...first })).toEqual({ ...onUnsuccessful, ...kept, schedule })
  })

  test('leaves out dates, which are over, and a delay of the start: it begins at once', () => {
    const stop = { date: '2026-01-01T00:00:00.000Z' }
    expect(retry({ schedule: { start: { date: '2025-12-31T00:00:00.000Z' }, stop } })).toEqual(onUnsuccessful)
    expect(retry({ schedule: { start: { delayed: 60_000 }, stop: { delayed: 1_000 } } })).toEqual({
      ...onUnsuccessful,
      schedule: { stop: { delayed: 1_000 } },
    })
  })

  test('says nothing of what the first did not say', () => {
    expect(retry({})).toEqual(onUnsuccessful)
    expect(retry({ notify: false, callback: '', schedule: {} })).toEqual(onUnsuccessful)
  })

  test('is kept to the kind of device of the first', () => {
    expect(resourceTypeOf({ request: { name: 'UPDATE', resourceType: 'entity.device' } })).toEqual({
      resourceType: 'entity.device',
    })
    expect(resourceTypeOf({ request: { name: 'UPDATE' } })).toEqual({})
  })

  test('knows every way not to succeed, each in one group, and takes what was cancelled or busy only when told', () => {
    const counters = Object.fromEntries(COUNTERS.map((counter, at) => [counter, 2 ** at])) as Parameters<
      typeof summaryOf
    >[0]
    const summary = { status: 'FINISHED_WITH_ERRORS' as const, ...summaryOf(counters) }
    const { finished, finishedOutOfTime } = summary
    const all = finished.error + finished.cancelled.total + finishedOutOfTime.error
    const ways = unsuccessfulByWay(summary)
    expect(Object.values(ways).reduce((sum, each) => sum + each, 0)).toBe(all)
    expect(ways.cancelled).toBe(counters.by_user + counters.by_external)
    expect(RETRIED_UNLESS_TOLD).not.toContain('cancelled')
    expect(RETRIED_UNLESS_TOLD).not.toContain('busy')
  })

  test('in all ways together asks for every counter of ended operations but those of success, each once', () => {
    const { body } = ownParametersSearch({ id: '00000000000000aa' }, RETRY_WAYS)
    const [, among] = (body.filter as { and: [object, { in: { 'operations.counter': string[] } }] }).and
    const unsuccessful = Object.keys(ENDED_COUNTERS).filter(each => !COUNTERS_OF_SUCCESS.includes(each))
    expect(among.in['operations.counter'].toSorted()).toEqual(unsuccessful.toSorted())
  })

  test('keeps a date of the stop that is still to come, and tells one that has passed', () => {
    const stop = { date: '2026-03-02T06:00:00.000Z' }
    const request = { name: 'UPDATE', schedule: { stop } }
    const [before, after] = [Date.parse('2026-03-02T05:59:59Z'), Date.parse('2026-03-02T06:00:00Z')]
    const retried = (now: number) => retryRequest({ id: '00000000000000aa', request }, ['failed'], now)
    expect([retried(before).schedule, passedStop({ request }, before)]).toEqual([{ stop }, undefined])
    expect([retried(after).schedule, passedStop({ request }, after)]).toEqual([undefined, stop.date])
    expect(passedStop({ request: { name: 'UPDATE', schedule: { stop: { delayed: 1_000 } } } })).toBeUndefined()
  })

  test('asks for devices that had parameters of their own among those that it takes, and for no other', () => {
    const { body } = ownParametersSearch({ id: '00000000000000aa' }, ['cancelled'])
    expect(body).toMatchObject({
      filter: { and: [{}, { in: { 'operations.counter': ['byUser', 'byExternal'] } }, {}] },
      limit: { size: 1 },
    })
    const may = (target?: object) => mayHaveOwnParameters({ request: { name: 'UPDATE', ...(target && { target }) } })
    expect([may(), may({ append: { tags: ['night'] } })]).toEqual([true, true])
    expect([may({ append: { filter: {} } }), may({ filter: {} })]).toEqual([false, false])
  })
})
