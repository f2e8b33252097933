/**
 * The gates of an operation: each condition that can hold it back, as a pure predicate that says so in words and, where that is known, when
 * it lifts. Refuses to open or close anything.
 *
 * `why` asks them all. Whoever launches or hands out asks those of the job, by `jobGates` behind the gate lock, and `redeliveryPause`. What
 * else holds one operation among many holds it in the rows that a claim goes over, and is only told of here: `placeInSpread` by the places
 * that its job has reached (`launching.ts`), `retryPause` by its timer, `sameOperationLive` by the key of the slot, `limit` by the free send
 * slots. A test has the dispatcher launch what none but `limit` holds, and nothing else.
 */
import { type Instant, writeInstant } from './instants.ts'
import { FINAL_JOB_STATUSES, type JobStatus } from './job.ts'
import type { OperationPhase } from './operation.ts'
import { isOpen, nextOpening, type Window } from './window.ts'

/** Every gate there is, in the order in which they are told. */
export const GATES = [
  'notActive',
  'targetUnresolved',
  'beforeStart',
  'paused',
  'jobCancelling',
  'jobEnded',
  'stopReached',
  'windowClosed',
  'placeInSpread',
  'retryPause',
  'sameOperationLive',
  'deviceAway',
  'redeliveryPause',
  'withSender',
  'awaitingAcknowledgement',
  'awaitingAnswer',
  'limit',
] as const
export type GateName = (typeof GATES)[number]

/** A gate that is closed, and why. */
export interface Gate {
  readonly gate: GateName
  /** one plain sentence or two */
  readonly reason: string
  /** the figures behind the sentence; instants in ISO 8601 UTC */
  readonly fields: Readonly<Record<string, string | number | boolean | null>>
  /** the earliest instant at which it opens by itself; null where only an event opens it, or nobody can know */
  readonly liftsAt: Instant | null
}

const gate = (name: GateName, reason: string, fields: Gate['fields'] = {}, liftsAt: Instant | null = null): Gate => ({
  gate: name,
  reason,
  fields,
  liftsAt,
})

/** A predicate holds by answering the gate it closes. */
type Holds = Gate | undefined

const text = (at: Instant | null) => (at === null ? null : writeInstant(at))

/** Holds everything of a job that was never activated, or was deactivated before its start. */
export function notActive({ status }: { readonly status: JobStatus }): Holds {
  return status === 'IDLE' ? gate('notActive', 'The job is not active.', { jobStatus: status }) : undefined
}

/** Holds everything of a job whose tag or filter has not been resolved yet. */
export function targetUnresolved({ unresolved }: { readonly unresolved: number }): Holds {
  return unresolved > 0
    ? gate('targetUnresolved', 'The target of the job is still being resolved.', { parts: unresolved })
    : undefined
}

/** Holds everything of an active job that has not started. */
export function beforeStart(
  { status, startAt }: { readonly status: JobStatus; readonly startAt: Instant | null },
  now: Instant,
): Holds {
  if (status !== 'SCHEDULED') return undefined
  const due = startAt === null || startAt <= now
  return gate(
    'beforeStart',
    due ? 'The start of the job has come; it is being started.' : 'The job has not started yet.',
    { startDate: text(startAt) },
    startAt === null ? null : Math.max(startAt, now),
  )
}

/** Holds what was not sent of a paused job. */
export function paused({ status, pausedAt }: Pick<GatedJob, 'status' | 'pausedAt'>): Holds {
  if (status !== 'PAUSED') return undefined
  const since = typeof pausedAt === 'number' && { pausedDate: writeInstant(pausedAt) }
  return gate('paused', 'The job is paused.', { jobStatus: status, ...since })
}

/** Holds everything of a job that is being cancelled, for good. */
export function jobCancelling({ status }: { readonly status: JobStatus }): Holds {
  if (status !== 'CANCELLING_BY_USER' && status !== 'CANCELLING_BY_ENGINE') return undefined
  return gate('jobCancelling', 'The job is being cancelled, and this operation with it.', { jobStatus: status })
}

/** Holds what is left of a job that has ended, which is nothing. */
export function jobEnded({ status }: { readonly status: JobStatus }): Holds {
  const ended = (FINAL_JOB_STATUSES as readonly JobStatus[]).includes(status)
  return ended ? gate('jobEnded', 'The job has ended.', { jobStatus: status }) : undefined
}

/** Holds what was not sent of a job whose stop has come, until its cancelling begins. */
export function stopReached(
  { status, stopAt }: { readonly status: JobStatus; readonly stopAt: Instant | null },
  now: Instant,
): Holds {
  if (status !== 'IN_PROGRESS' && status !== 'PAUSED') return undefined
  if (stopAt === null || stopAt > now) return undefined
  return gate('stopReached', 'The stop of the job has come; it is being cancelled.', { stopDate: text(stopAt) })
}

/** Holds what was not sent while the window is closed; lifts when it opens next. */
export function windowClosed(window: Window | undefined, now: Instant): Holds {
  if (isOpen(window, now)) return undefined
  const opensAt = nextOpening(window, now)
  return gate('windowClosed', 'The window of the job is closed.', { opensDate: text(opensAt) }, opensAt)
}

