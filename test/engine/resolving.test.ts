/** Targets that take long to be resolved or ranked, or never can be: jobs stay in the hands of who wants to cancel them. */
import { describe, expect, test } from 'vitest'
import { DroverError } from '../../src/domain/errors.ts'
import { createTargetResolving, type TargetResolverParts } from '../../src/engine/target-resolver.ts'
import { lockJobs } from '../../src/store/jobs.ts'
import { sql } from '../../src/store/statement.ts'
import { createTestDatabase } from '../database.ts'
import { ids, silent, summaryOfJob } from './scenario.ts'
import { createWorkbench, jobRequest, type Workbench } from './workbench.ts'

const signal = new AbortController().signal

async function stand(devices = 400) {
  const { database, close } = await createTestDatabase()
  const bench = await createWorkbench(database)
  await bench.provision(ids('d', devices), { tags: ['all'] })
  bench.device = silent
  const other = await createWorkbench(database, { node: 2, clock: bench.clock, cancelAtOnceMax: 50 })
  const create = (active = true) =>
    bench.jobs.create(bench.caller, jobRequest({ active, target: { append: { tags: ['all'] } } }))
  /** The loop of this process, going through the fleet in stretches, and a process's view of what it commits. */
  const resolve = (parts: Partial<TargetResolverParts> = {}) =>
    createTargetResolving({
      database: bench.database,
      applicabilityOf: () => Promise.resolve({ resourceTypes: ['entity.device'], models: [] }),
      compile: () => Promise.resolve(sql`true`),
      onCommit: () => {},
      largeFrom: 100,
      atATime: Number.POSITIVE_INFINITY,
      ...parts,
    })(bench.clock.now(), signal)
  const counts = async () =>
    (
      await database.query<{ operations: number; ready: number }>(sql`
        select (select count(*)::int from operation) as operations, (select count(*)::int from operation_ready) as ready`)
    )[0]!
  return { database, bench, other, create, resolve, counts, [Symbol.asyncDispose]: close }
}

/** Does something once after the nth commit of a process, before the process goes on. */
function afterCommit({ database }: Workbench, nth: number, work: () => Promise<unknown>): void {
  const { transaction } = database
  let commits = 0
  database.transaction = async (...asked) => {
    const done = await transaction(...asked)
    commits += 1
    if (commits === nth) await work()
    return done
  }
}

/** Does something inside the next transaction of a process, just before its commit. */
function beforeCommit({ database }: Workbench, work: () => Promise<unknown>): void {
  const { transaction } = database
  database.transaction = (body, options) => {
    database.transaction = transaction
    return transaction(async tx => {
      const done = await body(tx)
      await work()
      return done
    }, options)
  }
}

describe('the target of a large fleet', () => {
  test('is resolved in stretches, each device once, though the process dies between two of them', async () => {
    await using at = await stand()
    const { job } = await at.create()
    afterCommit(at.bench, 5, async () => at.bench.database.die())
    await expect(at.resolve()).rejects.toThrow()
    const { operations } = await at.counts()
    expect(operations).toBeGreaterThan(0)
    expect(operations).toBeLessThan(400)
    expect(await summaryOfJob(at.other, job)).toMatchObject({ status: 'SCHEDULED', total: operations })
    await at.resolve({ database: at.other.database })
    await at.other.settle()
    expect(await summaryOfJob(at.other, job)).toMatchObject({ status: 'IN_PROGRESS', total: 400 })
  })

  test('a cancel is answered between two stretches, and nothing of the rest is made or launched', async () => {
    await using at = await stand()
    const { job } = await at.create()
    let answered: string | undefined
    afterCommit(at.bench, 3, async () => {
      answered = (await at.other.jobs.cancel(at.other.caller, job)).status
    })
    await at.resolve()
    expect(answered).toBe('CANCELLING_BY_USER')
    const { total } = await summaryOfJob(at.other, job)
    expect(total).toBeLessThan(400)
    await at.other.settle()
    expect(await summaryOfJob(at.other, job)).toMatchObject({ status: 'CANCELLED', total })
    expect(at.other.told.map(({ kind }) => kind)).toEqual(['finished'])
    expect([...at.bench.sent, ...at.other.sent]).toEqual([])
  })
})

test('targets that another node holds do not keep the ones behind them waiting, nor this node without a pause', async () => {
  await using at = await stand(3)
  const created: bigint[] = []
  for (let i = 0; i < 25; i += 1) created.push((await at.create()).job)
  const [held, free] = [created.slice(0, 20), created.slice(20)]
  const resolved = async () =>
    (await at.database.query<{ job: bigint }>(sql`select job from job where unresolved = '[]' order by job`)).map(
      ({ job }) => job,
    )
  await at.database.transaction(async tx => {
    await lockJobs(tx, held)
    expect(await at.resolve()).toBeNull()
    expect(await resolved()).toEqual(free)
  })
  // Whoever held them is gone: as many as a turn takes are at once looked at again.
  expect(await at.resolve()).toEqual(at.bench.clock.now())
  expect(await resolved()).toEqual(created)
})

