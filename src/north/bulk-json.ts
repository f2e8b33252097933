/**
 * Reads the elements of one array out of a JSON body of any length, one at a time, in the memory of one element. It judges no
 * element beyond its being JSON.
 */
import { parseJson, type Reading } from '../contract/reading.ts'
import { DroverError } from '../domain/errors.ts'

/** Characters of one element. */
const ELEMENT_LENGTH_MAX = 300_000

const QUOTE = 0x22
const BACKSLASH = 0x5c

/** Where the reading is: what surrounds the array, an element of it, or behind the end of the body. */
interface Scan {
  depth: number
  inString: boolean
  escaped: boolean
  /** brackets open around the elements, once the array has been found */
  inArray: boolean
  found: boolean
  ended: boolean
  /** the last text at depth 1, and whether a colon has followed it */
  key: string
  keyed: boolean
  /** of the text or element being read, what earlier chunks brought */
  held: string
}

/**
 * The elements of the array `name` in the object that the body is. An element that is no JSON is an answer; a body that breaks off, is
 * no object or has no such array fails with `malformed` or `requiredField`, after the elements before the fault.
 */
export async function* jsonElements(chunks: AsyncIterable<Uint8Array>, name: string): AsyncGenerator<Reading<unknown>> {
  const utf8 = new TextDecoder('utf-8', { fatal: true })
  const scan: Scan = {
    depth: 0,
    inString: false,
    escaped: false,
    inArray: false,
    found: false,
    ended: false,
    key: '',
    keyed: false,
    held: '',
  }
  for await (const chunk of chunks) {
    let text: string
    try {
      text = utf8.decode(chunk, { stream: true })
    } catch {
      throw malformed('not UTF-8')
    }
    for (const element of elementsIn(text, name, scan)) yield parseJson(element)
  }
  if (!scan.ended) throw malformed('the body breaks off')
  if (!scan.found) throw new DroverError('requiredField', [{ name }])
}

function* elementsIn(text: string, name: string, scan: Scan): Generator<string> {
  let from = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (scan.inString) {
      if (scan.escaped) scan.escaped = false
      else if (code === BACKSLASH) scan.escaped = true
      else if (code === QUOTE) {
        scan.inString = false
        if (scan.depth === 1 && !scan.keyed) scan.key = scan.held + text.slice(from, at)
      }
      continue
    }
    const word = text[at]!
    if (word.trim() === '') continue
    if (scan.ended || (scan.depth === 0 && word !== '{')) throw malformed('must be one object')
    if (code === QUOTE) {
      scan.inString = true
      if (scan.depth === 1) {
        scan.held = ''
        from = at + 1
      }
    } else if (word === ':' && scan.depth === 1) scan.keyed = true
    else if (word === ',' && scan.depth === 1) scan.keyed = false
    else if (word === '{' || word === '[') {
      scan.depth += 1
      if (word === '[' && scan.depth === 2 && scan.key === name && scan.keyed) {
        if (scan.found) throw malformed(`${name} is there twice`)
        scan.found = scan.inArray = true
        scan.held = ''
        from = at + 1
      }
    } else if (word === '}' || word === ']') {
      scan.depth -= 1
      if (scan.depth === 0) scan.ended = true
    }
    const isEnd = scan.inArray && (scan.depth === 1 || (scan.depth === 2 && word === ','))
    if (!isEnd) continue
    const element = scan.held + text.slice(from, at)
    if (scan.depth === 1) scan.inArray = false
    // Only an array without elements may end with nothing since the last comma.
    if (element.trim() !== '' || word === ',') yield element
    scan.held = ''
    from = at + 1
  }
  const isHeld = scan.inArray || (scan.inString && scan.depth === 1)
  if (isHeld) scan.held += text.slice(from)
  if (scan.held.length > ELEMENT_LENGTH_MAX) throw new DroverError('tooLarge', [{ name }])
}

function malformed(reason: string): DroverError {
  return new DroverError('malformed', [{ name: 'body', value: reason }])
}
