import { describe, expect, test } from 'vitest'
import {
  decide,
  OPEN_STATUSES,
  OPERATION_EVENTS,
  OPERATION_LIFECYCLE,
  OPERATION_RESULTS,
  type OperationPhase,
} from '../../src/domain/operation.ts'
import {
  deviceResult,
  nameObservation,
  nameWord,
  type OperationRules,
  pauseBeforeAttempt,
} from '../../src/domain/operation-event.ts'

const rules: OperationRules = {
  ackTimeoutMs: 1_000,
  timeoutMs: 60_000,
  retries: 1,
  retriesDelayMs: 0,
  retryResults: new Set(['ERROR_TIMEOUT', 'ERROR_PROCESSING', 'NOT_ALLOWED', 'ALREADY_IN_PROGRESS']),
}
const at = (phase: OperationPhase, over: Partial<Parameters<typeof nameWord>[0]> = {}) => ({
  phase,
  attempt: 1,
  everLaunched: phase !== 'PENDING',
  jobClosing: false,
  ...over,
})

describe('the lifecycle of an operation', () => {
  test('answers each event in each phase by at most one row', () => {
    const pairs = OPERATION_LIFECYCLE.flatMap(row => row.from.map(from => `${from} ${row.event}`))
    expect(new Set(pairs).size).toBe(pairs.length)
  })

  test('names only events that exist, and uses every one', () => {
    expect(new Set(OPERATION_LIFECYCLE.map(row => row.event))).toEqual(new Set(OPERATION_EVENTS))
  })

  test('an end always has a result and a counter, and nothing else has', () => {
    for (const row of OPERATION_LIFECYCLE) {
      for (const from of row.from) {
        const { effects, result, counter } = decide(from, row.event, 'SUCCESSFUL')
        const ends = effects.includes('end') || row.event === 'lateFinal'
        expect([result !== undefined, counter !== undefined]).toEqual([ends, ends])
      }
    }
  })

  test('what ends an open operation leaves it in a final status, and nothing leads out of FINISHED', () => {
    const open = new Set<string>([...OPEN_STATUSES, 'BETWEEN_ATTEMPTS'])
    for (const row of OPERATION_LIFECYCLE.filter(each => each.effects?.includes('end')))
      expect(open.has(row.to)).toBe(false)
    for (const row of OPERATION_LIFECYCLE.filter(each => each.from.includes('FINISHED'))) expect(row.to).toBe('same')
  })

  test('a pair without a row is a fault of the program', () => {
    expect(() => decide('FINISHED', 'launch')).toThrow('no lifecycle row for launch in FINISHED')
  })
})

