/** What jobs and tasks say of parameters that the schema of their operation type refuses. */
import { expect, test } from 'vitest'
import { openHouse } from './house.ts'
import { asking, JOBS, on, TASKS } from './interface/asking.ts'

const house = await openHouse()
const { make, makeTask, refusal } = asking(house)
await house.provision('d1')
const wrong = { parameters: { type: 'GENTLE', speed: 1 } }

test('of a job every wrong parameter is named by the path under which it was sent', async () => {
  const refused = await refusal('POST', JOBS, { job: { request: on(['d1'], wrong) } })
  expect(refused.code).toBe('0x020003')
  expect(refused.fields).toEqual(['job.request.parameters.speed', 'job.request.parameters.type'])
})

test('of a task every wrong parameter is named by the path under which it was sent, when it is made and when it is changed', async () => {
  const fields = ['task.job.request.parameters.speed', 'task.job.request.parameters.type']
  const task = { job: { request: on(['d1'], wrong) } }
  expect((await refusal('POST', TASKS, { task })).fields).toEqual(fields)
  const { id } = await makeTask(on(['d1']), { active: false })
  expect((await refusal('PUT', `${TASKS}/${id}`, { task: { job: { request: wrong } } })).fields).toEqual(fields)
})

test('a wrong parameter of one entity is named within that entity', async () => {
  const entitiesWithParameters = [
    { id: 'd1', parameters: {} },
    { id: 'd1', parameters: { type: 'GENTLE' } },
  ]
  const request = { ...on(['d1']), target: { append: { entitiesWithParameters } } }
  expect((await refusal('POST', JOBS, { job: { request } })).fields).toEqual([
    'job.request.target.append.entitiesWithParameters[1].parameters.type',
  ])
  expect((await make(on(['d1'], { active: false }))).request.parameters).toEqual({ type: 'HARDWARE' })
})
