/**
 * Why an operation is where it is and what will move it next: the gates that hold it, in order, and the events of the lifecycles
 * that lead on. Refuses to read anything itself, and to decide anything. Serves: Endpoints (Jobs).
 */
import type { Flow } from './flow.ts'
import {
  awaitingAcknowledgement,
  awaitingAnswer,
  deviceAway,
  type Gate,
  type GatedJob,
  jobGates,
  limit,
  placeInSpread,
  redeliveryPause,
  retryPause,
  sameOperationLive,
  withSender,
} from './gates.ts'
import type { Instant } from './instants.ts'
import { isCancelling, type JobEvent, type JobStatus } from './job.ts'
import { type Launching, placeReachedAt } from './launching.ts'
import type { OperationEvent, OperationPhase } from './operation.ts'
import { nameObservation, type OperationRules, type OperationState } from './operation-event.ts'

/** Everything that can hold one operation back, as it stands at one instant. */
export interface HeldOperation {
  readonly phase: OperationPhase
  readonly attempt: number
  readonly everLaunched: boolean
  /** how the present attempt is reached; null where that is still to be chosen */
  readonly flow: Flow | null
  readonly deadlineAt: Instant | null
  readonly heardAt: Instant | null
  /** its place among the ready ones; null where it is not ready */
  readonly place: number | null
  /** when its pause between attempts ends; null where there is none */
  readonly retryAt: Instant | null
  /** the other operation of the same name that is live on its entity */
  readonly holder: { readonly jobId: string; readonly operationId: string } | null
  readonly device: { readonly connected: boolean; readonly seenAt: Instant | null }
  readonly rules: OperationRules
  readonly redeliveryMs: number
  readonly job: GatedJob & {
    /** null before the start */
    readonly launching: Launching | null
  }
}

/** Something that will move the operation, or may. */
export interface NextMove {
  /** the event's name in the lifecycle of the operation or of its job */
  readonly event: OperationEvent | JobEvent
  readonly words: string
  /** when; null where it depends on a person, a device or a free place */
  readonly at: Instant | null
}

/** What holds an operation, first things first, and what may come next. */
export interface Explanation {
  readonly held: readonly Gate[]
  readonly next: readonly NextMove[]
}

const move = (event: NextMove['event'], words: string, at: Instant | null = null): NextMove => ({ event, words, at })

/** The gates that hold an operation at `now`, and what will move it next. */
export function whyHeld(view: HeldOperation, now: Instant): Explanation {
  const { phase } = view
  if (phase === 'CANCELLED' || phase === 'TIMEOUT_CANCELLED') {
    const late = move('lateFinal', 'A late final answer of the device would move it to FINISHED_OUT_OF_TIME.')
    return { held: [], next: view.everLaunched ? [late] : [] }
  }
  if (phase === 'FINISHED' || phase === 'FINISHED_OUT_OF_TIME' || phase === 'NOT_ALLOWED') return { held: [], next: [] }
  const held = gatesOf(view, now)
  return { held, next: [...nextOfPhase(view, held, now), ...ends(view)] }
}

function gatesOf(view: HeldOperation, now: Instant): Gate[] {
  const { phase, place, job, deadlineAt } = view
  const waits = phase === 'PENDING' || phase === 'BETWEEN_ATTEMPTS'
  const ready = place !== null
  // What a node is sending, and what was sent, is held by the device alone.
  const ofJob = waits || ready || phase === 'WAITING_FOR_CONNECTION' ? jobGates(job, now) : []
  const offered = phase === 'IN_PROGRESS' && view.flow === 'pull'
  const own = [
    ready && job.launching
      ? placeInSpread(
          { place, places: job.launching.places, reachedAt: placeReachedAt(job.launching, place) },
          closedUntil(ofJob) ?? now,
        )
      : undefined,
    waits && !ready ? retryPause(view.retryAt, view.attempt, now) : undefined,
    waits && !view.everLaunched ? sameOperationLive(view.holder, postponed(view)) : undefined,
    deviceAway(phase, { byAsking: view.flow === 'pull', ...view.device }),
    offered ? redeliveryPause(view.heardAt, view.redeliveryMs, now) : undefined,
    withSender(phase, ready, deadlineAt),
    awaitingAcknowledgement(phase, deadlineAt),
    awaitingAnswer(phase, deadlineAt),
  ]
  const gates = [...ofJob, ...own].filter(each => each !== undefined)
  const free = limit(ready, gates)
  return free ? [...gates, free] : gates
}

/** A place that comes at the opening is not held by the spread: the closed window says it all. */
function closedUntil(gates: readonly Gate[]): Instant | null {
  return gates.find(({ gate }) => gate === 'windowClosed')?.liftsAt ?? null
}

function stateOf({ phase, attempt, everLaunched, job }: HeldOperation): OperationState {
  return { phase, attempt, everLaunched, jobClosing: isCancelling(job.status) }
}