describe('a target that cannot be resolved', () => {
  test.each([
    ['is refused', () => Promise.reject(new DroverError('invalidFilter', [], 'no such thing')), 1, 'no such thing'],
    [
      'fails every time',
      () => Promise.resolve(sql`1 / (length(e.identifier) * 0) > 0`),
      3,
      'The target of the job could not be resolved.',
    ],
  ])('because it %s is tried a few times at most, and ends the job with that word', async (_, compile, tries, word) => {
    await using at = await stand(10)
    const { job } = await at.bench.jobs.create(
      at.bench.caller,
      jobRequest({ target: { filter: { eq: { 'provision.device.name': 'x' } } } }),
    )
    let tried = 0
    const counted = () => {
      tried += 1
      return compile()
    }
    for (let turn = 0; turn < 5; turn += 1) await at.resolve({ compile: counted })
    expect(tried).toBe(tries)
    await at.other.settle()
    expect(await summaryOfJob(at.other, job)).toMatchObject({
      status: 'FINISHED_WITH_ERRORS',
      total: 0,
      errorCode: '0x020007',
      errorDescription: word,
    })
    expect(at.other.told.map(({ kind }) => kind)).toEqual(['started', 'finished'])
  })

  test('warns of an inactive job, which keeps it, and is tried again when the job is activated', async () => {
    await using at = await stand(10)
    const request = jobRequest({ active: false, target: { filter: {} } })
    const { job } = await at.bench.jobs.create(at.bench.caller, request)
    const compile = () => Promise.reject(new DroverError('invalidFilter', [], 'not today'))
    for (let turn = 0; turn < 3; turn += 1) await at.resolve({ compile })
    expect(await summaryOfJob(at.bench, job)).toMatchObject({
      status: 'IDLE',
      warnings: [{ code: 'target-unresolvable', description: 'not today' }],
    })
    const change = at.bench.jobs.change.bind(null, at.bench.caller, job)
    const schedule = { start: { delayed: 60_000 } }
    expect(await change({ schedule })).toMatchObject({ warnings: [{ code: 'target-unresolvable' }] })
    expect((await change({ active: true, schedule: { start: { delayed: 0 } } })).warnings).toEqual([])
    await at.resolve()
    await at.bench.settle()
    expect(await summaryOfJob(at.bench, job)).toMatchObject({ status: 'IN_PROGRESS', total: 10 })
  })
})

describe('a job of more than ten thousand operations', () => {
  const LARGE = 10_001
  async function large() {
    const at = await stand(LARGE)
    const { job } = await at.create(false)
    await at.resolve()
    expect(await summaryOfJob(at.bench, job)).toMatchObject({ status: 'IDLE', total: LARGE })
    const run = (loop: string) => at.bench.engine.loops.get(loop)!.runOnce(at.bench.clock.now())
    return { ...at, job, find: () => run('job-keeper'), keep: () => run('large-job-keeper') }
  }

  test('is activated at once and started right after, every operation at a place of its own', async () => {
    await using at = await large()
    expect((await at.bench.jobs.change(at.bench.caller, at.job, { active: true })).status).toBe('SCHEDULED')
    expect(await at.counts()).toMatchObject({ ready: 0 })
    await at.find()
    await at.keep()
    expect(await summaryOfJob(at.bench, at.job)).toMatchObject({ status: 'IN_PROGRESS', places: LARGE })
    const [row] = await at.database.query<{ places: number; highest: number; entities: number }>(sql`
      select count(distinct place)::int as places, max(place) as highest, count(distinct entity)::int as entities
        from operation_ready`)
    expect(row).toEqual({ places: LARGE, highest: LARGE - 1, entities: LARGE })
  })

  test('a cancel is answered while its places are being written, and they go with it', async () => {
    await using at = await large()
    await at.bench.jobs.change(at.bench.caller, at.job, { active: true })
    await at.find()
    let answered: string | undefined
    beforeCommit(at.bench, async () => {
      answered = (await at.other.jobs.cancel(at.other.caller, at.job)).status
    })
    await at.keep()
    expect(answered).toBe('CANCELLING_BY_USER')
    await at.other.settle()
    expect(await summaryOfJob(at.other, at.job)).toMatchObject({ status: 'CANCELLED', finished: { total: LARGE } })
    expect(await at.counts()).toEqual({ operations: 0, ready: 0 })
    expect([...at.bench.sent, ...at.other.sent]).toEqual([])
  })

  test('places written for an activation that was taken back do not hold for the next one', async () => {
    await using at = await large()
    const { jobs, caller } = at.bench
    await jobs.change(caller, at.job, { active: true })
    await at.bench.provision(['one-more'])
    await at.find()
    beforeCommit(at.bench, async () => {
      await at.bench.clock.advanceBy(1)
      await at.other.jobs.change(caller, at.job, { active: false })
      await at.other.jobs.change(caller, at.job, { target: { append: { entities: ['one-more'] } } })
      await at.other.jobs.change(caller, at.job, { active: true })
    })
    await at.keep()
    expect(await summaryOfJob(at.bench, at.job)).toMatchObject({ status: 'SCHEDULED' })
    await at.find()
    await at.keep()
    expect(await summaryOfJob(at.bench, at.job)).toMatchObject({ status: 'IN_PROGRESS', places: LARGE + 1 })
    expect(await at.counts()).toEqual({ operations: LARGE + 1, ready: LARGE + 1 })
  })
})
