/** What becomes of the tasks and jobs of an operation type that gets another name. */
import { expect, test } from 'vitest'
import type { TaskView } from '../../src/contract/task.ts'
import { openHouse } from './house.ts'
import { asking, FAR, on, TASKS, TYPES } from './interface/asking.ts'

const house = await openHouse()
const { call } = house
const { cancel, jobsOf, make, makeTask, makeType, operation, pending, put, readJob, refusal, untilJob } = asking(house)
const key = await house.provision('d1')
const rename = (from: string, to: string) => call('PUT', `${TYPES}/${from}`, { name: to })
const answer = (id: string) =>
  house.south('d1', key, 'operation/response', {
    version: '8.0',
    operation: { response: { id, timestamp: 0, name: 'any', resultCode: 'SUCCESSFUL' } },
  })

test('what waits goes on under the new name, runs under it, and is found when the type is removed', async () => {
  await makeType({ name: 'OLD' })
  await makeType({ name: 'OTHER' })
  const { id: idle } = await make({ ...on(['d1'], { active: false }), name: 'OLD' })
  const { id: scheduled } = await make({ ...on(['d1'], { schedule: { start: { date: FAR } } }), name: 'OLD' })
  const { id: other } = await make({ ...on(['d1'], { active: false }), name: 'OTHER' })
  const { id: task } = await makeTask({ ...on(['d1']), name: 'OLD' }, { schedule: { start: { date: FAR } } })
  const { id: held } = await makeTask(
    { ...on(['d1']), name: 'OLD' },
    { schedule: { start: { date: FAR } }, active: false },
  )
  expect((await rename('OLD', 'NEW')).status).toBe(200)

  for (const id of [idle, scheduled]) expect((await readJob(id)).request.name).toBe('NEW')
  expect((await readJob(other)).request.name).toBe('OTHER')
  for (const id of [task, held]) {
    const { body } = await call<{ task: TaskView }>('GET', `${TASKS}/${id}`)
    expect(body.task.job.request.name).toBe('NEW')
    expect((await jobsOf(id)).map(({ request }) => request.name)).toEqual(['NEW'])
  }

  await put(idle, { active: true })
  await house.until(idle, ({ status }) => status === 'WAITING_FOR_CONNECTION')
  const request = (await pending('d1', key))!
  expect(request.name).toBe('NEW')
  await answer(request.id)
  await untilJob(idle, 'FINISHED')
  const { body } = await call<{ operations: string[]; tasks: string[] }>('DELETE', `${TYPES}/NEW`)
  expect(body.tasks.toSorted()).toEqual([task, held].toSorted())
})

test('while a job of the type runs, or is paused, a new name is refused and changes nothing', async () => {
  await makeType({ name: 'BUSY' })
  const { id: waiting } = await make({ ...on(['d1'], { active: false }), name: 'BUSY' })
  const { id: running } = await make({ ...on(['d1']), name: 'BUSY' })
  await house.until(running, ({ status }) => status === 'WAITING_FOR_CONNECTION')
  const refused = await refusal('PUT', `${TYPES}/BUSY`, { name: 'IDLER' })
  expect(refused).toMatchObject({ status: 400, code: '0x010001', fields: ['name'] })
  await put(running, { active: false })
  await untilJob(running, 'PAUSED')
  expect((await refusal('PUT', `${TYPES}/BUSY`, { name: 'IDLER' })).status).toBe(400)
  expect((await readJob(waiting)).request.name).toBe('BUSY')
  expect((await call('PUT', `${TYPES}/BUSY`, { name: 'BUSY', title: 'Busy' })).status).toBe(200)

  await cancel(running)
  await untilJob(running, 'CANCELLED')
  expect((await rename('BUSY', 'IDLER')).status).toBe(200)
  expect((await readJob(waiting)).request.name).toBe('IDLER')
  expect((await operation(running)).name).toBe('BUSY')
})
