/**
 * An entity as it is kept: one flat document of values by id, made from what a body said and merged with what a patch says, and what
 * the engine reads out of it. It refuses to know the forms in which it travels and the tables in which it lies.
 * Serves: Authentication and device-side endpoints (provisioning).
 */
import {
  IDENTIFIER_IDS,
  IDS,
  isName,
  isResourceType,
  MODULES,
  RESOURCE_TYPES,
  type ResourceType,
} from './data-model.ts'
import { isListId, type ListElement, type SaidValues } from './entity-form.ts'
import { DOCUMENT_LENGTH_MAX, ELEMENTS_MAX, IDS_MAX } from './entity-limits.ts'
import { type Parsed, type Problem, parsed } from './problems.ts'

/** An entity's values: id → plain value; id with `[]` → its `ListElement`s. */
export type EntityDocument = Readonly<Record<string, unknown>>

/** An entity of an organization. The document holds its identifier and organization, under their ids; its kind stands beside it. */
export interface Entity {
  readonly identifier: string
  readonly resourceType: ResourceType
  readonly document: EntityDocument
}

/** What the address of a request says of the entity in its body; each must agree with what the body says. */
export interface EntityFrame {
  readonly organizationName: string
  readonly resourceType?: ResourceType
  readonly identifier?: string
}

/** The elements of a list; none where the document does not have it. */
export function listOf(document: EntityDocument, id: string): readonly ListElement[] {
  const value = document[id]
  return isListId(id) && Array.isArray(value) ? value : []
}

/** In the own body of these kinds, the ids in the modules' list stand for the one thing that the body is about. */
export function isSingle(resourceType: ResourceType, id: string): boolean {
  return resourceType !== 'entity.device' && resourceType !== 'entity.asset' && id.startsWith(MODULES)
}

/** The entity that a whole body describes. Fails naming what is missing or does not agree. */
export function makeEntity(said: SaidValues, frame: EntityFrame): Parsed<Entity> {
  return settle(apply(new Map(), said), said, frame)
}

/**
 * The entity after a patch: what the patch says replaces, null removes an id and all below it, and a list whose elements are all
 * known by an index is merged element by element. Fails as `makeEntity`.
 */
export function mergeEntity(before: Entity, said: SaidValues, frame: EntityFrame): Parsed<Entity> {
  return settle(apply(new Map(Object.entries(before.document)), said), said, {
    ...frame,
    resourceType: frame.resourceType ?? before.resourceType,
    identifier: frame.identifier ?? before.identifier,
  })
}

/** Whom a body is about, as far as it says so: enough to find an entity that is there. */
export function identify(said: SaidValues, frame: EntityFrame): Parsed<Pick<Entity, 'identifier'> & EntityFrame> {
  const problems: Problem[] = []
  const resourceType = readResourceType(said, frame, problems)
  const identifier = readIdentifier(said, frame, resourceType, problems)
  return parsed({ ...frame, identifier, ...(resourceType && { resourceType }) }, problems)
}

function apply(values: Map<string, unknown>, said: SaidValues): Map<string, unknown> {
  for (const [id, value] of said) {
    if (value === null) {
      for (const known of [...values.keys()]) if (known === id || known.startsWith(`${id}.`)) values.delete(known)
    } else if (isListId(id) && Array.isArray(value)) {
      const elements = mergeLists(values.get(id), value)
      if (elements.length === 0) values.delete(id)
      else values.set(id, elements)
    } else values.set(id, value)
  }
  return values
}

function mergeLists(before: unknown, said: readonly ListElement[]): readonly ListElement[] {
  const isMerge = Array.isArray(before) && said.every(element => element.index !== undefined)
  const merged = new Map<unknown, ListElement>(
    isMerge ? before.map((element: ListElement, at) => [element.index ?? { at }, element]) : [],
  )
  for (const element of said) merged.set(element.index ?? element, element)
  return [...merged.values()].filter(element => element.value !== null)
}

