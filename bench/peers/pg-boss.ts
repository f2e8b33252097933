/**
 * pg-boss by what its documentation has for many jobs (its docs/api/jobs.md, and the types of the release): `insert` creates many in one
 * request, `fetch` takes a batch, and `complete` the ids of one. `priority` and `orderByCreatedOn`, which the page names as ways to make
 * `fetch` faster, are ignored since 12.30. Supervision and schedules, of which nothing is used, are off (docs/api/constructor.md). The
 * pages name no size: batches of 2,000 by three loops.
 */
import { PgBoss } from 'pg-boss'

const BATCH = 2_000
const LOOPS = 3

/** Makes and does empty jobs; answers the seconds that took. */
export async function pgBoss(url: string, jobs: number): Promise<number> {
  const boss = new PgBoss({ connectionString: url, max: 10, supervise: false, schedule: false })
  boss.on('error', () => {})
  await boss.start()
  try {
    await boss.createQueue('empty')
    const startedAt = performance.now()
    for (let made = 0; made < jobs; made += BATCH) {
      const count = Math.min(BATCH, jobs - made)
      await boss.insert(
        'empty',
        Array.from({ length: count }, (_, i) => ({ data: { i } })),
      )
    }
    let done = 0
    const work = async () => {
      while (done < jobs) {
        const fetched = await boss.fetch('empty', { batchSize: BATCH })
        if (fetched.length === 0) return
        await boss.complete(
          'empty',
          fetched.map(({ id }) => id),
        )
        done += fetched.length
      }
    }
    await Promise.all(Array.from({ length: LOOPS }, work))
    if (done !== jobs) throw new Error(`${done} of ${jobs} jobs were done`)
    return (performance.now() - startedAt) / 1000
  } finally {
    await boss.stop({ graceful: false })
  }
}
