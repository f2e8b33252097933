/** `drover audit`: who did what, when, from where, and what came of it. Serves: Authentication. */
import type { Command } from 'commander'
import type { AuditPage, Client } from '../../contract/client/client.ts'
import { command, type Run } from '../frame/command.ts'
import { CommandFailed } from '../frame/exit-codes.ts'
import { type Cell, type Output, tableOr } from '../frame/output.ts'
import type { Surroundings } from '../frame/surroundings.ts'
import { readInstant } from '../reading/times.ts'
import { count } from '../reading/values.ts'
import { collected } from '../rows/found-rows.ts'
import { rowProgress, watched, writeCsv } from '../rows/row-progress.ts'

const LISTED = 50
const PAGE_MAX = 1_000
const TITLES = ['date', 'user', 'method', 'path', 'status', 'error', 'address', 'request']
type Line = AuditPage['audit'][number]
type Selection = { user?: string; from?: string; to?: string }

/** The command. */
export function auditCommand(surroundings: Surroundings): Command {
  return command(
    surroundings,
    {
      usage: 'audit',
      description: 'who did what, the latest first',
      examples: [
        { meaning: 'what somebody did since midnight', line: 'drover audit --user admin@drover.test --from 00:00' },
        { meaning: 'all of it, as CSV', line: 'drover audit --csv > audit.csv' },
      ],
      declare: made => {
        made
          .option('--user <email>', 'only what this user did')
          .option('--from <time>', 'from this time on, such as 08:00 or 2026-03-02T08:00')
          .option('--to <time>', 'before this time')
          .option('--limit <n>', 'at most so many', count, LISTED)
          .option('--csv', 'stream all of it as CSV, as the service writes it')
      },
    },
    async run => {
      const { options, out } = run
      const query = {
        ...(typeof options.user === 'string' && { user: options.user }),
        ...instantOf(run, 'from'),
        ...instantOf(run, 'to'),
      }
      if (options.csv === true) return await stream(run, query)
      const lines = await read(run, query, Number(options.limit))
      await out.answer(lines, () =>
        tableOr(
          'Nothing was done.',
          TITLES,
          lines.map(line => row(line, out)),
        ),
      )
      return undefined
    },
  )
}

/** A time of day is that of today. */
function instantOf({ options, out }: Run, name: 'from' | 'to'): Selection {
  const given = options[name]
  if (typeof given !== 'string') return {}
  const yesterday = new Date()
  if (out.utc) yesterday.setUTCHours(0, 0, 0, -1)
  else yesterday.setHours(0, 0, 0, -1)
  const read = readInstant(given, yesterday, out.utc)
  if (!read)
    throw new CommandFailed('usage', `--${name} must be a time such as 08:00 or 2026-03-02T08:00, not "${given}".`)
  return { [name]: read.toISOString() }
}

function row({ date, user, method, path, status, errorCode, address, requestId }: Line, out: Output): Cell[] {
  return [out.instant(date), user, method, path, status, errorCode, address, requestId]
}

async function read(run: Run, query: Selection, limit: number): Promise<Line[]> {
  const { client } = await run.session()
  async function* lines() {
    const size = Math.min(PAGE_MAX, limit)
    for (let start = 1; ; start += 1) {
      const page = await client.call('GET /audit', { query: { ...query, start, size } })
      yield* page?.audit ?? []
      if (!page || page.page.number >= page.page.of || start * size >= limit) return
    }
  }
  const count = () => countLines(client, query)
  return (await collected(watched(run, lines(), { count, limit, isGathered: true }))).slice(0, limit)
}

async function countLines(client: Client, query: Selection): Promise<number> {
  return (await client.call('GET /audit', { query: { ...query, size: 1 } }))?.page.of ?? 0
}

async function stream(run: Run, query: Selection): Promise<undefined> {
  const { client } = await run.session()
  const progress = await rowProgress(run, { count: () => countLines(client, query) })
  const response = await client.open('GET /audit', 'text/plain', { query, signal: run.surroundings.interrupted })
  await writeCsv(run, response, progress)
  return undefined
}
