import { beforeAll, describe, expect, test } from 'vitest'
import { parseFilter } from '../../src/domain/filter.ts'
import { jobId, operationId } from '../../src/domain/identity.ts'
import type { SearchRequest } from '../../src/domain/search.ts'
import { parseSearch } from '../../src/domain/search.ts'
import type { Database } from '../../src/store/database.ts'
import { findPage, SEARCH_TIME_MAX_MS, SUMMARY_JOBS_MAX, streamFields, summarise } from '../../src/store/search.ts'
import { fieldTypesOf, jobTable, operationTable, type SearchTable } from '../../src/store/search-table.ts'
import { render, sql } from '../../src/store/statement.ts'
import { testDatabase } from '../database.ts'

const { database } = await testDatabase({ statementTimeoutMs: 120_000 })

const ORGANIZATION = 1
const JOBS = 1_000
const EACH = 1_000
const firstJob = 1_000_000n

/** A million ended operations of one organization and a hundred thousand open ones; the tenth part of both is another's. */
beforeAll(async () => {
  await database.query(sql`insert into organization (name, created_at) values ('mine', now()), ('other', now())`)
  await database.query(sql`
    insert into entity (partition, entity, organization, identifier, resource_type, document, created_at, updated_at)
    select n % 256, n, 1, 'd' || n, 'entity.device', '{}', now(), now() from generate_series(1, ${EACH}::int) n`)
  await database.query(sql`
    insert into job (job, organization, name, user_email, request, status, created_at, timeout_ms)
    select ${firstJob}::bigint + n, 1 + (n % 10 = 0)::int, 'REBOOT', 'a@b.c', '{"notify":false,"parameters":{}}',
           (case when n % 10 in (1, 0) then 'IN_PROGRESS' else 'FINISHED' end)::job_status, now(), 60000
      from generate_series(1, ${JOBS}::int) n`)
  await database.query(sql`
    insert into job_counter (job, successful, pending_execution)
    select job, ${EACH}::int, case when status = 'IN_PROGRESS' then 500 else 0 end from job`)
  await database.query(sql`
    insert into operation_ended (job, partition, entity, organization, status, result, counter, attempt, ended_at)
    select j.job, e.partition, e.entity, j.organization, 'FINISHED',
           (case when e.entity % 50 = 0 then 'ERROR_PROCESSING' else 'SUCCESSFUL' end)::operation_result, 'successful', 1,
           '2026-03-01T00:00:00Z'::timestamptz + (j.job - ${firstJob}::bigint) * interval '1 minute' + e.entity * interval '1 ms'
      from job j cross join entity e`)
  await database.query(sql`
    insert into operation (job, partition, entity, status)
    select j.job, e.partition, e.entity, 'QUEUED' from job j cross join entity e
     where j.status = 'IN_PROGRESS' and e.entity <= 500`)
  for (const table of ['job', 'job_counter', 'entity', 'operation', 'operation_ended']) {
    await database.query(sql`analyze ${sql.identifier(table, [table])}`)
  }
}, 240_000)

interface PlanNode {
  'Node Type': string
  'Relation Name'?: string
  'Actual Rows'?: number
  'Actual Loops'?: number
  Plans?: PlanNode[]
}

function nodes(plan: PlanNode): PlanNode[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodes)]
}

/** A database that explains what it is asked, and finds nothing. */
function explaining(seen: PlanNode[], how = sql`format json`): Database {
  const query = async <Row>(fragment: Parameters<Database['query']>[0]): Promise<Row[]> => {
    if (render(fragment).text.includes('set_config')) return []
    const [row] = await database.query<{ 'QUERY PLAN': { Plan: PlanNode }[] }>(sql`explain (${how}) ${fragment}`)
    seen.push(...nodes(row!['QUERY PLAN'][0]!.Plan))
    return []
  }
  async function* stream<Row>(fragment: Parameters<Database['query']>[0]): AsyncGenerator<Row[], void, void> {
    yield await query<Row>(fragment)
  }
  return { ...database, query, stream, transaction: work => work({ ...database, query } as never) }
}

