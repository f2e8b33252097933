/**
 * graphile-worker with the settings under which its own documentation measures (worker.graphile.org/docs/performance, "Quick stats" and
 * "With batching"): a local queue of 500, 24 jobs at once over 25 connections, completions in batches without a delay, jobs added by
 * `addJobs`.
 */
import { Logger, makeWorkerUtils, run } from 'graphile-worker'
import pg from 'pg'

const LOCAL_QUEUE = 500
const CONCURRENCY = 24
const CONNECTIONS = 25
const INSERTED_AT_ONCE = 5_000

/** Makes and does empty jobs; answers the seconds that took. */
export async function graphileWorker(url: string, jobs: number): Promise<number> {
  const pgPool = new pg.Pool({ connectionString: url, max: CONNECTIONS })
  pgPool.on('error', () => {})
  pgPool.on('connect', client => client.on('error', () => {}))
  const logger = new Logger(() => () => {})
  const utils = await makeWorkerUtils({ pgPool, logger })
  await utils.migrate()
  let done = 0
  const all = Promise.withResolvers<void>()
  try {
    const startedAt = performance.now()
    for (let made = 0; made < jobs; made += INSERTED_AT_ONCE) {
      const count = Math.min(INSERTED_AT_ONCE, jobs - made)
      await utils.addJobs(Array.from({ length: count }, (_, i) => ({ identifier: 'empty', payload: { i } })))
    }
    const runner = await run({
      pgPool,
      logger,
      noHandleSignals: true,
      taskList: {
        empty: async () => {
          done += 1
          if (done === jobs) all.resolve()
        },
      },
      preset: {
        worker: {
          concurrentJobs: CONCURRENCY,
          localQueue: { size: LOCAL_QUEUE },
          completeJobBatchDelay: 0,
          failJobBatchDelay: 0,
        },
      },
    })
    await all.promise
    // It ends once the last completions are written.
    await runner.stop()
    return (performance.now() - startedAt) / 1000
  } finally {
    await utils.release()
    await pgPool.end()
  }
}
