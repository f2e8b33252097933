import { expect, test } from 'vitest'
import { FILED_MAX, type FiledMessage, fileMessages } from '../../src/store/filed-messages.ts'
import { sql } from '../../src/store/statement.ts'
import { testDatabase } from '../database.ts'
import { rowsRead } from './rows-read.ts'

const { database } = await testDatabase()
const at = (second: number) => new Date(Date.UTC(2026, 2, 2, 10, 0, second))
const said = (identifier: string, message: string, organization = 1): FiledMessage => ({
  organization,
  identifier,
  operationId: '1',
  reason: 'stray',
  message,
})
const many = (identifier: string, from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => said(identifier, String(from + i)))
const keptOf = async (identifier: string, organization = 1) =>
  (
    await database.query<{ message: string }>(
      sql`select message from filed_message where organization = ${organization} and identifier = ${identifier}
           order by received_at, message::int`,
    )
  ).map(({ message }) => Number(message))

test('of a device that is never silent the newest messages are kept, and of the others all', async () => {
  await fileMessages(database, [said('quiet', '1'), ...many('chatty', 0, 60), said('chatty', '7', 2)], at(0))
  await fileMessages(database, many('chatty', 60, 120), at(1))
  expect(await keptOf('chatty')).toHaveLength(FILED_MAX)
  expect((await keptOf('chatty')).slice(-60)).toEqual(Array.from({ length: 60 }, (_, i) => 60 + i))
  // More at once than are kept leaves nothing of what was there.
  await fileMessages(database, [...many('chatty', 200, 350), said('quiet', '2')], at(2))
  expect(await keptOf('chatty')).toEqual(Array.from({ length: FILED_MAX }, (_, i) => 250 + i))
  expect(await keptOf('quiet')).toEqual([1, 2])
  expect(await keptOf('chatty', 2)).toEqual([7])
})

test('two that file for a device at once do not fail, and what they leave too much goes with the next message', async () => {
  await Promise.all([0, 1, 2, 3].map(i => fileMessages(database, many('shared', i * 90, (i + 1) * 90), at(i))))
  await fileMessages(database, [said('shared', '999')], at(10))
  expect(await keptOf('shared')).toHaveLength(FILED_MAX)
  expect((await keptOf('shared')).at(-1)).toBe(999)
})

test('what others have filed is not read for it', async () => {
  await database.query(sql`
    insert into filed_message (organization, received_at, identifier, operation_id, reason, message)
    select 1, ${at(0)}, 'other-' || i, '1', 'stray', '{}' from generate_series(1, 20000) i`)
  await database.executeSql('analyze filed_message')
  const params = [[1], at(20), ['quiet'], ['1'], ['stray'], ['3'], FILED_MAX, 1_000]
  expect(await rowsRead(database, 'filed_messages_file', params)).toBeLessThan(3 * FILED_MAX)
})
