/**
 * Holds what came to a device more than once in one launch against what had happened in between: nothing comes again without a cause,
 * and nothing is done twice for one launch.
 */
import type { Flow } from '../../src/simulator/options.ts'
import type { DoneFault } from './faults.ts'
import type { Lag } from './lag.ts'
import { FAULTS, type FaultPart } from './schedule.ts'
import { clock, type Seen } from './seen.ts'
import type { Told } from './told.ts'
import { REDELIVERY_MS } from './world.ts'

/** What is launched is sent within two seconds or given back; the rest is for a busy machine. */
export const IN_HAND_MS = 2_000
export const BUSY_MS = 1_500
/** A request passes through a node, this process as a relay, and the fleet: each is as late as this one was seen to be. */
export const LAG_COUNTS = 3

/** What happened in a run, beside what its devices saw. */
export interface Happened {
  readonly faults: readonly DoneFault[]
  readonly told: Told
  readonly lag: Lag
  /** whether each node brings its own broker, which knows whose connection broke */
  readonly embedded: boolean
}

/** 4, within one operation: done once for a launch, and sent again only where it may not have arrived. */
export function judgeRepeats(
  name: string,
  id: string,
  { launches, doneFor }: Seen,
  flow: Flow | undefined,
  happened: Happened,
): string[] {
  const wrong: string[] = []
  for (const [launchedAt, receivedAt] of launches) {
    const done = doneFor.filter(each => each === launchedAt).length
    if (done > 1) wrong.push(`4: ${id} of ${name} was done ${done} times for its launch of ${clock(launchedAt)}`)
    for (const [index, to] of receivedAt.entries()) {
      const from = receivedAt[index - 1]
      if (from === undefined || hasCause(id, flow, from, to, happened)) continue
      wrong.push(
        `4: ${id} of ${name}, launched at ${clock(launchedAt)}, came at ${clock(from)} and again at ${clock(to)}, and nothing had happened ` +
          `(${flow}; told: ${JSON.stringify(happened.told.givenBack.get(id) ?? [])})`,
      )
    }
  }
  return wrong
}

/** Whether something had happened between two receipts of one launch that lets the service send again. */
function hasCause(id: string, flow: Flow | undefined, from: number, to: number, happened: Happened): boolean {
  const { faults, told, lag, embedded } = happened
  const met = (since: number, until: number, parts: readonly FaultPart[]) =>
    faults.some(({ fault, fromMs, toMs }) => parts.includes(FAULTS[fault].part) && fromMs < until && toMs > since)
  // The first receipt is as late as its way was slow: what happened since it left counts.
  const frozenMs = faults
    .filter(({ fault, fromMs, toMs }) => fault === 'freeze the fleet' && fromMs < from && toMs > from - IN_HAND_MS)
    .reduce((sum, fault) => sum + fault.toMs - fault.fromMs, 0)
  const slowMs = BUSY_MS + frozenMs + LAG_COUNTS * lag.between(from - REDELIVERY_MS, to)
  const leftAt = from - IN_HAND_MS - slowMs

  if (embedded && flow === 'mqtt' && met(leftAt, to, ['node', 'relays'])) return true
  // A kept connection that breaks before a byte of an answer may have broken before the request came: it goes out once more at once.
  const isCut = faults.some(
    ({ fault, fromMs, toMs }) =>
      fault === 'cut the connections of devices' && fromMs < to && toMs > leftAt && to < toMs + IN_HAND_MS + slowMs,
  )
  if ((flow === 'http-sync' || flow === 'http-async') && isCut) return true
  return (told.givenBack.get(id) ?? []).some(({ cause, at, sender, by, silentMs = 0 }) => {
    if (at < leftAt || at > to + BUSY_MS) return false
    if (cause === 'not heard of') return flow === 'pull' && silentMs >= REDELIVERY_MS
    // What a broker had not acknowledged when its connection broke it may have all the same; a device over HTTP was connected to, or not.
    if (cause === 'not sent') return flow === 'mqtt' && met(leftAt, at + BUSY_MS, ['broker', 'relays', 'node'])
    const wasHit = faults.some(
      ({ fault, node, fromMs, toMs }) =>
        FAULTS[fault].part === 'node' && (node === sender || sender < 0) && fromMs < at && toMs > leftAt,
    )
    return (
      wasHit ||
      (by !== sender && told.silences.some(each => each.node === sender && each.fromMs < at && each.toMs > leftAt))
    )
  })
}
