/** What has come to its time among a hundred thousand open jobs is found by reading what is found, and no more. */
import { describe, expect, test } from 'vitest'
import { dueJobs, nextJobDueAt, nextUnresolvedAt, unresolvedJobs } from '../../src/store/jobs-due.ts'
import { testDatabase } from '../database.ts'
import { rowsRead } from './rows-read.ts'

const { database } = await testDatabase({ max: 3 })
const NOW = new Date('2026-03-02T10:00:00Z')
const OPEN = 100_000
const later = (seconds: number) => new Date(NOW.getTime() + seconds * 1_000)

// Of each four jobs one waits for its start, one for its stop, one for its window, and one is a task's, resolved when it starts.
await database.executeSql(
  `with o as (insert into organization (name, created_at) values ('drover', $1) returning organization)
   insert into job (job, organization, task, name, user_email, request, status, unresolved, created_at, timeout_ms, start_at, stop_at, wake_at)
   select i, o.organization, case when i % 4 = 3 then i end, 'REBOOT_EQUIPMENT', 'a@b.c', '{}',
          case when i % 4 in (0, 3) then 'SCHEDULED' else 'IN_PROGRESS' end::job_status,
          case when i % 4 = 3 then '[{"listed":{"entities":["d"]}}]' else '[]' end::jsonb, $1, 60000,
          $1 + i * interval '1 s',
          case when i % 4 = 1 then $1 + i * interval '1 s' end,
          case when i % 4 = 2 then $1 + i * interval '1 s' end
     from o, generate_series(1, $2::int) i`,
  [NOW, OPEN],
)
await database.executeSql('analyze job')

describe(`among ${OPEN} open jobs`, () => {
  test('the next start, stop or opening is one look at each of three indexes', async () => {
    expect(await nextJobDueAt(database, NOW)).toEqual(later(1))
    expect(await nextJobDueAt(database, later(1))).toEqual(later(2))
    expect(await rowsRead(database, 'jobs_next_due', [NOW])).toBeLessThanOrEqual(3)
    expect(await nextJobDueAt(database, later(OPEN))).toBeNull()
  })

  test('the jobs that are due are read, and no other', async () => {
    expect(await dueJobs(database, NOW, { limit: 100, except: [] })).toEqual([])
    expect(await rowsRead(database, 'jobs_due', [NOW, 100, []])).toBe(0)
    expect(await dueJobs(database, later(8), { limit: 100, except: [] })).toEqual([1n, 2n, 4n, 5n, 6n, 8n])
    expect(await rowsRead(database, 'jobs_due', [later(8), 100, []])).toBe(6)
  })

  test('of all that are due after an outage as many are read as are taken', async () => {
    expect(await dueJobs(database, later(OPEN), { limit: 100, except: [] })).toHaveLength(300)
    expect(await rowsRead(database, 'jobs_due', [later(OPEN), 100, []])).toBe(300)
  })

  test('targets to be resolved are found beside those that wait for the start of a task', async () => {
    const asked = { failuresMax: 3, limit: 20, except: [] }
    expect(await unresolvedJobs(database, NOW, asked)).toEqual([])
    expect(await rowsRead(database, 'jobs_unresolved', [NOW, 3, 20, []])).toBe(0)
    expect(await unresolvedJobs(database, later(7), asked)).toEqual([3n, 7n])
    expect(await rowsRead(database, 'jobs_unresolved', [later(7), 3, 20, []])).toBe(2)
    expect(await nextUnresolvedAt(database, later(7))).toEqual(later(11))
    expect(await rowsRead(database, 'jobs_next_unresolved', [later(7)])).toBe(1)
  })

  test('a job that somebody holds is left to him, and hides none behind it', async () => {
    await database.transaction(async tx => {
      await tx.executeSql('select from job where job in (1, 2, 3, 4) for no key update')
      expect(await dueJobs(database, later(8), { limit: 1, except: [] })).toEqual([5n, 6n, 8n])
      expect(await unresolvedJobs(database, later(7), { failuresMax: 3, limit: 1, except: [] })).toEqual([7n])
    })
  })

  test('what is in hand already hides none behind it', async () => {
    const except = [1n, 2n, 3n, 4n]
    expect(await dueJobs(database, later(8), { limit: 1, except })).toEqual([5n, 6n, 8n])
    expect(await unresolvedJobs(database, later(7), { failuresMax: 3, limit: 1, except })).toEqual([7n])
  })
})
