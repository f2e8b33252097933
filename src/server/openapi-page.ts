/**
 * The OpenAPI document as one page to read: every operation with its parameters, bodies and answers. It holds no script and reaches
 * no other address.
 */

/** What the page may load: nothing but its own style. */
export const PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"

type Json = Readonly<Record<string, unknown>>

const METHODS = ['get', 'post', 'put', 'patch', 'delete']

const STYLE = `
body{font:15px/1.5 system-ui,sans-serif;max-width:64rem;margin:2rem auto;padding:0 1rem;color:#1d2733;background:#fff}
h2{margin:2.2rem 0 .5rem;text-transform:capitalize}details{border:1px solid #d5dbe1;border-radius:6px;margin:.35rem 0;padding:.3rem .7rem}
summary{cursor:pointer}code,pre{font:13px/1.45 ui-monospace,monospace}pre{overflow:auto;background:#f4f6f8;padding:.7rem;border-radius:4px}
.method{display:inline-block;min-width:4.5em;font-weight:700;text-transform:uppercase}table{border-collapse:collapse;width:100%}
th,td{text-align:left;border-bottom:1px solid #e3e8ec;padding:.25rem .6rem .25rem 0;vertical-align:top}.quiet{color:#5b6875}
@media(prefers-color-scheme:dark){body{color:#dde4ea;background:#12181f}details,th,td{border-color:#33404d}pre{background:#1b242d}.quiet{color:#9aa8b5}}
`

const object = (value: unknown): Json => (typeof value === 'object' && value !== null ? { ...value } : {})
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
const text = (value: unknown): string =>
  String(value ?? '').replace(/[&<>"']/g, character => `&#${character.charCodeAt(0)};`)

/** A reference into the same document, followed. */
function followed(document: Json, value: unknown): Json {
  const { $ref } = object(value)
  if (typeof $ref !== 'string') return object(value)
  return object(
    $ref
      .split('/')
      .slice(1)
      .reduce<unknown>((at, name) => object(at)[name.replaceAll('~1', '/').replaceAll('~0', '~')], document),
  )
}

const shown = (value: unknown): string => text(typeof value === 'string' ? value : JSON.stringify(value, null, 2))

function examplesOf({ example, examples }: Json): readonly unknown[] {
  return example === undefined ? Object.values(object(examples)).map(each => object(each).value) : [example]
}

function schemaOf(content: unknown): string {
  return Object.entries(object(content))
    .map(([type, media]) => {
      const { schema } = object(media)
      const examples = examplesOf(object(media)).map(example => `<pre>${shown(example)}</pre>`)
      const described =
        schema === undefined ? '' : `<details><summary>Schema</summary><pre>${shown(schema)}</pre></details>`
      return `<p class=quiet>${text(type)}</p>${examples.join('')}${described}`
    })
    .join('')
}

function parameters(given: readonly unknown[]): string {
  if (given.length === 0) return ''
  const rows = given.map(object).map(({ name, in: place, required, description, schema }) => {
    const { type, enum: values, description: inner } = object(schema)
    const kind = values === undefined ? type : list(values).join(' | ')
    return `<tr><td><code>${text(name)}</code><td>${text(place)}${required === true ? ', required' : ''}<td>${text(kind)}<td>${text(description ?? inner)}`
  })
  return `<h4>Parameters</h4><table><tr><th>name<th>where<th>kind<th>meaning${rows.join('')}</table>`
}

function answers(document: Json, given: unknown): string {
  const parts = Object.entries(object(given)).map(([status, answer]) => {
    const { description, content } = followed(document, answer)
    return `<details><summary><code>${text(status)}</code> ${text(description)}</summary>${schemaOf(content)}</details>`
  })
  return `<h4>Answers</h4>${parts.join('')}`
}

function operation(document: Json, path: string, method: string, described: Json): string {
  const body = followed(document, described.requestBody)
  return `<details id="${text(described.operationId)}"><summary><span class=method>${method}</span> <code>${text(path)}</code> ${text(described.summary)}</summary>
${described.description === undefined ? '' : `<p>${text(described.description)}</p>`}${parameters(list(described.parameters))}
${body.content === undefined ? '' : `<h4>Body</h4>${schemaOf(body.content)}`}${answers(document, described.responses)}</details>`
}

/** Writes the page. Nothing of the document reaches it unescaped. */
export function openapiPage(document: Json): string {
  const byTag = new Map<string, string[]>(list(document.tags).map(tag => [String(object(tag).name), []]))
  for (const [path, item] of Object.entries(object(document.paths))) {
    for (const method of METHODS) {
      const described = object(object(item)[method])
      if (described.responses === undefined) continue
      const tag = String(list(described.tags)[0] ?? 'other')
      byTag.set(tag, [...(byTag.get(tag) ?? []), operation(document, path, method, described)])
    }
  }
  const { title, version, description } = object(document.info)
  const sections = [...byTag]
    .filter(([, operations]) => operations.length > 0)
    .map(([tag, operations]) => `<h2>${text(tag)}</h2>${operations.join('')}`)
  return `<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content="width=device-width,initial-scale=1">
<title>${text(title)}</title><style>${STYLE}</style><h1>${text(title)} <span class=quiet>${text(version)}</span></h1>
<p>${text(description)}. The same as a document for programs: <a href="/openapi.json">openapi.json</a>.</p>${sections.join('')}</html>`
}
