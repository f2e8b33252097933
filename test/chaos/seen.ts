/** What the devices of a run saw of every operation: when it came, when they answered. It knows nothing of the service. */
import type { OperationView } from '../../src/contract/operation.ts'
import type { World } from './world.ts'

/** One operation as its device saw it. Instants in epoch milliseconds. */
export interface Seen {
  readonly device: string
  readonly receivedAt: number[]
  /** the same receipts by the launch that they were of: more than one of a launch are repeats of it */
  readonly launches: Map<number, number[]>
  /** the launches that it was done for, one entry each time */
  readonly doneFor: number[]
  /** when final answers were taken, over a way on which that is said after the commit */
  readonly takenAt: number[]
  /** when parts were taken, in the same way */
  readonly partsAt: number[]
  /** when a final answer was first sent, whatever became of it */
  finalSentAt: number
}

/** An operation that was a device's word to end, and one that may not have come before that. */
export interface Turn {
  readonly id: string
  readonly receivedAt: number
  /** until when the operation was in progress for certain */
  readonly busyUntil: number
}

/** What was seen of every operation, by its id. */
export function readEvents({ events }: Pick<World, 'events'>): Map<string, Seen> {
  const seen = new Map<string, Seen>()
  for (const [what, device, operation, at, launchedAt, kind, delivery, tookMs] of events) {
    const of: Seen = seen.get(operation) ?? {
      device,
      receivedAt: [],
      launches: new Map(),
      doneFor: [],
      takenAt: [],
      partsAt: [],
      finalSentAt: Number.POSITIVE_INFINITY,
    }
    seen.set(operation, of)
    if (what === 'received') {
      of.receivedAt.push(at)
      of.launches.set(launchedAt, [...(of.launches.get(launchedAt) ?? []), at])
    }
    if (what === 'executed') of.doneFor.push(launchedAt)
    if (what === 'answered' && kind === 'part' && delivery === 'delivered') of.partsAt.push(at)
    if (what !== 'answered' || kind !== 'final') continue
    of.finalSentAt = Math.min(of.finalSentAt, at - tookMs)
    if (delivery === 'delivered') of.takenAt.push(at)
  }
  return seen
}

/** An operation that a device has had, as a turn of its kind there. */
export function turnOf({ operationId, status, result }: OperationView, { receivedAt, finalSentAt }: Seen): Turn {
  // Nothing but what the device said in the end can have ended it; where the fate of that is not known, neither is when it was said.
  const byDevice = status === 'FINISHED' && result === 'SUCCESSFUL' && Number.isFinite(finalSentAt)
  return { id: operationId, receivedAt: receivedAt[0]!, busyUntil: byDevice ? finalSentAt : 0 }
}

/** 4, as devices saw it: none is asked for an operation while another of its name has not yet got the answer that ended it. */
export function judgeTurns(what: string, turns: readonly Turn[]): string[] {
  const ordered = turns.toSorted((a, b) => a.receivedAt - b.receivedAt)
  return ordered.flatMap((turn, index) => {
    const earlier = ordered.slice(0, index).find(({ busyUntil }) => busyUntil > turn.receivedAt)
    return earlier
      ? [
          `4: ${turn.id}, ${what}, came at ${clock(turn.receivedAt)}, and ${earlier.id} was not answered before ${clock(earlier.busyUntil)}`,
        ]
      : []
  })
}

/** An instant as the log of a run writes it. */
export function clock(at: number): string {
  return new Date(at).toISOString().slice(11, 23)
}
