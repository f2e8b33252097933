/**
 * Searches of the client interface over five million ended operations: named queries warm, and cold, with nothing of the database in its
 * own memory; and the files of a fifth of that and of all of the largest job, with the memory that the service takes for them.
 */

import type { SearchBody } from '../src/contract/client/client.ts'
import { jobId, operationId, partitionOf } from '../src/domain/identity.ts'
import { type EndedJob, identifierOf, MONTHS, makeEnded } from './ended.ts'
import { type Figures, type Measurement, quantile } from './figures.ts'
import { onDatabaseOf } from './million-entities.ts'
import { type BenchService, residentMb, startService, watchMemory } from './processes.ts'

const SAMPLES = 20
const COLD_SAMPLES = 5
/** The bound on the time of one search, with what it takes to say so. */
const BOUND_MS = 5_000
const BOUND_SAMPLES = 3
/** What each named query may take, warm and cold. */
const MOST_MS = {
  'sorted first page': 50,
  'of a job': 50,
  'of an entity': 50,
  'by id': 50,
  'two filters, sorted': 100,
  'summary of jobs by status': 100,
} as const
/** What no index serves: answered, or refused with a clear word. */
const BOUND = ['a value that does not occur', 'sorted by what no index serves'] as const
const SUMMARY = 'summary of operations by name of their job'
const warm = (name: string) => `${name}, p95 ms`
const cold = (name: string) => `${name}, cold, ms at most`
const atMost = (name: string) => `${name}, ms at most`
const refusals = (name: string) => `${name}, refused, %`

export function search(operations = 5_000_000): Measurement {
  // A month has as many operations as there are entities.
  const entities = Math.floor(operations / MONTHS / 100) * 100
  return {
    name: 'search',
    about: `${(entities * MONTHS).toLocaleString('en')} ended operations in ${MONTHS} months, of ${entities.toLocaleString('en')} entities and 41 jobs, one of them over all entities; a page of 100 with its \`of\`; cold is the slowest of 5 after \`pg_buffercache_evict_all()\`, what the kernel holds of its files staying; what no index serves may be refused by its time; files of ${(entities / 5).toLocaleString('en')} and ${entities.toLocaleString('en')} rows, one after the other in one process, whose heap grows once: in the first run`,
    targets: {
      ...Object.fromEntries(
        Object.entries(MOST_MS).flatMap(([name, most]) => [
          [warm(name), { most }],
          [cold(name), { most }],
        ]),
      ),
      ...Object.fromEntries(BOUND.map(name => [atMost(name), { most: BOUND_MS }])),
      [atMost(SUMMARY)]: { most: 100 },
      'large CSV, MB more': { most: 150, worst: true },
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
  const named: Readonly<Record<keyof typeof MOST_MS, () => Promise<unknown>>> = {
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
    figures[warm(name)] = quantile(await timesOf(ask, SAMPLES), 0.95)
    figures[cold(name)] = quantile(await timesOf(ask, COLD_SAMPLES, () => onDatabaseOf(service, evict)), 1)
  }
  const bounded: Readonly<Record<(typeof BOUND)[number] | typeof SUMMARY, () => Promise<unknown>>> = {
    'a value that does not occur': find(service, {
      filter: { eq: { 'operations.description': 'nobody ever said this' } },
    }),
    'sorted by what no index serves': find(service, {
      sort: { parameters: [{ name: 'operationStatus', type: 'DESCENDING' }, { name: 'operationInitDate' }] },
    }),
    [SUMMARY]: () =>
      service.client.call('POST /search/entities/operations/history/summary', {
        body: { filter: {}, group: { parameters: [{ name: 'jobOperationName' }] } },
      }),
  }
  for (const [name, ask] of Object.entries(bounded)) {
    let refused = 0
    const asking = () => ask().catch((error: unknown) => (refused += refusedForItsTime(error)))
    figures[atMost(name)] = quantile(await timesOf(asking, BOUND_SAMPLES), 1)
    figures[refusals(name)] = (refused / BOUND_SAMPLES) * 100
  }
  const small = await exportCsv(service, jobs.slice(0, 2))
  const large = await exportCsv(service, [largest])
  return {
    ...figures,
    'small CSV, s': small.seconds,
    'small CSV, MB more': small.megabytes,
    'large CSV, s': large.seconds,
    'large CSV, MB more': large.megabytes,
    'most memory while large CSV / while small CSV': large.mostMb / small.mostMb,
  }
}

/** A search for a page, which must tell how many there are; nothing found has no page. */
const find = (service: BenchService, body: SearchBody) => async () => {
  const found = await service.client.call('POST /search/entities/operations/history', {
    body: { limit: PAGE, ...body },
  })
  if (found && !(found.page.of !== undefined && found.page.of > 0)) throw new Error('the page does not say of how many')
  return found
}

/** Answers 1 for the refusal of a search that takes too long; anything else fails. */
function refusedForItsTime(error: unknown): number {
  if (!(error instanceof Error) || !/narrow its filter/.test(error.message)) throw error
  return 1
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
): Promise<{ readonly seconds: number; readonly megabytes: number; readonly mostMb: number }> {
  const pid = service.child.process.pid!
  const before = residentMb(pid)
  const mostMemory = watchMemory(pid)
  try {
    const startedAt = performance.now()
    const response = await service.client.open('POST /search/entities/operations/history', 'text/plain', {
      body: { filter: { in: { jobId: jobs.map(({ job }) => jobId(job)) } } },
    })
    let lines = 0
    for await (const chunk of response.body!) for (const byte of chunk) if (byte === 10) lines += 1
    const rows = jobs.reduce((sum, { operations }) => sum + operations, 0)
    if (lines !== rows + 1) throw new Error(`the CSV has ${lines} lines`)
    const mostMb = mostMemory()
    return { seconds: (performance.now() - startedAt) / 1000, megabytes: mostMb - before, mostMb }
  } finally {
    mostMemory()
  }
}

type Asked = { query(text: string, values?: unknown[]): Promise<unknown> }

async function evict(database: Asked): Promise<void> {
  await database.query('create extension if not exists pg_buffercache')
  await database.query('select pg_buffercache_evict_all()')
}
