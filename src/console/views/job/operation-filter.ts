/** Which operations of a job are shown: by what they are counted as, or by how they failed. It becomes a search, or the whole list. */

import type { FoundOperations, OperationView } from '../../../contract/client/client.ts'
import type { PageAsked, PageRead } from '../../parts/row-places.ts'
import type { Ask } from '../../request.ts'
import { ask, asking } from '../../request.ts'
import { readable } from '../../words.ts'

/** One group of failures, as the filter of the table. */
export interface FailureChosen {
  readonly status: string
  readonly result: string
  readonly step: string | null
  readonly stepDescription: string
  readonly description: string
  /** what its operations are counted as; null in addresses that were written before it was told */
  readonly counter: string | null
}

/** The status of a failure in words, where its result does not say it already. */
export const beside = (status: string, result: string): string =>
  status === 'FINISHED' || status === result ? '' : readable(status)

/** What the address says of the operations shown. */
export interface Chosen {
  /** the key of a part of the bar */
  readonly share: string | null
  readonly failure: FailureChosen | null
  /** an entity, by its id */
  readonly entity: string
}

/** The statuses that a part of the bar stands for, where its operations are open. */
const OPEN_STATUSES: Readonly<Record<string, readonly string[]>> = {
  scheduled: ['PENDING'],
  pendingExecution: ['QUEUED', 'WAITING_FOR_ACK'],
  waitingForConnection: ['WAITING_FOR_CONNECTION'],
  started: ['IN_PROGRESS'],
}

/** Of these operations, the ended ones: their counters as the bar calls them. */
const COUNTERS: Readonly<Record<string, string>> = {
  ootSuccessful: 'outOfTimeSuccessful',
  ootError: 'outOfTimeError',
}

type SearchName = 'POST /search/entities/operations' | 'POST /search/entities/operations/history'

export interface OperationSearch {
  readonly name: SearchName
  readonly filter: Record<string, unknown>
}

/** The search that finds what is chosen; null where all of the job is shown. */
export function searchOf(jobId: string, { share, failure, entity }: Chosen): OperationSearch | null {
  const parts: Record<string, unknown>[] = [{ eq: { 'operations.jobId': jobId } }]
  if (entity !== '') parts.push({ eq: { 'operations.entityId': entity } })
  if (failure) {
    parts.push({ eq: { 'operations.status': failure.status } }, { eq: { 'operations.result': failure.result } })
    if (failure.step === null) parts.push({ exists: { 'operations.failedStep.name': false } })
    else {
      parts.push({ eq: { 'operations.failedStep.name': failure.step } })
      parts.push({ eq: { 'operations.failedStep.description': failure.stepDescription } })
    }
    const described = { 'operations.description': failure.description }
    const bare = { or: [{ exists: { 'operations.description': false } }, { eq: described }] }
    parts.push(failure.description === '' ? bare : { eq: described })
    parts.push(
      failure.counter === null
        ? { nin: { 'operations.counter': ['successful', 'outOfTimeSuccessful'] } }
        : { eq: { 'operations.counter': failure.counter } },
    )
    return { name: 'POST /search/entities/operations/history', filter: { and: parts } }
  }
  const open = share === null ? undefined : OPEN_STATUSES[share]
  if (open) {
    parts.push({ in: { 'operations.status': open } })
    return { name: 'POST /search/entities/operations', filter: { and: parts } }
  }
  if (share !== null) {
    parts.push({ eq: { 'operations.counter': COUNTERS[share] ?? share } })
    return { name: 'POST /search/entities/operations/history', filter: { and: parts } }
  }
  return null
}

/** The request for all that is chosen, as it is shown and downloaded. */
export function wholeOf(jobId: string, search: OperationSearch | null): Ask<unknown> {
  if (!search) return asking('GET /operation/jobs/{jobId}/operations', { path: { jobId } })
  return asking(search.name, { body: { filter: search.filter } })
}

/** One page of what is chosen. */
export async function readOperations(
  jobId: string,
  search: OperationSearch | null,
  { number, size, cursor }: PageAsked,
  signal: AbortSignal,
): Promise<PageRead<OperationView>> {
  const place = cursor === undefined ? { start: number, size } : { cursor, size }
  const found = search
    ? await ask(
        asking(search.name, { body: { filter: search.filter, limit: place } }) as Ask<FoundOperations | undefined>,
        signal,
      )
    : await ask(asking('GET /operation/jobs/{jobId}/operations', { path: { jobId }, query: place }), signal)
  return { rows: found?.operations ?? [], of: found?.page.of ?? 1, cursor: found?.page.cursor }
}
