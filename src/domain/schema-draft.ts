/**
 * The drafts of JSON Schema in which a parameter schema may be written, and the keywords that each of them does not know: what a draft
 * would pass over in silence must not look like a promise. Serves: Operation type (parameter schema).
 */

/** Drafts by which parameters are judged; draft-06 is judged as draft-07, which only adds to it. */
export type SchemaDraft = '7' | '2019-09' | '2020-12'

const URIS: Readonly<Record<string, SchemaDraft>> = {
  'draft-06': '7',
  'draft-07': '7',
  'draft/2019-09': '2019-09',
  'draft/2020-12': '2020-12',
}

const BY_2019 = [
  'dependentRequired',
  'dependentSchemas',
  'maxContains',
  'minContains',
  'unevaluatedItems',
  'unevaluatedProperties',
]
const UNKNOWN: Readonly<Record<SchemaDraft, readonly string[]>> = {
  '7': [...BY_2019, 'prefixItems'],
  '2019-09': ['prefixItems'],
  '2020-12': ['additionalItems'],
}

const uri = (draft: string) => `https://json-schema.org/${draft}/schema`

/** The words for what `$schema` may be. */
export const DRAFT_URIS = Object.keys(URIS).map(uri)

/** The draft that a schema's `$schema` names, draft-07 where it has none; undefined for any other. */
export function draftOf(schema: Readonly<Record<string, unknown>>): SchemaDraft | undefined {
  const { $schema } = schema
  if ($schema === undefined) return '7'
  if (typeof $schema !== 'string') return undefined
  const [, name] = /^https?:\/\/json-schema\.org\/(draft[-/][\d-]+)\/schema#?$/.exec($schema) ?? []
  return name !== undefined && Object.hasOwn(URIS, name) ? URIS[name] : undefined
}

/** Why a keyword cannot stand in a schema of a draft: the draft would pass over it. Undefined where it can. */
export function refusalOf(keyword: string, value: unknown, draft: SchemaDraft): string | undefined {
  if (keyword === 'items' && Array.isArray(value) && draft === '2020-12') {
    return 'must be one schema: in draft 2020-12 the schemas of single items stand in prefixItems'
  }
  if (!UNKNOWN[draft].includes(keyword)) return undefined
  if (keyword === 'additionalItems') return 'is not known to draft 2020-12: items says it there'
  const since = BY_2019.includes(keyword) ? 'draft/2019-09' : 'draft/2020-12'
  return `is not known to the draft of this schema: its "$schema" must be "${uri(since)}"${since === 'draft/2019-09' ? ' or later' : ''}`
}
