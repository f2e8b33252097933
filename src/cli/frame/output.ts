/**
 * What a command shows: tables and lines for people, JSON for programs. Answers go to standard output; progress and complaints to
 * standard error, so that a pipe gets the answer alone.
 */
import { once } from 'node:events'
import { SingleBar } from 'cli-progress'
import Table from 'cli-table3'
import { shownInstant } from '../reading/times.ts'
import type { Surroundings } from './surroundings.ts'

export interface OutputOptions {
  readonly json: boolean
  readonly utc: boolean
}

export type Cell = string | number | boolean | null | undefined

export interface Output extends OutputOptions {
  /** Writes text to standard output and waits where its reader is slow. */
  write(text: string): Promise<void>
  /** The one answer of a command: as JSON, or in the words for people. */
  answer(document: unknown, words: () => string): Promise<void>
  /** One of many answers, a line each: as JSON, or in words. */
  line(document: unknown, words: () => string): Promise<void>
  /** A remark beside the answer, for people; it goes to standard error. */
  remark(text: string): void
  /** An instant for people. */
  instant(text: string | null | undefined): string
  /** A bar on standard error; nothing where that is no terminal. */
  progress(what: string): Progress
}

export interface Progress {
  /** How much is done, from 0 to 1, and what that is. */
  show(share: number, words: string): void
  end(): void
}

/** How a command says what it has to say. */
export function createOutput(options: OutputOptions, { stdout, stderr }: Surroundings): Output {
  async function write(text: string): Promise<void> {
    if (!stdout.write(text)) await once(stdout, 'drain')
  }
  return {
    ...options,
    write,
    answer: (document, words) => write(options.json ? `${JSON.stringify(document, null, 2)}\n` : ended(words())),
    line: (document, words) => write(options.json ? `${JSON.stringify(document)}\n` : ended(words())),
    remark: text => void stderr.write(ended(text)),
    instant: text => shownInstant(text, options.utc),
    progress: what => (stderr.isTTY ? bar(what, stderr) : { show() {}, end() {} }),
  }
}

const ended = (text: string) => (text.endsWith('\n') ? text : `${text}\n`)

function bar(what: string, stream: Surroundings['stderr']): Progress {
  const shown = new SingleBar({
    stream: stream as NodeJS.WriteStream,
    format: `${what} {bar} {percentage}% {words}`,
    barCompleteChar: '█',
    barIncompleteChar: '░',
    hideCursor: true,
    clearOnComplete: true,
  })
  shown.start(1, 0, { words: '' })
  return {
    show: (share, words) => shown.update(Math.min(1, share), { words }),
    end: () => shown.stop(),
  }
}

/** Rows that share the widths of a table of any length. */
const TABLE_ROWS = 500

/** A table of any length, shown part by part; `end` answers how many rows it had. */
export function createTable(
  head: readonly string[],
  out: Output,
): { row(cells: readonly Cell[]): Promise<void>; end(): Promise<number> } {
  let rows: (readonly Cell[])[] = []
  let count = 0
  async function flush() {
    if (rows.length > 0) await out.write(table(count === rows.length ? head : [], rows))
    rows = []
  }
  return {
    async row(cells) {
      rows.push(cells)
      count += 1
      if (rows.length === TABLE_ROWS) await flush()
    },
    async end() {
      await flush()
      return count
    },
  }
}

/** Rows under their titles, without lines, so that what is read by people can be cut by programs. */
export function table(head: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const lines = new Table({
    // Names of fields are told letter by letter.
    head: head.map(title => (/[.]|[a-z][A-Z]/.test(title) ? title : title.toUpperCase())),
    chars: NO_LINES,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 2, compact: true },
  })
  for (const row of rows) lines.push(row.map(shown))
  return `${lines.toString().replace(/[ \t]+$/gm, '')}\n`
}

/** A table, or a word where it would have no rows. */
export function tableOr(nothing: string, head: readonly string[], rows: readonly (readonly Cell[])[]): string {
  return rows.length === 0 ? nothing : table(head, rows)
}

/** What has a value, a line each under its name. */
export function facts(rows: readonly (readonly [name: string, value: Cell])[]): string {
  const present = rows.filter(([, value]) => value !== undefined && value !== null && value !== '')
  const width = Math.max(0, ...present.map(([name]) => name.length))
  return present.map(([name, value]) => `${name.padEnd(width)}  ${shown(value)}\n`).join('')
}

/** Control characters of what others wrote would reach the terminal as commands. */
function shown(cell: Cell): string {
  return String(cell ?? '').replace(/\p{Cc}/gu, character => (character === '\n' || character === '\t' ? ' ' : '�'))
}

const NO_LINES = Object.fromEntries(
  ['top', 'bottom', 'mid', 'left', 'right']
    .flatMap(side => ['', '-mid', '-left', '-right'].map(end => side + end))
    .concat(['middle', 'left-mid', 'mid-mid', 'right-mid', 'top-mid', 'bottom-mid'])
    .map(name => [name, '']),
)