/** The large tables that a search reads through, by its plan. */
async function readThrough(ask: (db: Database) => Promise<unknown>): Promise<string[]> {
  const seen: PlanNode[] = []
  await ask(explaining(seen))
  expect(seen.length).toBeGreaterThan(0)
  const scans = seen.filter(node => node['Node Type'] === 'Seq Scan').map(node => node['Relation Name'] ?? '')
  return scans.filter(name => LARGE.includes(name))
}

/** How many operations a search reads. */
async function operationsRead(ask: (db: Database) => Promise<unknown>): Promise<number> {
  const seen: PlanNode[] = []
  await ask(explaining(seen, sql`analyze, format json`))
  const scans = seen.filter(node => LARGE.includes(node['Relation Name'] ?? ''))
  expect(scans.length).toBeGreaterThan(0)
  return scans.reduce((sum, node) => sum + node['Actual Rows']! * node['Actual Loops']!, 0)
}

const LARGE = ['operation', 'operation_ended', 'operation_ended_rest']
const noRows = () => Promise.resolve([])
const jobs = jobTable(ORGANIZATION)
const open = operationTable(ORGANIZATION, 'open', 'entity.device')
const ended = operationTable(ORGANIZATION, 'ended')
const oneJob = { eq: { jobId: (firstJob + 5n).toString(16).padStart(16, '0') } }

