/**
 * Reads single JSON values the way the interface's clients send them: null counts as absent, whole numbers may come as
 * text. Each function adds to `problems` what is wrong and then answers undefined; it never throws.
 */
import type { Problem } from './problems.ts'

export type Members = Readonly<Record<string, unknown>>

/** At most this many unknown members are named; a body full of them needs no longer answer. */
const unknownNamed = 20

/** Whether a member was left out; an explicit null counts as left out. */
export function isAbsent(json: unknown): json is null | undefined {
  return json === undefined || json === null
}

/** The members of an object, after refusing every member that is not in `known`, by name. */
export function readMembers(
  json: unknown,
  path: string,
  known: readonly string[],
  problems: Problem[],
): Members | undefined {
  if (isAbsent(json)) {
    problems.push({ path, message: 'is required', kind: 'missing' })
    return undefined
  }
  if (typeof json !== 'object' || Array.isArray(json)) {
    problems.push({ path, message: 'must be an object', kind: 'invalid' })
    return undefined
  }
  const unknown = Object.keys(json).filter(name => !known.includes(name))
  for (const name of unknown.slice(0, unknownNamed)) {
    problems.push({ path: `${path}.${name}`, message: `is unknown; known are ${known.join(', ')}`, kind: 'unknown' })
  }
  return json as Members
}

/** A whole number from `min` to `max`, given as a number or as its decimal digits in text. */
export function readWhole(
  json: unknown,
  path: string,
  { min, max }: { readonly min: number; readonly max: number },
  problems: Problem[],
): number | undefined {
  if (isAbsent(json)) {
    problems.push({ path, message: 'is required', kind: 'missing' })
    return undefined
  }
  const value = typeof json === 'string' && /^[+-]?\d{1,17}$/.test(json) ? Number(json) : json
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < min || value > max) {
    problems.push({ path, message: `must be a whole number from ${min} to ${max}`, kind: 'invalid' })
    return undefined
  }
  return value
}

/** One or more different words of `words`, in the order given; a word given twice counts once. */
export function readWords<const Word extends string>(
  json: unknown,
  path: string,
  words: readonly Word[],
  problems: Problem[],
): readonly Word[] | undefined {
  if (isAbsent(json)) {
    problems.push({ path, message: 'is required', kind: 'missing' })
    return undefined
  }
  if (!Array.isArray(json) || json.length === 0 || json.length > words.length) {
    problems.push({ path, message: `must be an array of 1 to ${words.length} of ${words.join(', ')}`, kind: 'invalid' })
    return undefined
  }
  const read = json.map((item, index) => readWord(item, `${path}[${index}]`, words, problems))
  return read.every(word => word !== undefined) ? [...new Set(read)] : undefined
}

/** One word of `words`, spelt exactly so. */
export function readWord<const Word extends string>(
  json: unknown,
  path: string,
  words: readonly Word[],
  problems: Problem[],
): Word | undefined {
  if (isAbsent(json)) {
    problems.push({ path, message: 'is required', kind: 'missing' })
    return undefined
  }
  const word = words.find(candidate => candidate === json)
  if (word === undefined) problems.push({ path, message: `must be one of ${words.join(', ')}`, kind: 'invalid' })
  return word
}
