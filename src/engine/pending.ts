/**
 * Hands operations to devices that ask for them: what was never handed out first, oldest first; what was handed out and not heard
 * of again only after a while, and what was sent over MQTT to a device that has left it at once. Nothing is handed out while its job's
 * gate is closed. Refuses to know HTTP.
 */
import type { Logger } from 'pino'
import { redeliveryPause } from '../domain/gates.ts'
import type { OperationKey } from '../domain/identity.ts'
import type { Database, Transaction } from '../store/database.ts'
import { readJobContents } from '../store/job-contents.ts'
import {
  type DeviceNumbers,
  type DeviceOperation,
  liveOperationsOf,
  readLaunchSubjects,
} from '../store/operation-devices.ts'
import { keyText } from '../store/operations.ts'
import { leftAmongDevices } from '../store/presence.ts'
import type { Clock } from './clock.ts'
import type { OperationRequest } from './connector.ts'
import { gathered } from './gathering.ts'
import { openJobsAmong } from './job-launching.ts'
import type { Committed } from './operation-batch.ts'
import type { Happening } from './operation-draft.ts'
import { operationRequest } from './operation-launching.ts'
import type { OperationMemory } from './operation-memory.ts'
import { applyHappenings } from './operation-transitions.ts'

/** A held call looks again this often: nobody wakes it when a hand-out was in vain, and what is to wake it may be missed. */
const LOOK_AGAIN_MS = 5_000
/** However many gates open, held calls look again for them no more often. */
const OPENED_EVERY_MS = 1_000
/** Made once: without a reason of its own, each wake-up would make an error with its stack. */
const ROUSED = new Error('roused')

export interface Pending {
  /**
   * The next request for a device, or undefined when there is none after `waitMs` (0: at once) or when the signal aborts. Once it
   * resolves with a request, that operation is in progress.
   */
  take(device: DeviceNumbers, waitMs: number, signal: AbortSignal): Promise<OperationRequest | undefined>
  /** Wakes the held calls of devices for which something may be there now. */
  wake(devices: readonly { readonly entity: bigint }[]): void
  /** Wakes every held call: something may have been missed. */
  wakeAll(): void
  /** Wakes every held call soon: the gate of a job has opened, and who waits behind it is known to the calls that look. */
  gateOpened(): void
}

export interface PendingParts {
  readonly database: Database
  readonly clock: Clock
  readonly memory: Pick<OperationMemory, 'note'>
  readonly redeliveryMs: number
  readonly log: Logger
  readonly onCommit: () => void
}

interface Call {
  readonly device: DeviceNumbers
  readonly signal: AbortSignal
}

export function createPending(parts: PendingParts): Pending {
  const { database, clock, memory, redeliveryMs, log, onCommit } = parts
  const held = new Map<bigint, Set<() => void>>()
  let openedAt = Number.NEGATIVE_INFINITY
  let opening: NodeJS.Timeout | undefined

  /** Operations handed to a call that had been hung up, by key: the next call of their device need not wait for a second offer. */
  const inVain = new Map<string, number>()

  const takeNow = gathered(async (calls: readonly Call[]) => {
    const now = clock.now()
    const devices = calls.filter(({ signal }) => !signal.aborted).map(({ device }) => device)
    const requests = devices.length === 0 ? new Map<bigint, OperationRequest>() : await handOutTo(devices, now)
    // Two calls of one device in a batch: the first that still listens gets it.
    const answers = calls.map(({ device, signal }) => {
      const request = signal.aborted ? undefined : requests.get(device.entity)
      if (request) requests.delete(device.entity)
      return request
    })
    for (const request of requests.values()) inVain.set(keyText(request.key), now.getTime() + redeliveryMs)
    wake([...requests.keys()].map(entity => ({ entity })))
    return answers
  })

  async function handOutTo(devices: readonly DeviceNumbers[], now: Date): Promise<Map<bigint, OperationRequest>> {
    for (const [key, until] of inVain) if (until <= now.getTime()) inVain.delete(key)
    const { requests, applied, silent } = await database.transaction(
      tx => handOut(tx, devices, clock, { redeliveryMs, inVain }),
      { byKey: true },
    )
    memory.note(applied)
    for (const { id, key } of requests.values()) {
      inVain.delete(keyText(key))
      const silentMs = silent.get(keyText(key))
      if (silentMs !== undefined)
        log.debug({ operation: id, silentMs }, 'a request was not heard of: it is offered again')
    }
    if (requests.size > 0) onCommit()
    return requests
  }

  async function take(
    device: DeviceNumbers,
    waitMs: number,
    signal: AbortSignal,
  ): Promise<OperationRequest | undefined> {
    const until = clock.now().getTime() + waitMs
    for (;;) {
      const sleeping = new AbortController()
      const rouse = () => sleeping.abort(ROUSED)
      // Listening comes before looking: what arrives in between is not missed.
      const listenNoMore = listen(device.entity, rouse)
      signal.addEventListener('abort', rouse)
      try {
        const request = await takeNow({ device, signal })
        const now = clock.now().getTime()
        if (request || signal.aborted || now >= until) return request
        await clock.sleepUntil(new Date(Math.min(until, now + LOOK_AGAIN_MS)), sleeping.signal)
        if (signal.aborted) return undefined
      } finally {
        signal.removeEventListener('abort', rouse)
        listenNoMore()
      }
    }
  }

  /** Answers how to end it. */
  function listen(entity: bigint, rouse: () => void): () => void {
    const wakers = held.get(entity) ?? new Set()
    held.set(entity, wakers.add(rouse))
    return () => {
      wakers.delete(rouse)
      if (wakers.size === 0 && held.get(entity) === wakers) held.delete(entity)
    }
  }

  function wake(devices: readonly { readonly entity: bigint }[]): void {
    for (const { entity } of devices) for (const rouse of held.get(entity) ?? []) rouse()
  }

  function wakeAll(): void {
    for (const wakers of held.values()) for (const rouse of wakers) rouse()
  }

  /** Looking costs the database the same whoever it is for: calls are gathered, one batch of them after the other. */
  function gateOpened(): void {
    if (opening !== undefined) return
    const openIt = () => {
      opening = undefined
      openedAt = performance.now()
      wakeAll()
    }
    const leftMs = openedAt + OPENED_EVERY_MS - performance.now()
    if (leftMs <= 0) openIt()
    else opening = setTimeout(openIt, leftMs).unref()
  }

  return { take, wake, wakeAll, gateOpened }
}

