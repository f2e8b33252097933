/**
 * The life of an operation: one table of rows, and the small pure functions that name what happened and read the row.
 * Refuses to know clocks, databases and devices. Serves: States and transitions, Operation.
 */
import { type Counter, isSuccess } from './counters.ts'

/** Serves: Operation status. */
export const OPERATION_STATUSES = [
  'PENDING',
  'QUEUED',
  'WAITING_FOR_ACK',
  'WAITING_FOR_CONNECTION',
  'IN_PROGRESS',
  'FINISHED',
  'FINISHED_OUT_OF_TIME',
  'TIMEOUT_CANCELLED',
  'NOT_ALLOWED',
  'CANCELLED',
] as const
export type OperationStatus = (typeof OPERATION_STATUSES)[number]

/** Serves: Operation `result` values. */
export const OPERATION_RESULTS = [
  'SUCCESSFUL',
  'PARTIAL_SUCCESS',
  'OPERATION_PENDING',
  'ERROR_IN_PARAM',
  'NOT_ALLOWED',
  'NOT_SUPPORTED',
  'ALREADY_IN_PROGRESS',
  'ERROR_PROCESSING',
  'ERROR_TIMEOUT',
  'TIMEOUT_CANCELLED',
  'CANCELLED',
  'CANCELLED_INTERNAL',
  'UNKNOWN_RESULT',
] as const
export type OperationResult = (typeof OPERATION_RESULTS)[number]

/** Where an operation stands: its status, with PENDING told apart between two attempts, when it keeps its live slot. */
export type OperationPhase = OperationStatus | 'BETWEEN_ATTEMPTS'

const SENT: OperationPhase[] = ['QUEUED', 'WAITING_FOR_ACK']
const UNANSWERED: OperationPhase[] = [...SENT, 'WAITING_FOR_CONNECTION']
const LAUNCHED: OperationPhase[] = [...UNANSWERED, 'IN_PROGRESS']
const LIVE: OperationPhase[] = [...LAUNCHED, 'BETWEEN_ATTEMPTS']
const OPEN: OperationPhase[] = ['PENDING', ...LIVE]
const FINAL: OperationPhase[] = ['FINISHED', 'FINISHED_OUT_OF_TIME', 'TIMEOUT_CANCELLED', 'NOT_ALLOWED', 'CANCELLED']

/** What the engine carries out, in the transaction of the transition. */
export type OperationEffect =
  /** the deadline is `ackTimeout` from now, where there is one */
  | 'awaitAcknowledgement'
  /** without `ackTimeout`, the deadline is `timeout` from now */
  | 'awaitAnswer'
  /** the deadline is `timeout` from now, unless that time is running already */
  | 'awaitEnd'
  /** becomes ready again, same attempt */
  | 'enqueue'
  /** becomes ready after `retriesDelay` */
  | 'retryLater'
  /** the steps of the message are kept with the attempt */
  | 'keepSteps'
  /** frees the live slot and moves to the ended operations */
  | 'end'
  /** the message is filed: it changed nothing */
  | 'file'

/** What a row leads to: the result and counter of an end, or that they are the device's to say. */
type Outcome = 'device' | readonly [OperationResult, Counter]

interface LifecycleRow {
  readonly from: readonly OperationPhase[]
  readonly event: OperationEvent
  /** `same` leaves the operation as it is */
  readonly to: OperationPhase | 'same'
  readonly effects?: readonly OperationEffect[]
  readonly outcome?: Outcome
}

const row = (
  from: OperationPhase | readonly OperationPhase[],
  event: OperationEvent,
  to: OperationPhase | 'same',
  effects: readonly OperationEffect[] = [],
  outcome?: Outcome,
): LifecycleRow => ({ from: typeof from === 'string' ? [from] : from, event, to, effects, ...(outcome && { outcome }) })

/** What can happen to an operation, named before the table is read. */
export const OPERATION_EVENTS = [
  'launch',
  'refusedAtLaunch',
  'unsupportedAtLaunch',
  'slotTaken',
  'postpone',
  'resent',
  'sent',
  'away',
  'senderLost',
  'connected',
  'reconnected',
  'handedOut',
  'askedInstead',
  'acknowledged',
  'part',
  'final',
  'retry',
  'ackTimeoutOver',
  'timeoutOver',
  'unreachable',
  'deviceFailed',
  'deviceRefused',
  'userCancel',
  'stopReached',
  'deleted',
  'externalCancel',
  'externalTimeout',
  'lateFinal',
  'stray',
] as const
export type OperationEvent = (typeof OPERATION_EVENTS)[number]