/** What decides whether anything of a job may be launched or handed out. */
export interface GatedJob {
  readonly status: JobStatus
  readonly startAt: Instant | null
  readonly stopAt: Instant | null
  /** parts of the target still to be resolved */
  readonly unresolved: number
  readonly window: Window | undefined
  /** since when it is paused, where somebody is to be told */
  readonly pausedAt?: Instant | null
}

/** The closed gates of a job that hold all of its operations; none: its operations may go, each in its turn. */
export function jobGates(job: GatedJob, now: Instant): Gate[] {
  return [
    notActive(job),
    targetUnresolved(job),
    beforeStart(job, now),
    paused(job),
    jobCancelling(job),
    jobEnded(job),
    stopReached(job, now),
    windowClosed(job.window, now),
  ].filter(each => each !== undefined)
}

/** Holds an operation whose place the spread has not reached. */
export function placeInSpread(
  place: { readonly place: number; readonly places: number; readonly reachedAt: Instant },
  now: Instant,
): Holds {
  if (place.reachedAt <= now) return undefined
  return gate(
    'placeInSpread',
    'The launches of the job are spread over time, and this operation is not yet due.',
    { place: place.place, places: place.places, dueDate: text(place.reachedAt) },
    place.reachedAt,
  )
}

/** Holds an operation between two attempts, or after a launch that was put off, until its pause is over. */
export function retryPause(retryAt: Instant | null, attempt: number, now: Instant): Holds {
  if (retryAt === null) return undefined
  return gate(
    'retryPause',
    'The last attempt is over, and the pause before the next one is not.',
    { attempt, retryDate: text(retryAt) },
    Math.max(retryAt, now),
  )
}

/** Holds an operation whose entity has another live operation of the same name: launched now, it would not be sent. */
export function sameOperationLive(
  holder: { readonly jobId: string; readonly operationId: string } | null,
  postpones: boolean,
): Holds {
  if (holder === null) return undefined
  const outcome = postpones
    ? 'its launch would be put off by the pause between retries'
    : 'launched now it would end as ALREADY_IN_PROGRESS'
  return gate('sameOperationLive', `The same operation of another job is live on this entity; ${outcome}.`, {
    ...holder,
  })
}

/** Holds a launched operation until its device connects or asks: one that is connected is held by other gates. `byAsking`: the device fetches its requests. */
export function deviceAway(
  phase: OperationPhase,
  device: { readonly byAsking: boolean; readonly connected: boolean; readonly seenAt: Instant | null },
): Holds {
  if (phase !== 'WAITING_FOR_CONNECTION') return undefined
  if (device.connected && !device.byAsking) return undefined
  const reason = device.byAsking
    ? 'The device fetches its requests, and has not asked since this one is there for it.'
    : 'The device is not connected.'
  return gate('deviceAway', reason, { connected: device.connected, seenDate: text(device.seenAt) })
}

/** Holds back what was handed out and not heard of from being offered again too soon. */
export function redeliveryPause(heardAt: Instant | null, redeliveryMs: number, now: Instant): Holds {
  const againAt = heardAt === null ? null : heardAt + redeliveryMs
  if (againAt !== null && againAt <= now) return undefined
  return gate(
    'redeliveryPause',
    'The request was handed out a moment ago; it is offered again only where nothing is heard of it.',
    { againDate: text(againAt) },
    againAt,
  )
}

/** Holds an operation that is on its way from a node to its device. */
export function withSender(phase: OperationPhase, ready: boolean, deadlineAt: Instant | null): Holds {
  if (phase !== 'QUEUED' || ready) return undefined
  return gate('withSender', 'The request is being sent to the device.', { deadlineDate: text(deadlineAt) })
}

/** Holds an operation that was sent until the device acknowledges it. */
export function awaitingAcknowledgement(phase: OperationPhase, deadlineAt: Instant | null): Holds {
  if (phase !== 'WAITING_FOR_ACK') return undefined
  const limit = deadlineAt === null ? ' There is no time limit.' : ''
  return gate(
    'awaitingAcknowledgement',
    `The request was sent, and the device has not acknowledged it.${limit}`,
    { deadlineDate: text(deadlineAt) },
    deadlineAt,
  )
}

/** Holds an operation that its device works on until the final answer. */
export function awaitingAnswer(phase: OperationPhase, deadlineAt: Instant | null): Holds {
  if (phase !== 'IN_PROGRESS') return undefined
  return gate(
    'awaitingAnswer',
    'The device has the request, and its final answer is awaited.',
    { deadlineDate: text(deadlineAt) },
    deadlineAt,
  )
}

/** Holds an operation that may go, and waits for nothing but a free place among those that are being sent. */
export function limit(ready: boolean, others: readonly Gate[]): Holds {
  if (!ready || others.length > 0) return undefined
  return gate('limit', 'The operation may go, and is launched as soon as the service can send one more request.')
}
