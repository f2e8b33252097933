/** An organization goes a chunk at a time: others are launched meanwhile, and nothing of its own is. */
import { expect, test } from 'vitest'
import { closeOrganization, drainOrganization } from '../../src/engine/organization-closing.ts'
import { createTasks } from '../../src/engine/tasks.ts'
import type { Database, Transaction } from '../../src/store/database.ts'
import { sql } from '../../src/store/statement.ts'
import { testDatabase } from '../database.ts'
import { ids } from './scenario.ts'
import { createWorkbench, EPOCH, jobRequest } from './workbench.ts'

const { database } = await testDatabase()
const bench = await createWorkbench(database)
const { caller, clock, nextNumber } = bench
const { organization } = caller
const FLEET = 6_000
const TABLES = ['job', 'job_counter', 'job_counter_delta', 'job_change', 'task', 'entity', 'operation']
  .concat(['operation_ended', 'operation_ready', 'operation_live', 'operation_detail'])
  .map(name => `select count(*)::int as count from ${name}`)
  .join(' union all ')

/** The same database; `after` is told of the statements of each transaction once it is committed. */
function watched(after: (ran: ReadonlySet<string>, changed: number) => Promise<void>): Database {
  return {
    ...database,
    async transaction(work, options) {
      const ran = new Set<string>()
      const noting = (tx: Transaction): Transaction => ({
        ...tx,
        run(statement, params) {
          ran.add(statement.name)
          return tx.run(statement, params)
        },
      })
      const result = await database.transaction(tx => work(noting(tx)), options)
      await after(ran, typeof result === 'object' && result && 'ended' in result ? Number(result.ended) : 0)
      return result
    },
  }
}

const tasks = createTasks({
  database,
  now: () => clock.now(),
  nextNumber,
  findType: (_tx, _organization, name) =>
    Promise.resolve({
      name,
      profiles: null,
      applicability: { resourceTypes: ['entity.device'], models: [] },
      judgeParameters: own => ({ ...own }),
    }),
  compile: () => Promise.resolve(sql`true`),
  onCommit: bench.engine.wake,
})

/** Makes a task that runs at once, and each hour. */
const makeTask = (id: string, request: ReturnType<typeof jobRequest>) =>
  tasks.create(caller, {
    id,
    active: true,
    schedule: { repeating: { period: { each: 1, unit: 'HOURS' } } },
    request: { ...request, active: true },
  } as Parameters<typeof tasks.create>[1])

async function begin(): Promise<void> {
  for (const loop of ['target-resolver', 'job-keeper', 'operation-dispatcher'])
    await bench.engine.loops.get(loop)!.runOnce(EPOCH)
}

test('an organization at work goes in chunks, none of which ends operations in the launch gate, and launches nothing in between', async () => {
  await bench.provision(ids('d', FLEET), { tags: ['all'] })
  const request = jobRequest({ target: { append: { tags: ['all'] } } })
  await bench.jobs.create(caller, request)
  await makeTask('hourly', request)
  await begin()
  expect(bench.sent.length).toBeGreaterThan(0)

  let sent = Number.NaN
  const chunks: number[] = []
  const gates: ReadonlySet<string>[] = []
  const drained = watched(async (ran, ended) => {
    if (ended > 0) chunks.push(ended)
    if (ran.has('launch_gate_close')) {
      sent = bench.sent.length
      gates.push(ran)
    }
    await bench.engine.loops.get('operation-dispatcher')!.runOnce(EPOCH)
  })
  await drainOrganization(drained, organization, EPOCH)
  expect(bench.sent.length).toBe(sent)
  // Two jobs, of which one has found some devices busy.
  expect(chunks.reduce((sum, ended) => sum + ended, 0)).toBeGreaterThan(FLEET)
  expect(Math.max(...chunks)).toBeLessThanOrEqual(5_000)
  expect(gates.length).toBeGreaterThan(0)
  expect(gates.filter(ran => ran.has('operation_cancels_end_of_job'))).toEqual([])
  const left = await database.query<{ count: number }>(
    sql`select count(*)::int as count from entity union all select count(*)::int from operation_ended`,
  )
  expect(left.map(({ count }) => Number(count))).toEqual([0, 0])

  let closing: ReadonlySet<string> = new Set()
  await watched(async ran => {
    closing = ran
  }).transaction(tx => closeOrganization(tx, organization))
  expect(closing).not.toContain('launch_gate_close')
  const { rows } = await database.executeSql(TABLES)
  expect(rows.map(({ count }) => Number(count))).toEqual(rows.map(() => 0))
})

test('what is made while an organization goes is closed with it, in the launch gate', async () => {
  await bench.provision(['late'])
  await bench.jobs.create(caller, jobRequest({ target: { append: { entities: ['late'] } } }))
  let closing: ReadonlySet<string> = new Set()
  await watched(async ran => {
    closing = ran
  }).transaction(tx => closeOrganization(tx, organization))
  expect(closing).toContain('launch_gate_close')
  expect(await database.query(sql`select from operation`)).toEqual([])
})

test('while an organization that goes waits for a job of a task, all others are launched', async () => {
  await bench.provision(['of-0', 'of-1'])
  for (const i of [0, 1]) await makeTask(`held-${i}`, jobRequest({ target: { append: { entities: [`of-${i}`] } } }))
  await begin()
  const jobs = await database.query<{ job: bigint }>(
    sql`select j.job from job j join task t on t.task = j.task where j.status = 'IN_PROGRESS' order by t.task`,
  )
  expect(jobs).toHaveLength(2)
  let draining: Promise<unknown> = Promise.resolve()
  await database.transaction(async tx => {
    await tx.query(sql`select from job where job = ${jobs[1]!.job} for update`)
    const [{ me } = { me: 0 }] = await tx.query<{ me: number }>(sql`select pg_backend_pid() as me`)
    draining = drainOrganization(database, organization, EPOCH)
    draining.catch(() => {})
    await expect
      .poll(() => database.query(sql`select pid from pg_stat_activity where ${me} = any(pg_blocking_pids(pid))`))
      .toHaveLength(1)
    expect(
      await tx.query(sql`select from pg_locks where locktype = 'advisory' and mode = 'ExclusiveLock' and granted
                                 and objid = 7305001 and database = (select oid from pg_database where datname = current_database())`),
    ).toEqual([])
  })
  await draining
  expect(await database.query(sql`select from operation`)).toEqual([])
})
