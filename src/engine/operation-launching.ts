/**
 * Launches claimed operations in the transaction of their claim: judges them, takes their live slots, moves them on and writes the
 * requests that their devices are to get. Refuses to choose what is claimed, and to send.
 */
import type { Flow } from '../domain/flow.ts'
import { type OperationKey, operationId } from '../domain/identity.ts'
import { FIRST_PLACE } from '../domain/launching.ts'
import { type Claimed, enqueueReady } from '../store/claims.ts'
import type { Transaction } from '../store/database.ts'
import { type JobContent, readJobContents } from '../store/job-contents.ts'
import { type JobRules, readJobRules } from '../store/jobs.ts'
import { freeLiveSlots, takeAllLiveSlots, takeLiveSlots } from '../store/live-slots.ts'
import { type DeviceNumbers, type LaunchSubject, readLaunchSubjects } from '../store/operation-devices.ts'
import { armTimers, type Timer } from '../store/operation-timers.ts'
import { assumeUnlaunched, inLockOrder, keyText, type OperationRow, readOpenOperations } from '../store/operations.ts'
import type { Clock } from './clock.ts'
import type { OperationRequest } from './connector.ts'
import { addressOf, type Due, LaunchBatch, needsSlot } from './launch-batch.ts'
import { type Committed, decide, inBatch, jobOfBatch, openAs } from './operation-batch.ts'
import { applyHappenings } from './operation-transitions.ts'
import { writeAll } from './operation-writing.ts'
import type { HasRoom, RoutedAddress } from './request-sender.ts'

/** When what this node claimed is looked after by whoever comes first. */
const SEND_TIMER_MS = 6_000

export interface LaunchingParts {
  readonly clock: Clock
  readonly node: number
  readonly openKey: (sealed: Buffer) => string
}

/** What became of claimed operations. */
export interface Launched {
  readonly requests: readonly (OperationRequest & { readonly flow: Flow })[]
  /** just before the commit: until then nobody else could know of them */
  readonly takenAt: Date
  /** devices for which operations began to wait */
  readonly waiting: readonly DeviceNumbers[]
  readonly applied: Committed
  /** left as they were: there is no room to send them now */
  readonly held: readonly RoutedAddress[]
}

/**
 * Judges claimed operations, takes their live slots and moves them on; answers what is to be sent, and for what there is no room. What stands
 * behind the first place was never launched, unless it was put back there for want of room: it is taken for unlaunched, and read only where
 * it cannot plainly go. Who was launched before has its live slot already, and who was put off is told by the guard of the write. `trusting`:
 * with all slots taken for free, too, and the transaction undone where any of it is not so.
 */
export async function launch(
  tx: Transaction,
  { trusting, ...parts }: LaunchingParts & { readonly trusting: boolean },
  claimed: readonly Claimed[],
  hasRoom: HasRoom,
  now: Date,
): Promise<Launched> {
  const { first = [], behind = [] } = Object.groupBy(claimed, ({ place }) =>
    place === FIRST_PLACE ? 'first' : 'behind',
  )
  const jobs = [...new Set(claimed.map(({ job }) => job))]
  const [subjects, contents, rules, readRows, assumedRows] = await Promise.all([
    readLaunchSubjects(tx, claimed.toSorted(inLockOrder)),
    readJobContents(tx, jobs),
    readJobRules(tx, jobs),
    readOpenOperations(tx, first),
    assumeUnlaunched(tx, behind),
  ])
  const batch = new LaunchBatch({ node: parts.node, subjects, contents, hasRoom })
  const [read, assumed] = [batch.known(readRows), batch.known(assumedRows)]
  for (const each of read) if (!needsSlot(each)) batch.decide(each)
  const wanting = [...read, ...assumed].filter(each => needsSlot(each) && !batch.has(each) && batch.takeRoom(each))
  const slots = await takeSlots(tx, wanting, trusting)
  for (const each of wanting) if (slots.has(each.text)) batch.launch(each)
  const unsure = assumed.filter(each => !batch.has(each))
  const unsureRows = await readOpenOperations(
    tx,
    unsure.map(({ row }) => row),
  )
  for (const each of [...read, ...batch.known(unsureRows)]) if (!batch.has(each)) batch.decide(each)

  const applied = trusting
    ? applyAll(tx, batch, rules, now)
    : await applyHappenings(tx, batch.happenings, now, { read: batch.rows(), rules })
  const requests: (OperationRequest & { flow: Flow })[] = []
  const queued: OperationRow[] = []
  const waiting: DeviceNumbers[] = []
  for (const { row, text } of applied.written) {
    const { subject, flow, content } = batch.decided.get(text)!
    slots.delete(text)
    if (row.status === 'QUEUED') {
      queued.push(row)
      requests.push(requestOf(row, { subject: subject!, flow: flow!, content }, parts))
    } else if (row.status === 'WAITING_FOR_CONNECTION') {
      waiting.push({ partition: subject!.devicePartition!, entity: subject!.device! })
    }
  }
  // A slot whose operation was cancelled under the claim would be held for ever; one that is there was not as it was taken for, and is read next time.
  const unwritten = [...slots.values()]
  tx.behind(freeLiveSlots(tx, unwritten))
  tx.behind(
    enqueueReady(
      tx,
      unwritten.map(key => ({ ...key, place: FIRST_PLACE })),
    ),
  )
  const takenAt = parts.clock.now()
  const dueAt = new Date(takenAt.getTime() + SEND_TIMER_MS)
  const timers = queued.map((key): Timer => ({ key, dueAt, duty: 'send', node: parts.node }))
  tx.behind(armTimers(tx, timers))
  return { takenAt, applied, held: batch.held, requests, waiting }
}