/** At most one request per device, by the device's number. */
interface HandedOut {
  /** by device */
  readonly requests: Map<bigint, OperationRequest>
  readonly applied: Committed
  /** those that were handed out or sent before, and since how many milliseconds they were not heard of */
  readonly silent: ReadonlyMap<string, number>
}

async function handOut(
  tx: Transaction,
  devices: readonly DeviceNumbers[],
  clock: Pick<Clock, 'now'>,
  { redeliveryMs, inVain }: { redeliveryMs: number; inVain: ReadonlyMap<string, unknown> },
): Promise<HandedOut> {
  const operations = await liveOperationsOf(tx, devices)
  const silentForMs = (key: OperationKey) => (inVain.has(keyText(key)) ? 0 : redeliveryMs)
  const isSilent = (operation: DeviceOperation) =>
    !redeliveryPause(operation.heardAt?.getTime() ?? null, silentForMs(operation), clock.now().getTime())
  const gone = await goneFromMqtt(tx, operations)
  const candidates = operations
    .filter(
      operation =>
        operation.status === 'WAITING_FOR_CONNECTION' ||
        (operation.status === 'IN_PROGRESS' && operation.flow === 'pull' && isSilent(operation)) ||
        (isSentOverMqtt(operation) && (gone.has(operation.device) || isSilent(operation))),
    )
    .sort(inOrderOfOffer)
  const silent = new Map<string, number>()
  if (candidates.length === 0) return { requests: new Map(), applied: { written: [], ended: [], rules: [] }, silent }
  const open = await openJobsAmong(tx, candidates, clock)
  const now = clock.now()
  const chosen = new Map<bigint, DeviceOperation>()
  for (const candidate of candidates) {
    if (open.has(candidate.job) && !chosen.has(candidate.device)) chosen.set(candidate.device, candidate)
  }
  const happenings = [...chosen.values()].map((operation): Happening => {
    if (operation.status !== 'WAITING_FOR_CONNECTION') {
      silent.set(keyText(operation), now.getTime() - (operation.heardAt?.getTime() ?? 0))
    }
    const again = new Date(now.getTime() - silentForMs(operation))
    return isSentOverMqtt(operation)
      ? { key: operation, seen: 'askedInstead', flow: 'pull', silentSince: operation.heardAt ?? again }
      : { key: operation, seen: 'handedOut', flow: 'pull', silentSince: again }
  })
  const applied = await applyHappenings(tx, happenings, now)
  const handed = applied.written.map(({ row }) => row).filter(row => row.status === 'IN_PROGRESS')
  const [subjectRows, contents] = await Promise.all([
    readLaunchSubjects(tx, handed),
    readJobContents(tx, [...new Set(handed.map(row => row.job))]),
  ])
  const subjects = new Map(subjectRows.map(subject => [keyText(subject), subject]))
  const requests = new Map<bigint, OperationRequest>()
  for (const row of handed) {
    const subject = subjects.get(keyText(row))
    if (subject?.device) requests.set(subject.device, operationRequest(row, subject, contents.get(row.job)!))
  }
  return { requests, applied, silent }
}

/** Sent over MQTT and not acknowledged: the request may have been lost with the connection. */
function isSentOverMqtt({ status, flow }: DeviceOperation): boolean {
  return status === 'WAITING_FOR_ACK' && flow === 'mqtt'
}

/** The devices that were sent to over MQTT and are not connected there any more. */
async function goneFromMqtt(tx: Transaction, operations: readonly DeviceOperation[]): Promise<Set<bigint>> {
  const sentTo = operations
    .filter(isSentOverMqtt)
    .map(({ devicePartition, device }) => ({ partition: devicePartition, entity: device }))
  return new Set((await leftAmongDevices(tx, sentTo)).map(({ entity }) => entity))
}

/** Never handed out before handed out; then by job number, which is by time. */
function inOrderOfOffer(a: DeviceOperation, b: DeviceOperation): number {
  const handed = Number(a.status !== 'WAITING_FOR_CONNECTION') - Number(b.status !== 'WAITING_FOR_CONNECTION')
  if (handed !== 0) return handed
  return a.job < b.job ? -1 : a.job > b.job ? 1 : 0
}
