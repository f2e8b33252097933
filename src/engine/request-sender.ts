/**
 * Sends claimed requests by their connectors and turns what the connectors report into happenings. It knows what is on its way
 * from this node, so that nothing is taken for lost while it is being sent. Refuses to claim.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Flow } from '../domain/flow.ts'
import { type OperationKey, parseOperationId } from '../domain/identity.ts'
import { type PlaceOwner, type Places, sharedPlaces } from '../domain/places.ts'
import type { DeviceNumbers } from '../store/operation-devices.ts'
import { keyText } from '../store/operations.ts'
import type { Clock } from './clock.ts'
import type { Addressed, Connector, DeviceMessage, OperationRequest, SendReport } from './connector.ts'
import type { Answer, Happening, Word } from './operation-draft.ts'
import type { OperationGatherer } from './operation-gatherer.ts'

/** One launch of an operation. */
export interface Launch extends OperationKey {
  readonly launchedAt: Date | null
}

export interface RequestSender {
  /** How many requests can be taken now. */
  capacity(): number
  /** What would be sent now, asked for one request after another, each yes counting for the next; nothing is kept for who asked. */
  room(): HasRoom
  /** Sends each request by its way; what was taken too long ago is given back instead. */
  send(requests: readonly RoutedRequest[], takenAt: Date): void
  /** Whether this node is still busy with a launch: sending it, or writing down what came of that. */
  isSending(launch: Launch): boolean
  /** Takes no more; what cannot be sent any more is given back. */
  stop(graceMs: number): Promise<void>
}

export type RoutedRequest = OperationRequest & { readonly flow: Flow }
export type RoutedAddress = Addressed & { readonly flow: Flow }
export type HasRoom = (request: RoutedAddress) => boolean

export interface RequestSenderParts {
  readonly connectors: readonly Connector[]
  readonly gatherer: OperationGatherer
  readonly clock: Clock
  readonly log: Logger
  readonly node: number
  /** called once it is written that a device is not there */
  readonly onAway: (request: RoutedRequest, handedAt: Date) => void
  /** told of each answer in the exchange: its device was heard of */
  readonly onHeard: (device: DeviceNumbers) => void
  /** told of an answer in the exchange that changed nothing */
  readonly onStray: (message: DeviceMessage) => void
  /** most requests that one turn may take, however much the connectors could */
  readonly claimMax?: number
  /** most requests of one way that wait to be given back, in shares: one that sends nothing must not draw a whole job here */
  readonly givingBackMax?: number
}

/** Once it is claimed, a request goes to its connector within this time or not at all: later others may have it, or its job be closed. */
const SEND_WITHIN_MS = 2_000
/** How long what was not sent waits before it is given back, so that a full host is not asked again at once. */
const GIVE_BACK_MS = 1_000

/** The word in a device's message. */
export function wordOf(message: DeviceMessage): Word {
  const { steps, resultCode, resultDescription, timestamp, raw, saysMore } = message
  return { steps, resultCode, description: resultDescription, timestamp, raw, saysMore }
}

