/** `drover search`: every search of the interface, as rows, as CSV, or counted. Serves: Job and operation search. */
import type { Command } from 'commander'
import type { Client, SearchBody, SummaryAnswer } from '../../contract/client/client.ts'
import { command, type Run } from '../frame/command.ts'
import { CommandFailed } from '../frame/exit-codes.ts'
import { type Cell, createTable, table } from '../frame/output.ts'
import type { Surroundings } from '../frame/surroundings.ts'
import { declareFilter, filterOf } from '../reading/filters.ts'
import { count, words } from '../reading/values.ts'
import { countRows, foundRows, type RowsName } from '../rows/found-rows.ts'
import { type Reading, rowProgress, watched, writeCsv } from '../rows/row-progress.ts'

const LISTED = 50

/** What can be searched, and the columns that are shown where nothing is selected. */
const KINDS = {
  jobs: ['POST /search/jobs', 'jobs.id,jobs.request.name,jobs.report.summary.status,jobs.report.summary.total'],
  tasks: ['POST /search/tasks', 'tasks.id,tasks.name,tasks.state'],
  operations: [
    'POST /search/entities/operations',
    'operations.operationId,operations.entityId,operations.name,operations.status',
  ],
  history: [
    'POST /search/entities/operations/history',
    'operations.operationId,operations.entityId,operations.name,operations.status,operations.result',
  ],
  devices: ['POST /search/devices', 'provision.device.identifier,provision.device.name,provision.administration.tags'],
  assets: ['POST /search/entities/assets', 'provision.asset.identifier'],
  subscriptions: [
    'POST /search/entities/subscriptions',
    'provision.device.communicationModules[].subscription.identifier',
  ],
  subscribers: ['POST /search/entities/subscribers', 'provision.device.communicationModules[].subscriber.identifier'],
  entities: ['POST /search/entities', 'provision.device.identifier,resourceType'],
  users: ['POST /search/users', 'users.email,users.profile,users.name'],
  organizations: ['POST /search/organizations', 'organizations.name,organizations.description'],
} as const satisfies Record<string, readonly [RowsName, string]>
type Kind = keyof typeof KINDS

/** The command. */
export function searchCommand(surroundings: Surroundings): Command {
  return command(
    surroundings,
    {
      usage: 'search <what>',
      description: `search ${Object.keys(KINDS).join(', ')}`,
      examples: [
        {
          meaning: 'which devices failed in a job, and why',
          line: 'drover search history --where "jobId=$JOB" --where "operationResult!=SUCCESSFUL" --select entityId,operationResult,operationDetails',
        },
        { meaning: 'how often each result occurred', line: 'drover search history --summary --group operationResult' },
        {
          meaning: 'everything that ended, as CSV',
          line: 'drover search history --csv --select jobId,entityId,operationResult,operationEndDate',
        },
        {
          meaning: 'jobs by a filter of any shape',
          line: `drover search jobs --filter '{"or": [{"eq": {"jobStatus": "PAUSED"}}, {"gt": {"jobFinishedError": 0}}]}'`,
        },
      ],
      declare: made => {
        declareFilter(made)
        made
          .option('--select <fields>', 'the columns; field=title names a column', words)
          .option('--sort <fields>', 'the order; field:desc turns it round', words)
          .option('--group <fields>', 'with --summary: count by these', words)
          .option('--limit <n>', 'at most so many rows', count, LISTED)
          .option('--all', 'all rows, however many')
          .option('--csv', 'stream all rows as CSV, as the service writes it')
          .option('--summary', 'count instead of listing')
          .option('--ignore-case', 'field~pattern ignores case')
      },
    },
    async (run, what) => {
      const { options } = run
      if (!(what! in KINDS))
        throw new CommandFailed('usage', `What is searched is one of ${Object.keys(KINDS).join(', ')}.`)
      const [name, columns] = KINDS[what as Kind]
      const filter = await filterOf(options, surroundings)
      const body = { ...(filter && { filter }), ...orderOf(options.sort) }
      const query = options.ignoreCase === true ? { caseSensitive: false } : {}
      if (options.summary === true) return await summarise(run, name, body, query)
      const chosen: readonly string[] = Array.isArray(options.select) ? options.select : []
      if (options.csv === true) return await stream(run, name, { ...body, ...selection(chosen) }, query)
      if (run.out.json) return await listForPrograms(run, name, { ...body, ...selection(chosen) }, query)
      return await listForPeople(run, name, body, chosen.length > 0 ? chosen : columns.split(','), query)
    },
  )
}

