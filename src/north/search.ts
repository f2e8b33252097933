/**
 * The routes of searches: jobs, tasks, operations that are open, operations that have ended. Each takes a filter, a page, an order and
 * columns, and answers JSON, a summary or CSV. Serves: Job and operation search.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type TSchema, Type } from 'typebox'
import { FoundJobs, FoundOperations, FoundTasks, SearchBody, SearchQuery, SummaryAnswer } from '../contract/search.ts'
import type { Caller } from '../domain/caller.ts'
import type { ResourceType } from '../domain/data-model.ts'
import { parseSearch, type SearchRequest } from '../domain/search.ts'
import type { Database, Queryable } from '../store/database.ts'
import { readJobs } from '../store/jobs.ts'
import type { OperationKind } from '../store/operation-fields.ts'
import { readOperationsAmong } from '../store/operation-reading.ts'
import { findPage, readFields, streamFields, summarise } from '../store/search.ts'
import {
  type FoundOperation,
  fieldTypesOf,
  jobTable,
  operationTable,
  type SearchTable,
  taskTable,
} from '../store/search-table.ts'
import { readTasks } from '../store/tasks.ts'
import { sendCsv, wantedType } from './csv.ts'
import { jobView } from './job-view.ts'
import { judgedByReader } from './jobs.ts'
import { operationView } from './operation-view.ts'
import { createPageText, ROWS_AT_ONCE, sendPage } from './page-text.ts'
import { judgeAliases, nest } from './selected-row.ts'
import { taskView } from './task-view.ts'
import './request-caller.ts'

/** What one search is about: its table, how its rows are read and how they are called. */
export interface Searched<Key extends object> {
  /** name of the array in the answer */
  readonly name: string
  readonly answer: TSchema
  readonly table: (caller: Caller) => SearchTable<Key> | Promise<SearchTable<Key>>
  /** the rows of the keys, in their order, in the form that the request wants */
  readonly rows: (db: Queryable, keys: readonly Key[], request: FastifyRequest) => Promise<readonly unknown[]>
  /** what may stand behind the address, where it is more than for every search */
  readonly query?: TSchema
  /** the fields of a summary that asks for no group, by the names they have in it */
  readonly summary: Readonly<Record<string, string>>
  /** before the names of the columns of CSV */
  readonly columnPrefix?: string
}

const JOBS: Searched<{ job: bigint }> = {
  name: 'jobs',
  answer: FoundJobs,
  table: caller => jobTable(caller.organization),
  async rows(db, keys) {
    const jobs = await readJobs(
      db,
      keys.map(key => key.job),
    )
    return jobs.map(jobView)
  },
  summary: { status: 'jobs.report.summary.status', name: 'jobs.request.name' },
}

const TASKS: Searched<{ task: bigint }> = {
  name: 'tasks',
  answer: FoundTasks,
  table: caller => taskTable(caller.organization),
  async rows(db, keys) {
    const tasks = await readTasks(
      db,
      keys.map(key => key.task),
    )
    return tasks.map(taskView)
  },
  summary: { state: 'tasks.state', name: 'tasks.name' },
}

const operations = (kind: OperationKind, resourceType?: ResourceType): Searched<FoundOperation> => ({
  name: 'operations',
  answer: FoundOperations,
  table: caller => operationTable(caller.organization, kind, resourceType),
  async rows(db, keys) {
    const found = await readOperationsAmong(db, keys, kind === 'ended')
    const jobs = new Map((await readJobs(db, [...new Set(keys.map(key => key.job))])).map(job => [job.job, job]))
    return found.flatMap(each => {
      const job = jobs.get(each.job)
      return job ? [operationView(each, job)] : []
    })
  },
  summary: {
    status: 'operations.status',
    name: 'operations.name',
    ...(kind === 'ended' && { result: 'operations.result' }),
  },
  ...(kind === 'ended' && { columnPrefix: 'operations.' }),
})

const OPEN_PATHS: readonly (readonly [path: string, resourceType?: ResourceType])[] = [
  ['/search/entities/operations'],
  ['/search/entities/devices/operations', 'entity.device'],
  ['/search/entities/assets/operations', 'entity.asset'],
  ['/search/entities/subscribers/operations', 'entity.subscriber'],
  ['/search/entities/subscriptions/operations', 'entity.subscription'],
  ['/search/entities/communicationsModules/operations', 'entity.commsModule'],
]