/** Takes the live slots; answers those that were free, by `keyText`, or all of them, which then are taken for free. */
async function takeSlots(
  tx: Transaction,
  wanting: readonly Due[],
  trusting: boolean,
): Promise<Map<string, OperationKey>> {
  const wanted = wanting
    .map(({ row: { job, partition, entity }, content: { name } }) => ({ job, partition, entity, name }))
    .sort(inLockOrder)
  if (trusting) tx.behind(takeAllLiveSlots(tx, wanted))
  const taken = trusting ? wanted : await takeLiveSlots(tx, wanted)
  return new Map(taken.map(key => [keyText(key), key]))
}

/** Applies what was decided where everything is as it was taken for. */
function applyAll(tx: Transaction, batch: LaunchBatch, rules: ReadonlyMap<bigint, JobRules>, now: Date): Committed {
  const jobs = new Map([...rules].map(([job, rules]) => [job, jobOfBatch(rules)]))
  const operations = [...inBatch(batch.happenings).values()]
  for (const operation of operations) {
    const job = jobs.get(operation.key.job)
    if (!job) continue
    openAs(operation, batch.decided.get(operation.text)!.row, job, false)
    decide(operation, job, now, [])
  }
  return { ...writeAll(tx, operations, jobs, now), rules: [...rules.values()] }
}

function requestOf(
  row: OperationRow,
  { subject, flow, content }: { readonly subject: LaunchSubject; readonly flow: Flow; readonly content: JobContent },
  parts: Pick<LaunchingParts, 'openKey'>,
): OperationRequest & { flow: Flow } {
  // A device that is called over HTTP is shown its key, and a function may call it so; over any other way it has shown its own.
  const isCalled = flow === 'http' || flow === 'function'
  const apiKey = isCalled && subject.apiKeySealed ? parts.openKey(subject.apiKeySealed) : undefined
  return { ...operationRequest(row, subject, content, apiKey), flow }
}

/** The request that goes to a device for an operation; with the device's key where it is to be shown. */
export function operationRequest(
  row: OperationRow,
  subject: LaunchSubject,
  content: JobContent,
  apiKey?: string,
): OperationRequest {
  return {
    key: { job: row.job, partition: row.partition, entity: row.entity },
    id: operationId(row),
    name: content.name,
    parameters: row.parameters ?? content.parameters,
    launchedAt: (row.launchedAt ?? row.startedAt)!.getTime(),
    exchangeMs: content.ackTimeoutMs > 0 ? content.ackTimeoutMs : content.timeoutMs,
    ...(subject.deviceId !== subject.entityId && { entityId: subject.entityId }),
    device: addressOf(subject, content, apiKey),
  }
}
