/**
 * Examples for every body and answer of the OpenAPI document that brings none of its own: made of its schema, with words that mean
 * something by the name of their member. They show a reader what travels; they judge nothing.
 */

/** A JSON Schema as the document carries it. */
interface Schema {
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly default?: unknown
  readonly examples?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | Schema
  readonly items?: Schema
  readonly minimum?: number
}

interface Media {
  readonly schema?: Schema
  readonly example?: unknown
  readonly examples?: object
}

const DATE = '2026-03-02T10:00:00.000Z'
const JOB_ID = '0196c0a4b1e00801'
const OPERATION_ID = `${JOB_ID}-2f-0196c0a0d2400003`

const REQUEST = {
  name: 'REBOOT_EQUIPMENT',
  parameters: { type: 'HARDWARE' },
  target: { append: { entities: ['meter-17', 'meter-18'] } },
  active: true,
  schedule: { stop: { delayed: 3_600_000 } },
  operationParameters: { ackTimeout: 5_000, timeout: 60_000, retries: 1, retriesDelay: 10_000, retryResultList: [] },
  notify: false,
  callback: 'http://client.example/fleet',
  user: 'ana@example.com',
}

/** Words by the name of their member, alone or behind that of its holder. */
const WORDS: Readonly<Record<string, unknown>> = {
  request: REQUEST,
  'task.schedule': { repeating: { period: { each: 1, unit: 'DAYS' } } },
  'tasks.schedule': { repeating: { period: { each: 1, unit: 'DAYS' } } },
  id: JOB_ID,
  jobId: JOB_ID,
  job: JOB_ID,
  operationId: OPERATION_ID,
  'response.id': OPERATION_ID,
  'request.id': OPERATION_ID,
  taskId: 'nightly',
  'task.id': 'nightly',
  'tasks.id': 'nightly',
  deliveryId: '01234567-89ab-8cde-8f10-000000000000',
  requestId: '01234567-89ab-4cde-8f10-000000000000',
  entityId: 'meter-17',
  deviceId: 'meter-17',
  identifier: 'meter-17',
  organization: 'waterworks',
  organizationName: 'waterworks',
  'organization.name': 'waterworks',
  'organizations.name': 'waterworks',
  operationName: 'REBOOT_EQUIPMENT',
  functionName: 'meter',
  route: 'meter-says',
  email: 'ana@example.com',
  user: 'ana@example.com',
  'user.name': 'Ana',
  surname: 'Ruiz',
  password: 'a long sentence',
  apiKey: '5c9d1f0e7ab34c21',
  jwt: 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbmFAZXhhbXBsZS5jb20ifQ.c2lnbmF0dXJl',
  countryCode: 'ES',
  langCode: 'en',
  timezone: 'Europe/Madrid',
  name: 'REBOOT_EQUIPMENT',
  'task.name': 'Nightly reboot',
  'tasks.name': 'Nightly reboot',
  'steps.name': 'DOWNLOAD',
  resourceType: 'entity.device',
  parameters: { type: 'HARDWARE' },
  resultCode: 'SUCCESSFUL',
  resultDescription: 'Restarted',
  description: 'Restarted',
  path: '/north/v80/operation/jobs',
  address: '192.0.2.7',
  method: 'POST',
  status: 200,
  code: 'waits-forever',
  version: '8.0',
  receiver: 'http://client.example/fleet',
  location: '/north/v80/provision/organizations/waterworks/devices/meter-17',
  'datastreams.id': 'temperature',
  'datapoints.value': 21,
  source: 'const request = operation => ({ http: { body: operation.name } })',
  number: 1,
  of: 1,
  cursor: 'WyJqb2JzIiwiMCJd',
}

/** What is no JSON, by its content type. */
const TEXTS: Readonly<Record<string, string>> = {
  'text/csv': 'resourceType;provision.device.identifier\nentity.device;meter-17\n',
  'text/event-stream': 'id: 17\nevent: job\ndata: {"id":"0196c0a4b1e00801"}\n\n',
}

/** Members that are there only where something went wrong. */
const FAULTS = ['error', 'errors', 'errorCode', 'errorDescription', 'lastError']
const DEPTH_MAX = 12
const HOLDER = { holder: '', name: '', depth: 0 }

function typeOf({ type }: Schema): string | undefined {
  return typeof type === 'string' ? type : type?.[0]
}

function fits(value: unknown, schema: Schema): boolean {
  if (schema.enum) return schema.enum.includes(value)
  if (schema.const !== undefined) return schema.const === value
  if (schema.anyOf) return schema.anyOf.some(each => fits(value, each))
  const type = typeOf(schema)
  if (type === undefined) return true
  if (type === 'integer' || type === 'number') return typeof value === 'number'
  if (type === 'object') return typeof value === 'object' && value !== null && schema.properties === undefined
  return type === typeof value
}

function membersOf({ properties = {}, required = [] }: Schema, holder: string, depth: number): object {
  return Object.fromEntries(
    Object.entries(properties)
      .filter(([name]) => required.includes(name) || !FAULTS.includes(name))
      .map(([name, schema]) => [name, exampleOf(schema, { holder, name, depth: depth + 1 })] as const)
      .filter(([, value]) => value !== undefined),
  )
}

/** A value that fits a schema. A branch of a choice is the first; what may be left out is there. */
export function exampleOf(schema: Schema, at: { holder: string; name: string; depth: number } = HOLDER): unknown {
  if (schema.examples?.[0] !== undefined) return schema.examples[0]
  if (schema.const !== undefined) return schema.const
  const word = WORDS[`${at.holder}.${at.name}`] ?? WORDS[at.name]
  if (word !== undefined && fits(word, schema)) return word
  if (schema.enum) return schema.enum[0]
  if (schema.default !== undefined) return schema.default
  if (schema.anyOf) return exampleOf(schema.anyOf[0]!, at)
  if (schema.allOf) return Object.assign({}, ...schema.allOf.map(each => exampleOf(each, at)))
  if (at.depth > DEPTH_MAX) return undefined
  switch (typeOf(schema)) {
    case 'object':
      if (schema.properties) return membersOf(schema, at.name, at.depth)
      return typeof schema.additionalProperties === 'object' && typeOf(schema.additionalProperties)
        ? { [at.name]: exampleOf(schema.additionalProperties, { ...at, depth: at.depth + 1 }) }
        : {}
    case 'array':
      return [exampleOf(schema.items ?? {}, { ...at, depth: at.depth + 1 })].filter(each => each !== undefined)
    case 'string':
      return /date$|At$|^(from|to)$|timestamp/i.test(at.name) ? DATE : at.name
    case 'integer':
    case 'number':
      return schema.minimum ?? 0
    case 'boolean':
      return false
    case 'null':
      return null
    default:
      return undefined
  }
}

/** The contents of a body or an answer, each with an example. */
export function withExamples(content: Readonly<Record<string, Media>>): Record<string, Media> {
  return Object.fromEntries(
    Object.entries(content).map(([type, media]) => {
      if (media.example !== undefined || media.examples !== undefined || !media.schema) return [type, media]
      const example = TEXTS[type] ?? exampleOf(media.schema)
      return [type, example === undefined ? media : { ...media, example }]
    }),
  )
}
