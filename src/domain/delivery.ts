/**
 * What a delivery is: one notification of a job on its way to one receiver, and how it goes on after each attempt. Refuses to know how
 * anything is sent. Serves: Events, Job request (`callback`, `notify`).
 */
import { jobId } from './identity.ts'
import type { ExecutionDates, JobSummary } from './job-report.ts'

/** By which way a notification goes. */
export const DELIVERY_CHANNELS = ['callback', 'mail', 'trap'] as const
export type DeliveryChannel = (typeof DELIVERY_CHANNELS)[number]

/** What is told, in the order in which it is told. */
export const DELIVERY_EVENTS = ['jobStarted', 'jobFinished'] as const
export type DeliveryEvent = (typeof DELIVERY_EVENTS)[number]

/** OPEN is being tried; DELIVERED was taken by its receiver; GIVEN_UP was tried for as long as is tried. */
export const DELIVERY_STATES = ['OPEN', 'DELIVERED', 'GIVEN_UP'] as const
export type DeliveryState = (typeof DELIVERY_STATES)[number]

/** What can happen to a delivery. `refused` is any attempt without success. */
const DELIVERY_HAPPENINGS = ['taken', 'refused', 'refusedTooLong', 'repeat'] as const
export type DeliveryHappening = (typeof DELIVERY_HAPPENINGS)[number]

interface DeliveryRow {
  readonly from: DeliveryState
  readonly event: DeliveryHappening
  readonly to: DeliveryState
}

/** The lifecycle. An attempt that outlived its claim may report on what has ended meanwhile: that changes nothing. */
const DELIVERY_LIFECYCLE: readonly DeliveryRow[] = [
  { from: 'OPEN', event: 'taken', to: 'DELIVERED' },
  { from: 'OPEN', event: 'refused', to: 'OPEN' },
  { from: 'OPEN', event: 'refusedTooLong', to: 'GIVEN_UP' },
  { from: 'OPEN', event: 'repeat', to: 'OPEN' },
  { from: 'DELIVERED', event: 'taken', to: 'DELIVERED' },
  { from: 'DELIVERED', event: 'refused', to: 'DELIVERED' },
  { from: 'DELIVERED', event: 'refusedTooLong', to: 'DELIVERED' },
  { from: 'DELIVERED', event: 'repeat', to: 'OPEN' },
  { from: 'GIVEN_UP', event: 'taken', to: 'DELIVERED' },
  { from: 'GIVEN_UP', event: 'refused', to: 'GIVEN_UP' },
  { from: 'GIVEN_UP', event: 'refusedTooLong', to: 'GIVEN_UP' },
  { from: 'GIVEN_UP', event: 'repeat', to: 'OPEN' },
]

/** The state after what happened. */
export function decideDelivery(state: DeliveryState, event: DeliveryHappening): DeliveryState {
  const row = DELIVERY_LIFECYCLE.find(each => each.from === state && each.event === event)
  if (!row) throw new Error(`no lifecycle row for ${event} in ${state}`)
  return row.to
}

/** What came of one attempt: `status` is that of HTTP or SMTP where there was one, `error` is for people. */
export type DeliveryOutcome =
  | { readonly taken: true; readonly status?: number }
  | { readonly taken: false; readonly status?: number; readonly error: string }

/** Names what an attempt means for a delivery that has been tried since `triedSince`. Spans in milliseconds. */
export function deliveryHappening(
  outcome: DeliveryOutcome,
  triedSince: Date,
  now: Date,
  giveUpAfterMs: number,
): DeliveryHappening {
  if (outcome.taken) return 'taken'
  return now.getTime() - triedSince.getTime() >= giveUpAfterMs ? 'refusedTooLong' : 'refused'
}

/**
 * The id of a delivery: a UUID of version 8 that holds the job's number, the channel and the event. A job cannot be told twice, and what
 * is told first sorts first.
 */
export function deliveryId(job: bigint, channel: DeliveryChannel, event: DeliveryEvent): string {
  const digits = jobId(job)
  const kind = `${DELIVERY_CHANNELS.indexOf(channel)}${DELIVERY_EVENTS.indexOf(event)}`
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-8${digits.slice(12, 15)}-8${digits.slice(15)}${kind}-000000000000`
}

/** What people are told of a job's end: the body of a mail or trap.  */
export interface JobNotice {
  readonly id: string
  readonly name: string
  readonly user: string
  readonly userNotes?: string
  readonly execution: ExecutionDates
  readonly summary: JobSummary
}
