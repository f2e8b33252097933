/**
 * Claimed operations while it is decided what becomes of them: which way each would go, whether there is room for it, and what happens to it.
 * Refuses to touch the database.
 */
import { chooseFlow, type Flow, functionOf } from '../domain/flow.ts'
import type { JobContent } from '../store/job-contents.ts'
import type { LaunchSubject } from '../store/operation-devices.ts'
import { keyText, type OperationRow } from '../store/operations.ts'
import type { DeviceAddress } from './connector.ts'
import type { Happening } from './operation-draft.ts'
import type { HasRoom, RoutedAddress } from './request-sender.ts'

const NOT_CARRIED = 'No device carries this entity.'

/** A claimed operation, and what is known of it. */
export interface Due {
  readonly row: OperationRow
  /** its `keyText` */
  readonly text: string
  /** none where its entity is gone */
  readonly subject: LaunchSubject | undefined
  readonly flow: Flow | undefined
  readonly content: JobContent
}

type Verdict = 'needsSlot' | 'launch' | 'resend' | 'unreachable' | 'refuse' | 'unsupported' | 'leave'

function verdictOf({ row, subject, flow, content }: Due): Verdict {
  if (row.status === 'QUEUED') return flow ? 'resend' : 'unreachable'
  if (row.status !== 'PENDING') return 'leave'
  if (!subject || !applies(content, subject)) return 'refuse'
  if (!flow) return 'unsupported'
  return row.startedAt === null ? 'needsSlot' : 'launch'
}

/** Whether all that it needs is room and its live slot. */
export function needsSlot(due: Due): boolean {
  return verdictOf(due) === 'needsSlot'
}

export interface LaunchBatchParts {
  readonly node: number
  readonly subjects: readonly LaunchSubject[]
  readonly contents: ReadonlyMap<bigint, JobContent>
  readonly hasRoom: HasRoom
}

export class LaunchBatch {
  readonly happenings: Happening[] = []
  /** what there is no room to send now */
  readonly held: RoutedAddress[] = []
  /** what something happens to, by `keyText` */
  readonly decided = new Map<string, Due>()
  /** by `keyText`, whether there was room: a request is asked about once, since each yes counts for those after it */
  readonly #room = new Map<string, boolean>()
  readonly #subjects: ReadonlyMap<string, LaunchSubject>
  readonly #parts: LaunchBatchParts

  constructor(parts: LaunchBatchParts) {
    this.#parts = parts
    this.#subjects = new Map(parts.subjects.map(subject => [keyText(subject), subject]))
  }

  /** What is known of operations; a job that is gone has none. */
  known(rows: readonly OperationRow[]): Due[] {
    return rows.flatMap(row => {
      const text = keyText(row)
      const content = this.#parts.contents.get(row.job)
      const subject = this.#subjects.get(text)
      return content ? [{ row, text, subject, flow: subject && flowOf(subject), content }] : []
    })
  }

  /** Takes room for the request of one that has somewhere to go, once however often it is tried; it is held where there is none. */
  takeRoom({ row, text, subject, flow, content }: Due): boolean {
    const known = this.#room.get(text)
    if (known !== undefined) return known
    const key = { job: row.job, partition: row.partition, entity: row.entity }
    const routed = { key, flow: flow!, device: addressOf(subject!, content) }
    const hasRoom = this.#parts.hasRoom(routed)
    this.#room.set(text, hasRoom)
    if (!hasRoom) this.held.push(routed)
    return hasRoom
  }

  /** What something happens to. */
  rows(): OperationRow[] {
    return [...this.decided.values()].map(({ row }) => row)
  }

  /** Decides about one as it was read; what needs a live slot got none. */
  decide(due: Due): void {
    const verdict = verdictOf(due)
    if (verdict === 'needsSlot') this.#tell(due, { seen: 'slotTaken' })
    if (verdict === 'refuse') this.#tell(due, { seen: 'refusedAtLaunch' })
    if (verdict === 'unsupported') this.#tell(due, { seen: 'unsupportedAtLaunch', description: NOT_CARRIED })
    if (verdict === 'unreachable') this.#tell(due, { seen: 'unreachable', description: NOT_CARRIED })
    if (verdict === 'launch' && this.takeRoom(due)) this.launch(due)
    if (verdict === 'resend' && this.takeRoom(due)) this.#take(due, 'resent')
  }

  /** Launches one that has its live slot. */
  launch(due: Due): void {
    this.#take(due, 'launch')
  }

  #tell(due: Due, happening: Omit<Happening, 'key'>): void {
    this.happenings.push({ key: due.row, ...happening })
    this.decided.set(due.text, due)
  }

  /** Whether something happens to it, or it is held. */
  has({ text }: Due): boolean {
    return this.decided.has(text) || this.#room.get(text) === false
  }

  #take(due: Due, seen: 'launch' | 'resent'): void {
    this.#tell(due, { seen, node: this.#parts.node })
    if (due.flow === 'pull') this.#tell(due, { seen: 'away', flow: due.flow })
  }
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

/** Where a device is, and how it is spoken to; with its key where that is to be shown. */
export function addressOf(subject: LaunchSubject, { organization }: JobContent, apiKey?: string): DeviceAddress {
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
