import { expect, test } from 'vitest'
import type { JobView } from '../../../src/contract/job.ts'
import type { TaskView } from '../../../src/contract/task.ts'
import { openHouse } from '../house.ts'
import { asking, FAR, JOBS, on, TASKS } from './asking.ts'
import { shownBy } from './shown-by.ts'

const house = await openHouse()
const { call } = house
const { jobsOf, makeTask, refusal } = asking(house)
await house.provision('d1')

const readTask = async (id: string) => (await call<{ task: TaskView }>('GET', `${TASKS}/${id}`)).body.task
const removeTask = (id: string) => call<{ task: TaskView }>('DELETE', `${TASKS}/${id}`)

/** A task with a job that runs now, on a device that stays away. */
async function running(device: string): Promise<{ id: string; job: JobView }> {
  await house.provision(device)
  const { id } = await makeTask(on([device]), { schedule: { repeating: { period: { each: 1, unit: 'DAYS' } } } })
  for (;;) {
    const job = (await jobsOf(id)).find(({ report }) => report.summary.inProgress.waitingForConnection === 1)
    if (job) return { id, job }
  }
}

test('ACTIVE: it launches jobs by its schedule.', async () => {
  const { id, job } = await running('d2')
  expect((await readTask(id)).state).toBe('ACTIVE')
  expect(job.taskId).toBe(id)
})

test('INACTIVE: it launches nothing because `active` is false.', async () => {
  const { id } = await makeTask(on(['d1']), { active: false })
  expect((await readTask(id)).state).toBe('INACTIVE')
  const put = await call<{ task: TaskView }>('PUT', `${TASKS}/${id}`, { task: { active: true } })
  expect(put.body.task.state).toBe('ACTIVE')
})

shownBy(
  'An INACTIVE task goes on from its next occurrence once it is active.',
  'test/engine/tasks.test.ts',
  'that is INACTIVE launches nothing, and goes on from its next occurrence once it is active',
)

shownBy('FINISHED: its stop date was reached.', 'test/engine/tasks.test.ts', 'is FINISHED when its stop has passed')

shownBy(
  'FINISHED: its number of executions was reached.',
  'test/engine/tasks.test.ts',
  'runs a job at every occurrence until its executions are used up, and is FINISHED when the last has ended',
)

test('CANCELLING: cancelled while one of its jobs still cancels its operations.', async () => {
  const { id } = await running('d3')
  expect((await removeTask(id)).body.task.state).toBe('CANCELLING')
})

test('CANCELLED: cancelled.', async () => {
  const { id } = await makeTask(on(['d1']), { schedule: { start: { date: FAR } } })
  await removeTask(id)
  expect((await readTask(id)).state).toBe('CANCELLED')
})

test('DELETE with no job running leaves the task CANCELLED.', async () => {
  const { id } = await makeTask(on(['d1']), { schedule: { start: { date: FAR } } })
  const { status, body } = await removeTask(id)
  expect([status, body.task.state]).toEqual([200, 'CANCELLED'])
})

test('DELETE with a job running makes the task CANCELLING, and CANCELLED once that job has cancelled its operations.', async () => {
  const { id, job } = await running('d4')
  await removeTask(id)
  for (let { state } = await readTask(id); state !== 'CANCELLED'; { state } = await readTask(id)) {
    expect(state).toBe('CANCELLING')
  }
  const { body } = await call<JobView>('GET', `${JOBS}/${job.id}`)
  expect(body.report.summary).toMatchObject({ status: 'CANCELLED', inProgress: { total: 0 } })
})

test('A task in a final state refuses every change.', async () => {
  const { id } = await makeTask(on(['d1']), { schedule: { start: { date: FAR } } })
  await removeTask(id)
  expect((await refusal('PUT', `${TASKS}/${id}`, { task: { active: true } })).status).toBe(400)
  expect((await refusal('DELETE', `${TASKS}/${id}`)).status).toBe(400)
})
