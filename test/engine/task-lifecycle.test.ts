/** The lifecycle of tasks against the engine and the database: every row is driven by what a client or the clock does. */
import { afterAll, expect, test, vi } from 'vitest'
import { TASK_LIFECYCLE, type TaskEvent, type TaskState } from '../../src/domain/task.ts'
import { parseTaskSchedule } from '../../src/domain/task-schedule.ts'
import { createTasks } from '../../src/engine/tasks.ts'
import { compileEntityFilter } from '../../src/store/entity-filter.ts'
import { sql } from '../../src/store/statement.ts'
import { readTask } from '../../src/store/tasks.ts'
import { testDatabase } from '../database.ts'
import { cancelOpen } from './scenario.ts'
import { createWorkbench, jobRequest } from './workbench.ts'

/** The rows that the engine itself has read, whoever drove it to that. */
const asked = vi.hoisted(() => new Set<string>())
vi.mock('../../src/domain/task.ts', async original => {
  const task = await original<typeof import('../../src/domain/task.ts')>()
  const decideTask: typeof task.decideTask = (state, event) => {
    asked.add(`${state} ${event}`)
    return task.decideTask(state, event)
  }
  return { ...task, decideTask }
})

const { database } = await testDatabase()
const bench = await createWorkbench(database)
const { caller, clock, engine } = bench
const applicability = { resourceTypes: ['entity.device'], models: [] }
const tasks = createTasks({
  compile: compileEntityFilter,
  database,
  now: () => clock.now(),
  nextNumber: bench.nextNumber,
  findType: (_tx, _organization, name) =>
    Promise.resolve({ name, profiles: null, applicability, judgeParameters: own => ({ ...own }) }),
  onCommit: engine.wake,
})
const exercised = new Set<string>()
let made = 0

async function run(...loops: string[]): Promise<void> {
  for (const loop of loops) await engine.loops.get(loop)!.runOnce(clock.now())
}
const stateOf = async (id: string) => (await readTask(database, caller.organization, id))!.state

/** Has the job of a task start, which its device does not end. */
const startJob = () => run('target-resolver', 'job-keeper', 'task-keeper', 'node-keeper', 'operation-dispatcher')

/** The device ends what is open. */
async function endJob(): Promise<void> {
  const open = await database.query<{ job: bigint; partition: number; entity: bigint }>(
    sql`select job, partition, entity from operation`,
  )
  for (const key of open) await engine.gatherer.submit({ key, word: { resultCode: 'SUCCESSFUL', steps: [] } })
  await run('counter-folder')
}

/** Events that are about a job of the task which has started. */
const WITH_JOB: readonly TaskEvent[] = ['cancelRunning', 'runningEnded', 'exhausted']

/** A task that has come to a state by what leads there; it answers to its id. */
async function taskIn(state: TaskState, event: TaskEvent): Promise<string> {
  made += 1
  const id = `t-${made}`
  await bench.provision([`d-${made}`])
  const once = event === 'exhausted' || state === 'FINISHED'
  const begins = once || state === 'CANCELLING' || (WITH_JOB.includes(event) && state !== 'CANCELLED')
  const schedule = parseTaskSchedule(
    {
      ...(!begins && { start: { date: new Date(clock.now().getTime() + 3_600_000).toISOString() } }),
      ...(once && { stop: { executions: 1 } }),
      repeating: { period: { each: 1, unit: 'HOURS' } },
    },
    clock.now().getTime(),
  )
  if (!schedule.ok) throw new Error(JSON.stringify(schedule.problems))
  await tasks.create(caller, {
    id,
    active: true,
    schedule: schedule.value.source,
    request: jobRequest({ target: { append: { entities: [`d-${made}`] } } }),
  })
  if (begins) await startJob()
  if (state === 'INACTIVE') await tasks.change(caller, id, { active: false })
  if (state === 'CANCELLING' || state === 'CANCELLED') await tasks.cancel(caller, id)
  if (state === 'FINISHED') {
    await endJob()
    await run('task-keeper')
  }
  return id
}

const EVENTS: Record<TaskEvent, (id: string) => Promise<unknown>> = {
  activate: id => tasks.change(caller, id, { active: true }),
  deactivate: id => tasks.change(caller, id, { active: false }),
  change: id => tasks.change(caller, id, { name: 'changed' }),
  async cancel(id) {
    // Of a task being cancelled the last job may have ended without the keeper having seen it.
    if ((await stateOf(id)) === 'CANCELLING') await cancelOpen(bench)
    await tasks.cancel(caller, id)
  },
  cancelRunning: id => tasks.cancel(caller, id),
  async runningEnded() {
    await cancelOpen(bench)
    await run('task-keeper')
  },
  async exhausted() {
    await endJob()
    await run('task-keeper')
  },
}

test.each(TASK_LIFECYCLE.map(row => [row.from, row.event, row] as const))('%s, %s', async (from, event, { to }) => {
  const id = await taskIn(from, event)
  expect(await stateOf(id)).toBe(from)
  const happening = EVENTS[event](id)
  if (to === 'refused') await expect(happening).rejects.toThrow('Task state transition error.')
  else await happening
  expect(await stateOf(id)).toBe(to === 'refused' ? from : to)
  exercised.add(`${from} ${event}`)
  // The next row begins without this one's jobs.
  if (!['FINISHED', 'CANCELLED'].includes(await stateOf(id))) await tasks.cancel(caller, id)
  await cancelOpen(bench)
  await run('task-keeper')
})

afterAll(() => {
  const rows = TASK_LIFECYCLE.map(({ from, event }) => `${from} ${event}`).sort()
  expect([...exercised].sort()).toEqual(rows)
  expect(rows.filter(row => !asked.has(row))).toEqual([])
})
