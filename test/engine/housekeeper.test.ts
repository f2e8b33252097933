import { expect, test } from 'vitest'
import { firstNumberAt } from '../../src/domain/identity.ts'
import { createHousekeeping, type Retention, readyMonths } from '../../src/engine/housekeeper.ts'
import { partitionedMonths } from '../../src/store/months.ts'
import { sql } from '../../src/store/statement.ts'
import { createTestDatabase, silentLog } from '../database.ts'

const at = (text: string) => new Date(text)
const DAY_MS = 86_400_000
const keeping = (retentionMonths: number | null, days = 90) => ({
  retentionMonths,
  deliveryRetentionMs: days * DAY_MS,
  callMs: DAY_MS,
})

type TestDatabase = Awaited<ReturnType<typeof createTestDatabase>>['database']

function housekeeping(database: TestDatabase, retention: Retention) {
  const turn = createHousekeeping(database, retention, silentLog)
  return (now: Date) => turn(now, new AbortController().signal)
}

async function endedIn(database: TestDatabase, instant: Date) {
  await database.query(sql`
    insert into operation_ended (job, partition, entity, organization, status, result, counter, attempt, ended_at)
    values (${firstNumberAt(instant.getTime())}, 1, 1, 1, 'FINISHED', 'SUCCESSFUL', 'successful', 1, ${instant})`)
}

test('months are ready before they come, and what ends lies in the month of its job', async () => {
  const { database, close } = await createTestDatabase()
  await readyMonths(database, at('2026-11-21T10:00:00Z'))
  expect(await partitionedMonths(database)).toEqual(['2026_11', '2026_12', '2027_01'])
  await endedIn(database, at('2026-12-31T23:59:59Z'))
  const rows = await database.query<{ table: string }>(
    sql`select tableoid::regclass::text as table from operation_ended`,
  )
  expect(rows).toEqual([{ table: 'operation_ended_2026_12' }])
  await close()
})

test('with a retention old months go as a whole, and younger ones stay', async () => {
  const { database, close } = await createTestDatabase()
  await readyMonths(database, at('2026-01-15T00:00:00Z'))
  await endedIn(database, at('2026-01-15T00:00:00Z'))
  await endedIn(database, at('2026-03-15T00:00:00Z'))
  await housekeeping(database, keeping(1))(at('2026-04-01T00:00:00Z'))
  expect(await partitionedMonths(database)).toEqual(['2026_03', '2026_04', '2026_05', '2026_06'])
  expect(await database.query(sql`select 1 from operation_ended`)).toHaveLength(1)
  await close()
})

async function jobAt(database: TestDatabase, instant: Date, status: string) {
  const job = firstNumberAt(instant.getTime())
  await database.query(sql`insert into organization (name, created_at) values ('o', ${instant}) on conflict do nothing`)
  await database.query(sql`
    insert into job (job, organization, name, user_email, request, status, created_at, timeout_ms)
    select ${job}, organization, 'REBOOT', 'a@b', '{}', ${status}::job_status, ${instant}, 1 from organization`)
  await database.query(sql`insert into job_counter (job, successful) values (${job}, 1)`)
  await database.query(sql`
    insert into delivery (delivery, organization, job, channel, event, receiver, host, body, complete, state, created_at, opened_at)
    select gen_random_uuid(), organization, ${job}, 'callback', 'jobFinished', '', '', '', true, 'DELIVERED', ${instant}, ${instant}
      from organization`)
  await endedIn(database, instant)
}

const left = async (database: TestDatabase) =>
  (
    await database.query<{ jobs: number; counters: number; deliveries: number; operations: number }>(sql`
      select (select count(*)::int from job) as jobs, (select count(*)::int from job_counter) as counters,
             (select count(*)::int from delivery) as deliveries, (select count(*)::int from operation_ended) as operations`)
  )[0]

test('with a month go its jobs, their counters and what was told of them', async () => {
  const { database, close } = await createTestDatabase()
  await readyMonths(database, at('2026-01-15T00:00:00Z'))
  await jobAt(database, at('2026-01-15T00:00:00Z'), 'FINISHED')
  await jobAt(database, at('2026-03-15T00:00:00Z'), 'CANCELLED')
  await housekeeping(database, keeping(1, 1_000))(at('2026-04-01T00:00:00Z'))
  expect(await left(database)).toEqual({ jobs: 1, counters: 1, deliveries: 1, operations: 1 })
  await close()
})

test.each([
  ['still runs', 'PAUSED'],
  ['is yet to run, of which operations have ended with their entities,', 'SCHEDULED'],
] as const)(
  'a month in which a job %s stays whole until that has ended, and holds up no other month',
  async (_, status) => {
    const { database, close } = await createTestDatabase()
    await readyMonths(database, at('2026-01-15T00:00:00Z'))
    await jobAt(database, at('2026-01-15T00:00:00Z'), 'FINISHED')
    await jobAt(database, at('2026-02-14T00:00:00Z'), 'FINISHED')
    await jobAt(database, at('2026-02-15T00:00:00Z'), status)
    await jobAt(database, at('2026-03-15T00:00:00Z'), 'FINISHED')
    const turn = housekeeping(database, keeping(1, 1_000))
    await turn(at('2026-05-01T00:00:00Z'))
    expect(await partitionedMonths(database)).toEqual(['2026_02', '2026_05', '2026_06', '2026_07'])
    expect(await left(database)).toEqual({ jobs: 2, counters: 2, deliveries: 2, operations: 2 })
    await database.query(sql`update job set status = 'CANCELLED' where status = ${status}::job_status`)
    await turn(at('2026-05-01T00:01:00Z'))
    expect(await partitionedMonths(database)).toEqual(['2026_05', '2026_06', '2026_07'])
    expect(await left(database)).toEqual({ jobs: 0, counters: 0, deliveries: 0, operations: 0 })
    await close()
  },
)

