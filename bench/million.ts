/**
 * One job by tag over a million entities on a service as it is delivered: how soon it is answered and planned, what it takes, how the
 * service answers meanwhile, and how soon all of it is cancelled, once while pending and once while waiting for connections.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { type Figures, type Measurement, quantile } from './figures.ts'
import { type BenchService, residentMb, startService } from './processes.ts'

interface Summary {
  readonly status: string
  readonly total: number
  readonly inProgress: { readonly total: number }
  readonly finished: { readonly cancelled: { readonly total: number } }
}

const WITHIN_MS = 300_000

export function million(entities = 1_000_000): Measurement {
  return {
    name: 'million',
    about: `one job by tag over ${entities.toLocaleString('en')} entities; those that wait for a connection are put there by SQL`,
    runs: 3,
    targets: {
      'created, ms': { most: 100 },
      'planned, s': { most: 15 },
      'memory, MB more': { most: 150 },
      'GET while planning, p99 ms': { most: 50 },
      'cancelled PENDING, s': { most: 20 },
      'cancelled WAITING_FOR_CONNECTION, s': { most: 20 },
    },
    async run() {
      const service = await startService()
      try {
        return await measure(service, entities)
      } finally {
        await service.stop()
      }
    },
  }
}

async function measure(service: BenchService, entities: number): Promise<Figures> {
  const database = new pg.Client(service.postgres.url)
  await database.connect()
  try {
    await provision(database, entities)
    const before = residentMb(service.child.process.pid!)
    const first = await plan(service, entities)
    const memory = residentMb(service.child.process.pid!) - before
    const pending = await cancel(service, first.id, entities)
    const second = await plan(service, entities)
    await letWait(database)
    const waiting = await cancel(service, second.id, entities)
    return {
      'created, ms': first.createdMs,
      'planned, s': first.plannedS,
      'memory, MB more': memory,
      'GET while planning, p99 ms': first.getP99Ms,
      'cancelled PENDING, s': pending.s,
      'GET while cancelling, p99 ms': pending.getP99Ms,
      'cancelled WAITING_FOR_CONNECTION, s': waiting.s,
    }
  } finally {
    await database.end()
  }
}

async function provision(database: pg.Client, entities: number): Promise<void> {
  await database.query(
    `insert into entity (partition, entity, organization, identifier, resource_type, document, tags, flow, created_at, updated_at)
     select i % 256, i, o.organization, 'million-' || i, 'entity.device', '{}', '{million}', 'pull', now(), now()
       from organization o, generate_series(1, $1::int) i`,
    [entities],
  )
  await database.query('vacuum analyze entity')
}

async function plan(service: BenchService, entities: number) {
  const startedAt = performance.now()
  const request = {
    name: 'REBOOT_EQUIPMENT',
    parameters: {},
    active: true,
    schedule: { start: { delayed: 3_600_000 } },
    operationParameters: { timeout: 3_600_000 },
    target: { append: { tags: ['million'] } },
  }
  const job = await service.client.call('POST /operation/jobs', { body: { job: { request } } })
  const createdMs = performance.now() - startedAt
  const gets = await untilSummary(service, job.id, summary => summary.total === entities)
  return { id: job.id, createdMs, plannedS: (performance.now() - startedAt) / 1000, getP99Ms: quantile(gets, 0.99) }
}

/** Has every operation of a job launched and away, as if each device had been found absent. */
async function letWait(database: pg.Client): Promise<void> {
  const { rows } = await database.query<{ job: string }>(
    `select max(job)::text as job from job where status = 'SCHEDULED'`,
  )
  const job = rows[0]!.job
  for (const text of [
    `update operation set status = 'WAITING_FOR_CONNECTION', attempt = 1, started_at = now(), launched_at = now(), flow = 'pull' where job = ${job}`,
    `insert into operation_live (partition, entity, name, job) select partition, entity, 'REBOOT_EQUIPMENT', job from operation where job = ${job}`,
    `insert into job_counter_delta (job, scheduled, waiting_for_connection) select job, -count(*), count(*) from operation where job = ${job} group by job`,
    `update job set status = 'IN_PROGRESS', started_at = now(), launch_at = now(), start_at = now() where job = ${job}`,
  ])
    await database.query(text)
}

async function cancel(service: BenchService, id: string, entities: number) {
  const startedAt = performance.now()
  await service.client.call('DELETE /operation/jobs/{jobId}', { path: { jobId: id } })
  const gets = await untilSummary(
    service,
    id,
    summary => summary.status === 'CANCELLED' && summary.finished.cancelled.total === entities,
  )
  return { s: (performance.now() - startedAt) / 1000, getP99Ms: quantile(gets, 0.99) }
}

/** Reads a job again and again until its summary is as wanted; answers how long each reading took, in ms. */
async function untilSummary(
  service: BenchService,
  id: string,
  wanted: (summary: Summary) => boolean,
): Promise<number[]> {
  const took: number[] = []
  const until = performance.now() + WITHIN_MS
  for (;;) {
    const askedAt = performance.now()
    const job = await service.client.call('GET /operation/jobs/{jobId}', { path: { jobId: id } })
    took.push(performance.now() - askedAt)
    if (wanted(job.report.summary)) return took
    if (performance.now() > until) throw new Error(`not reached in time: ${JSON.stringify(job.report.summary)}`)
    await sleep(20)
  }
}