describe('what a device says', () => {
  test('nothing can be an answer to an operation that was never launched', () => {
    expect(nameWord(at('PENDING'), rules, { resultCode: 'SUCCESSFUL', steps: 0 })).toBeUndefined()
  })

  test.each(OPERATION_RESULTS)('%s is a word the service knows', word => {
    expect(deviceResult(word)).toBe(word)
  })

  test('a word of its own is UNKNOWN_RESULT', () => {
    expect(deviceResult('FINE')).toBe('UNKNOWN_RESULT')
  })

  test.each([
    ['a message without result and steps is an acknowledgement', undefined, 0, 'acknowledged'],
    ['a message with steps and no result is a part', undefined, 2, 'part'],
    ['OPERATION_PENDING is an acknowledgement', 'OPERATION_PENDING', 0, 'acknowledged'],
    ['CANCELLED is an external cancel', 'CANCELLED', 0, 'externalCancel'],
    ['CANCELLED_INTERNAL is an external cancel', 'CANCELLED_INTERNAL', 0, 'externalCancel'],
    ['TIMEOUT_CANCELLED is an external time-out', 'TIMEOUT_CANCELLED', 0, 'externalTimeout'],
    ['a result that is not listed is final', 'NOT_SUPPORTED', 0, 'final'],
    ['a listed result is retried', 'ERROR_PROCESSING', 0, 'retry'],
    ['NOT_ALLOWED is never retried, listed or not', 'NOT_ALLOWED', 0, 'final'],
  ])('%s', (_, resultCode, steps, event) => {
    expect(nameWord(at('IN_PROGRESS'), rules, { resultCode, steps })).toBe(event)
  })

  test('a time-out that the device itself reports is retried, listed or not', () => {
    const none = { ...rules, retryResults: new Set<never>() }
    expect(nameWord(at('IN_PROGRESS'), none, { resultCode: 'ERROR_TIMEOUT', steps: 0 })).toBe('retry')
  })

  test('a listed result is final once the retries are used up', () => {
    expect(nameWord(at('IN_PROGRESS', { attempt: 2 }), rules, { resultCode: 'ERROR_PROCESSING', steps: 0 })).toBe(
      'final',
    )
  })

  test('nothing is retried while the job is being cancelled', () => {
    const state = at('IN_PROGRESS', { jobClosing: true })
    expect(nameWord(state, rules, { resultCode: 'ERROR_PROCESSING', steps: 0 })).toBe('final')
    expect(nameObservation(state, rules, 'deadlineOver')).toBe('timeoutOver')
  })

  test('a final answer after a time-out or a cancel is late, any other answer after the end is a stray', () => {
    expect(nameWord(at('CANCELLED'), rules, { resultCode: 'SUCCESSFUL', steps: 0 })).toBe('lateFinal')
    expect(nameWord(at('TIMEOUT_CANCELLED'), rules, { resultCode: 'NOT_SUPPORTED', steps: 0 })).toBe('lateFinal')
    expect(nameWord(at('TIMEOUT_CANCELLED'), rules, { resultCode: undefined, steps: 3 })).toBe('stray')
    expect(nameWord(at('FINISHED'), rules, { resultCode: 'SUCCESSFUL', steps: 0 })).toBe('stray')
  })
})

describe('what senders and keepers see', () => {
  test.each([
    ['a deadline before the acknowledgement', 'WAITING_FOR_ACK', 2, 'deadlineOver', 'ackTimeoutOver'],
    ['a deadline while in progress', 'IN_PROGRESS', 2, 'deadlineOver', 'timeoutOver'],
    ['a deadline with retries left', 'IN_PROGRESS', 1, 'deadlineOver', 'retry'],
    ['no connection with retries left', 'QUEUED', 1, 'unreachable', 'retry'],
    ['no connection without retries left', 'QUEUED', 2, 'unreachable', 'unreachable'],
    ['an answer 5xx with retries left, listed or not', 'WAITING_FOR_ACK', 1, 'deviceFailed', 'retry'],
    ['an answer 4xx, whose result is not listed', 'WAITING_FOR_ACK', 1, 'deviceRefused', 'deviceRefused'],
  ] as const)('%s', (_, phase, attempt, seen, event) => {
    expect(nameObservation(at(phase, { attempt }), rules, seen)).toBe(event)
  })

  test('a taken slot is tried again where ALREADY_IN_PROGRESS is listed and a retry is left', () => {
    expect(nameObservation(at('PENDING', { attempt: 0 }), rules, 'slotTaken')).toBe('postpone')
    expect(nameObservation(at('PENDING', { attempt: 1 }), rules, 'slotTaken')).toBe('slotTaken')
    const unlisted = { ...rules, retryResults: new Set<never>() }
    expect(nameObservation(at('PENDING', { attempt: 0 }), unlisted, 'slotTaken')).toBe('slotTaken')
  })

  test('an attempt waits as long as the request says, and a second at least where the slot was taken and it says nothing', () => {
    expect(pauseBeforeAttempt({ retriesDelayMs: 0 }, true)).toBe(0)
    expect(pauseBeforeAttempt({ retriesDelayMs: 0 }, false)).toBe(1_000)
    expect(pauseBeforeAttempt({ retriesDelayMs: 500 }, false)).toBe(500)
  })
})
