/**
 * What a broker did not take of what it was given: it refused the request, as MQTT 5 lets it say, or the connection broke with the request
 * on the way. The device of such a request waits, longer each time; nobody waits for what another is refused. It knows no connection.
 */
import type { Logger } from 'pino'
import { growingPauses } from '../domain/growing-pauses.ts'

export interface BrokerRefusalSettings {
  readonly firstPauseMs?: number
  readonly longestPauseMs?: number
  readonly random?: () => number
  /** ms since some instant */
  readonly now?: () => number
  /** told of each refusal, by the number that MQTT has for its reason */
  readonly count?: (reason: number) => void
}

export interface BrokerRefusals {
  /** whether a device's turn has come again; of one that was not refused it always has */
  isDue(device: bigint): boolean
  /** Answers why in words where that lies with the request itself, which would be refused again. */
  refused(device: bigint, reason: number): string | undefined
  /** Once is the broker's affair; a request that is on the way each time the connection breaks may be what breaks it. */
  lost(device: bigint): void
  taken(device: bigint): void
}

/** Reasons of MQTT 5 that lie with the request, and neither with the moment nor with what the broker lets Drover do. */
const OF_REQUEST: ReadonlyMap<number, string> = new Map([
  [0x90, 'the topic of the device'],
  [0x95, 'a request of this length'],
  [0x99, 'the format of the request'],
])
/** Devices remembered at most; the one longest so is forgotten first. */
const DEVICES_MAX = 20_000
/** A device that was not tried again for so long after its turn came has nothing left to be sent. */
const FORGOTTEN_MS = 300_000

/** Makes the book of one broker. It says a word in the log when refusals begin, when their reason is another, and when they end. */
export function brokerRefusals(
  log: Pick<Logger, 'warn' | 'info'>,
  {
    firstPauseMs = 1_000,
    longestPauseMs = 60_000,
    random = Math.random,
    now = () => performance.now(),
    count = () => {},
  }: BrokerRefusalSettings = {},
): BrokerRefusals {
  const turns = new Map<bigint, Turn>()
  const lostOnce = new Set<bigint>()
  let said: string | undefined

  /** Puts a turn off; what was under way beside the request that did so changes nothing more. */
  function later(turn: Turn | undefined): Turn {
    if (turn !== undefined && now() < turn.dueAt) return turn
    const pause =
      turn?.pause ?? growingPauses({ firstPauseMs, longestPauseMs, steadyMs: Number.POSITIVE_INFINITY, random })
    return { pause, dueAt: now() + pause(0) }
  }

  function putOff(device: bigint, reason: string): void {
    for (const [oldest, { dueAt }] of turns) {
      if (turns.size < DEVICES_MAX && now() - dueAt < FORGOTTEN_MS) break
      turns.delete(oldest)
    }
    if (turns.size === 0 || reason !== said) {
      log.warn({ reason }, 'the MQTT broker does not take requests: they are given to it again, later each time')
    }
    said = reason
    const turn = later(turns.get(device))
    // The oldest stand first, since each is entered anew behind all others.
    turns.delete(device)
    turns.set(device, turn)
  }

  return {
    isDue: device => now() >= (turns.get(device)?.dueAt ?? Number.NEGATIVE_INFINITY),
    refused(device, reason) {
      count(reason)
      const ofRequest = OF_REQUEST.get(reason)
      if (ofRequest !== undefined) return `the MQTT broker refuses ${ofRequest}`
      putOff(device, `refused with 0x${reason.toString(16)}`)
      return undefined
    },
    lost(device) {
      if (lostOnce.has(device)) putOff(device, 'on the way again when the connection was lost')
      else if (lostOnce.size < DEVICES_MAX) lostOnce.add(device)
    },
    taken(device) {
      lostOnce.delete(device)
      if (turns.delete(device) && turns.size === 0) log.info('the MQTT broker takes what it did not take before')
    },
  }
}

/** When something may be tried again, and how much later after that. */
interface Turn {
  readonly pause: (heldMs: number) => number
  readonly dueAt: number
}
