/** Requests out of the OpenAPI document: every operation, valid and mangled. They stay on this machine, whatever they name. */
import fc from 'fast-check'
import { mangled, POISONS, type Schema, valuesOf, type Words } from './schema-values.ts'

interface Media {
  readonly schema?: Schema
  readonly example?: unknown
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>
}
interface Parameter {
  readonly name: string
  readonly in: string
  readonly schema?: Schema
}
export interface Operation {
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> }
  readonly responses?: Readonly<Record<string, unknown>>
}
export interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

/** A request as it goes out. `who` names a caller of the test. */
export interface FuzzRequest {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array | undefined
  readonly who: string
  /** what the document says may be answered */
  readonly statuses: readonly number[]
}

/** How many requests an operation gets, beside others. */
function weightOf(method: string, path: string): number {
  // What is cancelled or removed takes part no more.
  if (method === 'delete') return 0.4
  if (/\/operation\/(jobs|tasks)/.test(path)) return method === 'get' ? 2 : 6
  // A password costs a tenth of a second, a run of JavaScript as much as it is allowed to.
  if (/login|users|dryRun/.test(path)) return 0.3
  return 1
}

const json = (value: unknown) => JSON.stringify(value) ?? 'null'

/** A text in a path or a query, percent-encoded; half a character cannot be. */
const encoded = (text: string) => encodeURIComponent(text.toWellFormed())

const rawSegments = fc.constantFrom(
  '%00',
  '%ff',
  '%',
  '..',
  '.',
  'a%2Fb',
  '%2e%2e',
  'x'.repeat(3_000),
  '%F0%9F%9A%9C',
  '',
  '0',
  '-1',
)

function segmentOf(name: string, words: Words): fc.Arbitrary<string> {
  const known = words[name] ?? fc.string({ maxLength: 20 })
  return fc.oneof(
    { weight: 12, arbitrary: known.map(value => encoded(String(value))) },
    { weight: 1, arbitrary: fc.string({ maxLength: 40 }).map(encoded) },
    { weight: 1, arbitrary: rawSegments },
  )
}

function queryOf(parameters: readonly Parameter[], words: Words): fc.Arbitrary<string> {
  const pairs = parameters
    .filter(each => each.in === 'query')
    .map(({ name, schema = {} }) => {
      const fitting = fc.option(valuesOf(schema, words, { holder: 'query', name, depth: 0 }).map(String), {
        nil: undefined,
        freq: 1,
      })
      const wrong = fc
        .constantFrom(...POISONS)
        .map(poison => (typeof poison === 'string' ? poison : json(poison).slice(0, 300)))
      const value = fc.oneof({ weight: 8, arbitrary: fitting }, { weight: 1, arbitrary: wrong })
      return value.map(text => (text === undefined ? '' : `${encoded(name)}=${encoded(text)}`))
    })
  const extra = fc.oneof(
    { weight: 12, arbitrary: fc.constant('') },
    fc.constantFrom('resourcetype=x', 'start=1&start=2', '=', 'a[b]=c'),
  )
  return fc.tuple(...pairs, extra).map(parts => parts.filter(part => part !== '').join('&'))
}

/** What is wrong with the bytes of a body rather than with its members. */
const BROKEN: readonly ((text: string) => string | Uint8Array)[] = [
  text => text.slice(0, Math.floor(text.length / 2)),
  text => `${text}${text}`,
  () => '',
  () => new Uint8Array([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]),
  () => `${'['.repeat(60_000)}${']'.repeat(60_000)}`,
  () => 'null',
  () => `"${'\\u0000'.repeat(10)}"`,
  text => `\ufeff${text}`,
]

function bodiesOf({ requestBody }: Operation, words: Words): fc.Arbitrary<Pick<FuzzRequest, 'body' | 'headers'>> {
  const [type, media] = Object.entries(requestBody?.content ?? {})[0] ?? []
  if (!media) return fc.constant({ body: undefined, headers: {} })
  const headers = { 'content-type': type! }
  const examples = [media.example, ...Object.values(media.examples ?? {}).map(({ value }) => value)].filter(
    each => each !== undefined,
  )
  const schema: Schema = { ...media.schema, ...(examples.length > 0 && { examples }) }
  // What is provisioned are values by ids, of which the schema says nothing.
  const fitting =
    schema.type === 'object' && !schema.properties && words.entity ? words.entity : valuesOf(schema, words)
  const broken = fc
    .tuple(fitting, fc.constantFrom(...BROKEN))
    .map(([value, breakIt]) => ({ body: breakIt(json(value)), headers }))
  const mistyped = fitting.map(value => ({ body: json(value), headers: { 'content-type': 'text/xml' } }))
  return fc.oneof(
    { weight: 9, arbitrary: fitting.map(value => ({ body: json(value), headers })) },
    { weight: 9, arbitrary: mangled(fitting).map(value => ({ body: json(value), headers })) },
    { weight: 1, arbitrary: broken },
    { weight: 1, arbitrary: mistyped },
  )
}

function requestsTo(
  method: string,
  path: string,
  operation: Operation,
  words: Words,
  accepts: readonly string[],
): fc.Arbitrary<FuzzRequest> {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!)
  const callers = fc.oneof(
    { weight: 10, arbitrary: fc.constant(path.startsWith('/south/') ? 'device' : 'root') },
    fc.constantFrom('advanced', 'viewer', 'root', 'nobody', 'device'),
  )
  const optional = fc.oneof(
    { weight: 10, arbitrary: fc.constant({}) },
    fc.constantFrom(...accepts.map(accept => ({ accept }))),
    fc.constantFrom({ 'idempotency-key': 'k1' }, { 'idempotency-key': '' }, { 'content-encoding': 'gzip' }),
  )
  return fc
    .tuple(
      fc.tuple(...names.map(name => segmentOf(name, words))),
      queryOf(operation.parameters ?? [], words),
      bodiesOf(operation, words),
      callers,
      optional,
    )
    .map(([segments, query, { body, headers }, who, more]) => {
      const concrete = names.reduce((at, name, index) => at.replace(`{${name}}`, () => segments[index] ?? ''), path)
      return {
        method: method.toUpperCase(),
        path: query === '' ? concrete : `${concrete}?${query}`,
        headers: { ...headers, ...more } as Record<string, string>,
        body,
        who,
        statuses: Object.keys(operation.responses ?? {}).map(Number),
      }
    })
}

/** So many requests over all operations of a document, in the order of a seed; the same seed gives the same requests. */
export function fuzzRequests(
  document: Document,
  wordsFor: (path: string) => Words,
  count: number,
  seed: number,
): FuzzRequest[] {
  const operations = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({
      weight: weightOf(method, path) * 10,
      arbitrary: requestsTo(method, path, operation, wordsFor(path), [
        'text/plain',
        'text/csv',
        'text/event-stream',
        'x',
      ]),
    })),
  )
  return fc.sample(fc.oneof(...operations), { numRuns: count, seed })
}