/** The lifecycle. One row per thing that may happen; what is not here cannot. */
export const OPERATION_LIFECYCLE: readonly LifecycleRow[] = [
  row(['PENDING', 'BETWEEN_ATTEMPTS'], 'launch', 'QUEUED', ['awaitAcknowledgement']),
  row(['PENDING', 'BETWEEN_ATTEMPTS'], 'refusedAtLaunch', 'NOT_ALLOWED', ['end'], ['NOT_ALLOWED', 'error']),
  row(['PENDING', 'BETWEEN_ATTEMPTS'], 'unsupportedAtLaunch', 'NOT_ALLOWED', ['end'], ['NOT_SUPPORTED', 'error']),
  row('PENDING', 'slotTaken', 'CANCELLED', ['end'], ['ALREADY_IN_PROGRESS', 'by_already_in_progress']),
  row('PENDING', 'postpone', 'PENDING', ['retryLater']),

  row('QUEUED', 'resent', 'same'),
  row('QUEUED', 'sent', 'WAITING_FOR_ACK', ['awaitAnswer']),
  row('QUEUED', 'away', 'WAITING_FOR_CONNECTION'),
  row('QUEUED', 'senderLost', 'QUEUED', ['enqueue']),
  row('WAITING_FOR_ACK', 'reconnected', 'QUEUED', ['enqueue']),
  row('WAITING_FOR_CONNECTION', 'connected', 'QUEUED', ['enqueue']),
  row('WAITING_FOR_CONNECTION', 'handedOut', 'IN_PROGRESS', ['awaitEnd']),
  row('IN_PROGRESS', 'handedOut', 'same'),
  row('WAITING_FOR_ACK', 'askedInstead', 'IN_PROGRESS', ['awaitEnd']),

  row(UNANSWERED, 'acknowledged', 'IN_PROGRESS', ['awaitEnd', 'keepSteps']),
  row(UNANSWERED, 'part', 'IN_PROGRESS', ['awaitEnd', 'keepSteps']),
  row('IN_PROGRESS', 'acknowledged', 'same', ['keepSteps']),
  row('IN_PROGRESS', 'part', 'same', ['keepSteps']),
  row('BETWEEN_ATTEMPTS', 'acknowledged', 'same'),
  row('BETWEEN_ATTEMPTS', 'part', 'same', ['keepSteps']),
  row(LIVE, 'final', 'FINISHED', ['keepSteps', 'end'], 'device'),
  row(LAUNCHED, 'retry', 'BETWEEN_ATTEMPTS', ['keepSteps', 'retryLater']),
  row('BETWEEN_ATTEMPTS', 'retry', 'same', ['keepSteps']),

  row(UNANSWERED, 'ackTimeoutOver', 'TIMEOUT_CANCELLED', ['end'], ['ERROR_TIMEOUT', 'by_timeout']),
  row(LAUNCHED, 'timeoutOver', 'TIMEOUT_CANCELLED', ['end'], ['ERROR_TIMEOUT', 'by_timeout']),
  row(SENT, 'unreachable', 'TIMEOUT_CANCELLED', ['end'], ['ERROR_TIMEOUT', 'by_timeout']),
  row(SENT, 'deviceFailed', 'FINISHED', ['end'], ['ERROR_PROCESSING', 'error']),
  row(SENT, 'deviceRefused', 'FINISHED', ['end'], ['NOT_SUPPORTED', 'error']),

  row(OPEN, 'userCancel', 'CANCELLED', ['end'], ['CANCELLED', 'by_user']),
  row(OPEN, 'stopReached', 'TIMEOUT_CANCELLED', ['end'], ['TIMEOUT_CANCELLED', 'by_engine']),
  row(OPEN, 'deleted', 'CANCELLED', ['end'], ['CANCELLED_INTERNAL', 'by_engine']),
  row(LIVE, 'externalCancel', 'CANCELLED', ['keepSteps', 'end'], ['CANCELLED', 'by_external']),
  row(LIVE, 'externalTimeout', 'CANCELLED', ['keepSteps', 'end'], ['CANCELLED', 'by_external_timeout']),

  row(['TIMEOUT_CANCELLED', 'CANCELLED'], 'lateFinal', 'FINISHED_OUT_OF_TIME', ['keepSteps'], 'device'),
  row(FINAL, 'stray', 'same', ['file']),

  // What a sender does and reports may be overtaken by the device's own answer, or by a time-out.
  row(['WAITING_FOR_ACK', 'WAITING_FOR_CONNECTION', 'IN_PROGRESS', 'BETWEEN_ATTEMPTS'], 'resent', 'same'),
  row(['WAITING_FOR_ACK', 'WAITING_FOR_CONNECTION', 'IN_PROGRESS', 'BETWEEN_ATTEMPTS'], 'sent', 'same'),
  row(['WAITING_FOR_ACK', 'WAITING_FOR_CONNECTION', 'IN_PROGRESS', 'BETWEEN_ATTEMPTS'], 'away', 'same'),
  row(['WAITING_FOR_ACK', 'WAITING_FOR_CONNECTION', 'IN_PROGRESS', 'BETWEEN_ATTEMPTS'], 'senderLost', 'same'),
  row(['WAITING_FOR_CONNECTION', 'IN_PROGRESS', 'BETWEEN_ATTEMPTS'], 'unreachable', 'same'),
  row(['WAITING_FOR_CONNECTION', 'IN_PROGRESS', 'BETWEEN_ATTEMPTS'], 'deviceFailed', 'same'),
  row(['WAITING_FOR_CONNECTION', 'IN_PROGRESS', 'BETWEEN_ATTEMPTS'], 'deviceRefused', 'same'),
  row([...SENT, 'IN_PROGRESS', 'BETWEEN_ATTEMPTS'], 'connected', 'same'),
  row(['QUEUED', 'WAITING_FOR_CONNECTION', 'IN_PROGRESS', 'BETWEEN_ATTEMPTS'], 'reconnected', 'same'),
  row([...SENT, 'BETWEEN_ATTEMPTS'], 'handedOut', 'same'),
]

