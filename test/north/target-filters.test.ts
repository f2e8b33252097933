import { expect, test } from 'vitest'
import { readParameters } from '../../src/contract/device-parameters.ts'
import { createPlanner } from '../../src/engine/plan.ts'
import { createTasks } from '../../src/engine/tasks.ts'
import { jobRoutes } from '../../src/north/jobs.ts'
import { planRoutes } from '../../src/north/plan.ts'
import { taskRoutes } from '../../src/north/tasks.ts'
import { compileTriedFilter } from '../../src/store/entity-filter.ts'
import { sql } from '../../src/store/statement.ts'
import { testDatabase } from '../database.ts'
import { createWorkbench } from '../engine/workbench.ts'
import { openDoor } from './door.ts'

const { database } = await testDatabase()
const bench = await createWorkbench(database, { compile: compileTriedFilter })
const rules = {
  entitiesMax: 100,
  minOperationTimeoutMs: 40_000,
  readParameters,
  callbacks: { allowHttps: false, allowLoopback: false, allowLinkLocal: false },
}
const applicability = { resourceTypes: ['entity.device'], models: [] }
const engine = {
  database,
  now: () => bench.clock.now(),
  nextNumber: bench.nextNumber,
  findType: (_tx: unknown, _organization: number, name: string) =>
    Promise.resolve({ name, profiles: null, applicability, judgeParameters: (own: object) => ({ ...own }) }),
  compile: compileTriedFilter,
  onCommit: bench.engine.wake,
}
const parts = {
  ...engine,
  rules,
  jobs: bench.jobs,
  planner: createPlanner(engine),
  tasks: createTasks(engine),
}
const door = openDoor(bench.caller, app => {
  jobRoutes(app, parts)
  planRoutes(app, parts)
  taskRoutes(app, parts)
})

const JOB = 'job.request.target'
const TASK = 'task.job.request.target'
const like = (pattern: string) => ({ like: { 'provision.device.identifier': pattern } })
const request = (target: object) => ({ name: 'REBOOT_EQUIPMENT', target, active: true })
const job = (target: object) => ({ job: { request: request(target) } })
const task = (target: object) => ({ task: { id: 'kept', job: { request: request(target) } } })
/** The refusal of a broken filter, at its place. */
const refusedAt = (...names: string[]) => ({
  status: 400,
  body: { errors: [{ code: '0x050010', context: names.map(name => ({ name })) }] },
})

test.each([
  ['job', '/operation/jobs', job({ append: { filter: like('(') } }), `${JOB}.append.filter`],
  ['job with its filter at the top', '/operation/jobs', job({ filter: like('(') }), `${JOB}.filter`],
  ['plan', '/operation/jobs/plan', job({ append: { filter: like('(') } }), `${JOB}.append.filter`],
  ['task', '/operation/tasks', task({ append: { filter: like('(') } }), `${TASK}.append.filter`],
])('a %s whose filter holds a regular expression that is none is refused', async (_, path, body, place) => {
  expect(await door.ask('POST', path, body)).toMatchObject(refusedAt(`${place}.like.provision.device.identifier`))
})

test('a regular expression that is none is named where it stands, within whatever stands around it', async () => {
  const filter = { or: [{ eq: { resourceType: 'entity.device' } }, { not: like('[') }] }
  const place = `${JOB}.filter.or[1].not.like.provision.device.identifier`
  expect(await door.ask('POST', '/operation/jobs', job({ filter }))).toMatchObject(refusedAt(place))
})

test('a regular expression that takes seconds to be read is not waited for', async () => {
  const filter = { or: Array.from({ length: 100 }, (_, index) => like(`(a{0,100}){0,${100 - (index % 9)}}`)) }
  const answer = await door.ask('POST', '/operation/jobs', job({ filter }))
  expect([answer.status, answer.body]).toMatchObject([400, { errors: [{ code: '0x050020' }] }])
}, 10_000)

test('a filter whose grammar is broken is refused by the same code as in a search', async () => {
  const filter = { eqq: { 'provision.device.identifier': 'd1' } }
  expect(await door.ask('POST', '/operation/jobs', job({ filter }))).toMatchObject(refusedAt(`${JOB}.filter.eqq`))
  expect(await door.ask('POST', '/operation/tasks', task({ filter }))).toMatchObject(refusedAt(`${TASK}.filter.eqq`))
})

test('a value of the wrong kind is refused where it stands in the target', async () => {
  const filter = { gt: { 'provision.device.identifier': { a: 1 } } }
  const place = `${JOB}.filter.gt.provision.device.identifier`
  expect(await door.ask('POST', '/operation/jobs', job({ filter }))).toMatchObject(refusedAt(place))
})

test('a task is not changed to such a filter, and one that was kept with it says so when its entities are asked for', async () => {
  await bench.provision(['d1', 'd2'])
  await database.query(sql`update operation_type set applicable_to = '{entity.device}'`)
  expect((await door.ask('POST', '/operation/tasks', task({ filter: like('1$') }))).status).toBe(201)
  const entities = () => door.ask('GET', '/operation/tasks/kept/entities')
  expect((await entities()).body).toMatchObject({ entities: [{ id: 'd1' }] })
  const place = `${TASK}.filter.like.provision.device.identifier`
  const change = { task: { job: { request: { target: { filter: like('(') } } } } }
  expect(await door.ask('PUT', '/operation/tasks/kept', change)).toMatchObject(refusedAt(place))
  await database.query(sql`
    update task set request = jsonb_set(request, '{target}', ${JSON.stringify({ filter: like('(') })}::jsonb)`)
  expect(await entities()).toMatchObject(refusedAt(place))
})
