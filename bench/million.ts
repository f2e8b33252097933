/**
 * One job by tag over a million entities on a service as it is delivered: how soon it is answered and planned, what it takes, how the
 * service answers meanwhile, and how soon all of it is cancelled, once while pending and once while waiting for connections.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Figures, type Measurement, quantile } from './figures.ts'
import { createJob, letAllWait, onDatabaseOf, provisionMany, type Summary, summaryOf } from './million-entities.ts'
import { type BenchService, residentMb, startService, watchMemory } from './processes.ts'
import { settle } from './settling.ts'

const WITHIN_MS = 300_000
const JOBS = 4
const DAYS = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'] as const

export function million(entities = 1_000_000): Measurement {
  return {
    name: 'million',
    about: `one job by tag over ${entities.toLocaleString('en')} entities, of which ${JOBS} are created in each run: the slowest answer counts; planned ends where the total of the job is that of the entities, with its start an hour away (\`fair\` tells how soon one that starts at once is launched); those cancelled as PENDING are of a job that has started behind a closed window, so that each stands ready for its launch; those that wait for a connection are put there by SQL; memory is the most of ten looks a second while jobs are planned and cancelled, beside that before the first job, and the same service does all runs`,
    targets: {
      'created, ms': { most: 100 },
      'planned, s': { most: 15 },
      'memory, MB more': { most: 150, worst: true },
      'GET while planning, p99 ms': { most: 50 },
      'cancelled PENDING, s': { most: 20 },
      'cancelled WAITING_FOR_CONNECTION, s': { most: 20 },
    },
    async open() {
      const service = await startService()
      try {
        await onDatabaseOf(service, database => provisionMany(database, entities))
        await settle(service)
        const before = residentMb(service.child.process.pid!)
        return { run: () => measure(service, entities, before), close: () => service.stop() }
      } catch (error) {
        await service.stop()
        throw error
      }
    },
  }
}

async function measure(service: BenchService, entities: number, before: number): Promise<Figures> {
  const mostMemory = watchMemory(service.child.process.pid!)
  try {
    const first = await plan(service, entities)
    await endAtOnce(service, first.id)
    const pending = await cancel(service, await standReady(service, entities), entities)
    const second = await plan(service, entities)
    await onDatabaseOf(service, letAllWait)
    const waiting = await cancel(service, second.id, entities)
    const third = await create(service)
    await endAtOnce(service, third.id)
    return {
      'created, ms': Math.max(first.createdMs, second.createdMs, third.createdMs),
      'planned, s': Math.max(first.plannedS, second.plannedS),
      'memory, MB more': mostMemory() - before,
      'GET while planning, p99 ms': quantile([...first.gets, ...second.gets], 0.99),
      'cancelled PENDING, s': pending.s,
      'GET while cancelling, p99 ms': quantile([...pending.gets, ...waiting.gets], 0.99),
      'cancelled WAITING_FOR_CONNECTION, s': waiting.s,
    }
  } finally {
    mostMemory()
  }
}

async function create(service: BenchService): Promise<{ id: string; createdMs: number }> {
  const askedAt = performance.now()
  const id = await createJob(service, { tags: ['million'] }, { start: { delayed: 3_600_000 } })
  return { id, createdMs: performance.now() - askedAt }
}

async function plan(service: BenchService, entities: number) {
  const startedAt = performance.now()
  const { id, createdMs } = await create(service)
  const gets = await untilSummary(service, id, summary => summary.total === entities)
  return { id, createdMs, plannedS: (performance.now() - startedAt) / 1000, gets }
}

/** A job that has started, of which nothing may be launched yet: its window opens in three days. */
async function standReady(service: BenchService, entities: number): Promise<string> {
  const day = DAYS[(new Date().getUTCDay() + 3) % DAYS.length]!
  const window = { weekly: [{ days: [day], daily: { start: '00:00:00Z', stop: '01:00:00Z' } }] }
  const id = await createJob(service, { tags: ['million'] }, { window })
  await untilSummary(service, id, ({ status, total }) => status === 'IN_PROGRESS' && total === entities)
  return id
}

async function cancel(service: BenchService, id: string, entities: number) {
  const startedAt = performance.now()
  await deleteJob(service, id)
  const gets = await untilSummary(
    service,
    id,
    summary => summary.status === 'CANCELLED' && summary.finished.cancelled.total === entities,
  )
  return { s: (performance.now() - startedAt) / 1000, gets }
}

/** Cancels a job that may still be planned, so that the next one finds nothing of it. */
async function endAtOnce(service: BenchService, id: string): Promise<void> {
  await deleteJob(service, id)
  await untilSummary(service, id, ({ status }) => status === 'CANCELLED')
}

const deleteJob = ({ client }: BenchService, jobId: string) =>
  client.call('DELETE /operation/jobs/{jobId}', { path: { jobId } })

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
    const summary = await summaryOf(service, id)
    took.push(performance.now() - askedAt)
    if (wanted(summary)) return took
    if (performance.now() > until) throw new Error(`not reached in time: ${JSON.stringify(summary)}`)
    await sleep(20)
  }
}