function orderOf(sort: unknown): Pick<SearchBody, 'sort'> {
  if (!Array.isArray(sort)) return {}
  const parameters = sort.map((text: string) => {
    const [name = '', order = 'asc'] = text.split(/:(?=asc$|desc$)/i)
    return { name, type: order.toLowerCase() === 'desc' ? ('DESCENDING' as const) : ('ASCENDING' as const) }
  })
  return { sort: { parameters } }
}

/** A column: its field, and its title where one was given. */
function columnOf(column: string): { name: string; title: string | undefined } {
  const [name = '', title] = column.split('=')
  return { name, title }
}

function selection(columns: readonly string[]): Pick<SearchBody, 'select'> {
  if (columns.length === 0) return {}
  const select = columns
    .map(columnOf)
    .map(({ name, title }) => ({ name, ...(title && { fields: [{ alias: title }] }) }))
  return { select }
}

type Query = { caseSensitive?: boolean }

function limitOf({ options }: Run): number {
  return options.all === true ? Number.POSITIVE_INFINITY : Number(options.limit)
}

async function listForPrograms(run: Run, name: RowsName, body: SearchBody, query: Query): Promise<undefined> {
  const { client } = await run.session()
  const rows = foundRows(client, name, body, limitOf(run), query)
  for await (const row of watched(run, rows, readingOf(run, client, name, body, query)))
    await run.out.line(row, () => '')
  return undefined
}

async function listForPeople(
  run: Run,
  name: RowsName,
  body: SearchBody,
  columns: readonly string[],
  query: Query,
): Promise<undefined> {
  const { client } = await run.session()
  // Under a name of its own a value is found again, whatever shape its row has.
  const named = columns.map(columnOf).map((column, at) => ({ ...column, key: `column ${at}` }))
  const select = named.map(({ name: field, key }) => ({ name: field, fields: [{ alias: key }] }))
  const titles = named.map(({ name: field, title }) => title ?? field)
  const show = createTable(titles, run.out)
  const rows = foundRows(client, name, { ...body, select }, limitOf(run), query)
  for await (const row of watched(run, rows, readingOf(run, client, name, body, query))) {
    await show.row(named.map(({ key }) => cellOf((row as Record<string, unknown>)[key])))
  }
  if ((await show.end()) === 0) await run.out.write('Nothing found.\n')
  return undefined
}

function cellOf(value: unknown): Cell {
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : (value as Cell)
}

async function stream(run: Run, name: RowsName, body: SearchBody, query: Query): Promise<undefined> {
  const { client } = await run.session()
  const progress = await rowProgress(run, { count: () => countRows(client, name, body, query) })
  const response = await client.open(name, 'text/plain', { body, query, signal: run.surroundings.interrupted })
  await writeCsv(run, response, progress)
  return undefined
}

function readingOf(run: Run, client: Client, name: RowsName, body: SearchBody, query: Query): Reading {
  return { count: () => countRows(client, name, body, query), limit: limitOf(run) }
}

async function summarise(run: Run, name: RowsName, body: SearchBody, query: Query): Promise<undefined> {
  const { client } = await run.session()
  const fields = Array.isArray(run.options.group) ? (run.options.group as string[]) : []
  const group = fields.length > 0 ? { group: { parameters: fields.map(field => ({ name: field })) } } : {}
  const answer = await client.call(`${name}/summary`, { body: { ...body, ...group }, query })
  await run.out.answer(answer, () => summaryWords(answer))
  return undefined
}

function summaryWords({ summary }: SummaryAnswer): string {
  const { count: all, ...rest } = summary
  const groups =
    'summaryGroup' in rest && Array.isArray(rest.summaryGroup) ? Object.assign({}, ...rest.summaryGroup) : rest
  const rows = Object.entries(groups as Record<string, { list: { name: string; count: number }[] }>).flatMap(
    ([field, { list }]) => list.map(({ name, count: rowsOfValue }) => [field, name, rowsOfValue]),
  )
  return `${all} found.\n${rows.length === 0 ? '' : `\n${table(['field', 'value', 'count'], rows)}`}`
}
