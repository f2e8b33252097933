/**
 * What asks for a job once more, on the devices on which it had no success: the same for the console and the command line. Pure: it
 * asks nobody.
 */
import { RESOURCE_TYPES, type ResourceType } from '../words.ts'
import type { JobRequestSchema, JobSummaryView, JobView, SearchBody } from './client.ts'

/** How operations come to have no success, in the order in which it is told. */
export const RETRY_WAYS = ['failed', 'timed-out', 'stopped', 'cancelled', 'busy'] as const
export type RetryWay = (typeof RETRY_WAYS)[number]

/** What is tried again unless somebody says otherwise: what was cancelled was not wanted, and what was busy has run elsewhere. */
export const RETRIED_UNLESS_TOLD: readonly RetryWay[] = ['failed', 'timed-out', 'stopped']

/** What they are counted as, by the names that searches and failure groups have for it. */
const COUNTERS: Readonly<Record<RetryWay, readonly string[]>> = {
  failed: ['error', 'outOfTimeError'],
  'timed-out': ['byTimeout', 'byExternalTimeout'],
  stopped: ['byEngine'],
  cancelled: ['byUser', 'byExternal'],
  busy: ['byAlreadyInProgress'],
}

/** How many operations of a job came to have no success in each way. */
export function unsuccessfulByWay({ finished, finishedOutOfTime }: JobSummaryView): Readonly<Record<RetryWay, number>> {
  const { error, cancelled } = finished
  return {
    failed: error + finishedOutOfTime.error,
    'timed-out': cancelled.byTimeout + cancelled.byExternalTimeout,
    stopped: cancelled.byEngine,
    cancelled: cancelled.byUser + cancelled.byExternal,
    busy: cancelled.byAlreadyInProgress,
  }
}

/** Whether devices of the job can have been listed at all: those that a filter found all have the parameters of the request. */
export function mayHaveOwnParameters({ request }: Pick<JobView, 'request'>): boolean {
  const { target } = request as { target?: { append?: { filter?: unknown }; filter?: unknown } }
  return (target?.append?.filter ?? target?.filter) === undefined
}

/**
 * Finds one device that ran with parameters of its own and had no success in these ways, if there is any: one request for what is left
 * would give all of them the same. Those listed after the job was made stand in no request.
 */
export function ownParametersSearch(
  { id }: Pick<JobView, 'id'>,
  ways: readonly RetryWay[],
): { readonly body: SearchBody } {
  const counters = ways.flatMap(way => COUNTERS[way])
  const parts = [
    { eq: { 'operations.jobId': id } },
    { in: { 'operations.counter': counters } },
    { eq: { 'operations.ownParameters': true } },
  ]
  return { body: { filter: { and: parts }, limit: { size: 1 }, select: [{ name: 'operations.entityId' }] } }
}

interface Schedule {
  readonly stop?: { readonly delayed?: number; readonly date?: string }
  readonly window?: unknown
  readonly scattering?: unknown
}

const scheduleOf = ({ request }: Pick<JobView, 'request'>): Schedule =>
  (request as { schedule?: Schedule }).schedule ?? {}

/** The date at which the job had to stop, where it has passed: no retry can keep it. */
export function passedStop(job: Pick<JobView, 'request'>, now = Date.now()): string | undefined {
  const { date } = scheduleOf(job).stop ?? {}
  return date !== undefined && Date.parse(date) <= now ? date : undefined
}

/** The same request for those that had no success in these ways: at once, with the limits and the stop of the first, unless that has passed. */
export function retryRequest(
  job: Pick<JobView, 'id' | 'request'>,
  ways: readonly RetryWay[],
  now = Date.now(),
): JobRequestSchema {
  const { id, request } = job
  const { name, parameters, operationParameters, notify, callback } = request as Record<string, unknown> & {
    name: string
  }
  const { stop, window, scattering } = scheduleOf(job)
  const kept = {
    ...(stop !== undefined && passedStop(job, now) === undefined && { stop }),
    ...(window !== undefined && { window }),
    ...(scattering !== undefined && { scattering }),
  }
  const counted = ways.flatMap(way => COUNTERS[way]).map(counter => `${id}/${counter}`)
  return {
    name,
    ...(parameters !== undefined && { parameters: parameters as Record<string, unknown> }),
    target: { append: { filter: { in: { 'operations.unsuccessfulIn': counted } } } },
    ...(Object.keys(kept).length > 0 && { schedule: kept as NonNullable<JobRequestSchema['schedule']> }),
    ...(operationParameters !== undefined && {
      operationParameters: operationParameters as NonNullable<JobRequestSchema['operationParameters']>,
    }),
    ...(notify === true && { notify }),
    ...(typeof callback === 'string' && callback !== '' && { callback }),
    userNotes: `Again for what did not succeed in ${id}: ${ways.join(', ')}`,
    active: true,
  }
}

/** The kind of device that the job was kept to, where it was. */
export function resourceTypeOf({ request: { resourceType } }: Pick<JobView, 'request'>): {
  resourceType?: ResourceType
} {
  const known = RESOURCE_TYPES.find(each => each === resourceType)
  return known ? { resourceType: known } : {}
}