export function createRequestSender(parts: RequestSenderParts): RequestSender {
  const { connectors, gatherer, clock, log, node, onAway, onHeard, onStray } = parts
  const { claimMax = 1000, givingBackMax = 2_000 } = parts
  const byFlow = new Map(connectors.map(connector => [connector.flow, connector]))
  const inHand = new Map<string, number>()
  const givingBack = new Set<Promise<void>>()
  const backOf = new Map<Flow, Places>()
  const stopping = new AbortController()

  function take(request: RoutedRequest): void {
    const text = launchText(request.key, request.launchedAt)
    inHand.set(text, (inHand.get(text) ?? 0) + 1)
  }

  function letGo(request: RoutedRequest): void {
    const text = launchText(request.key, request.launchedAt)
    const left = (inHand.get(text) ?? 0) - 1
    if (left > 0) inHand.set(text, left)
    else inHand.delete(text)
  }

  /** A request leaves this node's hands by its first report, once that is written. */
  async function onReport(request: RoutedRequest, report: SendReport, isFirst: boolean, handedAt: Date): Promise<void> {
    if (report.seen === 'notSent') return await giveBackLater(request)
    if (report.seen === 'answered') onHeard(request.device)
    const written =
      report.seen === 'answered' ? await answer(request, report.message) : await observe(request, report, handedAt)
    if (isFirst) letGo(request)
    if (written && report.seen === 'away') onAway(request, handedAt)
  }

  function observe(
    request: RoutedRequest,
    report: Exclude<SendReport, { seen: 'answered' | 'notSent' }>,
    handedAt: Date,
  ) {
    return gatherer.report({
      key: request.key,
      seen: report.seen,
      flow: ('over' in report && report.over) || request.flow,
      launchedAt: request.launchedAt,
      handedAt,
      ...('description' in report && { description: report.description }),
    })
  }

  /** An answer that is for another operation, or of which nothing can be written, still acknowledges; one that changed nothing is filed. */
  async function answer({ key, id }: RoutedRequest, message: DeviceMessage): Promise<Answer | undefined> {
    const answered = parseOperationId(message.operationId)
    if (answered && keyText(answered) === keyText(key)) {
      const told = await gatherer.report({ key, word: wordOf(message) })
      if (told === 'stray') onStray(message)
      if (told !== undefined) return told
    } else log.debug({ operation: id }, 'a device answered for another operation in its exchange')
    return await gatherer.report({ key, word: { steps: [] } })
  }

  function placesBack(flow: Flow): Places {
    const places = backOf.get(flow) ?? sharedPlaces(givingBackMax)
    backOf.set(flow, places)
    return places
  }

  async function giveBackLater(request: RoutedRequest): Promise<void> {
    log.debug(
      { operation: request.id, flow: request.flow },
      'a request was not sent as far as is known: it is given back',
    )
    const [places, owner] = [placesBack(request.flow), ownerOf(request)]
    const taken = places.take(owner)
    const given = clock
      .sleepUntil(new Date(clock.now().getTime() + GIVE_BACK_MS), stopping.signal)
      .then(() => (isHeldOnce(request) ? gatherer.report(lost(request)) : undefined))
      .then(() => letGo(request))
    givingBack.add(given)
    await given
    givingBack.delete(given)
    if (taken) places.leave(owner)
  }

  /** Where this node has claimed the same launch again meanwhile, the later claim is the one that counts. */
  function isHeldOnce({ key, launchedAt }: RoutedRequest): boolean {
    return inHand.get(launchText(key, launchedAt)) === 1
  }

  function lost({ key, launchedAt }: RoutedRequest): Happening {
    return { key, seen: 'senderLost', node, launchedAt }
  }

  function roomOf(flow: Flow): (request: Addressed) => boolean {
    const connector = byFlow.get(flow)
    if (!connector) return () => true
    const back = placesBack(flow)
    let left = connector.capacity()
    const room = connector.room?.() ?? (() => left-- > 0)
    return request => back.has(ownerOf(request)) && room(request)
  }

  return {
    // A connector without room must not stop the others: what is claimed for it is put back.
    capacity: () => Math.min(claimMax, Math.max(0, ...connectors.map(connector => connector.capacity()))),
    room() {
      const rooms = new Map<Flow, (request: Addressed) => boolean>()
      return request => {
        const hasRoom = rooms.get(request.flow) ?? roomOf(request.flow)
        rooms.set(request.flow, hasRoom)
        return hasRoom(request)
      }
    },
    send(requests, takenAt) {
      const handedAt = clock.now()
      for (const request of requests) take(request)
      // The process may have stood still between the claim's commit and now.
      if (handedAt.getTime() - takenAt.getTime() > SEND_WITHIN_MS) {
        for (const request of requests) void giveBackLater(request)
        return
      }
      for (const [flow, group] of Map.groupBy(requests, request => request.flow)) {
        const routed = new Map(group.map(request => [request.id, request]))
        const heardOf = new Set<string>()
        const report = ({ id }: OperationRequest, each: SendReport) => {
          const isFirst = !heardOf.has(id)
          heardOf.add(id)
          void onReport(routed.get(id)!, each, isFirst, handedAt)
        }
        const connector = byFlow.get(flow)
        if (connector) connector.send(group, report)
        else for (const request of group) report(request, { seen: 'unreachable', description: `no ${flow} connector` })
      }
    },
    isSending: ({ launchedAt, ...key }) => launchedAt !== null && inHand.has(launchText(key, launchedAt.getTime())),
    async stop(graceMs) {
      await Promise.all(connectors.map(connector => connector.stop(graceMs)))
      stopping.abort()
      // Without a database nothing can be given back here: the send timers do it later.
      await Promise.race([Promise.all(givingBack), sleep(graceMs, undefined, { ref: false })])
    },
  }
}

const ownerOf = ({ key, device }: Addressed): PlaceOwner => ({ organization: device.organization, job: key.job })
const launchText = (key: OperationKey, launchedAt: number) => `${keyText(key)}@${launchedAt}`
