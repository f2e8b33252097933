/** Prints what the interface promises, section by section, with the case that shows each promise, from the files of this folder. */
import { readFile } from 'node:fs/promises'
import path from 'node:path'

/** The sections in the order of the interface, and the file that holds their cases. */
export const SECTIONS: readonly (readonly [title: string, file: string])[] = [
  ['What the service does', 'what-the-service-does'],
  ['Job request', 'job-request'],
  ['Target', 'target'],
  ['Schedule (job)', 'schedule'],
  ['operationParameters', 'operation-parameters'],
  ['Job as read', 'job-as-read'],
  ['Operation', 'operation'],
  ['Step', 'step'],
  ['Task', 'task'],
  ['Operation type', 'operation-type'],
  ['Job status', 'job-status'],
  ['Operation status', 'operation-status'],
  ['Task state', 'task-state'],
  ['Endpoints: jobs', 'jobs'],
  ['Endpoints: job and operation search', 'search'],
  ['Endpoints: tasks', 'tasks'],
  ['Endpoints: operation types', 'operation-types'],
  ['Endpoints: authentication and device side', 'device-side'],
  ['Device-side exchange flows', 'device-flows'],
  ['Authentication', 'authentication'],
  ['Events', 'events'],
  ['Errors', 'errors'],
  ['Limits', 'limits'],
  ['Versioning', 'versioning'],
]

export interface Promised {
  readonly words: string
  /** where it is shown, when not in the section's own file */
  readonly elsewhere?: { readonly file: string; readonly name: string }
}

const literal = /'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"/y

/** The string literals that open the arguments of a call, from behind its parenthesis. */
function leadingTexts(source: string, from: number): string[] {
  const texts: string[] = []
  for (let at = from; ; ) {
    literal.lastIndex = at + /\s*/.exec(source.slice(at))![0].length
    const found = literal.exec(source)
    if (!found) return texts
    texts.push((found[1] ?? found[2] ?? '').replace(/\\(.)/g, '$1'))
    const comma = /^\s*,/.exec(source.slice(literal.lastIndex))
    if (!comma) return texts
    at = literal.lastIndex + comma[0].length
  }
}

/** The cases of a section's file, in their order. Fails on one whose name is not written out. */
export function promisesIn(source: string): Promised[] {
  return [...source.matchAll(/^ *(test|shownBy)(?:\.\w+)*\(/gm)].map(call => {
    const [words, file, name] = leadingTexts(source, call.index + call[0].length)
    if (words === undefined)
      throw new Error(`a case without a name of its own: ${source.slice(call.index, call.index + 80)}`)
    return call[1] === 'shownBy' ? { words, elsewhere: { file: file!, name: name! } } : { words }
  })
}

const cell = (text: string) => text.replaceAll('|', '\\|')

function section(title: string, file: string, promises: readonly Promised[]): string {
  const lines = promises.map(({ words, elsewhere }, index) => {
    const shown = elsewhere ? `\`${elsewhere.file}\`: ${elsewhere.name}` : 'here'
    return `| ${index + 1} | ${cell(words)} | ${cell(shown)} |`
  })
  return `## ${title}

\`test/service/interface/${file}.test.ts\`

| | promise | shown |
|---|---|---|
${lines.join('\n')}
`
}

/** The whole page. */
export async function conformancePage(): Promise<string> {
  const sections = await Promise.all(
    SECTIONS.map(async ([title, file]) => {
      const source = await readFile(path.join(import.meta.dirname, `${file}.test.ts`), 'utf8')
      return { title, file, promises: promisesIn(source) }
    }),
  )
  const all = sections.flatMap(({ promises }) => promises)
  const elsewhere = all.filter(promise => promise.elsewhere).length
  return `# Conformance

What the interface promises, one row for each promise, in the order of its sections. Each row is a test case of the same name: *here*
is a case of the section's own file, which talks to a running service over HTTP and MQTT; the others lie where hours can pass in
seconds. This page is printed from those files; a test holds it to them, and fails where a named case does not exist.

${all.length} promises, ${all.length - elsewhere} of them shown on a running service, ${elsewhere} elsewhere.

${sections.map(({ title, file, promises }) => section(title, file, promises)).join('\n')}`
}
