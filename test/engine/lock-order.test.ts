/** Batches of several nodes on the same operations lock them in one order, so that they wait for each other and never in a circle. */
import { expect, test } from 'vitest'
import { applyHappenings } from '../../src/engine/operation-transitions.ts'
import { sql } from '../../src/store/statement.ts'
import { testDatabase } from '../database.ts'
import { deviceOf, silent } from './scenario.ts'
import { createWorkbench, jobRequest } from './workbench.ts'

const { database } = await testDatabase()
const bench = await createWorkbench(database)
const acknowledged = { steps: [] }
const successful = { steps: [], resultCode: 'SUCCESSFUL' }

/** Keys of a new job's operations, which have been sent, in the order in which they are locked. */
async function sentOperations(name: string) {
  const devices = [1, 2, 3, 4].map(n => `${name}-${n}`)
  await bench.provision(devices)
  bench.device = silent
  const { job } = await bench.jobs.create(
    bench.caller,
    jobRequest({
      target: { append: { entities: devices } },
      operationParameters: { ackTimeout: 60_000, timeout: 60_000, retries: 0, retriesDelay: 0, retryResultList: [] },
    }),
  )
  await bench.settle()
  const keys = await Promise.all(devices.map(async device => ({ job, ...(await deviceOf(bench, device)) })))
  return keys.toSorted((a, b) => a.partition - b.partition || Number(a.entity - b.entity))
}

test.each([
  ['are all moved', () => acknowledged],
  ['all end', () => successful],
  ['are moved or end', (n: number) => (n === 0 ? successful : acknowledged)],
])('a batch whose operations %s holds none while it waits for one that comes before it', async (what, wordOf) => {
  const keys = await sentOperations(what.replaceAll(' ', '-'))
  const first = keys[0]!
  // As they arrive, which is in any order.
  const happenings = keys.map((key, n) => ({ key, word: wordOf(n) })).toReversed()
  let batch: Promise<unknown> = Promise.resolve()
  await database.transaction(async tx => {
    await tx.query(sql`select from operation where job = ${first.job} and entity = ${first.entity} for update`)
    const [{ me } = { me: 0 }] = await tx.query<{ me: number }>(sql`select pg_backend_pid() as me`)
    batch = database.transaction(other => applyHappenings(other, happenings, bench.clock.now()), { byKey: true })
    await expect
      .poll(() => database.query(sql`select pid from pg_stat_activity where ${me} = any(pg_blocking_pids(pid))`))
      .toHaveLength(1)
    const rest = keys.slice(1).map(({ entity }) => entity)
    const free = await tx.query(
      sql`select from operation where job = ${first.job} and entity = any(${rest}::bigint[]) for update skip locked`,
    )
    expect(free).toHaveLength(rest.length)
  })
  expect(await batch).toMatchObject({ answers: keys.map(() => expect.anything()) })
})