function settle(values: Map<string, unknown>, said: SaidValues, frame: EntityFrame): Parsed<Entity> {
  const problems: Problem[] = []
  const refuse = (path: string, message: string) => problems.push({ path, message, kind: 'invalid' })
  const resourceType = readResourceType(said, frame, problems)
  const identifier = readIdentifier(said, frame, resourceType, problems)
  const organization = values.get(IDS.organization)
  if (organization !== undefined && organization !== frame.organizationName)
    refuse(IDS.organization, `must be ${frame.organizationName}, the organization of the address`)
  if (resourceType === undefined) {
    if (problems.length === 0) problems.push({ path: IDS.resourceType, message: 'is required', kind: 'missing' })
    return parsed<Entity>(undefined, problems)
  }
  values.delete(IDS.resourceType)
  values.set(IDS.organization, frame.organizationName)
  values.set(IDS.identifier, identifier)
  const own = IDENTIFIER_IDS[resourceType]
  values.set(own, isListId(own) ? [{ value: identifier }] : identifier)
  for (const [id, list] of values) {
    if (!Array.isArray(list) || !isListId(id)) continue
    if (isSingle(resourceType, id)) {
      if (list.length > 1) refuse(id, `has one value in an ${resourceType}`)
      values.set(id, [{ value: list[0]?.value }])
    } else if (list.length > ELEMENTS_MAX) refuse(id, `has more than ${ELEMENTS_MAX} elements`)
  }
  for (const id of listsThatAreBranches(values)) refuse(id, 'is a list and a single value at once')
  if (values.size > IDS_MAX) refuse('', `has more than ${IDS_MAX} ids`)
  const document = Object.fromEntries(inListOrder(values))
  if (JSON.stringify(document).length > DOCUMENT_LENGTH_MAX)
    refuse('', `is longer than ${DOCUMENT_LENGTH_MAX} characters`)
  return parsed({ identifier, resourceType, document }, problems)
}

function readResourceType(said: SaidValues, frame: EntityFrame, problems: Problem[]): ResourceType | undefined {
  const word = said.get(IDS.resourceType) ?? undefined
  if (word === undefined) return frame.resourceType ?? INFERRED.find(type => ownIdentifier(said, type) !== undefined)
  if (!isResourceType(word)) {
    problems.push({ path: IDS.resourceType, message: `must be one of ${RESOURCE_TYPES.join(', ')}`, kind: 'invalid' })
    return undefined
  }
  if (frame.resourceType === undefined || word === frame.resourceType) return word
  problems.push({ path: IDS.resourceType, message: `must be ${frame.resourceType} here`, kind: 'invalid' })
  return frame.resourceType
}

/** In this order a body without `resourceType` is looked at: the module's own identifier may stand in a subscription's body. */
const INFERRED: readonly ResourceType[] = [
  'entity.device',
  'entity.asset',
  'entity.subscription',
  'entity.subscriber',
  'entity.commsModule',
]

function ownIdentifier(said: SaidValues, resourceType: ResourceType): unknown {
  const value = said.get(IDENTIFIER_IDS[resourceType]) ?? undefined
  return Array.isArray(value) ? value[0]?.value : value
}

function readIdentifier(
  said: SaidValues,
  frame: EntityFrame,
  resourceType: ResourceType | undefined,
  problems: Problem[],
): string {
  const ownId = resourceType === undefined ? IDS.identifier : IDENTIFIER_IDS[resourceType]
  const own = resourceType === undefined ? undefined : ownIdentifier(said, resourceType)
  const general = said.get(IDS.identifier) ?? undefined
  const identifier = frame.identifier ?? own ?? general
  if (identifier === undefined) problems.push({ path: ownId, message: 'is required', kind: 'missing' })
  else if (!isName(identifier))
    problems.push({ path: ownId, message: 'must be a text of 1 to 256 characters', kind: 'invalid' })
  else {
    const stands = `must be ${identifier}, `
    if (own !== undefined && own !== identifier)
      problems.push({ path: ownId, message: `${stands}the id of the address`, kind: 'invalid' })
    if (general !== undefined && general !== identifier)
      problems.push({ path: IDS.identifier, message: `${stands}the entity's own identifier`, kind: 'invalid' })
    return identifier
  }
  return ''
}

