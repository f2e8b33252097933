/**
 * What a user would pick instead, in the same run: empty jobs made and done by three queues at their best documented settings, and whole
 * operations in the engine. A job is two durable changes, an operation six.
 */
import type { Measurement } from './figures.ts'
import { engineRun, onDatabase, WARMED_UP, warmingUp } from './lifecycle.ts'
import { bullmq } from './peers/bullmq.ts'
import { graphileWorker } from './peers/graphile-worker.ts'
import { pgBoss } from './peers/pg-boss.ts'
import { startPostgres } from './postgres.ts'

const CHANGES_OF_JOB = 2
const CHANGES_OF_OPERATION = 6

export function peers(count = 50_000): Measurement {
  const warmUp = warmingUp()
  return {
    name: 'peers',
    about: `durable changes per second: ${count.toLocaleString('en')} operations in the engine, six changes each, and as many empty jobs, two changes each, made and then done, in graphile-worker 0.18 (\`localQueue.size\` 500, \`concurrentJobs\` 24, \`completeJobBatchDelay\` 0, \`addJobs\` by 5,000, 25 connections: worker.graphile.org/docs/performance), pg-boss 12.35 (\`insert\`, \`fetch\` and \`complete\` by 2,000 in 3 loops, 10 connections, no supervision: its docs/api/jobs.md), and BullMQ 6.7 (\`addBulk\` by 1,000, \`concurrency\` 200, \`removeOnComplete\`: docs.bullmq.io/guide/parallelism-and-concurrency) on Redis (\`appendonly\`, \`appendfsync always\`; 0 where it is not to be had); each on a server of its own; ${WARMED_UP}`,
    targets: { 'engine / best of the others': { least: 1 } },
    async run() {
      await warmUp(ratesOf)
      const { own, others } = await ratesOf(count)
      return {
        'engine, changes/s': own,
        ...others,
        'engine / best of the others': own / Math.max(...Object.values(others)),
      }
    },
  }
}

async function ratesOf(count: number) {
  const { perSecond } = await onDatabase(({ database, postgres }) => engineRun(database, postgres, count))
  const seconds = {
    'graphile-worker, changes/s': await onPostgres(url => graphileWorker(url, count)),
    'pg-boss, changes/s': await onPostgres(url => pgBoss(url, count)),
    'BullMQ, changes/s': (await bullmq(count)) ?? Number.POSITIVE_INFINITY,
  }
  const others = Object.fromEntries(
    Object.entries(seconds).map(([name, took]) => [name, (count * CHANGES_OF_JOB) / took]),
  )
  return { own: perSecond * CHANGES_OF_OPERATION, others }
}

async function onPostgres<T>(work: (url: string) => Promise<T>): Promise<T> {
  const postgres = await startPostgres()
  try {
    return await work(postgres.url)
  } finally {
    await postgres.stop()
  }
}
