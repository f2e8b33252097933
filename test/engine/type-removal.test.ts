/** The tasks of an operation type that goes: each is cancelled on its own, and none is waited for in the launch gate. */
import { expect, test } from 'vitest'
import { closeType, drainType } from '../../src/engine/closing.ts'
import { createOperationTypes } from '../../src/engine/operation-types.ts'
import { sql } from '../../src/store/statement.ts'
import type { TestDatabaseOptions } from '../database.ts'
import { HOUR } from './scenario.ts'
import { stand } from './task-stand.ts'

const name = 'REBOOT_EQUIPMENT'
const once = (work: () => Promise<void>) => {
  let done: Promise<void> | undefined
  return () => (done ??= work())
}
const HOURLY = { repeating: { period: { each: 1, unit: 'HOURS' } } }

/** Three tasks of a type, each with a job that its device has been sent the operation of. */
async function busyStand(options: TestDatabaseOptions = {}) {
  const made = await stand(options)
  made.bench.device = (_, report) => report({ seen: 'sent' })
  for (const id of ['t1', 't2', 't3']) {
    await made.bench.provision([`of-${id}`])
    await made.create(HOURLY, { id, entities: [`of-${id}`] })
  }
  await made.bench.advance(1_000)
  const states = async () => {
    const rows = await made.database.query<{ id: string; state: string }>(sql`select id, state from task`)
    return Object.fromEntries(rows.map(({ id, state }) => [id, state]))
  }
  return { ...made, states }
}

test('a task that another holds is left with its type until the next call, and all the others are cancelled', async () => {
  await using s = await busyStand({ lockTimeoutMs: 1_000 })
  const { bench, database, states } = s
  const types = createOperationTypes({
    database,
    now: () => bench.clock.now(),
    drainType,
    closeType,
    onCommit: bench.engine.wake,
  })
  await database.transaction(async holder => {
    await holder.query(sql`select from task where id = 't2' for update`)
    await expect(types.remove(bench.caller, name)).rejects.toMatchObject({ code: '55P03' })
  })
  expect(await states()).toEqual({ t1: 'CANCELLING', t2: 'ACTIVE', t3: 'CANCELLING' })
  await types.read(bench.caller.organization, name)

  expect((await types.remove(bench.caller, name)).tasks).toEqual(['t2'])
  await bench.settle()
  expect(await states()).toEqual({ t1: 'CANCELLED', t2: 'CANCELLED', t3: 'CANCELLED' })
  await expect(types.read(bench.caller.organization, name)).rejects.toMatchObject({ entry: { kind: 'unknown' } })
})

test('what tasks have launched since the operations of their type were ended is ended with them, and answered', async () => {
  await using s = await busyStand()
  const { bench, database } = s
  const next = once(() => bench.advance(HOUR))
  const between: typeof database = {
    ...database,
    async run(...asked) {
      await next()
      return await database.run(...asked)
    },
  }
  const { operations, tasks } = await drainType(between, bench.caller.organization, name, bench.clock.now())
  expect(operations).toHaveLength(6)
  expect(tasks).toEqual(['t1', 't2', 't3'])
  const ended = await database.query(sql`select result, count(*)::int as count from operation_ended group by result`)
  expect(ended).toEqual([{ result: 'CANCELLED_INTERNAL', count: 6 }])
})

test('a job of another type of a task that goes is not waited for in the launch gate', async () => {
  await using s = await busyStand()
  const { bench, database, tasks } = s
  const { organization } = bench.caller
  for (const id of ['t1', 't2']) {
    await tasks.change(bench.caller, id, { request: request => ({ ...request, name: 'OTHER' }) })
  }
  let closing: Promise<unknown> = Promise.resolve()
  await database.transaction(async holder => {
    await holder.query(sql`
      select from job where task = (select task from task where id = 't2') and status = 'IN_PROGRESS' for update`)
    const [{ me } = { me: 0 }] = await holder.query<{ me: number }>(sql`select pg_backend_pid() as me`)
    closing = database.transaction(tx => closeType(tx, organization, 'OTHER', bench.clock.now()))
    closing.catch(() => {})
    await expect
      .poll(() => database.query(sql`select pid from pg_stat_activity where ${me} = any(pg_blocking_pids(pid))`))
      .toHaveLength(1)
    expect(
      await holder.query(sql`
        select from pg_locks where locktype = 'advisory' and mode = 'ExclusiveLock' and granted and objid = 7305001
           and database = (select oid from pg_database where datname = current_database())`),
    ).toEqual([])
  })
  expect(await closing).toMatchObject({ tasks: ['t1', 't2'] })
})
