import { expect, test } from 'vitest'
import { readRequestParameters } from '../../src/contract/request-parameters.ts'
import { createTasks } from '../../src/engine/tasks.ts'
import { taskOccurrencesRoutes } from '../../src/north/task-occurrences.ts'
import { taskRoutes } from '../../src/north/tasks.ts'
import { sql } from '../../src/store/statement.ts'
import { testDatabase } from '../database.ts'
import { createWorkbench } from '../engine/workbench.ts'
import { openDoor } from './door.ts'

const { database } = await testDatabase()
const bench = await createWorkbench(database)
const now = () => bench.clock.now()
const tasks = createTasks({
  database,
  now,
  nextNumber: bench.nextNumber,
  onCommit: () => {},
  compile: () => Promise.resolve(sql`true`),
  findType: (_tx, _organization, name) =>
    Promise.resolve({
      name,
      profiles: null,
      applicability: { resourceTypes: ['entity.device'], models: [] },
      judgeParameters: own => ({ ...own }),
    }),
})
const rules = {
  entitiesMax: 100,
  minOperationTimeoutMs: 40_000,
  readParameters: readRequestParameters,
  callbacks: { allowHttps: false, allowLoopback: false, allowLinkLocal: false },
}
const door = openDoor(bench.caller, app => {
  taskRoutes(app, { database, tasks, rules, now })
  taskOccurrencesRoutes(app, { database, now })
})

test('the coming occurrences of active tasks are told in order, as far as their executions go', async () => {
  const request = { name: 'REFRESH_INFO', target: { append: { filter: {} } } }
  const hourly = { repeating: { period: { each: 1, unit: 'HOURS' } }, stop: { executions: 3 } }
  const daily = { repeating: { pattern: { time: '11:30:00Z' } } }
  for (const task of [
    { id: 'hourly', name: 'Every hour', schedule: hourly, job: { request } },
    { id: 'daily', schedule: daily, job: { request } },
    { id: 'off', active: false, schedule: daily, job: { request } },
  ]) {
    expect((await door.ask('POST', '/operation/tasks', { task })).status).toBe(201)
  }
  const { body } = await door.ask('GET', '/operation/taskOccurrences?from=2026-03-02T10:00:00Z&to=2026-03-04T00:00:00Z')
  const told = (body.occurrences as { taskId: string; date: string }[]).map(each => `${each.taskId} ${each.date}`)
  expect(told).toEqual([
    'hourly 2026-03-02T10:00:00.000Z',
    'hourly 2026-03-02T11:00:00.000Z',
    'daily 2026-03-02T11:30:00.000Z',
    'hourly 2026-03-02T12:00:00.000Z',
    'daily 2026-03-03T11:30:00.000Z',
  ])
  expect([body.more, body.cut]).toEqual([false, []])
  const bad = await door.ask('GET', '/operation/taskOccurrences?from=today')
  expect(bad.status).toBe(400)
})

test('tasks share what can be told: one that is due every minute hides no other, and is cut where its share ends', async () => {
  const request = { name: 'REFRESH_INFO', target: { append: { entities: ['any'] } } }
  const minutely = { repeating: { period: { each: 1, unit: 'MINUTES' } } }
  const task = { id: 'minutely', name: 'Every minute', schedule: minutely, job: { request } }
  expect((await door.ask('POST', '/operation/tasks', { task })).status).toBe(201)
  const { body } = await door.ask('GET', '/operation/taskOccurrences?from=2026-03-02T10:00:00Z&to=2026-04-01T10:00:00Z')
  const told = body.occurrences as { taskId: string; date: string }[]
  expect(told).toHaveLength(2_000)
  expect(told.filter(each => each.taskId === 'daily')).toHaveLength(30)
  expect(told.map(each => each.date)).toEqual(told.map(each => each.date).sort())
  const lastOfMinutely = told.findLast(each => each.taskId === 'minutely')
  const next = new Date(Date.parse(lastOfMinutely?.date ?? '') + 60_000).toISOString()
  expect(body.cut).toEqual([{ taskId: 'minutely', name: 'Every minute', operationName: 'REFRESH_INFO', date: next }])
  expect(body.more).toBe(true)
})
