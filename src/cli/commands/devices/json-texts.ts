/**
 * Cuts the objects out of a stream of JSON without holding more than one: the elements of an array, of `{"entities": […]}`, or objects
 * one behind the other. It finds where they end; what is in them it does not read.
 */
import type { Readable } from 'node:stream'

/** Characters of one object. */
const LENGTH_MAX = 1_000_000
/** Characters in which the beginning of a document is known by. */
const HEAD_LENGTH = 1_000
const HEAD = /^\uFEFF?\s*(?:\{\s*"entities"\s*:\s*)?\[/

/** The texts of the objects. Fails with a SyntaxError on what ends in the middle, or has something else between the objects. */
export async function* jsonTexts(source: Readable): AsyncGenerator<string> {
  source.setEncoding('utf8')
  let head: string | undefined = ''
  const cutter = createCutter()
  for await (const chunk of source as AsyncIterable<string>) {
    if (head === undefined) yield* cutter.cut(chunk)
    else {
      head += chunk
      if (head.length < HEAD_LENGTH) continue
      yield* cutter.begin(head)
      head = undefined
    }
  }
  if (head !== undefined) yield* cutter.begin(head)
  cutter.end()
}

function createCutter() {
  /** brackets that are open within an object; 0 between objects */
  let depth = 0
  let inText = false
  let escaped = false
  let kept = ''
  /** whether the objects are elements, and whether their array has been closed */
  let inArray = false
  let closed = false

  function* cut(text: string): Generator<string> {
    let from = 0
    for (let at = 0; at < text.length && !closed; at += 1) {
      const character = text[at]!
      if (inText) {
        if (escaped) escaped = false
        else if (character === '\\') escaped = true
        else if (character === '"') inText = false
      } else if (depth === 0) {
        if (character === '{') {
          depth = 1
          from = at
        } else if (character === ']' && inArray) closed = true
        else if (!/[\s,]/.test(character)) throw new SyntaxError(`"${character}" stands where an object should`)
      } else if (character === '"') inText = true
      else if (character === '{' || character === '[') depth += 1
      else if (character === '}' || character === ']') {
        depth -= 1
        if (depth > 0) continue
        yield kept + text.slice(from, at + 1)
        kept = ''
      }
    }
    if (depth > 0) kept += text.slice(from)
    if (kept.length > LENGTH_MAX) throw new SyntaxError(`an entity is longer than ${LENGTH_MAX} characters`)
  }

  return {
    cut,
    *begin(text: string): Generator<string> {
      const head = HEAD.exec(text)?.[0] ?? ''
      inArray = head !== ''
      yield* cut(text.slice(head.length))
    },
    end() {
      if (depth > 0 || (inArray && !closed)) throw new SyntaxError('it ends in the middle')
    },
  }
}