describe('at a million operations', () => {
  test.each<[string, SearchTable<never>, Record<string, unknown>]>([
    ['the first page of what ended', ended, {}],
    ['a page deep in what ended', ended, { limit: { start: 300, size: 1_000 } }],
    ['what ended of one job', ended, { filter: oneJob }],
    ['what ended on one entity', ended, { filter: { eq: { entityId: 'd7' } } }],
    ['what ended with an error', ended, { filter: { eq: { operationResult: 'ERROR_PROCESSING' } } }],
    ['what ended with an error that is rare', ended, { filter: { eq: { operationResult: 'NOT_SUPPORTED' } } }],
    ['what was cancelled', ended, { filter: { eq: { operationStatus: 'CANCELLED' } } }],
    ['what did not succeed', ended, { filter: { neq: { operationResult: 'SUCCESSFUL' } } }],
    ['what failed in one job', ended, { filter: { and: [oneJob, { eq: { operationCounter: 'error' } }] } }],
    [
      'what ended in an hour',
      ended,
      { filter: { within: { operationEndDate: ['2026-03-01T01:00:00Z', '2026-03-01T02:00:00Z'] } } },
    ],
    ['what ended last', ended, { sort: { parameters: [{ name: 'operationEndDate', type: 'DESCENDING' }] } }],
    ['the first page of what is open', open, {}],
    ['what is open of one job', open, { filter: oneJob }],
    ['what is open on one entity', open, { filter: { eq: { entityId: 'd7' } } }],
    ['the jobs', jobs, {}],
    ['jobs by a counter', jobs, { filter: { gt: { jobFinishedError: 0 } } }],
  ])('%s is found without reading a large table through', async (_, table, body) => {
    const search = parseSearch(body, fieldTypesOf(table))
    const seen: PlanNode[] = []
    await findPage(explaining(seen), table, search, noRows)
    expect(seen.length).toBeGreaterThan(0)
    const scanned = seen.filter(node => node['Node Type'] === 'Seq Scan' && LARGE.includes(node['Relation Name'] ?? ''))
    expect(scanned).toEqual([])
    const startedMs = performance.now()
    await findPage(database, table, search, noRows)
    console.log(`${_}: ${Math.round(performance.now() - startedMs)} ms`)
  })

  /** What an equality asks of each type, and of the ids. */
  const VALUES: Readonly<Record<string, unknown>> = {
    text: 'd7',
    number: 1,
    boolean: true,
    date: '2026-03-01T01:00:00Z',
    any: 'x',
    'jobs.id': oneJob.eq.jobId,
    'operations.jobId': oneJob.eq.jobId,
    'operations.operationId': operationId({ job: firstJob + 5n, partition: 7, entity: 7n }),
  }
  const tables: readonly [string, SearchTable<never>][] = [
    ['jobs', jobs],
    ['open operations of devices', open],
    ['ended operations', ended],
    ['ended operations of devices', operationTable(ORGANIZATION, 'ended', 'entity.device')],
  ]

  test.each(tables)('every indexed field of %s leads there: a page, a summary and a file', async (_, table) => {
    const indexed = table.fields.filter(field => field.indexed)
    expect(indexed.length).toBeGreaterThan(0)
    for (const {
      names: [name = ''],
      type,
    } of indexed) {
      const filter = { eq: { [name]: VALUES[name] ?? VALUES[type] } }
      const search = parseSearch({ filter }, fieldTypesOf(table))
      const asked: readonly [string, (db: Database) => Promise<unknown>][] = [
        ['page', db => findPage(db, table, search, noRows)],
        ['summary', db => summarise(db, table, search.filter, [name])],
        ['file', db => streamFields(db, table, search, [name]).next()],
      ]
      for (const [what, ask] of asked) expect([name, what, await readThrough(ask)]).toEqual([name, what, []])
    }
  })

  test.each(tables)(
    'other fields of %s may read it through for rare values or another order, as any does that has no index',
    async (_, table) => {
      // The reason: each further index would cost every operation that ends. What such a search reads is bounded by its time,
      // and the reference says so of every field that is not indexed.
      const orders = new Set(table.orders.map(({ field }) => field))
      const readsThrough = async (body: unknown) => {
        const search = parseSearch(body, fieldTypesOf(table))
        return (await readThrough(db => findPage(db, table, search, noRows))).length > 0
      }
      const without: string[] = []
      for (const { names, type, indexed } of table.fields) {
        const [name = ''] = names
        if (VALUES[type] === undefined) continue
        if ((await readsThrough({ filter: { eq: { [name]: VALUES[name] ?? VALUES[type] } } })) && indexed) {
          without.push(`eq ${name}`)
        }
        const sort = { parameters: [{ name, type: 'DESCENDING' }] }
        if ((await readsThrough({ sort })) && orders.has(name)) without.push(`sort ${name}`)
      }
      expect(without).toEqual([])
    },
    60_000,
  )

  test('the number of pages is exact up to a hundred thousand rows, and then the least there are', async () => {
    const pages = async (body: unknown) =>
      (await findPage(database, ended, parseSearch(body, fieldTypesOf(ended)), noRows)).of
    expect(await pages({ filter: oneJob, limit: { size: 300 } })).toBe(4)
    expect(await pages({ limit: { size: 1_000 } })).toBe(100)
    expect(await pages({ limit: { size: 1_000, start: 500 } })).toBe(501)
  })

  test('a cursor leads through every row once', async () => {
    const seen = new Set<string>()
    for (let cursor: string | undefined; ; ) {
      const search: SearchRequest = {
        ...parseSearch(
          { filter: { within: { operationEndDate: ['2026-03-01T00:00:00Z', '2026-03-01T00:20:00Z'] } } },
          fieldTypesOf(ended),
        ),
        page: { number: 1, size: 2_000, ...(cursor !== undefined && { cursor }) },
      }
      const page = await findPage(database, ended, search, (_, keys) => Promise.resolve(keys))
      for (const key of page.rows) seen.add(`${key.job}/${key.entity}`)
      cursor = page.cursor
      if (cursor === undefined) break
    }
    expect(seen.size).toBe(18_000)
  })

  test('a summary counts all of it within the time of a search', async () => {
    const { count, fields } = await summarise(database, ended, parseFilter({}, fieldTypesOf(ended)), [
      'operations.result',
    ])
    expect(count).toBe(900_000)
    expect(fields[0]?.list).toEqual([
      { name: 'SUCCESSFUL', count: 882_000 },
      { name: 'ERROR_PROCESSING', count: 18_000 },
    ])
  })

  test.each([
    ['their job is asked', {}, ['jobs.request.name', 'operations.notify']],
    ['their jobs are asked, of certain jobs', { eq: { 'operations.jobId': jobId(firstJob + 11n) } }, ['jobId']],
    ['their jobs are asked, by how these stand', { gt: { jobInProgressTotal: 0 } }, ['jobStatus', 'jobFinishedTotal']],
  ])('a summary where nothing but %s counts the same, and reads one operation of each job', async (_, asked, names) => {
    for (const table of [ended, operationTable(ORGANIZATION, 'open')]) {
      const filter = parseFilter(asked, fieldTypesOf(table))
      const { byJob, ...byRow } = table
      expect(byJob).toBeDefined()
      const counted = await summarise(database, table, filter, names)
      expect(counted).toEqual(await summarise(database, byRow, filter, names))
      expect(counted.count).toBeGreaterThan(0)
      expect(await operationsRead(db => summarise(db, table, filter, names))).toBeLessThanOrEqual(JOBS)
    }
  })

  test('a summary of operations whose job is of a month that has gone counts none', async () => {
    const gone = firstJob - 1n
    await database.query(sql`
      insert into job (job, organization, name, user_email, request, status, created_at, timeout_ms)
      values (${gone}::bigint, 1, 'GONE', 'a@b.c', '{}', 'FINISHED', now(), 60000)`)
    await database.query(sql`insert into job_counter (job, successful) values (${gone}::bigint, 7)`)
    const { fields } = await summarise(database, ended, parseFilter({}, fieldTypesOf(ended)), ['jobs.request.name'])
    expect(fields[0]?.list).toEqual([{ name: 'REBOOT', count: 900_000 }])
  })

  test('a summary by their jobs goes through the operations where the jobs are too many, but not for certain jobs', async () => {
    const [made] = await database.query<{ organization: number }>(
      sql`insert into organization (name, created_at) values ('many', now()) returning organization`,
    )
    const many = made!.organization
    await database.query(sql`
      insert into job (job, organization, name, user_email, request, status, created_at, timeout_ms)
      select 5_000_000 + n, ${many}::int, 'MANY', 'a@b.c', '{}', 'FINISHED', now(), 60000
        from generate_series(0, ${SUMMARY_JOBS_MAX}::int) n`)
    const first = 5_000_000n
    await database.query(sql`
      insert into operation_ended (job, partition, entity, organization, status, result, counter, attempt, ended_at)
      values (${first}::bigint, 1, 1, ${many}::int, 'FINISHED', 'SUCCESSFUL', 'successful', 1, now())`)
    // What the counters do not say tells how it was counted.
    const table = operationTable(many, 'ended')
    const counted = async (asked: unknown) =>
      (await summarise(database, table, parseFilter(asked, fieldTypesOf(table)), ['jobs.request.name'])).count
    expect(await counted({})).toBe(1)
    expect(await counted({ eq: { jobId: jobId(first) } })).toBe(0)
    expect(await counted({ eq: { 'jobs.request.name': 'MANY' } })).toBe(1)
  })

  test('all of it streams in flat memory', async () => {
    const search = parseSearch({}, fieldTypesOf(ended))
    let rows = 0
    let most = 0
    global.gc?.()
    const before = process.memoryUsage().heapUsed
    for await (const batch of streamFields(database, ended, search, [
      'operations.operationId',
      'operations.result',
      'operations.jobId',
    ])) {
      rows += batch.length
      if (rows % 50_000 === 0) most = Math.max(most, process.memoryUsage().heapUsed - before)
    }
    expect(rows).toBe(900_000)
    expect(most).toBeLessThan(200 * 1_048_576)
  }, 60_000)
})

test('a search that takes longer than allowed is refused with a word', async () => {
  const slow = {
    type: 'text',
    names: ['slow'],
    needs: [],
    indexed: false,
    value: sql`(select pg_sleep(60)::text)`,
  } as const
  const table: SearchTable<{ job: bigint }> = { ...jobs, find: name => (name === 'slow' ? slow : jobs.find(name)) }
  const search = parseSearch({ filter: { eq: { slow: 'x' } } }, fieldTypesOf(table))
  const startedMs = performance.now()
  await expect(findPage(database, table, search, noRows)).rejects.toMatchObject({ entry: { code: '0x050020' } })
  // Left alone it would take a minute.
  expect(performance.now() - startedMs).toBeLessThan(SEARCH_TIME_MAX_MS + 20_000)
})
