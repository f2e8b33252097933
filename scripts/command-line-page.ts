/** The reference of the command line, printed from the tree of commands. */
import { Readable, Writable } from 'node:stream'
import type { Command, Option } from 'commander'
import { examplesOf } from '../src/cli/frame/command.ts'
import { EXIT, EXIT_MEANINGS, type ExitName } from '../src/cli/frame/exit-codes.ts'
import { createProgram } from '../src/cli/program.ts'

const OPENING = `# Command line

\`npm install --global drover\` brings the command \`drover\`; in a checkout it is \`npm run -s drover --\`. The package runs on Node 20.18 or newer; \`serve\`,
\`demo\`, \`simulate\`, \`backup\`, \`restore\` and \`prune\` need Node 22.13, and take the one that is installed with the package where the machine's is older.

## Where, and who

The service is the one of \`--url\`, else of \`DROVER_URL\`, else the one you are signed in to, else \`http://127.0.0.1:8080\`. Who you are is the key in
\`DROVER_API_KEY\`, else whoever signed in with \`drover login\`. The token of a login lies in \`$XDG_CONFIG_HOME/drover/login.json\` (\`~/.config\` where
that is not set), which only you can read, and is sent to no other service than the one that gave it. Secrets are never options: others can
see those.

## What it prints

Answers go to standard output, everything else to standard error: a pipe gets the answer alone. \`--json\` prints one JSON document, or a
line of JSON for each row or change where there may be any number: \`operations list\`, \`search\`, \`devices import\`, \`jobs watch\`, and the
commands that take several ids. A failure of whatever kind is then a line of JSON on standard error:
\`{"error":{"kind","exitCode","message","status","errors"}}\`, the last two with what the service refused. \`serve\`, \`demo\` and \`simulate\` have no \`--json\`.
What takes long shows a bar where standard error is a terminal. Times are in the zone of the machine, or in UTC with \`--utc\`.

Spans are written \`90s\`, \`15m\`, \`1h30m\`, \`7d\`; instants \`22:00\` (the next one), \`2026-03-02T22:00\`, \`2026-03-02T22:00+01:00\`; windows \`22:00-06:00\` or
\`MON-FRI 22:00-06:00\`. Conditions are \`field=value\`, \`!=\`, \`>\`, \`>=\`, \`<\`, \`<=\` and \`~\` for a regular expression; [the fields](search-fields.md).
`

/** Writes the page. */
export function commandLinePage(): string {
  const program = silentProgram()
  const codes = Object.entries(EXIT_MEANINGS).map(
    ([name, meaning]) => `| ${EXIT[name as ExitName]} | \`${name}\` | ${meaning} |`,
  )
  return [
    OPENING,
    `## Exit codes\n\n| code | kind | meaning |\n|---|---|---|\n${codes.join('\n')}\n`,
    ...program.commands.map(each => section(each, [])),
  ].join('\n')
}

function silentProgram(): Command {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  return createProgram({
    env: {},
    stdin: Readable.from([]),
    stdout: nowhere,
    stderr: nowhere,
    interrupted: new AbortController().signal,
  })
}

function section(command: Command, above: readonly string[]): string {
  const path = [...above, command.name()]
  const title = `${above.length === 0 ? '##' : '###'} drover ${path.join(' ')}`
  const about = sentence(command.description())
  if (command.commands.length > 0)
    return [`${title}\n\n${about}\n`, ...command.commands.map(each => section(each, path))].join('\n')
  const args = command.registeredArguments.map(each => {
    const name = each.variadic ? `${each.name()}...` : each.name()
    return each.required ? `<${name}>` : `[${name}]`
  })
  const options = command.options.filter(({ long }) => !COMMON.includes(long ?? ''))
  const common = command.options.filter(({ long }) => COMMON.includes(long ?? '')).map(({ flags }) => `\`${flags}\``)
  return [
    `${title}\n\n${about}\n`,
    `\`drover ${[...path, ...args].join(' ')}\`\n`,
    options.length === 0 ? '' : `| option | meaning |\n|---|---|\n${options.map(optionRow).join('\n')}\n`,
    common.length === 0 ? '' : `Also ${common.join(', ')}.\n`,
    examples(command),
  ]
    .filter(part => part !== '')
    .join('\n')
}

/** Options that most commands have; the opening says what they are. */
const COMMON = ['--url', '--organization', '--json', '--utc']

function optionRow({ flags, description, defaultValue }: Option): string {
  const standard = defaultValue === undefined || defaultValue === false ? '' : ` (${defaultValue} unless told)`
  return `| \`${flags.replaceAll('|', '\\|')}\` | ${description.replaceAll('|', '\\|')}${standard} |`
}

function examples(command: Command): string {
  const found = examplesOf(command)
  if (found.length === 0) return ''
  return `\`\`\`sh\n${found.map(({ line, meaning }) => `# ${meaning}\n${line}`).join('\n\n')}\n\`\`\`\n`
}

const sentence = (text: string) => `${text[0]?.toUpperCase() ?? ''}${text.slice(1)}.`
