/**
 * What asks for a job once more, on the devices on which it had no success: the same for the console and the command line. Pure: it
 * asks nobody.
 */
import { RESOURCE_TYPES, type ResourceType } from '../words.ts'
import type { JobRequestSchema, JobSummaryView, JobView } from './client.ts'

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

/** Whether devices of the job were listed with parameters of their own: one request for what is left would give all of them the same. */
export function hasOwnParameters({ request }: Pick<JobView, 'request'>): boolean {
  const { target } = request as { target?: { append?: { entitiesWithParameters?: readonly unknown[] } } }
  return (target?.append?.entitiesWithParameters ?? []).length > 0
}

/** The same request for those that had no success in these ways: at once, with the limits and the stop of the first where it counts from the start. */
export function retryRequest(
  { id, request }: Pick<JobView, 'id' | 'request'>,
  ways: readonly RetryWay[],
): JobRequestSchema {
  const { name, parameters, operationParameters, notify, callback, schedule } = request as Record<string, unknown> & {
    name: string
    schedule?: { stop?: { delayed?: number }; window?: unknown; scattering?: unknown }
  }
  const { stop, window, scattering } = schedule ?? {}
  const kept = {
    ...(stop?.delayed !== undefined && { stop: { delayed: stop.delayed } }),
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
