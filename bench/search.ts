/**
 * Searches of the client interface over five million ended operations: named queries warm, and cold, with nothing of the database in its
 * own memory; and the files of a fifth of that and of all of the largest job, with the memory that the service takes for them.
 */

import type { SearchBody } from '../src/contract/client/client.ts'
import { jobId, operationId, partitionOf } from '../src/domain/identity.ts'
import { type EndedJob, identifierOf, MONTHS, makeEnded } from './ended.ts'
import { type Figures, type Measurement, quantile } from './figures.ts'
import { onDatabaseOf } from './million-entities.ts'
import { type BenchService, residentMb, startService } from './processes.ts'

const SAMPLES = 20
const COLD_SAMPLES = 5
/** The bound on the time of one search, with what it takes to say so. */
const BOUND_MS = 5_000

export function search(operations = 5_000_000): Measurement {
  // A month has as many operations as there are entities.
  const entities = Math.floor(operations / MONTHS / 100) * 100
  return {
    name: 'search',
    about: `${(entities * MONTHS).toLocaleString('en')} ended operations in ${MONTHS} months, of ${entities.toLocaleString('en')} entities and 41 jobs, one of them over all entities; a page of 100 with its \`of\`; cold is after \`pg_buffercache_evict_all()\`; files of ${(entities / 5).toLocaleString('en')} and ${entities.toLocaleString('en')} rows, one after the other in one process, whose heap grows once: in the first run`,
    targets: {
      'sorted first page, p95 ms': { most: 50 },
      'of a job, p95 ms': { most: 50 },
      'of an entity, p95 ms': { most: 50 },
      'by id, p95 ms': { most: 50 },
      'two filters, sorted, p95 ms': { most: 100 },
      'a value that does not occur, ms at most': { most: BOUND_MS },
      'summary of jobs by status, p95 ms': { most: 100 },
      'large CSV, MB more': { most: 150 },
    },
    async open() {
      const service = await startService()
      try {
        const jobs = await onDatabaseOf(service, database => makeEnded(database, entities))
        const organization = await onDatabaseOf(service, async database => {
          const { rows } = await database.query<{ organization: number }>('select organization from organization')
          return rows[0]!.organization
        })
        return { run: () => measure(service, jobs, organization), close: () => service.stop() }
      } catch (error) {
        await service.stop()
        throw error
      }
    },
  }
}

const PAGE = { start: 1, size: 100 }
const LAST_FIRST = { parameters: [{ name: 'operationEndDate', type: 'DESCENDING' as const }] }

async function measure(service: BenchService, jobs: readonly EndedJob[], organization: number): Promise<Figures> {
  const largest = jobs.at(-1)!
  const entity = Math.min(4_711, largest.operations)
  const named: Readonly<Record<string, () => Promise<unknown>>> = {
    'sorted first page': find(service, { sort: LAST_FIRST }),
    'of a job': find(service, { filter: { eq: { jobId: jobId(jobs[7]!.job) } } }),
    'of an entity': find(service, { filter: { eq: { entityId: identifierOf(entity) } } }),
    'by id': find(service, {
      filter: {
        eq: {
          operationId: operationId({
            job: largest.job,
            partition: partitionOf(organization, identifierOf(entity)),
            entity: BigInt(entity),
          }),
        },
      },
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
    if ((await ask()) === undefined) throw new Error(`${name} finds nothing`)
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
  const small = await exportCsv(service, jobs.slice(0, 2))
  const large = await exportCsv(service, [largest])
  return {
    ...figures,
    'small CSV, s': small.seconds,
    'small CSV, MB more': small.megabytes,
    'large CSV, s': large.seconds,
    'large CSV, MB more': large.megabytes,
  }
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

/** Reads the operations of jobs as CSV as they come, and watches the memory of the service. */
async function exportCsv(
  service: BenchService,
  jobs: readonly EndedJob[],
): Promise<{ readonly seconds: number; readonly megabytes: number }> {
  const pid = service.child.process.pid!
  const before = residentMb(pid)
  let most = before
  const watching = setInterval(() => {
    most = Math.max(most, residentMb(pid))
  }, 100)
  const startedAt = performance.now()
  const response = await service.client.open('POST /search/entities/operations/history', 'text/plain', {
    body: { filter: { in: { jobId: jobs.map(({ job }) => jobId(job)) } } },
  })
  let lines = 0
  for await (const chunk of response.body!) for (const byte of chunk) if (byte === 10) lines += 1
  clearInterval(watching)
  const rows = jobs.reduce((sum, { operations }) => sum + operations, 0)
  if (lines !== rows + 1) throw new Error(`the CSV has ${lines} lines`)
  return { seconds: (performance.now() - startedAt) / 1000, megabytes: most - before }
}

type Asked = { query(text: string, values?: unknown[]): Promise<unknown> }

async function evict(database: Asked): Promise<void> {
  await database.query('create extension if not exists pg_buffercache')
  await database.query('select pg_buffercache_evict_all()')
}
