import { describe, expect, test } from 'vitest'
import { resourceTypeOf, retryRequest } from '../../src/console/views/job/retry-request.ts'

const retry = (request: Readonly<Record<string, unknown>>) =>
  retryRequest({ id: '00000000000000aa', request: { name: 'UPDATE', ...request } })
const onUnsuccessful = {
  name: 'UPDATE',
  target: { append: { filter: { eq: { 'operations.unsuccessfulIn': '00000000000000aa' } } } },
  userNotes: 'Again for what did not succeed in 00000000000000aa',
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
})
