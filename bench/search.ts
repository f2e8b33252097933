/**
 * Searches of the client interface over five million ended operations: named queries warm, and cold, with nothing of the database in its
 * own memory. The rows are made by SQL: 50 jobs of 100,000 operations each.
 */

import type { SearchBody } from '../src/contract/client/client.ts'
import { firstNumberAt, jobId, operationId } from '../src/domain/identity.ts'
import { type Figures, type Measurement, quantile } from './figures.ts'
import { onDatabaseOf } from './million-entities.ts'
import { type BenchService, residentMb, startService } from './processes.ts'

const JOBS = 50
const SAMPLES = 20
const COLD_SAMPLES = 5
/** The bound on the time of one search, with what it takes to say so. */
const BOUND_MS = 5_000

export function search(operations = 5_000_000): Measurement {
  const each = Math.floor(operations / JOBS)
  return {
    name: 'search',
    about: `${(each * JOBS).toLocaleString('en')} ended operations of ${JOBS} jobs, a page of 100 with its \`of\`; cold is after \`pg_buffercache_evict_all()\`; the CSV is of ${(each * CSV_JOBS).toLocaleString('en')} rows`,
    targets: {
      'sorted first page, p95 ms': { most: 50 },
      'of a job, p95 ms': { most: 50 },
      'of an entity, p95 ms': { most: 50 },
      'by id, p95 ms': { most: 50 },
      'two filters, sorted, p95 ms': { most: 100 },
      'a value that does not occur, ms at most': { most: BOUND_MS },
      'summary of jobs by status, p95 ms': { most: 100 },
      'CSV, MB more': { most: 150 },
    },
    async open() {
      const service = await startService()
      try {
        await onDatabaseOf(service, database => makeEnded(database, each))
        return { run: () => measure(service, each), close: () => service.stop() }
      } catch (error) {
        await service.stop()
        throw error
      }
    },
  }
}

const CSV_JOBS = 10
const PAGE = { start: 1, size: 100 }
const LAST_FIRST = { parameters: [{ name: 'operationEndDate', type: 'DESCENDING' as const }] }
const firstJob = firstNumberAt(Date.now() - 3_600_000)
const jobNumber = (i: number) => firstJob + BigInt(i)

async function measure(service: BenchService, each: number): Promise<Figures> {
  const named: Readonly<Record<string, () => Promise<unknown>>> = {
    'sorted first page': find(service, { sort: LAST_FIRST }),
    'of a job': find(service, { filter: { eq: { jobId: jobId(jobNumber(7)) } } }),
    'of an entity': find(service, { filter: { eq: { entityId: 'ended-4711' } } }),
    'by id': find(service, {
      filter: { eq: { operationId: operationId({ job: jobNumber(3), partition: 4711 % 256, entity: 4711n }) } },
    }),
    'two filters, sorted': find(service, {
      filter: { and: [{ eq: { operationResult: 'ERROR_TIMEOUT' } }, { eq: { jobOperationName: 'REBOOT_EQUIPMENT' } }] },
      sort: LAST_FIRST,
    }),
    'summary of jobs by status': () =>
      service.client.call('POST /search/jobs/summary', {
        body: {
          filter: { eq: { jobOperationName: 'REBOOT_EQUIPMENT' } },
          group: { parameters: [{ name: 'jobStatus' }] },
        },
      }),
  }
  const figures: Record<string, number> = {}
  for (const [name, ask] of Object.entries(named)) {
    await ask()
    figures[`${name}, p95 ms`] = quantile(await timesOf(ask, SAMPLES), 0.95)
    figures[`${name}, cold, ms at most`] = quantile(
      await timesOf(ask, COLD_SAMPLES, () => onDatabaseOf(service, evict)),
      1,
    )
  }
  // What no index serves is found or refused within its time.
  const missing = find(service, { filter: { eq: { 'operations.description': 'nobody ever said this' } } })
  figures['a value that does not occur, ms at most'] = quantile(
    await timesOf(() => missing().catch(refusedForItsTime), 3),
    1,
  )
  return { ...figures, ...(await exportCsv(service, each)) }
}

const find = (service: BenchService, body: SearchBody) => () =>
  service.client.call('POST /search/entities/operations/history', { body: { limit: PAGE, ...body } })

