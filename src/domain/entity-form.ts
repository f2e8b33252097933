/**
 * Reads the forms in which an entity comes, flattened and nested, boxed and plain, into values by id. It refuses to know which
 * values an entity must have. Serves: Authentication and device-side endpoints (provisioning).
 */
import { dataModelEntry, faultOf, isKnownList, MODULES } from './data-model.ts'
import { ELEMENTS_MAX, faultOfId, faultOfValue, ID_SEGMENTS_MAX, IDS_MAX } from './entity-limits.ts'
import { type Parsed, type Problem, parsed } from './problems.ts'

/** One element of a list: what it is known by in the list, where anything said so, and its value. */
export interface ListElement {
  readonly index?: string | number
  readonly value: unknown
}

/** What a body said, by id: a value, the elements of a list for an id with `[]`, null for what it wants gone. */
export type SaidValues = ReadonlyMap<string, unknown>

/** Whether an id has one value for each element of a list. */
export function isListId(id: string): boolean {
  return id.includes('[]')
}

type Members = Readonly<Record<string, unknown>>

/** A value as it stands in a body. `element` is there where it belongs to an element of a list. */
interface Leaf {
  readonly id: string
  readonly path: string
  readonly boxed: unknown
  readonly element?: { readonly boxedIndex: unknown }
}

/**
 * Reads a body whose members are ids (flattened) or segments of them (nested), with value boxes or plain values. Fails naming the
 * fields at fault, at most 20 of them.
 */
export function readEntityForm(body: unknown, flattened: boolean): Parsed<SaidValues> {
  const said = new Map<string, unknown>()
  const problems: Problem[] = []
  if (!isMembers(body)) return parsed(said, [{ path: '', message: 'must be an object', kind: 'invalid' }])
  for (const leaf of flattened ? flattenedLeaves(body) : nestedLeaves(body)) {
    keep(leaf, said, problems)
    if (said.size > IDS_MAX) problems.push({ path: '', message: `has more than ${IDS_MAX} ids`, kind: 'invalid' })
    if (problems.length >= PROBLEMS_MAX || said.size > IDS_MAX) break
  }
  if (problems.length === 0) nameElements(said)
  return parsed(said, problems)
}

const PROBLEMS_MAX = 20

function* flattenedLeaves(body: Members): Generator<Leaf> {
  for (const [id, value] of Object.entries(body)) {
    if (!isListId(id) || value === null) yield { id, path: id, boxed: value }
    else if (!Array.isArray(value)) yield { id, path: id, boxed: value, element: { boxedIndex: undefined } }
    else if (value.length === 0) yield { id, path: id, boxed: null }
    else
      for (const [at, boxed] of value.entries())
        yield { id, path: `${id}[${at}]`, boxed, element: { boxedIndex: indexIn(boxed) } }
  }
}

function* nestedLeaves(body: Members): Generator<Leaf> {
  for (const [name, value] of Object.entries(body)) yield* leavesAt(name, value, name)
}

/** What stands at an id of the nested form, inside an element of a list or outside of any. */
function* leavesAt(name: string, value: unknown, path: string, element?: Leaf['element']): Generator<Leaf> {
  const isList = element === undefined && (isListId(name) || isKnownList(name) || isListOfObjects(name, value))
  const id = isList && !isListId(name) ? `${name}[]` : name
  if (!isList || value === null) yield* leavesOf(id, value, path, element)
  else if (!Array.isArray(value)) yield* leavesOf(id, value, path, { boxedIndex: undefined })
  else
    for (const [at, each] of value.entries()) yield* leavesOf(id, each, `${path}[${at}]`, { boxedIndex: indexIn(each) })
}

/** A leaf, the leaves of a branch, or both: a box may have members beside its value. */
function* leavesOf(id: string, value: unknown, path: string, element: Leaf['element']): Generator<Leaf> {
  const isBranch = isMembers(value) && (isBox(value) || dataModelEntry(id) === undefined)
  if (!isBranch || isBox(value) || id.split('.').length > ID_SEGMENTS_MAX)
    yield { id, path, boxed: value, ...(element && { element }) }
  if (!isBranch || id.split('.').length > ID_SEGMENTS_MAX) return
  for (const [name, below] of Object.entries(value))
    if (!name.startsWith('_')) yield* leavesAt(`${id}.${name}`, below, `${path}.${name}`, element)
}

