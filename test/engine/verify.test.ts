import { afterAll, expect, test } from 'vitest'
import { jobId, operationId } from '../../src/domain/identity.ts'
import { createVerify } from '../../src/engine/verify.ts'
import { readOperationPage } from '../../src/store/operation-reading.ts'
import { sql } from '../../src/store/statement.ts'
import { ROW_FAULTS } from '../../src/store/verifying.ts'
import { testDatabase } from '../database.ts'
import { createWorkbench, jobRequest } from './workbench.ts'

const { database } = await testDatabase()
const bench = await createWorkbench(database)
const { jobs, caller } = bench
const { verify } = createVerify({ database })
const never = new AbortController().signal
const found = new Set<string>()
const differences = async () => {
  const all = (await verify(caller.organization, 0n, 1_000, never)).differences
  for (const { kind } of all) found.add(kind)
  return all
}
afterAll(() => {
  expect([...found].sort()).toEqual(['counter', ...ROW_FAULTS].sort())
})
const ids = (prefix: string, count: number) => Array.from({ length: count }, (_, i) => `${prefix}-${i}`)

async function jobOn(devices: readonly string[], request: object = {}): Promise<bigint> {
  await bench.provision(devices)
  return (await jobs.create(caller, jobRequest({ target: { append: { entities: devices } }, ...request }))).job
}
const anOperation = async (job: bigint) => (await readOperationPage(database, job, { skip: 0 }, 1))[0]!

test('what the engine leaves behind has no difference, at any moment of jobs of every kind', async () => {
  await jobOn(ids('idle', 3), { active: false })
  await jobOn(ids('later', 3), { schedule: { start: { delayed: 3_600_000 } } })
  const spread = await jobOn(ids('spread', 6), {
    schedule: { stop: { delayed: 600_000 }, scattering: { maxSpread: 100 } },
  })
  await jobOn(ids('retried', 3), {
    operationParameters: { ackTimeout: 10_000, timeout: 60_000, retries: 2, retriesDelay: 5_000, retryResultList: [] },
  })
  const paused = await jobOn(ids('paused', 3))
  await jobs.change(caller, paused, { active: false })
  expect(await differences()).toEqual([])
  for (let step = 0; step < 8; step += 1) {
    await bench.advance(6_000)
    expect(await differences()).toEqual([])
  }
  await jobs.cancel(caller, spread)
  expect(await differences()).toEqual([])
  await bench.settle()
  expect(await differences()).toEqual([])
})

test('a counter that its rows contradict is told with both figures', async () => {
  const job = await jobOn(['miscounted'], { active: false })
  await database.query(sql`insert into job_counter_delta (job, scheduled, error) values (${job}, 2, 1)`)
  expect(await differences()).toEqual([
    { kind: 'counter', jobId: jobId(job), counter: 'scheduled', counted: 3, rows: 1 },
    { kind: 'counter', jobId: jobId(job), counter: 'error', counted: 1, rows: 0 },
  ])
  await database.query(sql`insert into job_counter_delta (job, scheduled, error) values (${job}, -2, -1)`)
})

