/** When the next task has something to follow is found among many by one look. */
import { expect, test } from 'vitest'
import { nextTaskDueAt } from '../../src/store/tasks.ts'
import { testDatabase } from '../database.ts'
import { rowsRead } from './rows-read.ts'

const { database } = await testDatabase({ max: 1 })
const NOW = new Date('2026-03-02T10:00:00Z')
const TASKS = 10_000
const later = (seconds: number) => new Date(NOW.getTime() + seconds * 1_000)

test(`the next occurrence or stop of ${TASKS} tasks is one row read`, async () => {
  // Of each two tasks one waits with a job, and one for its stop.
  await database.executeSql(
    `with o as (insert into organization (name, created_at) values ('drover', $1) returning organization)
     insert into task (task, organization, id, user_email, user_profile, active, state, schedule, request, waiting_job, waiting_at,
                       stop_at, created_at)
     select i, o.organization, i::text, 'a@b.c', 'admin', true, 'ACTIVE', '{}', '{}', case when i % 2 = 0 then i end,
            case when i % 2 = 0 then $1 + i * interval '1 s' end,
            $1 + (i + case when i % 2 = 0 then 100000 else 0 end) * interval '1 s', $1
       from o, generate_series(1, $2::int) i`,
    [NOW, TASKS],
  )
  await database.executeSql('analyze task')

  expect(await nextTaskDueAt(database, NOW)).toEqual(later(1))
  expect(await nextTaskDueAt(database, later(1))).toEqual(later(2))
  expect(await rowsRead(database, 'tasks_next_due', [NOW])).toBe(1)
  expect(await nextTaskDueAt(database, later(TASKS))).toBeNull()
})
