/** How the values of options are read. Each fails with a usage error that names what is wrong. */
import { readFile } from 'node:fs/promises'
import { text as readStream } from 'node:stream/consumers'
import { InvalidArgumentError } from 'commander'
import { CommandFailed } from '../frame/exit-codes.ts'
import type { Surroundings } from '../frame/surroundings.ts'

/** A whole number above 0. */
export function count(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value) || value < 1) throw new InvalidArgumentError('It must be a whole number above 0.')
  return value
}

/** A whole number from 0. */
export function wholeNumber(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value) || value < 0) throw new InvalidArgumentError('It must be a whole number.')
  return value
}

/** A share from 0 to 1. */
export function share(text: string): number {
  const value = Number(text)
  if (text === '' || !(value >= 0 && value <= 1)) throw new InvalidArgumentError('It must lie between 0 and 1.')
  return value
}

/** A per cent, 0 to 100. */
export function percent(text: string): number {
  const value = wholeNumber(text)
  if (value > 100) throw new InvalidArgumentError('It must lie between 0 and 100.')
  return value
}

/** Words with commas between them, and the words of every time the option is given. */
export function words(text: string, before: readonly string[] = []): readonly string[] {
  const found = text.split(',').map(word => word.trim())
  return [...before, ...found.filter(word => word !== '')]
}

/** Every time the option is given. */
export function each(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text]
}

/** The text of a file, or of standard input for `-`. */
export async function contentOf(file: string, { stdin }: Surroundings): Promise<string> {
  if (file === '-') return await readStream(stdin)
  return await readFile(file, 'utf8').catch((error: Error) => {
    throw new CommandFailed('usage', `${file} cannot be read: ${error.message}`)
  })
}

/** A JSON object: written out, in a file as `@file`, or on standard input as `@-`. */
export async function jsonObject(
  option: string,
  given: string,
  surroundings: Surroundings,
): Promise<Record<string, unknown>> {
  const text = given.startsWith('@') ? await contentOf(given.slice(1), surroundings) : given
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value }
  } catch {
    // said below
  }
  throw new CommandFailed('usage', `${option} must be a JSON object, or @FILE with one.`)
}

/** `name=value` as a member; the value as JSON where it is JSON, else as text. */
export function member(option: string, text: string): readonly [name: string, value: unknown] {
  const at = text.indexOf('=')
  if (at < 1) throw new CommandFailed('usage', `${option} must be name=value, not "${text}".`)
  const value = text.slice(at + 1)
  try {
    return [text.slice(0, at), JSON.parse(value)]
  } catch {
    return [text.slice(0, at), value]
  }
}
