import { expect, test } from 'vitest'
import type { TaskView } from '../../../src/contract/task.ts'
import { openHouse } from '../house.ts'
import { asking, FAR, JOBS, on, TASKS, task } from './asking.ts'

const house = await openHouse()
const { call } = house
const { jobsOf, makeTask, operations, readJob } = asking(house)
for (const id of ['d1', 'd2']) await house.provision(id)
const later = { schedule: { start: { date: FAR }, repeating: { period: { each: 1, unit: 'DAYS' } } } }
const putTask = (id: string, members: object) => call<{ task: TaskView }>('PUT', `${TASKS}/${id}`, { task: members })

test('POST of a task answers the created task, with its location.', async () => {
  const { status, headers, body } = await call<{ task: TaskView }>(
    'POST',
    TASKS,
    task(on(['d1']), { id: 'made', ...later }),
  )
  expect([status, body.task.id, headers.get('location')?.split('/').at(-1)]).toEqual([201, 'made', 'made'])
})

test('PUT of a part of a task answers the changed task.', async () => {
  const { id } = await makeTask(on(['d1']), { ...later, name: 'before' })
  const { status, body } = await putTask(id, { name: 'after' })
  expect([status, body.task.name, body.task.schedule]).toEqual([200, 'after', later.schedule])
})

test('A change of a task affects future executions, and no job that already runs.', async () => {
  const { id } = await makeTask(on(['d1']), { schedule: { repeating: { period: { each: 1, unit: 'DAYS' } } } })
  let running = (await jobsOf(id)).find(({ report }) => report.summary.inProgress.waitingForConnection === 1)
  while (!running)
    running = (await jobsOf(id)).find(({ report }) => report.summary.inProgress.waitingForConnection === 1)
  const request = { target: { append: { entities: ['d2'] } }, parameters: { type: 'SOFTWARE' } }
  expect((await putTask(id, { job: { request } })).status).toBe(200)
  expect((await readJob(running.id)).request).toEqual(running.request)
  expect((await operations(running.id)).map(({ entityId }) => entityId)).toEqual(['d1'])
  for (;;) {
    const next = (await jobsOf(id)).find(({ report }) => report.summary.status === 'SCHEDULED')
    if (!next) continue
    expect(JSON.stringify(next.request.target)).toContain('d2')
    expect(next.request.parameters).toEqual({ type: 'SOFTWARE' })
    break
  }
})

test('GET of its jobs answers those that the task made.', async () => {
  const { id } = await makeTask(on(['d1']), later)
  const { status, body } = await call<{ jobs: { taskId: string }[] }>('GET', `${TASKS}/${id}/jobs`)
  expect([status, body.jobs.map(({ taskId }) => taskId)]).toEqual([200, [id]])
})

test('Each job of a task is read like any other job.', async () => {
  const { id } = await makeTask(on(['d1']), later)
  const [listed] = await jobsOf(id)
  expect((await call('GET', `${JOBS}/${listed!.id}`)).body).toEqual(listed)
})

test('GET of its entities answers what the target of the task resolves to.', async () => {
  const { id } = await makeTask(on(['d1', 'd2']), later)
  for (const path of [`/north/v80/tasks/${id}/entities`, `/v80/tasks/${id}/entities`]) {
    const { status, body } = await call<{ entities: object[] }>('GET', path)
    expect([path, status, body.entities]).toEqual([
      path,
      200,
      [
        { id: 'd1', resourceType: 'entity.device' },
        { id: 'd2', resourceType: 'entity.device' },
      ],
    ])
  }
})

test('DELETE of a task leaves it CANCELLED or CANCELLING.', async () => {
  const { id } = await makeTask(on(['d1']), later)
  const { status, body } = await call<{ task: TaskView }>('DELETE', `${TASKS}/${id}`)
  expect([status, body.task.state]).toEqual([200, 'CANCELLED'])
})

test('POST /search/tasks finds tasks by filter, sort and select.', async () => {
  for (const name of ['sought b', 'sought a']) await makeTask(on(['d1']), { ...later, name })
  const { status, body } = await call<{ tasks: TaskView[] }>('POST', '/north/v80/search/tasks', {
    filter: { like: { 'tasks.name': 'sought' } },
    sort: { parameters: [{ name: 'tasks.name', type: 'ASCENDING' }] },
    select: [{ name: 'tasks', fields: [{ field: 'name' }] }],
  })
  expect(status, JSON.stringify(body)).toBe(200)
  expect(body.tasks.map(({ name }) => name)).toEqual(['sought a', 'sought b'])
  expect(body.tasks[0]).not.toHaveProperty('schedule')
})
