/** Where tests of tasks stand: an engine by a virtual clock, devices that answer at once, and one task. */
import { parseTaskSchedule, type TaskSchedule } from '../../src/domain/task-schedule.ts'
import { judgeParameters } from '../../src/engine/parameter-judge.ts'
import { createTasks } from '../../src/engine/tasks.ts'
import { compileEntityFilter } from '../../src/store/entity-filter.ts'
import { readJobsOfTask, readTask } from '../../src/store/tasks.ts'
import { createTestDatabase, type TestDatabaseOptions } from '../database.ts'
import { createWorkbench, EPOCH, jobRequest, type Workbench } from './workbench.ts'

export const at = (offsetMs: number) => new Date(EPOCH.getTime() + offsetMs).toISOString()
export const MINUTE = 60_000

const parameters = { type: 'object', properties: { type: { enum: ['HARDWARE', 'SOFTWARE'] } } }

/** A workbench on a database of its own with two devices, and a task `t1` that reboots them, to be made by its schedule. */
export async function stand(options: TestDatabaseOptions = {}) {
  const { database, close } = await createTestDatabase(options)
  const bench = await createWorkbench(database)
  await bench.provision(['d1', 'd2'], { tags: ['all'] })
  bench.device = (request, report) => {
    report({ seen: 'sent' })
    report({
      seen: 'answered',
      message: { ...request.device, operationId: request.id, resultCode: 'SUCCESSFUL', steps: [] },
    })
  }
  const tasks = createTasks({
    compile: compileEntityFilter,
    database,
    now: () => bench.clock.now(),
    nextNumber: bench.nextNumber,
    findType: async (_tx, _organization, name) => ({
      name,
      profiles: null,
      applicability: { resourceTypes: ['entity.device'], models: [] },
      judgeParameters: (own, path) => judgeParameters({ name, parameters }, own, path),
    }),
    onCommit: bench.engine.wake,
  })
  const schedule = (json: object): TaskSchedule['source'] => {
    const read = parseTaskSchedule(json, bench.clock.now().getTime())
    if (!read.ok) throw new Error(JSON.stringify(read.problems))
    return read.value.source
  }
  const create = (
    json: object,
    more: { id?: string; entities?: string[]; active?: boolean; jobsActive?: boolean; stopMs?: number } = {},
  ) =>
    tasks.create(bench.caller, {
      id: more.id ?? 't1',
      active: more.active ?? true,
      schedule: schedule(json),
      request: jobRequest({
        active: more.jobsActive ?? true,
        target: { append: { entities: more.entities ?? ['d1', 'd2'] } },
        schedule: more.stopMs ? { stop: { delayed: more.stopMs } } : {},
      }),
    })
  const task = async () => (await readTask(database, bench.caller.organization, 't1'))!
  const jobs = async () => (await readJobsOfTask(database, (await task()).task, 0, 1_000)).jobs
  return { database, bench, tasks, schedule, create, task, jobs, [Symbol.asyncDispose]: close }
}

/** The task's job starts at its instant, and the loop that follows tasks has not seen it yet. */
export async function startWithoutKeeper(bench: Workbench) {
  await bench.clock.advanceBy(MINUTE)
  await bench.beat()
  await runLoops(bench, ['target-resolver', 'job-keeper'])
}

/** One turn of each of these loops, at this instant. */
export async function runLoops({ clock, engine }: Workbench, loops: readonly string[]) {
  for (const loop of loops) await engine.loops.get(loop)!.runOnce(clock.now())
}

/** Jumps in time without the seconds in between: nothing runs meanwhile, as in an outage. */
export async function sleepThrough(bench: Workbench, ms: number) {
  await bench.clock.advanceBy(ms)
}
