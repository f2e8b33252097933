/** graphile-worker with the settings that its own documentation advises for speed: a local queue, and completions in batches. */
import { Logger, makeWorkerUtils, run } from 'graphile-worker'
import pg from 'pg'

const LOCAL_QUEUE = 500
const CONCURRENCY = 24
const INSERTED_AT_ONCE = 5_000

/** Makes and does empty jobs; answers the seconds that took. */
export async function graphileWorker(url: string, jobs: number): Promise<number> {
  const pgPool = new pg.Pool({ connectionString: url, max: 10 })
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
