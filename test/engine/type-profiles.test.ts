/** An operation type that only some may run: nobody else has it run either, whoever made the job or the task. */
import { expect, test } from 'vitest'
import type { Caller } from '../../src/domain/caller.ts'
import { parseTaskSchedule } from '../../src/domain/task-schedule.ts'
import { createTasks } from '../../src/engine/tasks.ts'
import { compileEntityFilter } from '../../src/store/entity-filter.ts'
import { testDatabase } from '../database.ts'
import { createWorkbench, jobRequest } from './workbench.ts'

const profiles = ['root']
const { database } = await testDatabase()
const bench = await createWorkbench(database, { profiles })
await bench.provision(['d1'])
const root: Caller = { ...bench.caller, profile: 'root' }
const advanced: Caller = { ...bench.caller, profile: 'advanced' }
const forbidden = { entry: { code: '0x05' } }
const request = jobRequest({ active: false, target: { append: { entities: ['d1'] } } })

const tasks = createTasks({
  compile: compileEntityFilter,
  database,
  now: () => bench.clock.now(),
  nextNumber: bench.nextNumber,
  findType: async (_tx, _organization, name) => ({
    name,
    profiles,
    applicability: { resourceTypes: ['entity.device'], models: [] },
    judgeParameters: own => ({ ...own }),
  }),
  onCommit: bench.engine.wake,
})

const daily = parseTaskSchedule({ repeating: { period: { each: 1, unit: 'DAYS' } } }, bench.clock.now().getTime())
if (!daily.ok) throw new Error('the schedule is not valid')
const schedule = daily.value.source

test('a job of it is neither activated nor resumed by others, who may pause and cancel it', async () => {
  const { job } = await bench.jobs.create(root, request)
  await expect(bench.jobs.change(advanced, job, { active: true })).rejects.toMatchObject(forbidden)
  await bench.jobs.change(root, job, { active: true })
  await bench.jobs.change(advanced, job, { active: false })
  await expect(bench.jobs.change(advanced, job, { active: true })).rejects.toMatchObject(forbidden)
  expect(await bench.jobs.change(root, job, { active: true })).toMatchObject({ status: 'IN_PROGRESS' })
  expect(await bench.jobs.cancel(advanced, job)).toMatchObject({ request: { active: true } })
})

test('a task of it is neither activated nor given another schedule by others, who may hold it back and cancel it', async () => {
  const { id } = await tasks.create(root, { active: false, schedule, request })
  await expect(tasks.change(advanced, id, { active: true })).rejects.toMatchObject(forbidden)
  await expect(tasks.change(advanced, id, { schedule })).rejects.toMatchObject(forbidden)
  expect(await tasks.change(root, id, { active: true, schedule })).toMatchObject({ state: 'ACTIVE' })
  expect(await tasks.change(advanced, id, { active: false, name: 'held' })).toMatchObject({ state: 'INACTIVE' })
  expect(await tasks.cancel(advanced, id)).toMatchObject({ state: 'CANCELLED' })
})
