/** How an operation came to have no success: told of the groups of a job, and what entities are found by. */
import { expect, test } from 'vitest'
import { jobId } from '../../src/domain/identity.ts'
import { jobInsightRoutes } from '../../src/north/job-insight.ts'
import { searchEntityRoutes } from '../../src/north/search-entities.ts'
import { testDatabase } from '../database.ts'
import { createWorkbench, jobRequest } from '../engine/workbench.ts'
import { openDoor } from './door.ts'

const { database } = await testDatabase()
const bench = await createWorkbench(database)
const door = openDoor(bench.caller, app => {
  jobInsightRoutes(app, { database, now: () => bench.clock.now() })
  searchEntityRoutes(app, { database })
})
const entities = ['good', 'bad-1', 'bad-2', 'silent-1', 'silent-2']
await bench.provision(entities)
bench.device = ({ id, device }, report) => {
  const { deviceId } = device
  if (deviceId.startsWith('silent')) return report({ seen: 'sent' })
  const resultCode = deviceId === 'good' ? 'SUCCESSFUL' : 'ERROR_PROCESSING'
  report({ seen: 'answered', message: { ...device, operationId: id, resultCode, steps: [] } })
}

/** A job of which a user cancels what has not ended. */
async function calledOff(...on: string[]): Promise<string> {
  const { job } = await bench.jobs.create(bench.caller, jobRequest({ target: { append: { entities: on } } }))
  await bench.settle()
  await bench.jobs.cancel(bench.caller, job)
  await bench.settle()
  return jobId(job)
}
const first = await calledOff('good', 'bad-1', 'silent-1', 'silent-2')
const second = await calledOff('bad-2', 'silent-2')

test('the groups of a job tell what a user cancelled from what failed', async () => {
  const { body } = await door.ask('GET', `/operation/jobs/${first}/failures`)
  const groups = body.failures as { counter: string; result: string; count: number }[]
  expect(groups.map(({ counter, result, count }) => [counter, result, count])).toEqual([
    ['byUser', 'CANCELLED', 2],
    ['error', 'ERROR_PROCESSING', 1],
  ])
})

async function found(filter: object): Promise<unknown[]> {
  const select = [{ name: 'provision.administration.identifier', fields: [{ field: 'value', alias: 'id' }] }]
  const { status, body } = await door.ask('POST', '/search/entities?flattened=true', { filter, select })
  return status === 204 ? [] : (body.entities as { id: string }[]).map(({ id }) => id).sort()
}
const foundIn = (...values: string[]) => found({ in: { 'operations.unsuccessfulIn': values } })

test('entities are found by the job in which they had no success, and by how they came to have none', async () => {
  expect(await foundIn(first)).toEqual(['bad-1', 'silent-1', 'silent-2'])
  expect(await foundIn(`${first}/error`)).toEqual(['bad-1'])
  expect(await foundIn(`${first}/byUser`, `${first}/byTimeout`)).toEqual(['silent-1', 'silent-2'])
  expect(await foundIn(`${first}/error`, `${second}/byUser`)).toEqual(['bad-1', 'silent-2'])
  expect(await foundIn(`${first}/error`, second)).toEqual(['bad-1', 'bad-2', 'silent-2'])
  expect(await foundIn(`${first}/error`, first)).toEqual(['bad-1', 'silent-1', 'silent-2'])
  expect(await found({ neq: { 'operations.unsuccessfulIn': `${first}/error` } })).toEqual(
    entities.filter(each => each !== 'bad-1').sort(),
  )
})

test('the jobs in which entities had no success are selected and sorted by', async () => {
  const [job, name] = ['operations.unsuccessfulIn', 'provision.administration.identifier']
  const select = [{ name, fields: [{ field: 'value', alias: 'id' }] }, { name: job }]
  const sort = { parameters: [{ name: job, type: 'DESCENDING' }] }
  const { body } = await door.ask('POST', '/search/entities?flattened=true', { select, sort })
  const rows = body.entities as Record<string, unknown>[]
  expect(rows.find(({ id }) => id === 'silent-2')).toEqual({ id: 'silent-2', [job]: [first, second] })
  expect(rows.at(-1)).toEqual({ id: 'good' })
})

test('nothing is found by what is no way not to succeed', async () => {
  expect(await foundIn(`${first}/constructor`, `${first}/__proto__`, `${first}/toString`)).toEqual([])
  expect(await foundIn(`${first}/successful`, `${first}/scheduled`, `${first}/error/x`, '/error', 'x')).toEqual([])
})
