import { describe, expect, test } from 'vitest'
import { decideJob, FINAL_JOB_STATUSES, JOB_EVENTS, JOB_LIFECYCLE, JOB_STATUSES } from '../../src/domain/job.ts'

describe('the lifecycle of a job', () => {
  test('answers each event in each status by at most one row', () => {
    const pairs = JOB_LIFECYCLE.map(row => `${row.from} ${row.event}`)
    expect(new Set(pairs).size).toBe(pairs.length)
  })

  test('uses every event and reaches every status', () => {
    expect(new Set(JOB_LIFECYCLE.map(row => row.event))).toEqual(new Set(JOB_EVENTS))
    const reached = new Set([...JOB_LIFECYCLE.map(row => row.to), 'IDLE'])
    for (const status of JOB_STATUSES) expect(reached).toContain(status)
  })

  test('nothing leaves a final status', () => {
    for (const row of JOB_LIFECYCLE.filter(each => (FINAL_JOB_STATUSES as readonly string[]).includes(each.from))) {
      expect(row.to).toBe('refused')
    }
  })

  test.each([
    ['IDLE', 'activateLater', 'SCHEDULED'],
    ['IDLE', 'activateNow', 'IN_PROGRESS'],
    ['SCHEDULED', 'deactivate', 'IDLE'],
    ['SCHEDULED', 'startReached', 'IN_PROGRESS'],
    ['IN_PROGRESS', 'deactivate', 'PAUSED'],
    ['PAUSED', 'activateNow', 'IN_PROGRESS'],
    ['IN_PROGRESS', 'allSuccessful', 'FINISHED'],
    ['IN_PROGRESS', 'allEnded', 'FINISHED_WITH_ERRORS'],
    ['IN_PROGRESS', 'userCancel', 'CANCELLING_BY_USER'],
    ['SCHEDULED', 'userCancel', 'CANCELLING_BY_USER'],
    ['IN_PROGRESS', 'stopReached', 'CANCELLING_BY_ENGINE'],
    ['CANCELLING_BY_USER', 'allEnded', 'CANCELLED'],
    ['CANCELLING_BY_ENGINE', 'allEnded', 'TIMEOUT_CANCELLED'],
    ['IDLE', 'userCancel', 'CANCELLING_BY_USER'],
    ['PAUSED', 'userCancel', 'CANCELLING_BY_USER'],
    ['PAUSED', 'stopReached', 'CANCELLING_BY_ENGINE'],
    ['PAUSED', 'allEnded', 'FINISHED_WITH_ERRORS'],
    ['CANCELLING_BY_ENGINE', 'allSuccessful', 'TIMEOUT_CANCELLED'],
    ['CANCELLING_BY_USER', 'deactivate', 'refused'],
    ['PAUSED', 'change', 'refused'],
  ] as const)('%s, %s: %s', (from, event, to) => {
    expect(decideJob(from, event).to).toBe(to)
  })
})
