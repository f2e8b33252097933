import { expect, test } from 'vitest'
import { operationId } from '../../src/domain/identity.ts'
import { createWhy } from '../../src/engine/why.ts'
import { whyRoutes } from '../../src/north/why.ts'
import { readOperationPage } from '../../src/store/operation-reading.ts'
import { testDatabase } from '../database.ts'
import { createWorkbench, EPOCH, jobRequest } from '../engine/workbench.ts'
import { openDoor } from './door.ts'

const { database } = await testDatabase()
const bench = await createWorkbench(database)
const why = createWhy({ database, now: () => bench.clock.now(), redeliveryMs: 30_000 })
const door = openDoor(bench.caller, app => whyRoutes(app, { why }))
await bench.provision(['d'])

test('GET …/why answers what holds an operation and what moves it next, in words and fields', async () => {
  const target = { append: { entities: ['d'] } }
  const { job } = await bench.jobs.create(bench.caller, jobRequest({ target, active: false }))
  const [operation] = await readOperationPage(database, job, { skip: 0 }, 1)
  const id = operationId(operation!)
  const answer = await door.ask('GET', `/operation/jobs/${id.slice(0, 16)}/operations/${id}/why`)
  expect(answer.status).toBe(200)
  expect(answer.body).toEqual({
    operationId: id,
    jobId: id.slice(0, 16),
    status: 'PENDING',
    attempts: { total: 1, current: 0 },
    date: EPOCH.toISOString(),
    held: [{ gate: 'notActive', reason: 'The job is not active.', fields: { jobStatus: 'IDLE' }, liftsAt: null }],
    next: [{ event: 'activateNow', words: 'Activating the job opens it: PUT with "active": true.', at: null }],
  })

  for (const path of [`0000000000000001/operations/${id}`, `${id.slice(0, 16)}/operations/nonsense`]) {
    expect((await door.ask('GET', `/operation/jobs/${path}/why`)).status).toBe(404)
  }
})
