import { expect, test } from 'vitest'
import { summaryOf } from '../../src/domain/counters.ts'
import type { JobRequest } from '../../src/domain/job.ts'
import { createPlanner } from '../../src/engine/plan.ts'
import { readJob } from '../../src/store/jobs.ts'
import { sql } from '../../src/store/statement.ts'
import { testDatabase } from '../database.ts'
import { createWorkbench, EPOCH, jobRequest } from './workbench.ts'

const { database } = await testDatabase()
const bench = await createWorkbench(database)
const { caller } = bench
const applicability = { resourceTypes: ['entity.device'], models: [] }
const planner = createPlanner({
  database,
  now: () => bench.clock.now(),
  findType: (_tx, _organization, name) =>
    Promise.resolve({ name, profiles: null, applicability, judgeParameters: own => ({ ...own }) }),
  compile: () => Promise.resolve(sql`true`),
})
const plan = (request: Partial<JobRequest> & Pick<JobRequest, 'target'>) => planner.plan(caller, jobRequest(request))
const ids = (prefix: string, count: number) => Array.from({ length: count }, (_, i) => `${prefix}-${i}`)
await bench.provision(ids('north', 6), { tags: ['all'], cellInfo: 'north' })
await bench.provision(ids('south', 3), { tags: ['all'], cellInfo: 'south' })
await bench.provision(['nowhere'], { tags: ['all'] })
await bench.provision(['asset'], { tags: ['all'] })
await database.query(sql`update entity set resource_type = 'entity.asset' where identifier = 'asset'`)
const start = EPOCH.getTime()

test('a list is judged name by name, and nothing is made', async () => {
  const target = { append: { entities: ['north-0', 'north-0', 'nobody', 'asset'] } }
  expect(await plan({ target })).toMatchObject({
    total: 1,
    types: [{ resourceType: 'entity.device', count: 1 }],
    refused: { notProvisioned: ['nobody'], notAllowed: ['asset'], duplicated: ['north-0'] },
    refusal: null,
    launches: { perHour: [{ at: start, launches: 1 }], endsAt: start + 70_000 },
  })
  expect(await database.query(sql`select job from job`)).toEqual([])
  expect(await plan({ target: { append: { entities: ['nobody'] } } })).toMatchObject({
    total: 0,
    refusal: { code: '0x020002' },
  })
})

test('a long list is judged in a time that grows as its length', { timeout: 15_000 }, async () => {
  const entities = ids('nobody', 200_000)
  expect(await plan({ target: { append: { entities: [...entities, 'nobody-0'] } } })).toMatchObject({
    total: 0,
    refused: { duplicated: ['nobody-0'] },
  })
})

test('a tag names what it refuses, a filter selects what the operation applies to', async () => {
  const byTag = await plan({ target: { append: { tags: ['all'] } } })
  expect(byTag).toMatchObject({ total: 10, refused: { notAllowed: ['asset'] } })
  expect(await plan({ target: { filter: {} } })).toMatchObject({ total: 10, refused: {} })
  expect(await plan({ target: { filter: {} }, resourceType: 'entity.asset' })).toMatchObject({ total: 0 })
})

test('groups are counted and laid out: one after the other without a factor', async () => {
  const { strategy, layout } = await plan({
    target: { append: { tags: ['all'] } },
    schedule: {
      stop: { delayed: 7_200_000 },
      scattering: { maxSpread: 100, strategy: { field: 'subscription.collected.cellInfo', factor: 0 } },
    },
  })
  const stepMs = layout.launching.spreadMs / 10
  expect(strategy).toMatchObject({
    groups: 3,
    list: [
      { value: 'north', operations: 6, firstLaunchAt: start, lastLaunchAt: start + 5 * stepMs },
      { value: 'south', operations: 3, firstLaunchAt: start + 6 * stepMs },
      { value: null, operations: 1, firstLaunchAt: start + 9 * stepMs, rate: null },
    ],
  })
})

test('what is planned is what the job then does: the same spread, the same warnings, the same count', async () => {
  const request = jobRequest({
    target: { append: { tags: ['all'] } },
    operationParameters: { ackTimeout: 0, timeout: 60_000, retries: 0, retriesDelay: 0, retryResultList: [] },
    schedule: {
      window: { weekly: [{ daily: { start: '10:00:00Z', stop: '12:00:00Z' } }] },
      scattering: { maxSpread: 50, warningMaxRate: 0.001 },
    },
  })
  const planned = await planner.plan(caller, request)
  expect(planned.warnings.map(({ code }) => code)).toEqual(['waits-forever', 'rate-above-maximum'])
  const { job } = await bench.jobs.create(caller, request)
  await bench.settle()
  const stored = (await readJob(database, caller.organization, job))!
  expect(stored).toMatchObject({
    places: planned.total,
    spreadMs: planned.layout.launching.spreadMs,
    stopAt: null,
    warnings: planned.warnings,
  })
  bench.sent.length = 0
  await bench.advance(planned.launches.lastLaunchAt! - start - 1)
  expect(summaryOf((await readJob(database, caller.organization, job))!.counters).inProgress.scheduled).toBe(1)
  await bench.advance(1)
  expect(summaryOf((await readJob(database, caller.organization, job))!.counters).inProgress.scheduled).toBe(0)
})

test('a request that creation refuses is refused here in the same words', async () => {
  const schedule = { stop: { date: '2026-03-01T00:00:00.000Z' } }
  await expect(plan({ target: { filter: {} }, schedule })).rejects.toThrow(/schedule\.stop must lie after the start/)
  await expect(planner.plan({ ...caller, profile: 'viewer' }, jobRequest({ target: { filter: {} } }))).rejects.toThrow(
    'The profile does not permit this.',
  )
})
