/**
 * How the engine reaches out: the interface that every connector to devices keeps and what it reports back, and the one of those that
 * deliver notifications to clients. Refuses to know any protocol. Serves: Device-side exchange flows, Events.
 */
import type { DeliveryEvent, DeliveryOutcome } from '../domain/delivery.ts'
import type { Flow } from '../domain/flow.ts'
import type { OperationKey } from '../domain/identity.ts'
import type { ReportedStep } from '../domain/step.ts'

/** A device as the engine addresses it. */
export interface DeviceAddress {
  readonly organization: number
  /** public identifier of the device */
  readonly deviceId: string
  readonly partition: number
  readonly entity: bigint
  /** provisioned URL, or the first subscription address for the URL template */
  readonly url?: string
  readonly address?: string
  /** what the device's key is in the clear, for the header of a push */
  readonly apiKey?: string
  readonly parametersAs: 'typed' | 'object'
  /** name of the connector function, where `flow` is `function` */
  readonly functionName?: string
}

/** One request on its way to a device. The same id on every repeat, so that a device can recognise one. */
export interface OperationRequest {
  readonly key: OperationKey
  /** public operation id */
  readonly id: string
  readonly name: string
  readonly parameters: Readonly<Record<string, unknown>>
  /** when it was launched, epoch ms */
  readonly launchedAt: number
  readonly device: DeviceAddress
  /** present where the operation is on something that the device carries */
  readonly entityId?: string
  /** how long a synchronous exchange may be held open, ms */
  readonly exchangeMs: number
}

/** An exchange that is held open for one launch of an operation. */
export type HeldExchange = Pick<OperationRequest, 'key' | 'launchedAt'>

/** A request as far as whether it can be sent depends on it. */
export type Addressed = Pick<OperationRequest, 'key' | 'device'>

/** What a device says of an operation, from whichever door it came. */
export interface DeviceMessage {
  /** as the device named it; parsed and judged by the engine */
  readonly operationId: string
  /** the device that was authenticated */
  readonly organization: number
  readonly deviceId: string
  readonly partition: number
  readonly entity: bigint
  readonly resultCode?: string
  readonly resultDescription?: string
  readonly steps: readonly ReportedStep[]
  /** the message's own time, epoch ms */
  readonly timestamp?: number
  /** the message as it came, bounded, for the timeline */
  readonly raw?: string
  /** whether an acknowledgement says more than what it is about, so that it is kept as it came */
  readonly saysMore?: boolean
}

/** What a connector reports of one request. */
export type SendReport =
  /** the request has left; `over` says which way where the connector's own is none: a function chooses one each time */
  | { readonly seen: 'sent'; readonly over?: Flow }
  /** the device is not there: it waits for its connection */
  | { readonly seen: 'away'; readonly over?: Flow }
  /** no connection to the device */
  | { readonly seen: 'unreachable'; readonly description: string }
  /** the device answered 5xx, 408 or 429 */
  | { readonly seen: 'deviceFailed'; readonly description: string }
  /** the device answered another 4xx */
  | { readonly seen: 'deviceRefused'; readonly description: string }
  /** it was not sent and will not be: the engine gives it back */
  | { readonly seen: 'notSent' }
  /** the device answered in the same exchange */
  | { readonly seen: 'answered'; readonly message: DeviceMessage }

/**
 * A way out. `send` takes a batch, returns at once, and reports each request once or twice (`sent`, then what came back) until
 * `stop`. A request waits at most 2 s for its turn and is then `notSent`: what was launched before a gate closed must not leave later.
 */
export interface Connector {
  readonly flow: Flow
  /** requests this connector would take now without queueing them */
  readonly capacity: () => number
  /**
   * What it would take now, asked for one request after another, each yes counting for the next; nothing is kept for who asked.
   * Absent: whatever its capacity allows.
   */
  readonly room?: () => (request: Addressed) => boolean
  send(requests: readonly OperationRequest[], report: (request: OperationRequest, report: SendReport) => void): void
  /** What it has held open for an answer for longer than this. Absent: nothing ever. */
  readonly held?: (longerThanMs: number) => HeldExchange[]
  /** Their operations are over: they count for nobody any more, and end where others need what they hold. An answer is reported still. */
  readonly release?: (exchanges: readonly HeldExchange[]) => void
  /** takes no more, waits for what is under way at most `graceMs` */
  stop(graceMs: number): Promise<void>
}

/** A notification of a job on its way out. The same id and body at every attempt, so that a receiver can recognise a repeat. */
export interface DeliveryMessage {
  readonly id: string
  readonly organization: number
  readonly job: bigint
  readonly event: DeliveryEvent
  /** the callback as the client wrote it, or an email address; empty where configuration names the receiver */
  readonly receiver: string
  /** JSON */
  readonly body: string
  /** when this attempt is made */
  readonly at: Date
}

/** Makes one attempt and answers what came of it. It bounds its own time, ends soon after the signal aborts, and never throws. */
export type SendDelivery = (message: DeliveryMessage, signal: AbortSignal) => Promise<DeliveryOutcome>