function refusedForItsTime(error: unknown): void {
  if (!(error instanceof Error) || !/time|narrow/i.test(error.message)) throw error
}

async function timesOf(
  ask: () => Promise<unknown>,
  samples: number,
  before?: () => Promise<unknown>,
): Promise<number[]> {
  const took: number[] = []
  while (took.length < samples) {
    await before?.()
    const askedAt = performance.now()
    await ask()
    took.push(performance.now() - askedAt)
  }
  return took
}

/** Reads a CSV of a fifth of the rows as it comes, and watches the memory of the service. */
async function exportCsv(service: BenchService, each: number): Promise<Figures> {
  const pid = service.child.process.pid!
  const before = residentMb(pid)
  let most = before
  const watching = setInterval(() => {
    most = Math.max(most, residentMb(pid))
  }, 100)
  const startedAt = performance.now()
  const jobs = Array.from({ length: CSV_JOBS }, (_, i) => jobId(jobNumber(i)))
  const response = await service.client.open('POST /search/entities/operations/history', 'text/plain', {
    body: { filter: { in: { jobId: jobs } } },
  })
  let lines = 0
  for await (const chunk of response.body!) for (const byte of chunk) if (byte === 10) lines += 1
  clearInterval(watching)
  if (lines !== each * CSV_JOBS + 1) throw new Error(`the CSV has ${lines} lines`)
  return { 'CSV, s': (performance.now() - startedAt) / 1000, 'CSV, MB more': most - before }
}

type Asked = { query(text: string, values?: unknown[]): Promise<unknown> }

async function evict(database: Asked): Promise<void> {
  await database.query('create extension if not exists pg_buffercache')
  await database.query('select pg_buffercache_evict_all()')
}

/** Entities, jobs with their counters, and their ended operations, as if they had ended over the last hour. */
async function makeEnded(database: Asked, each: number): Promise<void> {
  await database.query(
    `insert into entity (partition, entity, organization, identifier, resource_type, document, tags, flow, created_at, updated_at)
     select i % 256, i, o.organization, 'ended-' || i, 'entity.device', '{}', '{ended}', 'pull', now(), now()
       from organization o, generate_series(1, $1::int) i`,
    [each],
  )
  await database.query(
    `insert into job (job, organization, name, user_email, request, status, created_at, activated_at, started_at, finished_at,
                      start_at, timeout_ms, places, launch_at)
     select $1::bigint + i, o.organization, case when i % 5 = 0 then 'FACTORY_RESET' else 'REBOOT_EQUIPMENT' end, 'bench@localhost',
            '{"name":"REBOOT_EQUIPMENT","parameters":{},"active":true,"schedule":{},"notify":false,"callback":"","operationParameters":{"ackTimeout":0,"timeout":60000,"retries":0,"retriesDelay":0,"retryResultList":[]},"target":{"append":{"tags":["ended"]}}}',
            'FINISHED', now() - interval '1 hour', now() - interval '1 hour', now() - interval '1 hour', now(), now() - interval '1 hour',
            60000, $2, now() - interval '1 hour'
       from organization o, generate_series(0, $3::int - 1) i`,
    [firstJob, each, JOBS],
  )
  await database.query(
    `insert into job_counter (job, successful, error)
     select $1::bigint + i, $2::int - $2::int / 100, $2::int / 100 from generate_series(0, $3::int - 1) i`,
    [firstJob, each, JOBS],
  )
  for (let job = 0; job < JOBS; job += 1) {
    await database.query(
      `insert into operation_ended (job, partition, entity, organization, status, result, counter, attempt, flow, started_at, ended_at)
       select $1::bigint, i % 256, i, o.organization, 'FINISHED',
              case when i % 100 = 0 then 'ERROR_TIMEOUT'::operation_result else 'SUCCESSFUL' end,
              case when i % 100 = 0 then 'error'::operation_counter else 'successful' end, 1, 'pull',
              now() - interval '1 hour', now() - i * interval '30 ms'
         from organization o, generate_series(1, $2::int) i`,
      [jobNumber(job), each],
    )
  }
  await database.query('vacuum analyze')
}