const ROWS: ReadonlyMap<string, LifecycleRow> = new Map(
  OPERATION_LIFECYCLE.flatMap(entry => entry.from.map(from => [`${from} ${entry.event}`, entry] as const)),
)

/** The program asked for something that cannot happen: its own fault, never that of a device or of the database. */
export class MissingLifecycleRow extends Error {
  override readonly name = 'MissingLifecycleRow'
}

/** What an operation becomes, and what the engine is to do about it. */
export interface Decision {
  readonly phase: OperationPhase
  readonly status: OperationStatus
  readonly effects: readonly OperationEffect[]
  /** present when the operation ends */
  readonly result?: OperationResult
  readonly counter?: Counter
}

/**
 * The row for an event in a phase. `deviceResult` is the device's word where the row leaves the outcome to it.
 * A pair without a row is a fault of the program, and throws.
 */
export function decide(phase: OperationPhase, event: OperationEvent, deviceResult?: OperationResult): Decision {
  const entry = ROWS.get(`${phase} ${event}`)
  if (!entry) throw new MissingLifecycleRow(`no lifecycle row for ${event} in ${phase}`)
  const to = entry.to === 'same' ? phase : entry.to
  const status = to === 'BETWEEN_ATTEMPTS' ? 'PENDING' : to
  const effects = entry.effects ?? []
  if (!entry.outcome) return { phase: to, status, effects }
  if (entry.outcome !== 'device') {
    const [result, counter] = entry.outcome
    return { phase: to, status, effects, result, counter }
  }
  if (!deviceResult) throw new Error(`${event} needs the device's result`)
  const success = isSuccess(deviceResult)
  const late = to === 'FINISHED_OUT_OF_TIME'
  const counter: Counter = late ? (success ? 'oot_successful' : 'oot_error') : success ? 'successful' : 'error'
  return { phase: to, status, effects, result: deviceResult, counter }
}

/** The statuses in which an operation is open. */
export const OPEN_STATUSES = ['PENDING', 'QUEUED', 'WAITING_FOR_ACK', 'WAITING_FOR_CONNECTION', 'IN_PROGRESS'] as const

/** The phase of an operation: PENDING after a launch is between two attempts. */
export function phaseOf(status: OperationStatus, everLaunched: boolean): OperationPhase {
  return status === 'PENDING' && everLaunched ? 'BETWEEN_ATTEMPTS' : status
}