function postponed(view: HeldOperation): boolean {
  return nameObservation(stateOf(view), view.rules, 'slotTaken') === 'postpone'
}

/** How a job's gate opens that only an event opens. */
const JOB_MOVES: Partial<Record<JobStatus, NextMove>> = {
  IDLE: move('activateNow', 'Activating the job opens it: PUT with "active": true.'),
  PAUSED: move('activateNow', 'Resuming the job opens it: PUT with "active": true.'),
  CANCELLING_BY_USER: move('userCancel', 'It is cancelled with the rest of its job.'),
  CANCELLING_BY_ENGINE: move('stopReached', 'It is cancelled with the rest of its job, whose stop has come.'),
}

function nextOfPhase(view: HeldOperation, held: readonly Gate[], now: Instant): NextMove[] {
  const { phase, job, place } = view
  const opening = held.some(({ gate }) => gate === 'notActive' || gate === 'paused' || gate === 'jobCancelling')
  const ofJob = opening ? JOB_MOVES[job.status] : undefined
  if (ofJob && isCancelling(job.status)) return [ofJob]
  switch (phase) {
    case 'PENDING':
    case 'BETWEEN_ATTEMPTS':
      return ofJob ? [ofJob] : [nextLaunch(view, held, now)]
    case 'QUEUED':
      if (place !== null)
        return ofJob ? [ofJob] : [move('resent', 'The request is sent again.', knownOpening(held, now))]
      return [
        move('sent', 'The sender reports that the request has left.'),
        move('away', 'The sender finds the device away, or the device fetches its requests.'),
        ...deadline(view),
      ]
    case 'WAITING_FOR_CONNECTION':
      return [
        ...(ofJob ? [ofJob] : []),
        held.some(({ gate }) => gate === 'deviceAway')
          ? deviceComes(view, held)
          : move(
              'connected',
              'The device is connected, and is sent to once the gates are open.',
              knownOpening(held, now),
            ),
        ...deadline(view),
      ]
    case 'WAITING_FOR_ACK':
      return [
        move('acknowledged', 'The device acknowledges the request, or reports a first part.'),
        move('final', 'The device answers at once.'),
        ...deadline(view),
      ]
    case 'IN_PROGRESS':
      return [move('final', 'The device answers, with a result.'), ...deadline(view)]
    default:
      return []
  }
}

function nextLaunch(view: HeldOperation, held: readonly Gate[], now: Instant): NextMove {
  const { job } = view
  if (job.status === 'SCHEDULED') {
    const resolving = job.unresolved > 0
    const words = resolving
      ? 'The job starts once its target is resolved and its start has come.'
      : 'The job starts, and its operations with it.'
    return move('startReached', words, resolving ? null : (job.startAt ?? now))
  }
  const at = knownOpening(held, now)
  if (!view.everLaunched && view.holder) {
    const words = 'Unless the other operation ends first, its launch finds the other one live.'
    return move(postponed(view) ? 'postpone' : 'slotTaken', words, at)
  }
  return move('launch', view.attempt > 0 ? 'The next attempt is launched.' : 'The operation is launched.', at)
}

function deviceComes({ flow }: HeldOperation, held: readonly Gate[]): NextMove {
  const when = held.some(({ gate }) => gate !== 'deviceAway') ? ' after the other gates have opened' : ''
  return flow === 'pull'
    ? move('handedOut', `The device asks for its requests${when}.`)
    : move('connected', `The device connects${when}.`)
}

/** When all gates will be open; null where one of them opens by an event only. The limit opens by itself, and soon. */
function knownOpening(held: readonly Gate[], now: Instant): Instant | null {
  return held
    .filter(({ gate }) => gate !== 'limit' && gate !== 'sameOperationLive')
    .map(({ liftsAt }) => liftsAt)
    .reduce<Instant | null>((latest, at) => (latest === null || at === null ? null : Math.max(latest, at)), now)
}

/** What the deadline of the attempt will be, by the very naming that judges it then. */
function deadline(view: HeldOperation): NextMove[] {
  if (view.deadlineAt === null) return []
  const event = nameObservation(stateOf(view), view.rules, 'deadlineOver')
  const words =
    event === 'retry'
      ? `Without an answer by then the attempt is given up, and attempt ${view.attempt + 1} of ${view.rules.retries + 1} follows.`
      : 'Without an answer by then it ends as TIMEOUT_CANCELLED.'
  return [move(event, words, view.deadlineAt)]
}

/** What ends it whatever holds it. */
function ends({ job }: HeldOperation): NextMove[] {
  if (job.stopAt === null || isCancelling(job.status) || job.status === 'IDLE') return []
  return [move('stopReached', 'The stop of the job cancels what is still open then.', job.stopAt)]
}
