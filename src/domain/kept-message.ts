/** The messages about one operation that are kept as they came, for the people who look. Refuses to read them. */
import { cutText } from './storable.ts'

/** One message as it came, bounded; `at` is ISO 8601 UTC. */
export interface KeptMessage {
  readonly at: string
  readonly attempt: number
  readonly raw: string
}

/** Messages that are kept of one operation. */
export const KEPT_MESSAGES_MAX = 20
/** Characters that are kept of one message. */
export const KEPT_MESSAGE_CHARACTERS_MAX = 64_000
/** Characters that are kept of all messages of one operation: its row is read and written with each that comes. */
export const KEPT_CHARACTERS_MAX = 256_000

/** The messages kept with one more: the oldest go first, the last word always stays. */
export function keepMessage(kept: readonly KeptMessage[] | null, { at, attempt, raw }: KeptMessage): KeptMessage[] {
  const last = { at, attempt, raw: cutText(raw, KEPT_MESSAGE_CHARACTERS_MAX) }
  const before = (kept ?? []).slice(1 - KEPT_MESSAGES_MAX)
  let left = KEPT_CHARACTERS_MAX - last.raw.length
  const tooOld = before.findLastIndex(message => {
    left -= message.raw.length
    return left < 0
  })
  return [...before.slice(tooOld + 1), last]
}
