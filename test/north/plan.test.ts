import { expect, test } from 'vitest'
import { readRequestParameters } from '../../src/contract/request-parameters.ts'
import { createPlanner } from '../../src/engine/plan.ts'
import { planRoutes } from '../../src/north/plan.ts'
import { sql } from '../../src/store/statement.ts'
import { testDatabase } from '../database.ts'
import { createWorkbench } from '../engine/workbench.ts'
import { openDoor } from './door.ts'

const { database } = await testDatabase()
const bench = await createWorkbench(database)
await bench.provision(['a', 'b'], { cellInfo: 'cell' })
const applicability = { resourceTypes: ['entity.device'], models: [] }
const planner = createPlanner({
  database,
  now: () => bench.clock.now(),
  findType: (_tx, _organization, name) =>
    Promise.resolve({ name, profiles: null, applicability, judgeParameters: own => ({ ...own }) }),
  compile: () => Promise.resolve(sql`true`),
})
const rules = {
  entitiesMax: 100,
  minOperationTimeoutMs: 40_000,
  readParameters: readRequestParameters,
  callbacks: { allowHttps: false, allowLoopback: false, allowLinkLocal: false },
}
const door = openDoor(bench.caller, app => planRoutes(app, { planner, rules }))
const plan = (request: object) =>
  door.ask('POST', '/operation/jobs/plan', { job: { request: { name: 'REBOOT_EQUIPMENT', ...request } } })

test('POST …/plan takes the body of a job and answers what it would do', async () => {
  const answer = await plan({
    target: { append: { entities: ['a', 'b', 'nobody'] } },
    schedule: {
      stop: { delayed: 7_200_000 },
      window: { weekly: [{ daily: { start: '11:00:00Z', stop: '14:00:00Z' } }] },
      scattering: {
        maxSpread: 100,
        strategy: { field: 'subscription.collected.cellInfo', factor: 50, warningMaxRate: 0.0001 },
      },
    },
  })
  expect(answer.status).toBe(200)
  const spreadMs = 3_600_000 - 60_000
  const rate = 2_000 / spreadMs
  const half = new Date(Date.parse('2026-03-02T11:00:00Z') + spreadMs / 2).toISOString()
  expect(answer.body).toEqual({
    target: {
      total: 2,
      resourceTypes: { 'entity.device': 2 },
      refusals: [
        {
          reason: 'notProvisioned',
          words: 'The organization has no entity of this identifier.',
          count: 1,
          entities: ['nobody'],
        },
      ],
    },
    launch: {
      startDate: '2026-03-02T10:00:00.000Z',
      stopDate: '2026-03-02T12:00:00.000Z',
      firstLaunchDate: '2026-03-02T11:00:00.000Z',
      lastLaunchDate: half,
      expectedEndDate: new Date(Date.parse(half) + 60_000).toISOString(),
      perHour: [{ date: '2026-03-02T11:00:00.000Z', launches: 2 }],
      launchesLater: 0,
      notLaunched: 0,
      mayNotEnd: 0,
      windows: [{ opensDate: '2026-03-02T11:00:00.000Z', closesDate: '2026-03-02T14:00:00.000Z' }],
    },
    scattering: {
      effectiveMs: 3_600_000,
      drainReserveMs: 60_000,
      spreadMs,
      operationsPerSecond: rate,
      groupCount: 1,
      groups: [
        {
          value: 'cell',
          operations: 2,
          firstLaunchDate: '2026-03-02T11:00:00.000Z',
          lastLaunchDate: half,
          operationsPerSecond: rate,
        },
      ],
    },
    warnings: [{ code: 'rate-above-maximum', rate, maximum: 0.0001 }],
  })
})

test('a plan of nothing usable says so, and a body that is wrong is refused', async () => {
  expect((await plan({ target: { append: { entities: ['nobody'] } } })).body).toMatchObject({
    target: { total: 0 },
    error: { code: '0x020002' },
    launch: { firstLaunchDate: null, perHour: [] },
  })
  expect((await plan({ target: { filter: {} }, misspelt: 1 })).body).toMatchObject({ errors: [{ code: '0x010003' }] })
})
