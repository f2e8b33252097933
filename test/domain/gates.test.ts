import { describe, expect, test } from 'vitest'
import { type GatedJob, jobGates, redeliveryPause, sameOperationLive, windowClosed } from '../../src/domain/gates.ts'
import { hourMs } from '../../src/domain/instants.ts'
import { JOB_STATUSES } from '../../src/domain/job.ts'
import { parseWindow } from '../../src/domain/window.ts'

const now = Date.parse('2026-03-02T10:00:00Z')
const read = parseWindow({ weekly: [{ daily: { start: '22:00:00Z', stop: '06:00:00Z' } }] })
if (!read.ok) throw new Error('the window of the test is not valid')
const nights = read.value
const job = (change: Partial<GatedJob> = {}): GatedJob => ({
  status: 'IN_PROGRESS',
  startAt: now,
  stopAt: null,
  unresolved: 0,
  window: undefined,
  ...change,
})
const closed = (change: Partial<GatedJob>) => jobGates(job(change), now).map(({ gate }) => gate)

describe('the gates of a job', () => {
  test('are all open in one status only, the one that claims look for', () => {
    expect(JOB_STATUSES.filter(status => jobGates(job({ status }), now).length === 0)).toEqual(['IN_PROGRESS'])
  })

  test('are told in order, all that are closed', () => {
    expect(closed({ status: 'IDLE', unresolved: 1, window: nights })).toEqual([
      'notActive',
      'targetUnresolved',
      'windowClosed',
    ])
    expect(closed({ status: 'PAUSED', window: nights })).toEqual(['paused', 'windowClosed'])
    expect(closed({ status: 'CANCELLING_BY_ENGINE' })).toEqual(['jobCancelling'])
  })

  test('hold what is left once the stop has come, of a job that goes on or is paused', () => {
    expect(closed({ stopAt: now + 1 })).toEqual([])
    expect(closed({ stopAt: now })).toEqual(['stopReached'])
    expect(closed({ status: 'PAUSED', stopAt: now })).toEqual(['paused', 'stopReached'])
    expect(closed({ status: 'CANCELLING_BY_ENGINE', stopAt: now })).toEqual(['jobCancelling'])
  })

  test('before the start lift at the start', () => {
    const [gate] = jobGates(job({ status: 'SCHEDULED', startAt: now + 5_000 }), now)
    expect(gate).toMatchObject({ gate: 'beforeStart', liftsAt: now + 5_000 })
    expect(gate!.fields).toEqual({ startDate: '2026-03-02T10:00:05.000Z' })
  })
})

test('a closed window lifts when it opens next, an open one holds nothing', () => {
  expect(windowClosed(nights, now)).toMatchObject({ gate: 'windowClosed', liftsAt: now + 12 * hourMs })
  expect(windowClosed(nights, now + 12 * hourMs)).toBeUndefined()
  expect(windowClosed(undefined, now)).toBeUndefined()
})

test('what was handed out is held until the time of silence is over, to the millisecond', () => {
  expect(redeliveryPause(now - 29_999, 30_000, now)?.liftsAt).toBe(now + 1)
  expect(redeliveryPause(now - 30_000, 30_000, now)).toBeUndefined()
})

test('another live operation is named, with what a launch would lead to', () => {
  const holder = { jobId: 'j', operationId: 'o' }
  expect(sameOperationLive(holder, false)).toMatchObject({
    fields: holder,
    reason: expect.stringContaining('ALREADY_IN_PROGRESS'),
  })
  expect(sameOperationLive(holder, true)?.reason).not.toMatch(/ALREADY_IN_PROGRESS/)
  expect(sameOperationLive(null, false)).toBeUndefined()
})
