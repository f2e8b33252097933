import { expect, test } from 'vitest'
import { closeEntities, closeType, drainEntities, drainType } from '../../src/engine/closing.ts'
import { createOperationTypes, LISTED_MAX } from '../../src/engine/operation-types.ts'
import { closeOrganization } from '../../src/engine/organization-closing.ts'
import type { Transaction } from '../../src/store/database.ts'
import { enterLaunchGate } from '../../src/store/launch-gate.ts'
import { sql } from '../../src/store/statement.ts'
import { testDatabase } from '../database.ts'
import { testEntities } from '../entity-rows.ts'
import { ids, summaryOfJob } from './scenario.ts'
import { createWorkbench, EPOCH, jobRequest } from './workbench.ts'

const { database } = await testDatabase()
const bench = await createWorkbench(database)
const { organization } = bench.caller
const name = 'REBOOT_EQUIPMENT'
await bench.provision(ids('d', 6_000), { tags: ['all'] })

async function prepared(tags: string[], entities: string[] = []) {
  const { job } = await bench.jobs.create(bench.caller, jobRequest({ target: { append: { tags, entities } } }))
  for (const loop of ['target-resolver', 'job-keeper']) await bench.engine.loops.get(loop)!.runOnce(bench.clock.now())
  return job
}

test.each([
  ['a type', (tx: Transaction) => closeType(tx, organization, name, EPOCH)],
  ['an organization', (tx: Transaction) => closeOrganization(tx, organization)],
])('while the deletion of %s waits for a job that another holds, all others are launched', async (_, close) => {
  const job = await prepared([], ['d-0'])
  const undone = new Error('not for good')
  let closing: Promise<unknown> = Promise.resolve()
  await database.transaction(async tx => {
    await tx.query(sql`select from job where job = ${job} for update`)
    const [{ me } = { me: 0 }] = await tx.query<{ me: number }>(sql`select pg_backend_pid() as me`)
    closing = database.transaction(async other => {
      await close(other)
      throw undone
    })
    closing.catch(() => {})
    await expect
      .poll(() => database.query(sql`select pid from pg_stat_activity where ${me} = any(pg_blocking_pids(pid))`))
      .toHaveLength(1)
    expect(
      await tx.query(sql`select from pg_locks where locktype = 'advisory' and mode = 'ExclusiveLock' and granted
                                 and objid = 7305001 and database = (select oid from pg_database where datname = current_database())`),
    ).toEqual([])
  })
  await expect(closing).rejects.toBe(undone)
})

const remove = (identifiers: readonly string[]) =>
  testEntities(database, { clock: bench.clock, closeEntities, drainEntities }).write(
    bench.caller,
    'DELETE',
    identifiers.map(identifier => ({ said: new Map(), identifier })),
  )

test('what runs on entities that go in bulk is ended a chunk at a time', async () => {
  await bench.provision(ids('gone', 6_000), { tags: ['gone'] })
  const job = await prepared(['gone'])
  expect((await remove([...ids('gone', 6_000), 'never there'])).filter(({ ok }) => !ok)).toHaveLength(1)
  const chunks = await database.query<{ ended: number }>(sql`
    select count(*)::int as ended from operation_ended where job = ${job} and result = 'CANCELLED_INTERNAL' group by xmin`)
  expect(chunks.reduce((sum, { ended }) => sum + ended, 0)).toBe(6_000)
  expect(Math.max(...chunks.map(({ ended }) => ended))).toBeLessThanOrEqual(5_000)
  await bench.engine.loops.get('counter-folder')!.runOnce(EPOCH)
  expect(await summaryOfJob(bench, job)).toMatchObject({ status: 'FINISHED_WITH_ERRORS', total: 6_000 })
  expect(await database.query(sql`select from former_entity`)).toHaveLength(6_000)
})

test('entities on which nothing runs go beside what is launched', async () => {
  await bench.provision(['idle'])
  await database.transaction(async launching => {
    await enterLaunchGate(launching)
    expect(await remove(['idle'])).toMatchObject([{ ok: true }])
  })
})

test('the operations of a type that goes are ended a chunk at a time, and the first of them are listed', async () => {
  const job = await prepared(['all'])
  const types = createOperationTypes({ database, now: () => EPOCH, drainType, closeType, onCommit: () => {} })
  const { operations, tasks } = await types.remove(bench.caller, name)
  expect(new Set(operations).size).toBe(LISTED_MAX)
  expect(tasks).toEqual([])
  const chunks = await database.query<{ ended: number }>(sql`
    select count(*)::int as ended from operation_ended where job = ${job} and result = 'CANCELLED_INTERNAL' group by xmin`)
  expect(chunks.reduce((sum, { ended }) => sum + ended, 0)).toBe(6_000)
  expect(Math.max(...chunks.map(({ ended }) => ended))).toBeLessThanOrEqual(5_000)
  await bench.engine.loops.get('counter-folder')!.runOnce(EPOCH)
  expect(await summaryOfJob(bench, job)).toMatchObject({ status: 'FINISHED_WITH_ERRORS', total: 6_000 })
})
