/** Who is looked at by the dispatcher is chosen by SQL, who may launch by the gates of the domain: both say the same. */
import { afterEach, expect, test } from 'vitest'
import { jobGates } from '../../src/domain/gates.ts'
import { operationId } from '../../src/domain/identity.ts'
import { JOB_STATUSES, type JobRequest } from '../../src/domain/job.ts'
import { gatedJobOf } from '../../src/engine/job-launching.ts'
import { createWhy } from '../../src/engine/why.ts'
import { readGatedJobs, readJobsInLine, readLaunchingJobs } from '../../src/store/launch-gate.ts'
import { readOperationPage } from '../../src/store/operation-reading.ts'
import { createTestDatabase } from '../database.ts'
import { ids, SECOND } from './scenario.ts'
import { createWorkbench, EPOCH, jobRequest } from './workbench.ts'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

async function newDatabase() {
  const { database, close } = await createTestDatabase()
  closing.push(close)
  return database
}

const later = (ms: number) => new Date(EPOCH.getTime() + ms)
const daily = { start: '09:00:00Z', stop: '11:00:00Z' }
const SUNDAYS = { weekly: [{ days: ['SUN'], daily }] }
/** None, an open one, and a closed one. */
const WINDOWS = [null, { weekly: [{ daily }] }, SUNDAYS]
const INSTANTS = [null, later(-1), EPOCH, later(1)]

test('the jobs that are looked at are those that all gates but the window let through, of whatever kind a job can be', async () => {
  const database = await newDatabase()
  const kinds = JOB_STATUSES.flatMap(status =>
    INSTANTS.flatMap(stopAt =>
      INSTANTS.flatMap(startAt =>
        [[], [{ tag: 'x' }]].flatMap(unresolved =>
          WINDOWS.map(window => ({ status, stopAt, startAt, unresolved, request: { schedule: { window } } })),
        ),
      ),
    ),
  )
  await database.executeSql(
    `with o as (insert into organization (name, created_at) values ('drover', $1) returning organization),
     made as (
       insert into job (job, organization, name, user_email, request, status, unresolved, created_at, timeout_ms, start_at, stop_at, launch_at)
       select k.job, o.organization, 'REBOOT_EQUIPMENT', 'a@b.c', k.request, k.status::job_status, k.unresolved, $1, 60000, k.start_at, k.stop_at, $1
         from o, unnest($2::text[], $3::jsonb[], $4::jsonb[], $5::timestamptz[], $6::timestamptz[])
                   with ordinality as k(status, request, unresolved, start_at, stop_at, job)
       returning job
     )
     insert into operation_ready (job, place, partition, entity) select job, 0, 0, job from made`,
    [
      EPOCH,
      kinds.map(({ status }) => status),
      kinds.map(({ request }) => JSON.stringify(request)),
      kinds.map(({ unresolved }) => JSON.stringify(unresolved)),
      kinds.map(({ startAt }) => startAt),
      kinds.map(({ stopAt }) => stopAt),
    ],
  )
  const numbers = kinds.map((_, index) => BigInt(index + 1))
  const all = await readGatedJobs(database, numbers)
  expect(all.length).toBe(kinds.length)
  expect((await readLaunchingJobs(database, numbers)).map(gatedJobOf)).toEqual(all.map(gatedJobOf))

  for (const now of [later(-1), EPOCH, later(1), later(2)]) {
    const seen = await readJobsInLine(database, new Map(), kinds.length, now)
    const mayGo = all.filter(job =>
      jobGates(gatedJobOf(job), now.getTime()).every(({ gate }) => gate === 'windowClosed'),
    )
    expect(seen.map(({ job }) => job)).toEqual(mayGo.map(({ job }) => job))
    expect(seen.map(gatedJobOf)).toEqual(mayGo.map(gatedJobOf))
    expect(mayGo.length).toBeGreaterThan(0)
  }
})

test.each([
  ['was paused', `status = 'PAUSED'`],
  ['has come to its stop', `stop_at = $1`],
  ['has its window closed', `request = jsonb_set(request, '{schedule,window}', '${JSON.stringify(SUNDAYS)}')`],
])('a job that %s after it was seen ready in a partition is not launched there', async (_, change) => {
  const database = await newDatabase()
  const bench = await createWorkbench(database, { claimsByPartition: true })
  await bench.provision(ids('d', 20))
  const { job } = await bench.jobs.create(bench.caller, jobRequest({ target: { append: { entities: ids('d', 20) } } }))
  const { transaction } = bench.database
  bench.database.transaction = async (work, options) => {
    const seen = await transaction(work, options)
    await database.executeSql(`update job set ${change} where job = $2 and $1::timestamptz is not null`, [EPOCH, job])
    return seen
  }
  await bench.engine.loops.get('operation-dispatcher')!.runOnce(bench.clock.now())
  expect(bench.sent).toEqual([])
  bench.database.transaction = transaction
  await database.executeSql(
    `update job set status = 'IN_PROGRESS', stop_at = null, request = request #- '{schedule,window}' where job = $1`,
    [job],
  )
  await bench.advance(SECOND)
  expect(bench.sent.length).toBe(20)
})

test('what is told to wait for a free place only is what the next turn launches, whatever holds the others', async () => {
  const database = await newDatabase()
  const bench = await createWorkbench(database)
  const { explain } = createWhy({ database, now: () => bench.clock.now(), redeliveryMs: 30_000 })
  const jobOn = async (prefix: string, request: Partial<JobRequest> = {}) => {
    const entities = ids(prefix, 8)
    await bench.provision(entities)
    return (await bench.jobs.create(bench.caller, jobRequest({ ...request, target: { append: { entities } } }))).job
  }
  const spread = { stop: { delayed: 4 * 3_600_000 }, scattering: { maxSpread: 100 } }
  const jobs = [
    await jobOn('plain'),
    await jobOn('spread', { schedule: spread }),
    await jobOn('inactive', { active: false }),
    await jobOn('starts', { schedule: { start: { delayed: 2 * 3_600_000 } } }),
    await jobOn('closed', { schedule: { window: { weekly: [{ daily: { start: '22:00:00Z', stop: '23:00:00Z' } }] } } }),
  ]
  const [paused, stopped] = [await jobOn('paused'), await jobOn('stopped')]
  for (const ms of [0, 3_600_000]) {
    await bench.clock.advanceBy(ms)
    for (const loop of ['node-keeper', 'job-keeper']) await bench.engine.loops.get(loop)!.runOnce(bench.clock.now())
  }
  await bench.jobs.change(bench.caller, paused, { active: false })
  await database.executeSql('update job set stop_at = $1 where job = $2', [bench.clock.now(), stopped])

  const free: string[] = []
  const held: string[] = []
  for (const job of [...jobs, paused, stopped]) {
    for (const operation of await readOperationPage(database, job, { skip: 0 }, 8)) {
      const { held: gates } = (await explain(bench.caller.organization, operation))!
      const isFree = gates.every(({ gate }) => gate === 'limit')
      ;(isFree ? free : held).push(operationId(operation))
    }
  }
  expect(free.length).toBeGreaterThan(8)
  expect(held.length).toBeGreaterThan(40)
  await bench.engine.loops.get('operation-dispatcher')!.runOnce(bench.clock.now())
  expect(bench.sent.map(({ id }) => id).sort()).toEqual(free.sort())
})
