/**
 * The one table of everything that can be provisioned of an entity: its id, to which kinds of entity it belongs and what its value
 * is. The data model that clients read, the validation of bodies and the fields of filters are all made from it; it holds no value.
 */

/** The kinds of entity. Serves: Target (`resourceType`). */
export const RESOURCE_TYPES = [
  'entity.device',
  'entity.asset',
  'entity.commsModule',
  'entity.subscription',
  'entity.subscriber',
] as const
export type ResourceType = (typeof RESOURCE_TYPES)[number]

/** What the value of an id is. `model` is a text, or an object of `manufacturer`, `name` and `version`. */
export type ValueType = 'text' | 'texts' | 'object' | 'model' | 'url' | 'flow' | 'parametersAs'

/** One id of the data model. An id with `[]` has one value for each element of its list. */
export interface DataModelEntry {
  readonly id: string
  readonly name: string
  readonly category: string
  readonly resourceTypes: readonly ResourceType[]
  readonly type: ValueType
}

/** The list of a device's communication modules, as the prefix of the ids in it. */
export const MODULES = 'provision.device.communicationModules[]'

/** The id that holds an entity's own identifier, by kind. */
export const IDENTIFIER_IDS: Readonly<Record<ResourceType, string>> = {
  'entity.device': 'provision.device.identifier',
  'entity.asset': 'provision.asset.identifier',
  'entity.commsModule': `${MODULES}.identifier`,
  'entity.subscription': `${MODULES}.subscription.identifier`,
  'entity.subscriber': `${MODULES}.subscriber.identifier`,
}

/** The ids that the service itself reads. */
export const IDS = {
  resourceType: 'resourceType',
  organization: 'provision.administration.organization',
  identifier: 'provision.administration.identifier',
  tags: 'provision.administration.tags',
  model: 'provision.device.model',
  assetModel: 'provision.asset.model',
  url: 'provision.device.operation.url',
  flow: 'provision.device.operation.flow',
  parameters: 'provision.device.operation.parameters',
  address: `${MODULES}.subscription.address`,
} as const

type Row = readonly [word: string, type: ValueType]

const named: readonly Row[] = [
  ['identifier', 'text'],
  ['name', 'text'],
  ['description', 'text'],
  ['administrativeState', 'text'],
  ['operationalStatus', 'text'],
  ['specificType', 'text'],
]
const made: readonly Row[] = [
  ['serialNumber', 'text'],
  ['model', 'model'],
]

const groups: readonly (readonly [
  prefix: string,
  category: string,
  resourceTypes: readonly ResourceType[],
  rows: readonly Row[],
])[] = [
  [
    'provision.administration',
    'administration',
    RESOURCE_TYPES,
    [
      ['organization', 'text'],
      ['channel', 'text'],
      ['serviceGroup', 'text'],
      ['identifier', 'text'],
      ['tags', 'texts'],
    ],
  ],
  ['provision.device', 'device', ['entity.device'], [...named, ...made, ['location', 'object']]],
  [
    'provision.device.operation',
    'operation',
    ['entity.device'],
    [
      ['url', 'url'],
      ['flow', 'flow'],
      ['parameters', 'parametersAs'],
    ],
  ],
  [MODULES, 'communicationModules', ['entity.device', 'entity.commsModule'], [...named, ['type', 'text'], ...made]],
  [
    `${MODULES}.subscription`,
    'subscription',
    ['entity.device', 'entity.subscription'],
    [...named, ['address', 'text'], ['imsi', 'text'], ['msisdn', 'text']],
  ],
  [`${MODULES}.subscriber`, 'subscriber', ['entity.device', 'entity.subscriber'], [...named, ['icc', 'text']]],
  ['provision.asset', 'asset', ['entity.asset'], [...named, ...made, ['location', 'object']]],
]

/** Every id that can be provisioned, in the order in which the data model lists them. Serves: Authentication and device-side endpoints. */
export const DATA_MODEL: readonly DataModelEntry[] = [
  { id: IDS.resourceType, name: 'resourceType', category: 'entity', resourceTypes: RESOURCE_TYPES, type: 'text' },
  ...groups.flatMap(([prefix, category, resourceTypes, rows]) =>
    rows.map(([word, type]) => ({ id: `${prefix}.${word}`, name: word, category, resourceTypes, type })),
  ),
]

const entries = new Map(DATA_MODEL.map(entry => [entry.id, entry]))

/** The entry of an id; undefined for an id that the data model does not have, which is kept all the same. */
export function dataModelEntry(id: string): DataModelEntry | undefined {
  return entries.get(id)
}

/** Whether the data model has a list under this id without `[]`. */
export function isKnownList(id: string): boolean {
  return `${id}[]` === MODULES
}

/** Whether a text names a kind of entity. */
export function isResourceType(text: unknown): text is ResourceType {
  return RESOURCE_TYPES.some(type => type === text)
}

/** The shape of a value as a JSON Schema, as the data model shows it. */
export function schemaOf(type: ValueType): Readonly<Record<string, unknown>> {
  switch (type) {
    case 'texts':
      return { type: 'array', items: { type: 'string' } }
    case 'object':
      return { type: 'object' }
    case 'model':
      return { type: ['string', 'object'] }
    case 'url':
      return { type: 'string', format: 'uri' }
    case 'flow':
      return { type: 'string', pattern: FLOW_PATTERN.source }
    case 'parametersAs':
      return { type: 'string', enum: ['typed', 'object'] }
    case 'text':
      return { type: 'string' }
  }
}

const FLOW_PATTERN = /^(http|mqtt|pull|function:.{1,100})$/

/** What is wrong with a value of this type, as the end of a sentence; undefined where nothing is. */
export function faultOf(type: ValueType, value: unknown): string | undefined {
  switch (type) {
    case 'text':
      return typeof value === 'string' && value.length <= TEXT_MAX ? undefined : `must be a text of at most ${TEXT_MAX}`
    case 'texts':
      return Array.isArray(value) && value.length <= TEXTS_MAX && value.every(isName)
        ? undefined
        : `must be an array of at most ${TEXTS_MAX} texts of 1 to ${NAME_MAX} characters`
    case 'object':
      return isObject(value) ? undefined : 'must be an object'
    case 'model':
      return isName(value) || isObject(value)
        ? undefined
        : `must be a text of 1 to ${NAME_MAX} characters, or an object of manufacturer, name and version`
    case 'url':
      return faultOfUrl(value)
    case 'flow':
      return typeof value === 'string' && FLOW_PATTERN.test(value)
        ? undefined
        : 'must be http, mqtt, pull or function:<name>'
    case 'parametersAs':
      return value === 'typed' || value === 'object' ? undefined : 'must be typed or object'
  }
}

const TEXT_MAX = 4_000
const TEXTS_MAX = 100
const NAME_MAX = 256

/** Whether a value can be an identifier, a tag or another name: a text of 1 to 256 characters. */
export function isName(value: unknown): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= NAME_MAX
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function faultOfUrl(value: unknown): string | undefined {
  const url = typeof value === 'string' && value.length <= TEXT_MAX ? URL.parse(value) : null
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') return 'must be an http or https URL'
  // Whoever may read the entity would read them, and they would be sent beside the key.
  return url.username === '' && url.password === '' ? undefined : 'must not hold a user name or password'
}
