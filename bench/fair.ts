/**
 * A million must not starve a one: how soon the first request reaches the device of a job of its own, made while a job over all
 * other entities is launching, and while that is paused.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Figures, type Measurement, quantile } from './figures.ts'
import { type HttpDevice, httpDevice } from './http-device.ts'
import { createJob, onDatabaseOf, provisionMany, type Summary, summaryOf } from './million-entities.ts'
import { type BenchService, startService } from './processes.ts'

const LAUNCHING = 'first request while launching, p99 ms'
const PAUSED = 'first request while paused, p99 ms'
const SAMPLES = 50
const PAUSE_MS = 100
const WITHIN_MS = 300_000

export function fair(entities = 1_000_000): Measurement {
  return {
    name: 'fair',
    about: `${SAMPLES} jobs of one HTTP device each, made one after the other while a job over ${entities.toLocaleString('en')} entities launches, and as many while it is paused`,
    targets: {
      [LAUNCHING]: { most: 1_000 },
      [PAUSED]: { most: 1_000 },
    },
    async open() {
      const service = await startService()
      const device = await httpDevice(service, 'the-one')
      const close = async () => {
        await device.stop()
        await service.stop()
      }
      try {
        await onDatabaseOf(service, database => provisionMany(database, entities))
        return { run: () => measure(service, device, entities), close }
      } catch (error) {
        await close()
        throw error
      }
    },
  }
}

async function measure(service: BenchService, device: HttpDevice, entities: number): Promise<Figures> {
  const large = await createJob(service, { tags: ['million'] })
  await until(service, large, ({ inProgress }) => inProgress.waitingForConnection > 0)
  const launching = await sample(service, device)
  const left = (await summaryOf(service, large)).inProgress.scheduled
  const path = { jobId: large }
  await service.client.call('PUT /operation/jobs/{jobId}', { path, body: { job: { request: { active: false } } } })
  const paused = await sample(service, device)
  await service.client.call('DELETE /operation/jobs/{jobId}', { path })
  await until(service, large, ({ status }) => status === 'CANCELLED')
  return {
    [LAUNCHING]: quantile(launching, 0.99),
    'first request while launching, median ms': quantile(launching, 0.5),
    [PAUSED]: quantile(paused, 0.99),
    'first request while paused, median ms': quantile(paused, 0.5),
    'of the million still to be launched when paused, %': (left / entities) * 100,
  }
}

async function sample(service: BenchService, device: HttpDevice): Promise<number[]> {
  const took: number[] = []
  while (took.length < SAMPLES) {
    const madeAt = performance.now()
    const job = await createJob(service, { entities: [device.id] })
    took.push((await device.requested(job)) - madeAt)
    await sleep(PAUSE_MS)
  }
  return took
}

async function until(service: BenchService, job: string, reached: (summary: Summary) => boolean): Promise<void> {
  const giveUpAt = performance.now() + WITHIN_MS
  while (!reached(await summaryOf(service, job))) {
    if (performance.now() > giveUpAt) throw new Error('the large job does not get on')
    await sleep(20)
  }
}
