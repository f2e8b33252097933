/**
 * Launches claimed operations in the transaction of their claim: judges them, takes their live slots, moves them on and writes the
 * requests that their devices are to get. Refuses to choose what is claimed, and to send.
 */
import { chooseFlow, type Flow, functionOf } from '../domain/flow.ts'
import { type OperationKey, operationId } from '../domain/identity.ts'
import type { Transaction } from '../store/database.ts'
import { type JobContent, readJobContents } from '../store/job-contents.ts'
import { freeLiveSlots, takeLiveSlots } from '../store/live-slots.ts'
import { type DeviceNumbers, type LaunchSubject, readLaunchSubjects } from '../store/operation-devices.ts'
import { armTimers, type Timer } from '../store/operation-timers.ts'
import { keyText, type OperationRow, readOpenOperations } from '../store/operations.ts'
import type { Clock } from './clock.ts'
import type { DeviceAddress, OperationRequest } from './connector.ts'
import type { Happening } from './operation-draft.ts'
import { type Applied, applyHappenings } from './operation-transitions.ts'
import type { HasRoom, RoutedAddress } from './request-sender.ts'

/** When what this node claimed is looked after by whoever comes first. */
const SEND_TIMER_MS = 6_000
const NOT_CARRIED = 'No device carries this entity.'

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
  readonly applied: Pick<Applied, 'written' | 'ended'>
  /** left as they were: there is no room to send them now */
  readonly held: readonly RoutedAddress[]
}

/** A claimed operation, and what is known of it. */
interface Due {
  readonly row: OperationRow
  /** its `keyText` */
  readonly text: string
  /** none where its entity is gone */
  readonly subject: LaunchSubject | undefined
  readonly flow: Flow | undefined
  readonly content: JobContent
}

/** Judges claimed operations, takes their live slots and moves them on; answers what is to be sent, and for what there is no room. */
export async function launch(
  tx: Transaction,
  parts: LaunchingParts,
  claimed: readonly OperationKey[],
  hasRoom: HasRoom,
  now: Date,
): Promise<Launched> {
  const [rows, subjectRows, contents] = await Promise.all([
    readOpenOperations(tx, claimed),
    readLaunchSubjects(tx, claimed),
    readJobContents(tx, [...new Set(claimed.map(({ job }) => job))]),
  ])
  const subjects = new Map(subjectRows.map(subject => [keyText(subject), subject]))
  const due = rows
    .filter(row => row.status === 'PENDING' || row.status === 'QUEUED')
    .map((row): Due => {
      const text = keyText(row)
      const subject = subjects.get(text)
      return { row, text, subject, flow: subject && flowOf(subject), content: contents.get(row.job)! }
    })
  const happenings: Happening[] = []
  const wanting: Due[] = []
  const held: RoutedAddress[] = []
  const taken = new Map<string, Due>()
  const take = ({ row: key, flow }: Due, seen: 'launch' | 'resent') => {
    happenings.push({ key, seen, node: parts.node })
    if (flow === 'pull') happenings.push({ key, seen: 'away', flow })
  }
  for (const each of due) {
    const { row, subject, flow, content } = each
    const fits = subject === undefined || row.status === 'QUEUED' || applies(content, subject)
    if (subject && flow && fits) {
      const key = { job: row.job, partition: row.partition, entity: row.entity }
      const routed = { key, flow, device: addressOf(subject, content) }
      if (!hasRoom(routed)) {
        held.push(routed)
        continue
      }
    }
    taken.set(each.text, each)
    if (row.status === 'QUEUED') {
      if (flow) take(each, 'resent')
      else happenings.push({ key: row, seen: 'unreachable', description: NOT_CARRIED })
    } else if (!subject || !fits) happenings.push({ key: row, seen: 'refusedAtLaunch' })
    else if (!flow) happenings.push({ key: row, seen: 'unsupportedAtLaunch', description: NOT_CARRIED })
    else if (row.startedAt === null) wanting.push(each)
    else take(each, 'launch')
  }
  const slots = wanting.map(({ row: { job, partition, entity }, content: { name } }) => ({
    job,
    partition,
    entity,
    name,
  }))
  const free = new Set((await takeLiveSlots(tx, slots)).map(keyText))
  for (const each of wanting) {
    if (free.has(each.text)) take(each, 'launch')
    else happenings.push({ key: each.row, seen: 'slotTaken' })
  }

  const applied = await applyHappenings(tx, happenings, now, { read: [...taken.values()].map(({ row }) => row) })
  const requests: (OperationRequest & { flow: Flow })[] = []
  const queued: OperationRow[] = []
  const waiting: DeviceNumbers[] = []
  for (const { row, text } of applied.written) {
    const { subject, flow, content } = taken.get(text)!
    free.delete(text)
    if (row.status === 'QUEUED') {
      queued.push(row)
      requests.push(requestOf(row, { subject: subject!, flow: flow!, content }, parts))
    } else if (row.status === 'WAITING_FOR_CONNECTION') {
      waiting.push({ partition: subject!.devicePartition!, entity: subject!.device! })
    }
  }
  // A slot whose operation was cancelled under the claim would be held for ever.
  const kept = wanting.filter(({ text }) => free.has(text)).map(({ row }) => row)
  tx.behind(freeLiveSlots(tx, kept))
  const takenAt = parts.clock.now()
  const dueAt = new Date(takenAt.getTime() + SEND_TIMER_MS)
  const timers = queued.map((key): Timer => ({ key, dueAt, duty: 'send', node: parts.node }))
  tx.behind(armTimers(tx, timers))
  return { takenAt, applied, held, requests, waiting }
}

function flowOf(subject: LaunchSubject): Flow | undefined {
  if (subject.deviceId === null) return undefined
  const { flow, mqttConnected, url, address } = subject
  return chooseFlow({ flow, mqttConnected, addressed: url !== null || address !== null })
}

function applies(content: JobContent, subject: LaunchSubject): boolean {
  return (
    content.resourceTypes?.includes(subject.resourceType) === true &&
    (content.models.length === 0 || (subject.model !== null && content.models.includes(subject.model)))
  )
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

function addressOf(subject: LaunchSubject, { organization }: JobContent, apiKey?: string): DeviceAddress {
  const functionName = functionOf(subject.flow)
  return {
    organization,
    deviceId: subject.deviceId!,
    partition: subject.devicePartition!,
    entity: subject.device!,
    parametersAs: subject.parametersAs,
    ...(subject.url !== null && { url: subject.url }),
    ...(subject.address !== null && { address: subject.address }),
    ...(apiKey !== undefined && { apiKey }),
    ...(functionName !== undefined && { functionName }),
  }
}
