/**
 * What every pretend device does with a request, whichever way it came: recognise a repeat, do the operation once, or once more where
 * it failed and was launched again, and say what the plan says when it says so. How a message travels is the sender's.
 */
import type { DeviceRequest, DeviceResponseMessage } from '../contract/device.ts'
import { type AnswerKind, decideSilence, type Occasion, type Plan, planOperation, writeAnswer } from './behaviour.ts'
import type { Ledger, RememberedOperation } from './ledger.ts'
import { type Outcome, performOperation } from './operations.ts'
import type { Behaviour, Flow } from './options.ts'
import type { Pauses } from './pauses.ts'

/** What became of a message: taken by the service, refused for good, or given up. */
export type Delivery = 'delivered' | 'refused' | 'undelivered'

/** Sends one message of a device to the service and settles when its fate is known. Never rejects. */
export type Sender = (message: DeviceResponseMessage, kind: AnswerKind) => Promise<Delivery>

/** Something that happened at a device. `at` is in epoch milliseconds. */
export interface FleetEvent {
  what: 'received' | 'executed' | 'answered'
  deviceId: string
  operationId: string
  name: string
  at: number
  /** Of a request and of what was done upon it: when it was launched, as it says itself; 0 where it does not. */
  launchedAt?: number
  /** Of an answer: its kind, and what became of it. */
  kind?: AnswerKind
  delivery?: Delivery
  /** Of an answer: the milliseconds from its sending until its fate was known. */
  tookMs?: number
}

/** Takes a request that reached a device; settles when the device has said all it will say about it. Never rejects. */
export type Receive = (deviceId: string, flow: Flow, request: DeviceRequest, send: Sender) => Promise<void>

const COUNTED = { acknowledgement: 'acknowledgements', part: 'parts', final: 'finals' } as const

/** Makes the devices of one fleet. */
export function createDevices(fleet: {
  behaviour: Behaviour
  ledger: Ledger
  pauses: Pauses
  onEvent: (event: FleetEvent) => void
}): Receive {
  const { behaviour, ledger, pauses, onEvent } = fleet
  const { counters } = ledger

  function note(
    operation: RememberedOperation,
    event: Pick<FleetEvent, 'what' | 'launchedAt' | 'kind' | 'delivery' | 'tookMs'>,
  ): void {
    const { deviceId, id, name } = operation
    onEvent({ ...event, deviceId, operationId: id, name, at: Date.now() })
  }

  function recall(deviceId: string, request: DeviceRequest): RememberedOperation {
    const known = ledger.find(request.id)
    if (known?.deviceId === deviceId) {
      // The same launch is a repeat, however often it comes; a later one is a new attempt.
      if (known.failed && known.running === undefined && launchOf(request) > known.launchedAt) {
        known.failed = false
        known.mute = false
        delete known.outcome
      } else counters.repeated++
      return known
    }
    if (known !== undefined) counters.doubled++
    const operation = {
      id: request.id,
      deviceId,
      name: request.name,
      receipts: 0,
      executions: 0,
      launchedAt: 0,
      failed: false,
      mute: false,
    }
    ledger.remember(operation)
    return operation
  }

  function execute(operation: RememberedOperation, request: DeviceRequest): Outcome {
    operation.outcome = performOperation(request, ledger.variablesOf(operation.deviceId))
    operation.executions++
    operation.launchedAt = launchOf(request)
    counters.executed++
    note(operation, { what: 'executed', launchedAt: operation.launchedAt })
    return operation.outcome
  }

  async function say(operation: RememberedOperation, plan: Plan, index: number, send: Sender): Promise<void> {
    const answer = plan.answers[index]!
    const { id, name, deviceId } = operation
    const variableList = operation.outcome?.variableList
    const message = writeAnswer(plan, answer, { id, name, deviceId, variableList }, Date.now())
    if (answer.copies > 1) counters.duplicated++
    const sentAt = performance.now()
    const copies = [send(message, answer.kind)]
    while (copies.length < answer.copies) copies.push(send(message, answer.kind))
    for (const copy of copies) {
      const delivery = await copy
      counters[delivery === 'delivered' ? COUNTED[answer.kind] : delivery]++
      note(operation, { what: 'answered', kind: answer.kind, delivery, tookMs: performance.now() - sentAt })
    }
  }

  async function answerInTime(operation: RememberedOperation, flow: Flow, plan: Plan, send: Sender): Promise<void> {
    const receivedAt = performance.now()
    const underWay: Promise<void>[] = []
    for (const [index, { kind, afterMs }] of plan.answers.entries()) {
      const aheadMs = receivedAt + afterMs - performance.now()
      if (aheadMs > 0 && !(await pauses.pause(aheadMs))) break
      if (operation.mute && kind !== 'acknowledgement') continue
      const saying = say(operation, plan, index, send)
      // A connection keeps the order of what is published over it: as MQTT clients do, none waits for the acknowledgement of the one before.
      if (flow === 'mqtt') underWay.push(saying)
      else await saying
    }
    await Promise.all(underWay)
  }

  async function answerAgain(operation: RememberedOperation, flow: Flow, plan: Plan, send: Sender): Promise<void> {
    const { running } = operation
    if (running !== undefined && flow !== 'http-sync') {
      // Its own timeline says the rest, once.
      if (plan.answers[0]?.kind === 'acknowledgement') await say(operation, plan, 0, send)
      return
    }
    await running
    for (const [index, { kind }] of plan.answers.entries()) {
      if (pauses.stopped) return
      if (!operation.mute || kind === 'acknowledgement') await say(operation, plan, index, send)
    }
  }

  return async (deviceId, flow, request, send) => {
    const operation = recall(deviceId, request)
    operation.receipts++
    counters.received++
    note(operation, { what: 'received', launchedAt: launchOf(request) })
    const attempt = operation.executions + (operation.outcome === undefined ? 1 : 0)
    const occasion: Occasion = { deviceId, operationId: request.id, flow, attempt }
    const silence = decideSilence(behaviour, occasion, operation.receipts)
    if (silence !== 'none') counters.silent++
    if (silence === 'deaf') return
    operation.mute = silence === 'mute' && (operation.running === undefined || operation.mute)
    if (operation.outcome !== undefined) {
      return answerAgain(operation, flow, planOperation(behaviour, occasion, operation.outcome), send)
    }
    const plan = planOperation(behaviour, occasion, execute(operation, request))
    operation.failed = plan.fails
    if (plan.fails) counters.failed++
    if (plan.late) counters.late++
    operation.running = answerInTime(operation, flow, plan, send)
    await operation.running
    delete operation.running
  }
}

function launchOf({ sentAt = 0 }: DeviceRequest): number {
  return sentAt
}
