import { describe, expect, test } from 'vitest'
import { decideTask, TASK_EVENTS, TASK_LIFECYCLE, TASK_STATES } from '../../src/domain/task.ts'

describe('the lifecycle of a task', () => {
  test('answers each event in each state by at most one row, and uses every event', () => {
    const pairs = TASK_LIFECYCLE.map(row => `${row.from} ${row.event}`)
    expect(new Set(pairs).size).toBe(pairs.length)
    expect(new Set(TASK_LIFECYCLE.map(row => row.event))).toEqual(new Set(TASK_EVENTS))
  })

  test('nothing leaves FINISHED and CANCELLED', () => {
    for (const row of TASK_LIFECYCLE.filter(each => each.from === 'FINISHED' || each.from === 'CANCELLED')) {
      expect(row.to).toBe('refused')
    }
    expect(new Set(TASK_LIFECYCLE.map(row => row.to))).toEqual(new Set([...TASK_STATES, 'refused']))
  })

  test.each([
    ['ACTIVE', 'cancel', 'CANCELLED'],
    ['INACTIVE', 'cancelRunning', 'CANCELLING'],
    ['CANCELLING', 'runningEnded', 'CANCELLED'],
    ['ACTIVE', 'deactivate', 'INACTIVE'],
    ['INACTIVE', 'activate', 'ACTIVE'],
    ['ACTIVE', 'exhausted', 'FINISHED'],
    ['CANCELLING', 'change', 'refused'],
  ] as const)('%s, %s: %s', (from, event, to) => {
    expect(decideTask(from, event)).toBe(to)
  })
})