/** Ids of lists that are a single value or an object elsewhere in the document, so that no nested form could hold both. */
function listsThatAreBranches(values: ReadonlyMap<string, unknown>): string[] {
  const branches = new Set<string>()
  for (const id of values.keys()) {
    const plain = id.slice(0, id.includes('[]') ? id.indexOf('[]') : undefined)
    const until = isListId(id) ? plain.length - 1 : plain.length
    for (let dot = plain.indexOf('.'); dot !== -1 && dot <= until; dot = plain.indexOf('.', dot + 1))
      branches.add(plain.slice(0, dot))
    if (!isListId(id)) branches.add(plain)
  }
  return [...values.keys()].filter(id => isListId(id) && branches.has(id.slice(0, id.indexOf('[]'))))
}

/** The lists of one group in one order of elements: that of the identifiers, then that of first appearance. */
function* inListOrder(values: ReadonlyMap<string, unknown>): Generator<[string, unknown]> {
  const orders = new Map<string, Map<unknown, number>>()
  const isFirst = (id: string) => (id.endsWith('[].identifier') ? 0 : 1)
  const ids = [...values.keys()].sort((a, b) => isFirst(a) - isFirst(b) || (a < b ? -1 : 1))
  for (const id of ids) {
    const list = values.get(id)
    if (!isListId(id) || !Array.isArray(list)) {
      yield [id, list]
      continue
    }
    const group = id.slice(0, id.indexOf('[]'))
    const order = orders.get(group) ?? new Map<unknown, number>()
    orders.set(group, order)
    const placed = list.map((element: ListElement, at) => {
      const key = element.index ?? `position ${at}`
      if (!order.has(key)) order.set(key, order.size)
      return { element, place: order.get(key)! }
    })
    yield [id, placed.sort((a, b) => a.place - b.place).map(({ element }) => element)]
  }
}

/** What the engine reads of an entity, beside its document. */
export interface EntityTraits {
  readonly tags: readonly string[]
  /** the text, or the name in the object */
  readonly model: string | null
  readonly flow: string | null
  readonly url: string | null
  readonly parametersAs: 'typed' | 'object'
  /** the value of its first `…subscription.address` */
  readonly address: string | null
}

/** The traits that stand in a document. */
export function traitsOf({ resourceType, document }: Entity): EntityTraits {
  const tags = document[IDS.tags]
  const model = document[resourceType === 'entity.asset' ? IDS.assetModel : IDS.model]
  return {
    tags: Array.isArray(tags) ? [...new Set(tags.filter(tag => typeof tag === 'string'))] : [],
    model: text(model) ?? text(nameOf(model)),
    flow: text(document[IDS.flow]),
    url: text(document[IDS.url]),
    parametersAs: document[IDS.parameters] === 'object' ? 'object' : 'typed',
    address: text(listOf(document, IDS.address)[0]?.value),
  }
}

function nameOf(model: unknown): unknown {
  return typeof model === 'object' && model !== null && 'name' in model ? model.name : null
}

function text(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

/** Something that a device carries: a module, subscription or subscriber, by its identifier. */
export interface Carried {
  readonly resourceType: ResourceType
  readonly identifier: string
  /** its module's place among those of the device, from 0 */
  readonly position: number
}

const CARRIED_TYPES = ['entity.commsModule', 'entity.subscription', 'entity.subscriber'] as const

/** What a device says it carries, each once; nothing for any other kind. */
export function carriedBy({ resourceType, document }: Entity): Carried[] {
  if (resourceType !== 'entity.device') return []
  return CARRIED_TYPES.flatMap(type => {
    const named = new Map<string, Carried>()
    for (const [position, { value }] of listOf(document, IDENTIFIER_IDS[type]).entries())
      if (isName(value) && !named.has(value)) named.set(value, { resourceType: type, identifier: value, position })
    return [...named.values()]
  })
}
