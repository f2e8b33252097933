/**
 * One job by tag over a million entities on a service as it is delivered: how soon it is answered and planned, what it takes, how the
 * service answers meanwhile, and how soon all of it is cancelled, once while pending and once while waiting for connections.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Figures, type Measurement, quantile } from './figures.ts'
import { createJob, letAllWait, onDatabaseOf, provisionMany, type Summary, summaryOf } from './million-entities.ts'
import { type BenchService, residentMb, startService } from './processes.ts'

const WITHIN_MS = 300_000

export function million(entities = 1_000_000): Measurement {
  return {
    name: 'million',
    about: `one job by tag over ${entities.toLocaleString('en')} entities; those that wait for a connection are put there by SQL`,
    targets: {
      'created, ms': { most: 100 },
      'planned, s': { most: 15 },
      'memory, MB more': { most: 150 },
      'GET while planning, p99 ms': { most: 50 },
      'cancelled PENDING, s': { most: 20 },
      'cancelled WAITING_FOR_CONNECTION, s': { most: 20 },
    },
    async open() {
      const service = await startService()
      try {
        await onDatabaseOf(service, database => provisionMany(database, entities))
        return { run: () => measure(service, entities), close: () => service.stop() }
      } catch (error) {
        await service.stop()
        throw error
      }
    },
  }
}

async function measure(service: BenchService, entities: number): Promise<Figures> {
  const before = residentMb(service.child.process.pid!)
  const first = await plan(service, entities)
  const memory = residentMb(service.child.process.pid!) - before
  const pending = await cancel(service, first.id, entities)
  const second = await plan(service, entities)
  await onDatabaseOf(service, letAllWait)
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
}

async function plan(service: BenchService, entities: number) {
  const startedAt = performance.now()
  const id = await createJob(service, { tags: ['million'] }, { start: { delayed: 3_600_000 } })
  const createdMs = performance.now() - startedAt
  const gets = await untilSummary(service, id, summary => summary.total === entities)
  return { id, createdMs, plannedS: (performance.now() - startedAt) / 1000, getP99Ms: quantile(gets, 0.99) }
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
    const summary = await summaryOf(service, id)
    took.push(performance.now() - askedAt)
    if (wanted(summary)) return took
    if (performance.now() > until) throw new Error(`not reached in time: ${JSON.stringify(summary)}`)
    await sleep(20)
  }
}
