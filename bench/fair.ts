/**
 * A million must not starve a one: how soon the first request reaches the device of a job of its own, made while a job over all
 * other entities is launching, and while that is paused. A part of those entities is reachable at hosts that are slow, which would
 * take every place for a request under way.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Figures, type Measurement, quantile } from './figures.ts'
import { type HttpDevice, httpDevice, slowHost } from './http-device.ts'
import { createJob, onDatabaseOf, provisionMany, type Summary, summaryOf } from './million-entities.ts'
import { type BenchService, startService } from './processes.ts'
import { settle } from './settling.ts'

const LAUNCHING = 'first request while launching, p99 ms'
const PAUSED = 'first request while paused, p99 ms'
/** Where it is none, the last samples had nothing beside them. */
const LEFT = 'of the million still to be launched when paused, %'
const SAMPLES = 50
const REACHABLE_ONE_IN = 10
const SLOW_HOSTS = 4
const ANSWERS_AFTER_MS = 2_000
const PAUSE_MS = 100
const WITHIN_MS = 300_000

export function fair(entities = 1_000_000): Measurement {
  return {
    name: 'fair',
    about: `${SAMPLES} jobs on one HTTP device each, made one after the other while a job over ${entities.toLocaleString('en')} entities launches, and as many while it is paused, from the call that makes the job to the device's receipt of the request: shows that neither claiming, nor launching, nor the places for requests under way are held by the large one; of its entities one in ${REACHABLE_ONE_IN} is called at one of ${SLOW_HOSTS} hosts that answer after ${ANSWERS_AFTER_MS / 1000} s, more than there are places, the others are launched and found absent`,
    targets: {
      [LAUNCHING]: { most: 1_000 },
      [PAUSED]: { most: 1_000 },
      [LEFT]: { least: 1, worst: true },
    },
    async open() {
      const service = await startService()
      const device = await httpDevice(service, 'the-one')
      const hosts = await Promise.all(Array.from({ length: SLOW_HOSTS }, () => slowHost(ANSWERS_AFTER_MS)))
      const close = async () => {
        for (const each of [device, ...hosts]) await each.stop()
        await service.stop()
      }
      try {
        await onDatabaseOf(service, async database => {
          await provisionMany(database, entities)
          await database.query(
            `update entity set flow = 'http', url = ($1::text[])[1 + (entity / $2::int) % $3::int]
              where tags = '{million}' and entity % $2::int = 0`,
            [hosts.map(({ url }) => url), REACHABLE_ONE_IN, SLOW_HOSTS],
          )
        })
        await settle(service)
        return { run: () => measure(service, device, entities), close }
      } catch (error) {
        await close()
        throw error
      }
    },
  }
}

async function measure(service: BenchService, device: HttpDevice, entities: number): Promise<Figures> {
  const madeAt = performance.now()
  const large = await createJob(service, { tags: ['million'] })
  await until(service, large, ({ inProgress }) => inProgress.waitingForConnection > 0)
  const firstLaunchS = (performance.now() - madeAt) / 1000
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
    'of the million the first is launched after, s': firstLaunchS,
    [LEFT]: (left / entities) * 100,
  }
}

async function sample(service: BenchService, device: HttpDevice): Promise<number[]> {
  const took: number[] = []
  while (took.length < SAMPLES) {
    const madeAt = performance.now()
    const job = await createJob(service, { entities: [device.id] })
    took.push((await device.requested(job)) - madeAt)
    // While it is under way, the next one would be ALREADY_IN_PROGRESS.
    await until(service, job, ({ status }) => status === 'FINISHED')
    await sleep(PAUSE_MS)
  }
  return took
}

async function until(service: BenchService, job: string, reached: (summary: Summary) => boolean): Promise<void> {
  const giveUpAt = performance.now() + WITHIN_MS
  while (!reached(await summaryOf(service, job))) {
    if (performance.now() > giveUpAt) throw new Error(`job ${job} does not get on`)
    await sleep(20)
  }
}
