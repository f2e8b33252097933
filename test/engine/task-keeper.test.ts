import { expect, test } from 'vitest'
import { parseTaskSchedule } from '../../src/domain/task-schedule.ts'
import { createTasks } from '../../src/engine/tasks.ts'
import { compileEntityFilter } from '../../src/store/entity-filter.ts'
import { sql } from '../../src/store/statement.ts'
import { readTask } from '../../src/store/tasks.ts'
import { testDatabase } from '../database.ts'
import { createWorkbench, EPOCH, jobRequest } from './workbench.ts'

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

test('a task that cannot be followed holds up none behind it, and is followed once it can be', async () => {
  const read = parseTaskSchedule({ repeating: { period: { each: 5, unit: 'MINUTES' } } }, EPOCH.getTime())
  if (!read.ok) throw new Error(JSON.stringify(read.problems))
  await bench.provision(['d'])
  for (const id of ['first', 'second']) {
    const request = jobRequest({ target: { append: { entities: ['d'] } } })
    await tasks.create(caller, { id, active: true, schedule: read.value.source, request })
  }
  await database.executeSql(`
    create function refuse() returns trigger language plpgsql as $$ begin raise exception 'not this one'; end $$;
    create trigger refuse before update on task for each row when (new.id = 'first') execute function refuse()`)
  for (const loop of ['target-resolver', 'job-keeper']) await engine.loops.get(loop)!.runOnce(clock.now())

  const keeper = engine.loops.get('task-keeper')!
  const executions = async () =>
    await Promise.all(
      ['first', 'second'].map(async id => (await readTask(database, caller.organization, id))!.executions),
    )
  await expect(keeper.runOnce(clock.now())).rejects.toThrow('not this one')
  expect(await executions()).toEqual([0, 1])

  await database.query(sql`drop trigger refuse on task`)
  await keeper.runOnce(clock.now())
  expect(await executions()).toEqual([1, 1])
})
