/**
 * A million must not starve a one: how soon the first request reaches the device of a job of its own, made while a job over all
 * other entities is launching, and while that is paused.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Figures, type Measurement, quantile } from './figures.ts'
import { httpDevice } from './http-device.ts'
import { createJob, onDatabaseOf, provisionMany, summaryOf } from './million-entities.ts'
import { type BenchService, startService } from './processes.ts'

const SAMPLES = 100
const PAUSE_MS = 100
const WITHIN_MS = 300_000

export function fair(entities = 1_000_000): Measurement {
  return {
    name: 'fair',
    about: `${SAMPLES} jobs of one HTTP device each, made one after the other while a job over ${entities.toLocaleString('en')} entities launches, and as many while it is paused`,
    targets: {
      'first request while launching, p99 ms': { most: 1_000 },
      'first request while paused, p99 ms': { most: 1_000 },
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
  const device = await httpDevice(service, 'the-one')
  try {
    await onDatabaseOf(service, database => provisionMany(database, entities))
    const large = await createJob(service, { tags: ['million'] })
    await until(service, large, ({ waitingForConnection }) => waitingForConnection > 0)
    const launching = await sample(service, device)
    const left = (await summaryOf(service, large)).inProgress.scheduled
    await service.client.call('PUT /operation/jobs/{jobId}', {
      path: { jobId: large },
      body: { job: { request: { active: false } } },
    })
    const paused = await sample(service, device)
    return {
      'first request while launching, p99 ms': quantile(launching, 0.99),
      'first request while launching, median ms': quantile(launching, 0.5),
      'first request while paused, p99 ms': quantile(paused, 0.99),
      'first request while paused, median ms': quantile(paused, 0.5),
      'of the others still to be launched, share': left / entities,
    }
  } finally {
    await device.stop()
  }
}

async function sample(service: BenchService, device: Awaited<ReturnType<typeof httpDevice>>): Promise<number[]> {
  const took: number[] = []
  while (took.length < SAMPLES) {
    const madeAt = performance.now()
    const job = await createJob(service, { entities: [device.id] })
    took.push((await device.requested(job)) - madeAt)
    await sleep(PAUSE_MS)
  }
  return took
}

async function until(
  service: BenchService,
  job: string,
  reached: (inProgress: { waitingForConnection: number }) => boolean,
): Promise<void> {
  const giveUpAt = performance.now() + WITHIN_MS
  while (!reached((await summaryOf(service, job)).inProgress)) {
    if (performance.now() > giveUpAt) throw new Error('the large job does not launch')
    await sleep(20)
  }
}
