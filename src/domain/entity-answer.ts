/**
 * Writes an entity in the forms in which clients read it: flattened, a map from id to value box, and nested, the same tree as
 * objects. Reading either form again gives the same document. Serves: Authentication and device-side endpoints (provisioning).
 */
import type { CollectedValue, KeptValues } from './collected.ts'
import { IDS } from './data-model.ts'
import { type Entity, type EntityDocument, isSingle } from './entity.ts'
import { isListId, type ListElement } from './entity-form.ts'

/** A value in its box; `at` is there for a collected one, ISO 8601 UTC. */
interface Current {
  readonly value: unknown
  readonly at?: string
}

/** The flattened form; collected values stand beside the provisioned ones, which win. */
export function flattenedForm(entity: Entity, collected: KeptValues = {}): Record<string, unknown> {
  const form: [string, unknown][] = Object.entries(collected).map(([id, point]) => [id, box(currentOf(point))])
  form.push([IDS.resourceType, box({ value: entity.resourceType })])
  for (const [id, value] of Object.entries(entity.document)) {
    if (!isListId(id)) form.push([id, box({ value })])
    else if (isSingle(entity.resourceType, id)) form.push([id, box({ value: elementsOf(value)[0]?.value })])
    else form.push([id, elementsOf(value).map(element => ({ ...indexOf(element), ...box({ value: element.value }) }))])
  }
  return Object.fromEntries(form.sort(([a], [b]) => (a < b ? -1 : 1)))
}

function box(current: Current): { readonly _value: { readonly _current: Current } } {
  return { _value: { _current: current } }
}

function currentOf({ value, at }: CollectedValue): Current {
  return { value, at: new Date(at).toISOString() }
}

function indexOf({ index }: ListElement): { readonly _index?: { readonly value: string | number } } {
  return index === undefined ? {} : { _index: { value: index } }
}

function elementsOf(value: unknown): readonly ListElement[] {
  return Array.isArray(value) ? value : []
}

interface Branch {
  [segment: string]: unknown
}

/** The nested form; a list is an array of objects, one for each element, with the element's `_index`. */
export function nestedForm(entity: Entity, collected: KeptValues = {}): Branch {
  const root = emptyBranch()
  for (const [id, point] of Object.entries(collected)) at(root, id.split('.'))._current = currentOf(point)
  at(root, [IDS.resourceType])._current = { value: entity.resourceType }
  const lists = new Map<string, Map<unknown, Branch>>()
  for (const [id, value] of inOrder(entity.document)) {
    const [list, rest] = splitList(id)
    if (list === undefined) at(root, rest)._current = { value }
    else if (isSingle(entity.resourceType, id))
      at(root, [...list, ...rest])._current = { value: elementsOf(value)[0]?.value }
    else {
      const elements = lists.get(list.join('.')) ?? new Map<unknown, Branch>()
      lists.set(list.join('.'), elements)
      for (const [position, element] of elementsOf(value).entries()) {
        const key = element.index ?? `position ${position}`
        const branch = elements.get(key) ?? Object.assign(emptyBranch(), indexOf(element))
        elements.set(key, branch)
        at(branch, rest)._current = { value: element.value }
      }
      at(root, list.slice(0, -1))[list.at(-1)!] = [...elements.values()]
    }
  }
  return root
}

/** The identifiers of a list's elements first: their order is that of the elements. */
function inOrder(document: EntityDocument): [string, unknown][] {
  const isFirst = (id: string) => (id.endsWith('[].identifier') ? 0 : 1)
  return Object.entries(document).sort(([a], [b]) => isFirst(a) - isFirst(b) || (a < b ? -1 : 1))
}

/** The segments of the list's name without `[]`, and those within an element; no list for any other id. */
function splitList(id: string): [string[] | undefined, string[]] {
  const end = id.indexOf('[]')
  if (end === -1) return [undefined, id.split('.')]
  return [
    id.slice(0, end).split('.'),
    id
      .slice(end + 3)
      .split('.')
      .filter(Boolean),
  ]
}

function emptyBranch(): Branch {
  // Without a prototype, so that a segment such as `constructor` is one like any other.
  return Object.create(null)
}

/** The branch at the segments, made on the way. A list in the way is left as it is: a collected id cannot change its shape. */
function at(root: Branch, segments: readonly string[]): Branch {
  let branch = root
  for (const segment of segments) {
    const below = branch[segment]
    const next = isBranch(below) ? below : emptyBranch()
    if (below === undefined) branch[segment] = next
    branch = next
  }
  return branch
}

function isBranch(value: unknown): value is Branch {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
