/**
 * What an id and a value may be at the most, for everything that is provisioned or collected, and which texts a database can keep.
 * It knows no id by name.
 */

/** Characters of an id, and its segments. */
const ID_LENGTH_MAX = 256
export const ID_SEGMENTS_MAX = 16

/** Ids that one entity may have, elements of one list, and characters of the whole document as JSON. */
export const IDS_MAX = 1_000
export const ELEMENTS_MAX = 100
export const DOCUMENT_LENGTH_MAX = 100_000

/** Characters of one value as JSON, and how deep it may be nested. */
const VALUE_LENGTH_MAX = 16_000
const VALUE_DEPTH_MAX = 16

const SEGMENT = /^[^.[\]\p{Cc}]+(\[\])?$/u

/** What keeps a text from being an id, as the end of a sentence; undefined where nothing does. */
export function faultOfId(id: string): string | undefined {
  if (id.length > ID_LENGTH_MAX) return `is longer than ${ID_LENGTH_MAX} characters`
  const segments = id.split('.')
  if (segments.length > ID_SEGMENTS_MAX) return `has more than ${ID_SEGMENTS_MAX} segments`
  if (!id.isWellFormed() || !segments.every(segment => SEGMENT.test(segment))) return 'is no id: names joined by dots'
  if (segments.filter(segment => segment.endsWith('[]')).length > 1) return 'is a list within a list'
  return undefined
}

/** What keeps a value from being kept, as the end of a sentence; undefined where nothing does. */
export function faultOfValue(value: unknown): string | undefined {
  const wrong = faultWithin(value, VALUE_DEPTH_MAX)
  if (wrong !== undefined) return wrong
  const length = typeof value === 'string' ? value.length : (JSON.stringify(value)?.length ?? 0)
  return length > VALUE_LENGTH_MAX ? `is longer than ${VALUE_LENGTH_MAX} characters` : undefined
}

function faultWithin(value: unknown, depthLeft: number): string | undefined {
  switch (typeof value) {
    case 'string':
      return faultOfText(value)
    case 'number':
      return Number.isFinite(value) ? undefined : 'is a number too large to keep'
    case 'boolean':
      return undefined
    case 'object': {
      if (value === null) return undefined
      if (depthLeft === 0) return `is nested deeper than ${VALUE_DEPTH_MAX} levels`
      for (const [name, below] of Object.entries(value)) {
        const wrong = faultOfText(name) ?? faultWithin(below, depthLeft - 1)
        if (wrong !== undefined) return wrong
      }
      return undefined
    }
    default:
      return 'is no JSON value'
  }
}

/** A database keeps neither the character U+0000 nor half a pair of surrogates. */
function faultOfText(text: string): string | undefined {
  return text.includes('\u0000') || !text.isWellFormed() ? 'holds a character that cannot be kept' : undefined
}