test('rows that must not be are told, one of each job and how many', async () => {
  const job = await jobOn(ids('broken', 4))
  await bench.settle()
  const key = await anOperation(job)
  const told = (kind: string, operations: number) => ({
    kind,
    jobId: jobId(job),
    operations,
    operationId: operationId(key),
  })
  const broken = async (breakIt: ReturnType<typeof sql>, mend: ReturnType<typeof sql>) => {
    await database.query(breakIt)
    const found = await differences()
    await database.query(mend)
    return found
  }
  await database.query(sql`create table kept_live as select * from operation_live where job = ${job}`)
  const slots = sql`insert into operation_live select * from kept_live`
  expect(await broken(sql`delete from operation_live where job = ${job}`, slots)).toEqual([
    told('launchedWithoutLiveSlot', 4),
  ])
  expect(
    await broken(
      sql`update job set status = 'CANCELLED' where job = ${job}`,
      sql`update job set status = 'IN_PROGRESS' where job = ${job}`,
    ),
  ).toEqual([told('openInFinalJob', 4)])
  expect(
    await broken(
      sql`update operation set attempt = 2 where job = ${job} and entity = ${key.entity}`,
      sql`update operation set attempt = 1 where job = ${job}`,
    ),
  ).toEqual([told('attemptsExceeded', 1)])
  expect(
    await broken(
      sql`insert into operation_live (partition, entity, name, job) values (${key.partition}, ${key.entity}, 'OTHER', ${job})`,
      sql`delete from operation_live where name = 'OTHER'`,
    ),
  ).toEqual([told('liveSlotWithoutOperation', 1)])

  await database.query(sql`create table kept_timer as select * from operation_timer`)
  const timers = sql`insert into operation_timer select * from kept_timer where not exists (
    select from operation_timer t where t.duty = kept_timer.duty and t.jobs = kept_timer.jobs)`
  expect(await broken(sql`delete from operation_timer where duty = 'deadline' and ${job} = any(jobs)`, timers)).toEqual(
    [told('deadlineWithoutTimer', 4)],
  )

  expect(
    await broken(
      sql`update operation set status = 'QUEUED', sender = 99 where job = ${job} and entity = ${key.entity}`,
      sql`update operation set status = 'WAITING_FOR_ACK', sender = null where job = ${job}`,
    ),
  ).toEqual([])
  await database.query(sql`delete from operation_timer where duty = 'send' and ${job} = any(jobs)`)
  expect(
    await broken(
      sql`update operation set status = 'QUEUED', sender = 99 where job = ${job} and entity = ${key.entity}`,
      sql`update operation set status = 'WAITING_FOR_ACK', sender = null where job = ${job}`,
    ),
  ).toEqual([told('queuedNowhere', 1)])
  expect(
    await broken(
      sql`update job set launch_at = null where job = ${job}`,
      sql`update job set launch_at = started_at where job = ${job}`,
    ),
  ).toEqual([told('launchedBeforeStart', 4)])
  expect(
    await broken(
      sql`insert into operation_ended (job, partition, entity, organization, status, result, counter, attempt, ended_at)
            values (${job}, ${key.partition}, ${key.entity}, ${caller.organization}, 'FINISHED', 'SUCCESSFUL', 'successful', 2, now())`,
      sql`delete from operation_ended where job = ${job}`,
    ),
  ).toEqual([
    { kind: 'counter', jobId: jobId(job), counter: 'successful', counted: 0, rows: 1 },
    told('attemptsExceeded', 1),
    told('openAndEnded', 1),
  ])

  const lost = await jobOn(['lost'])
  await database.query(sql`delete from operation_ready where job = ${lost}`)
  const lostKey = await anOperation(lost)
  expect(await differences()).toEqual([
    { kind: 'neverDue', jobId: jobId(lost), operations: 1, operationId: operationId(lostKey) },
  ])
  await database.query(sql`
    insert into operation_live (partition, entity, name, job) values (${lostKey.partition}, ${lostKey.entity}, 'REBOOT_EQUIPMENT', ${lost})`)
  expect(await differences()).toContainEqual({
    kind: 'liveSlotWithoutOperation',
    jobId: jobId(lost),
    operations: 1,
    operationId: operationId(lostKey),
  })
})

test('goes on where the call before ended, and stops when it is told to', async () => {
  const all = await verify(caller.organization, 0n, 1_000, never)
  let seen = 0
  for (let next: bigint | null = 0n; next !== null; ) {
    const part = await verify(caller.organization, next, 3, never)
    seen += part.jobs
    next = part.next
  }
  expect(seen).toBe(all.jobs)
  expect(all.next).toBeNull()
  expect(await verify(caller.organization + 1, 0n, 10, never)).toEqual({ jobs: 0, differences: [], next: null })
})
