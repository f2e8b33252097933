/**
 * How a pretend device answers one request: what it says, when, and whether at all. Pure: the seed, the device, the operation and
 * how often it was received decide everything.
 */
import { type DeviceResponseMessage, type DeviceStepMessage, writeDeviceResponse } from '../contract/device.ts'
import { drawLatencyMs } from './latency.ts'
import type { Outcome } from './operations.ts'
import type { Behaviour, Flow } from './options.ts'
import { randomOf } from './random.ts'

/** What a message means: an acknowledgement, a part naming steps, or the end. */
export type AnswerKind = 'acknowledgement' | 'part' | 'final'

/** One thing that a device will say: its steps by name, and when, in milliseconds after the request. */
export interface PlannedAnswer {
  kind: AnswerKind
  afterMs: number
  steps: { name: string; result: 'SUCCESSFUL' | 'ERROR' }[]
  /** Sent this often. */
  copies: 1 | 2
}

/** What a device will do about one request. */
export interface Plan {
  fails: boolean
  late: boolean
  resultCode: string
  resultDescription: string
  answers: PlannedAnswer[]
}

/** `deaf`: the request is never heard. `mute`: the operation is done, but nothing after the acknowledgement is said. */
export type Silence = 'none' | 'deaf' | 'mute'

/** The operation that a plan is made for. */
export interface Occasion {
  deviceId: string
  operationId: string
  flow: Flow
  /** Which time the device does it, from 1: what failed may succeed when it is retried. */
  attempt?: number
}

/**
 * Whether a device answers at all, decided anew each time its request comes, so that a retry can succeed. `receipt` counts from 1.
 */
export function decideSilence(behaviour: Behaviour, { deviceId, operationId }: Occasion, receipt: number): Silence {
  const random = randomOf(behaviour.seed, deviceId, operationId, receipt)
  if (random() >= behaviour.silent) return 'none'
  return random() < 0.5 ? 'deaf' : 'mute'
}

/**
 * Decides what a device says about an operation that comes to `outcome` when nothing fails: the same each time it is asked, so that
 * a repeat is answered alike.
 */
export function planOperation(behaviour: Behaviour, occasion: Occasion, outcome: Outcome): Plan {
  const { deviceId, operationId, attempt = 1 } = occasion
  const random = randomOf(behaviour.seed, deviceId, operationId, ...(attempt > 1 ? [`attempt ${attempt}`] : []))
  const latencyMs = drawLatencyMs(behaviour.latency, random)
  const [failDraw, stepDraw, duplicateDraw, lateDraw, reorderDraw] = Array.from({ length: 5 }, random) as Draws
  const fails = outcome.resultCode === 'SUCCESSFUL' && failDraw < behaviour.fail
  const late = lateDraw < behaviour.late
  const steps = stepsOf(outcome, fails ? stepDraw : undefined)
  const parts = occasion.flow === 'http-sync' ? 0 : Math.max(0, Math.min(behaviour.parts, steps.length - 1))
  const inOrder = Array.from({ length: parts + 1 }, (_, index): PlannedAnswer => {
    const isFinal = index === parts
    return {
      kind: isFinal ? 'final' : 'part',
      afterMs: Math.round((latencyMs * (index + 1)) / (parts + 1)) + (isFinal && late ? behaviour.lateByMs : 0),
      steps: steps.slice(
        Math.floor((index * steps.length) / (parts + 1)),
        Math.floor(((index + 1) * steps.length) / (parts + 1)),
      ),
      copies: isFinal && duplicateDraw < behaviour.duplicate ? 2 : 1,
    }
  })
  const answers = reorderDraw < behaviour.reorder ? reordered(inOrder) : inOrder
  if (acknowledges(occasion.flow, outcome))
    answers.unshift({ kind: 'acknowledgement', afterMs: 0, steps: [], copies: 1 })
  return {
    fails,
    late,
    resultCode: fails ? 'ERROR_PROCESSING' : outcome.resultCode,
    resultDescription: fails ? `failed at ${steps.at(-1)?.name}` : outcome.resultDescription,
    answers,
  }
}

type Draws = [number, number, number, number, number]

/** The same answers at the same instants, the last one first. */
function reordered(answers: readonly PlannedAnswer[]): PlannedAnswer[] {
  return answers.toReversed().map((answer, index) => ({ ...answer, afterMs: answers[index]!.afterMs }))
}

/** Writes one planned answer as the device sends it. `now` is the device's clock, in epoch milliseconds. */
export function writeAnswer(
  plan: Plan,
  answer: PlannedAnswer,
  operation: { id: string; name: string; deviceId: string; variableList?: Outcome['variableList'] },
  now: number,
): DeviceResponseMessage {
  const steps = answer.steps.map(
    ({ name, result }): DeviceStepMessage => ({ name, title: name, timestamp: now, result, description: '' }),
  )
  const { id, name, deviceId, variableList } = operation
  if (answer.kind !== 'final') return writeDeviceResponse({ id, deviceId, timestamp: now, name, steps })
  const { resultCode, resultDescription } = plan
  return writeDeviceResponse({
    id,
    deviceId,
    timestamp: now,
    name,
    resultCode,
    resultDescription,
    steps,
    ...(variableList === undefined || plan.fails ? {} : { variableList }),
  })
}

function stepsOf(outcome: Outcome, failDraw: number | undefined): PlannedAnswer['steps'] {
  const steps = outcome.steps.map(name => ({ name, result: 'SUCCESSFUL' as 'SUCCESSFUL' | 'ERROR' }))
  if (failDraw === undefined) return steps
  const failing = Math.floor(failDraw * steps.length)
  return steps.slice(0, failing + 1).map((step, index) => (index === failing ? { ...step, result: 'ERROR' } : step))
}

/** A pull is its own acknowledgement, a synchronous answer holds it, and over MQTT a refusal is acknowledgement and end in one. */
function acknowledges(flow: Flow, outcome: Outcome): boolean {
  return flow === 'http-async' || (flow === 'mqtt' && outcome.resultCode === 'SUCCESSFUL')
}