/** Registers the searches of jobs, tasks and operations. */
export function searchRoutes(app: FastifyInstance, { database }: { readonly database: Database }): void {
  searchRoute(app, database, '/search/jobs', JOBS)
  searchRoute(app, database, '/search/tasks', TASKS)
  for (const [path, resourceType] of OPEN_PATHS) searchRoute(app, database, path, operations('open', resourceType))
  searchRoute(app, database, '/search/entities/operations/history', operations('ended'))
}

/** Registers one search and its summary. */
export function searchRoute<Key extends object>(
  app: FastifyInstance,
  database: Database,
  path: string,
  searched: Searched<Key>,
): void {
  const { name, answer } = searched
  const common = { tags: ['search'], querystring: searched.query ?? SearchQuery, body: SearchBody }
  app.post(
    path,
    {
      schema: {
        ...common,
        summary: `Search ${name}`,
        response: { 200: answer, 204: Type.Null({ description: 'Nothing found' }) },
      },
      validatorCompiler: judgedByReader,
    },
    async (request, reply) => {
      const table = await searched.table(request.caller)
      const search = readSearch(request, table)
      const type = wantedType(request)
      if (type !== 'application/json') {
        const columns = csvColumns(table, search, searched.columnPrefix ?? '')
        const batches = streamFields(
          database,
          table,
          search,
          columns.map(column => column.field),
        )
        return await sendCsv(
          reply,
          type,
          columns.map(column => column.title),
          batches,
        )
      }
      return await answerPage(request, reply, database, table, search, searched)
    },
  )
  app.post(
    `${path}/summary`,
    {
      schema: { ...common, summary: `Count ${name} by value`, response: { 200: SummaryAnswer } },
      validatorCompiler: judgedByReader,
    },
    async request => {
      const table = await searched.table(request.caller)
      const search = readSearch(request, table)
      const named =
        search.group.length > 0 ? search.group.map(each => [each, each] as const) : Object.entries(searched.summary)
      const { count, fields } = await summarise(
        database,
        table,
        search.filter,
        named.map(([, field]) => field),
      )
      const counted = named.map(([title], index) => {
        const { count, list } = fields[index]!
        return { [title]: { count, list } }
      })
      return {
        summary:
          search.group.length > 0 ? { count, summaryGroup: counted } : { count, ...Object.assign({}, ...counted) },
      }
    },
  )
}

function readSearch({ body, query }: FastifyRequest, table: SearchTable<never>): SearchRequest {
  const { caseSensitive } = query as { caseSensitive?: unknown }
  return parseSearch(body, fieldTypesOf(table), { caseSensitive: String(caseSensitive) !== 'false' })
}

async function answerPage<Key extends object>(
  request: FastifyRequest,
  reply: FastifyReply,
  database: Database,
  table: SearchTable<Key>,
  search: SearchRequest,
  { name, rows }: Searched<Key>,
): Promise<FastifyReply> {
  const selected = search.select.map(({ field, alias }) => ({
    field,
    alias,
    path: alias === field ? pathOf(table.find(field)?.path ?? field, request) : [alias],
  }))
  judgeAliases(selected)
  const rowsOf = async (db: Queryable, keys: readonly Key[]): Promise<readonly unknown[]> => {
    if (selected.length === 0) return await rows(db, keys, request)
    const values = await readFields(
      db,
      table,
      keys,
      selected.map(each => each.field),
    )
    return values.map(row => nest(selected.map(({ path }, index) => ({ path, value: row[index] }))))
  }
  const { rows: found, ...page } = await findPage(database, table, search, async (db, keys) => {
    const text = createPageText('limit.size')
    for (let from = 0; from < keys.length; from += ROWS_AT_ONCE) {
      text.add(await rowsOf(db, keys.slice(from, from + ROWS_AT_ONCE)))
    }
    return text.rows
  })
  return sendPage(reply, page, name, found)
}

/** Where a selected value stands in its row: at its path as a tree, or as one member where the request wants rows flat. */
function pathOf(path: string, { query }: FastifyRequest): string[] {
  return String((query as { flattened?: unknown }).flattened) === 'true' ? [path] : path.split('.')
}

/** The columns selected, or every path of the row. */
function csvColumns(
  table: SearchTable<never>,
  { select }: SearchRequest,
  prefix: string,
): { readonly field: string; readonly title: string }[] {
  if (select.length > 0) return select.map(({ field, alias }) => ({ field, title: alias }))
  return table.fields.flatMap(({ names, path, noColumn }) =>
    path && !noColumn ? [{ field: names[0]!, title: `${prefix}${path}` }] : [],
  )
}
