/**
 * Tells clients that their jobs started and ended: makes the deliveries in the transaction that moves the job, and repeats one on
 * demand. Refuses to send; the delivery worker does. Serves: Events, Job request (`callback`, `notify`).
 */
import type { Counters } from '../domain/counters.ts'
import {
  type DeliveryChannel,
  type DeliveryEvent,
  decideDelivery,
  deliveryId,
  type JobNotice,
} from '../domain/delivery.ts'
import { jobId } from '../domain/identity.ts'
import { type ExecutionDates, executionDates, type JobSummary, jobSummary } from '../domain/job-report.ts'
import type { Database, Transaction } from '../store/database.ts'
import {
  insertDeliveries,
  type LoggedDelivery,
  lockDelivery,
  type NewDelivery,
  type OpenDelivery,
  readDelivery,
  readOpenDeliveries,
  reopenDelivery,
} from '../store/deliveries.ts'
import type { DeliveryQueue, QueuedDelivery } from '../store/delivery-queue.ts'
import { readCounters, type StoredJob } from '../store/jobs.ts'
import type { JobNotices } from './job-settling.ts'

export interface DeliveryEnqueuerOptions {
  readonly queue: DeliveryQueue
  /** the hosts that answer for mail and traps; null where not configured */
  readonly mailHost: string | null
  readonly trapHost: string | null
}

/** Makes the deliveries of the jobs it is told of; whoever tells it twice is heard once. Entered in the caller's transaction. */
export function createDeliveryEnqueuer(options: DeliveryEnqueuerOptions): JobNotices {
  async function enqueue(tx: Transaction, deliveries: readonly NewDelivery[], now: Date): Promise<void> {
    if (deliveries.length === 0) return
    const made = await insertDeliveries(tx, deliveries, now)
    await options.queue.enter(tx, deliveries.filter(({ delivery }) => made.has(delivery)).map(queued))
  }

  return {
    async started(tx, jobs, now) {
      await enqueue(tx, jobs.filter(calls).map(startedCallback), now)
    },
    async finished(tx, jobs, now) {
      const told = jobs.filter(job => calls(job) || job.request.notify)
      if (told.length === 0) return
      const counters = await readCounters(
        tx,
        told.map(job => job.job),
      )
      const deliveries = told.flatMap(job => {
        const summary = summaryOf(job, counters)
        const notice = (channel: DeliveryChannel, host: string | null, receiver: string) =>
          job.request.notify && host !== null ? [noticeOf(job, summary, channel, host, receiver)] : []
        return [
          ...(calls(job) ? [finishedCallback(job, summary)] : []),
          ...notice('mail', options.mailHost, job.userEmail),
          ...notice('trap', options.trapHost, ''),
        ]
      })
      await enqueue(tx, deliveries, now)
    },
  }
}

/** How a delivery stands in the queue: after the others of its job and channel, among the few of its host. */
export function queued(delivery: Pick<NewDelivery, 'delivery' | 'job' | 'channel' | 'host'>): QueuedDelivery {
  return {
    delivery: delivery.delivery,
    key: `${jobId(delivery.job)}/${delivery.channel}`,
    group: `${delivery.channel}/${delivery.host}`,
  }
}

/**
 * Delivers once more what ended, and at once what waits for its next attempt. Answers the delivery as it then stands, or undefined
 * where the organization has none of this id.
 */
export function repeatDelivery(
  database: Database,
  queue: DeliveryQueue,
  organization: number,
  delivery: string,
  now: Date,
): Promise<LoggedDelivery | undefined> {
  return database.transaction(async tx => {
    const found = await lockDelivery(tx, organization, delivery)
    if (!found) return undefined
    const entry = queued(found)
    if (found.state === 'OPEN') await queue.hasten(tx, entry.key)
    else if (decideDelivery(found.state, 'repeat') === 'OPEN') {
      await reopenDelivery(tx, delivery, now)
      await queue.enterAgain(tx, [entry], 0)
    }
    return readDelivery(tx, organization, delivery)
  })
}

const enteredAtOnce = 1_000
const beforeAll = { createdAt: new Date(0), delivery: '00000000-0000-0000-0000-000000000000' }

/**
 * Enters every open delivery that the queue does not hold, as after a restore of the log alone. What it holds is left as it is; what
 * was repeated may be entered twice, and is then dropped when it has been delivered.
 */
export async function reenterDeliveries(database: Database, queue: DeliveryQueue): Promise<void> {
  for (let after: Pick<OpenDelivery, 'createdAt' | 'delivery'> | undefined = beforeAll; after; ) {
    const from: Pick<OpenDelivery, 'createdAt' | 'delivery'> = after
    after = await database.transaction(async tx => {
      const open = await readOpenDeliveries(tx, from, enteredAtOnce)
      await queue.enter(tx, open.map(queued))
      return open.length < enteredAtOnce ? undefined : open.at(-1)
    })
  }
}

const calls = (job: StoredJob) => job.request.callback !== ''

function callbackOf(job: StoredJob, event: DeliveryEvent, told: object, complete: boolean): NewDelivery {
  return {
    delivery: deliveryId(job.job, 'callback', event),
    organization: job.organization,
    job: job.job,
    channel: 'callback',
    event,
    receiver: job.request.callback,
    host: new URL(job.request.callback).host,
    body: JSON.stringify({ job: told }),
    complete,
  }
}

function startedCallback(job: StoredJob): NewDelivery {
  const { name, parameters, notify } = job.request
  const told = {
    id: jobId(job.job),
    request: { name, parameters, notify, user: job.userEmail },
    report: { execution: { ...executionOf(job), finishedDate: '' } },
  }
  return callbackOf(job, 'jobStarted', told, true)
}

function finishedCallback(job: StoredJob, summary: JobSummary): NewDelivery {
  const told = {
    id: jobId(job.job),
    request: { ...job.request, user: job.userEmail },
    report: { execution: executionOf(job), summary },
  }
  return callbackOf(job, 'jobFinished', told, false)
}

function noticeOf(
  job: StoredJob,
  summary: JobSummary,
  channel: DeliveryChannel,
  host: string,
  receiver: string,
): NewDelivery {
  const { name, userNotes } = job.request
  const notice: JobNotice = {
    id: jobId(job.job),
    name,
    user: job.userEmail,
    ...(userNotes !== undefined && { userNotes }),
    execution: executionOf(job),
    summary,
  }
  return {
    delivery: deliveryId(job.job, channel, 'jobFinished'),
    organization: job.organization,
    job: job.job,
    channel,
    event: 'jobFinished',
    receiver,
    host,
    body: JSON.stringify(notice),
    complete: true,
  }
}

function executionOf({ activatedAt, startedAt, finishedAt }: StoredJob): ExecutionDates {
  return executionDates(activatedAt, startedAt, finishedAt)
}

function summaryOf(job: StoredJob, counters: ReadonlyMap<bigint, Counters>): JobSummary {
  const counted = counters.get(job.job)
  if (!counted) throw new Error(`job ${jobId(job.job)} has no counters`)
  return jobSummary(job, counted)
}