function isListOfObjects(id: string, value: unknown): boolean {
  return Array.isArray(value) && value.length > 0 && value.every(isMembers) && dataModelEntry(id) === undefined
}

/** Judges one leaf and adds it to what was said. */
function keep(leaf: Leaf, said: Map<string, unknown>, problems: Problem[]): void {
  const { id, path, element } = leaf
  const refuse = (where: string, message: string) => problems.push({ path: where, message, kind: 'invalid' })
  const unfit = faultOfId(id) ?? (/(^|\.)_/.test(id) ? 'has a segment that begins with _' : undefined)
  if (unfit !== undefined) return void refuse(path.slice(0, 300), unfit)
  const boxed = unbox(leaf.boxed)
  if (boxed === undefined) {
    problems.push({ path: `${path}._value._current.value`, message: 'is required', kind: 'missing' })
    return
  }
  const { value } = boxed
  const entry = dataModelEntry(id)
  const wrong = value === null ? undefined : (faultOfValue(value) ?? (entry && faultOf(entry.type, value)))
  if (wrong !== undefined) return void refuse(path, wrong)
  if (element === undefined) {
    if (said.has(id)) refuse(path, 'is there twice')
    else said.set(id, value)
    return
  }
  const index = readIndex(element.boxedIndex)
  if (index === 'unreadable') return void refuse(`${path}._index`, 'must be a number or a text')
  const before = said.get(id)
  const elements: ListElement[] = Array.isArray(before) ? before : []
  if (elements.length >= ELEMENTS_MAX) return void refuse(path, `is one more than the ${ELEMENTS_MAX} of a list`)
  if (index !== undefined && elements.some(other => other.index === index.value))
    return void refuse(`${path}._index`, 'is there twice')
  elements.push(index === undefined ? { value } : { index: index.value, value })
  said.set(id, elements)
}

/** The value in a box or the plain value itself; undefined where the box has none. */
function unbox(boxed: unknown): { readonly value: unknown } | undefined {
  if (!isBox(boxed)) return { value: boxed }
  const outer = Object.hasOwn(boxed, '_value') ? boxed._value : boxed
  const inner = isMembers(outer) && Object.hasOwn(outer, '_current') ? outer._current : outer
  if (!isMembers(inner)) return { value: inner }
  return Object.hasOwn(inner, 'value') ? { value: inner.value } : undefined
}

function isBox(value: unknown): value is Members {
  return isMembers(value) && (Object.hasOwn(value, '_value') || Object.hasOwn(value, '_current'))
}

function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function indexIn(element: unknown): unknown {
  return isMembers(element) ? element._index : undefined
}

function readIndex(boxed: unknown): { readonly value: string | number } | 'unreadable' | undefined {
  const index = isMembers(boxed) ? boxed.value : boxed
  if (index === undefined || index === null) return undefined
  const fits = typeof index === 'number' || (typeof index === 'string' && index.length <= 256)
  return fits && faultOfValue(index) === undefined ? { value: index } : 'unreadable'
}

/** An element that came without an index is known by the identifier of its module, where the body says it. */
function nameElements(said: Map<string, unknown>): void {
  const names = said.get(`${MODULES}.identifier`)
  if (!Array.isArray(names)) return
  for (const [id, list] of said) {
    if (!Array.isArray(list) || !id.startsWith(`${MODULES}.`)) continue
    const named = list.map((element: ListElement, at) => {
      const name: unknown = element.index === undefined ? names[at]?.value : element.index
      return typeof name === 'string' || typeof name === 'number' ? { index: name, value: element.value } : element
    })
    const indexes = new Set(named.map(element => element.index))
    if (indexes.size === named.length) said.set(id, named)
  }
}
