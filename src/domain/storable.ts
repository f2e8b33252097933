/**
 * Text as the database can keep it: it holds neither NUL characters nor halves of surrogate pairs. Refuses to know what a text says.
 */

const NUL = String.fromCharCode(0)

/** The text with U+FFFD for every character that cannot be kept. */
export function storableText(text: string): string {
  return text.replaceAll(NUL, '\uFFFD').toWellFormed()
}

/** At most so many characters from the beginning of a text, such that they can be kept: a cut leaves no half of a pair behind. */
export function cutText(text: string, charactersMax: number): string {
  if (text.length <= charactersMax) return storableText(text)
  const last = text.charCodeAt(charactersMax - 1)
  const isFirstHalf = last >= 0xd800 && last <= 0xdbff
  return storableText(text.slice(0, isFirstHalf ? charactersMax - 1 : charactersMax))
}

/** The same, with `…` as the last character where something was cut off. */
export function shortened(text: string, charactersMax: number): string {
  return text.length <= charactersMax ? storableText(text) : `${cutText(text, charactersMax - 1)}…`
}