test('a month in which a job is yet to run, and nothing of it has ended, goes', async () => {
  const { database, close } = await createTestDatabase()
  await readyMonths(database, at('2026-01-15T00:00:00Z'))
  await jobAt(database, at('2026-01-15T00:00:00Z'), 'SCHEDULED')
  await database.query(sql`delete from operation_ended`)
  await housekeeping(database, keeping(1))(at('2026-05-01T00:00:00Z'))
  expect(await partitionedMonths(database)).not.toContain('2026_01')
  expect(await left(database)).toMatchObject({ jobs: 1 })
  await close()
})

test('without a retention nothing that ended is ever let go', async () => {
  const { database, close } = await createTestDatabase()
  await readyMonths(database, at('2020-01-15T00:00:00Z'))
  await endedIn(database, at('2020-01-15T00:00:00Z'))
  await housekeeping(database, keeping(null))(at('2026-04-01T00:00:00Z'))
  expect(await database.query(sql`select 1 from operation_ended`)).toHaveLength(1)
  await close()
})

test('deliveries leave their log the days after their end that are configured; open ones never do', async () => {
  const { database, close } = await createTestDatabase()
  const now = at('2026-04-01T00:00:00Z')
  await database.query(sql`insert into organization (name, created_at) values ('o', ${now})`)
  const ends = { young: 29, old: 31, open: null }
  for (const [receiver, endedDaysAgo] of Object.entries(ends)) {
    const endedAt = endedDaysAgo === null ? null : new Date(now.getTime() - endedDaysAgo * DAY_MS)
    await database.query(sql`
      insert into delivery (delivery, organization, job, channel, event, receiver, host, body, complete, state, created_at, opened_at, ended_at)
      select gen_random_uuid(), organization, 1, 'callback', 'jobFinished', ${receiver}, '', '{}', true,
             ${endedAt === null ? 'OPEN' : 'DELIVERED'}, ${at('2026-01-01T00:00:00Z')}, ${at('2026-01-01T00:00:00Z')}, ${endedAt}
        from organization where name = 'o'`)
  }
  await housekeeping(database, keeping(null, 30))(now)
  const left = await database.query<{ receiver: string }>(sql`select receiver from delivery order by receiver`)
  expect(left.map(({ receiver }) => receiver)).toEqual(['open', 'young'])
  await close()
})

test('what ended before its month was made moves into it', async () => {
  const { database, close } = await createTestDatabase()
  await endedIn(database, at('2026-11-20T00:00:00Z'))
  await readyMonths(database, at('2026-11-21T10:00:00Z'))
  const rows = await database.query<{ table: string }>(
    sql`select tableoid::regclass::text as table from operation_ended`,
  )
  expect(rows).toEqual([{ table: 'operation_ended_2026_11' }])
  await close()
})

test('a chore that fails keeps no other from being done, and the turn still fails', async () => {
  const { database, close } = await createTestDatabase()
  const now = at('2026-04-01T00:00:00Z')
  await readyMonths(database, at('2026-01-15T00:00:00Z'))
  await database.query(sql`
    insert into job_change (job, revision, organization, changed_at, summary)
    values (1, 1, 1, ${new Date(now.getTime() - DAY_MS)}, '{}')`)
  await database.query(sql`
    insert into filed_message (organization, received_at, identifier, reason, message)
    values (1, ${new Date(now.getTime() - 31 * DAY_MS)}, 'd', 'stray', '{}')`)
  await database.executeSql(`
    create function refuse() returns trigger language plpgsql as $$ begin raise exception 'a broken page'; end $$;
    create trigger refuse before delete on job_change for each row execute function refuse()`)
  await expect(housekeeping(database, keeping(1))(now)).rejects.toThrow('a broken page')
  expect(await partitionedMonths(database)).toEqual(['2026_03', '2026_04', '2026_05', '2026_06'])
  expect(await database.query(sql`select from filed_message`)).toEqual([])
  await close()
})

test('of what is kept for a while everything goes in one turn, however much it is', async () => {
  const { database, close } = await createTestDatabase()
  const now = at('2026-04-01T00:00:00Z')
  const old = new Date(now.getTime() - 31 * DAY_MS)
  await database.query(sql`
    insert into filed_message (organization, received_at, identifier, reason, message)
    select 1, ${old}, 'd', 'stray', '{}' from generate_series(1, 25000)`)
  await database.query(sql`
    insert into filed_message (organization, received_at, identifier, reason, message) values (1, ${now}, 'young', 'stray', '{}')`)
  await housekeeping(database, keeping(null))(now)
  expect(await database.query(sql`select identifier from filed_message`)).toEqual([{ identifier: 'young' }])
  await close()
})
