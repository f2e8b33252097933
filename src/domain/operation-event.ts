/**
 * Names what happened to an operation, so that one lifecycle row can answer: a device's word, a deadline or a sender's report
 * becomes an event. Here, and nowhere else, lie the conditions (retries left, listed results, lateness).
 */
import type { OperationEvent, OperationPhase, OperationResult } from './operation.ts'
import { OPERATION_RESULTS } from './operation.ts'

/** How one operation of a job is managed. Spans in milliseconds, 0 is none. Serves: operationParameters. */
export interface OperationRules {
  readonly ackTimeoutMs: number
  readonly timeoutMs: number
  readonly retries: number
  readonly retriesDelayMs: number
  readonly retryResults: ReadonlySet<OperationResult>
}

/** What the naming of an event needs to know of an operation. */
export interface OperationState {
  readonly phase: OperationPhase
  /** attempts launched so far, the present one included */
  readonly attempt: number
  /** whether a request ever left, or was about to: only then can an answer be one */
  readonly everLaunched: boolean
  /** nothing leads back to PENDING while the job is being cancelled */
  readonly jobClosing: boolean
}

/** What a sender or keeper observed. */
export type Observation =
  | 'launch'
  | 'refusedAtLaunch'
  | 'unsupportedAtLaunch'
  | 'slotTaken'
  | 'resent'
  | 'sent'
  | 'away'
  | 'senderLost'
  | 'connected'
  | 'reconnected'
  | 'handedOut'
  | 'askedInstead'
  | 'deadlineOver'
  | 'unreachable'
  | 'deviceFailed'
  | 'deviceRefused'

/** A message in which the device speaks of an operation; without a result it is a part. */
export interface DeviceWord {
  readonly resultCode?: string | undefined
  readonly steps: number
}

const FINAL_PHASES: ReadonlySet<OperationPhase> = new Set<OperationPhase>([
  'FINISHED',
  'FINISHED_OUT_OF_TIME',
  'TIMEOUT_CANCELLED',
  'NOT_ALLOWED',
  'CANCELLED',
])

/** The result a device means by its word; a word of its own is UNKNOWN_RESULT. Serves: Operation `result` values. */
export function deviceResult(word: string): OperationResult {
  return (OPERATION_RESULTS as readonly string[]).includes(word) ? (word as OperationResult) : 'UNKNOWN_RESULT'
}

/** A device that is taken is asked again no sooner: without a pause its turn would be looked for as fast as the engine goes round. */
const POSTPONED_MS = 1_000

/** How long an attempt waits that follows another, or a launch that was put off since its device was taken. */
export function pauseBeforeAttempt(
  { retriesDelayMs }: Pick<OperationRules, 'retriesDelayMs'>,
  everLaunched: boolean,
): number {
  return retriesDelayMs === 0 && !everLaunched ? POSTPONED_MS : retriesDelayMs
}

const RETRIED_WITHOUT_LISTING: ReadonlySet<Observation> = new Set<Observation>([
  'deadlineOver',
  'unreachable',
  'deviceFailed',
])
const NEVER_RETRIED: ReadonlySet<OperationResult> = new Set<OperationResult>(['NOT_ALLOWED'])

function retriesLeft(state: OperationState, rules: OperationRules): boolean {
  return !state.jobClosing && state.attempt <= rules.retries
}

/** Whether a result causes a retry. A time-out does whatever the request lists. Serves: operationParameters. */
function listed(result: OperationResult, rules: OperationRules): boolean {
  return (result === 'ERROR_TIMEOUT' || rules.retryResults.has(result)) && !NEVER_RETRIED.has(result)
}

/** Names a device's word; `undefined` where the operation was never launched, so that nothing can be an answer. */
export function nameWord(state: OperationState, rules: OperationRules, word: DeviceWord): OperationEvent | undefined {
  if (!state.everLaunched) return undefined
  const final = FINAL_PHASES.has(state.phase)
  if (word.resultCode === undefined || word.resultCode === 'OPERATION_PENDING') {
    if (final) return 'stray'
    return word.steps > 0 && word.resultCode === undefined ? 'part' : 'acknowledged'
  }
  const result = deviceResult(word.resultCode)
  const external = result === 'CANCELLED' || result === 'CANCELLED_INTERNAL' || result === 'TIMEOUT_CANCELLED'
  if (final) {
    return !external && (state.phase === 'TIMEOUT_CANCELLED' || state.phase === 'CANCELLED') ? 'lateFinal' : 'stray'
  }
  if (listed(result, rules) && retriesLeft(state, rules)) return 'retry'
  if (external) return result === 'TIMEOUT_CANCELLED' ? 'externalTimeout' : 'externalCancel'
  return 'final'
}

/** Names what a sender, keeper or dispatcher observed. */
export function nameObservation(state: OperationState, rules: OperationRules, seen: Observation): OperationEvent {
  if (FINAL_PHASES.has(state.phase)) return 'stray'
  if (seen === 'slotTaken') {
    return listed('ALREADY_IN_PROGRESS', rules) && state.attempt < rules.retries && !state.jobClosing
      ? 'postpone'
      : 'slotTaken'
  }
  const launched = state.phase !== 'PENDING' && state.phase !== 'BETWEEN_ATTEMPTS'
  const counts = seen === 'deadlineOver' ? launched : state.phase === 'QUEUED' || state.phase === 'WAITING_FOR_ACK'
  if (counts && RETRIED_WITHOUT_LISTING.has(seen) && retriesLeft(state, rules)) return 'retry'
  if (counts && seen === 'deviceRefused' && listed('NOT_SUPPORTED', rules) && retriesLeft(state, rules)) return 'retry'
  if (seen !== 'deadlineOver') return seen
  if (state.phase === 'IN_PROGRESS') return 'timeoutOver'
  return rules.ackTimeoutMs > 0 ? 'ackTimeoutOver' : 'timeoutOver'
}
