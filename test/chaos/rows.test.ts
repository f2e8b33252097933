import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { sql } from '../../src/store/statement.ts'
import { testDatabase } from '../database.ts'
import { judgeRowsAtTheEnd } from './rows.ts'

const { database, url } = await testDatabase()
const now = new Date('2026-11-21T10:00:00Z')

test('rows of one organization at a job of another are found, of operations, entities and deliveries alike', async () => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  onTestFinished(() => client.end())
  const look = async () => (await judgeRowsAtTheEnd(client, [{ id: '1', kind: 'plain', closed: [] }])).toSorted()
  await database.query(sql`insert into organization (name, created_at) values ('one', ${now}), ('other', ${now})`)
  await database.query(sql`
    insert into job (job, organization, name, user_email, request, status, created_at, timeout_ms)
    select 1, organization, 'REBOOT', 'a@b', '{}', 'FINISHED', ${now}, 1 from organization where name = 'one'`)
  await database.query(sql`
    insert into entity (partition, entity, organization, identifier, resource_type, document, tags, created_at, updated_at)
    select 1, 1, organization, 'd', 'entity.device', '{}', '{}', ${now}, ${now} from organization where name = 'one'`)
  await database.query(sql`
    insert into operation_ended (job, partition, entity, organization, status, result, counter, attempt, ended_at)
    select 1, 1, 1, organization, 'FINISHED', 'SUCCESSFUL', 'successful', 1, ${now} from organization where name = 'one'`)
  await database.query(sql`
    insert into delivery (delivery, organization, job, channel, event, receiver, host, body, complete, state, created_at, opened_at)
    select gen_random_uuid(), organization, 1, 'callback', 'jobFinished', '', '', '', true, 'DELIVERED', ${now}, ${now}
      from organization where name = 'one'`)
  expect(await look()).toEqual([])

  for (const table of ['entity', 'operation_ended', 'delivery']) {
    await client.query(
      `update ${table} set organization = (select organization from organization where name = 'other')`,
    )
  }
  expect(await look()).toEqual([
    '8: deliveries of another organization than their job: 1',
    '8: ended operations of another organization than their job: 1',
    '8: entities of ended operations of another organization than their job: 1',
  ])
})
