/** A transaction that is one exchange: all of it or nothing, whatever fails, and the connection is as before. */
import { beforeEach, expect, test } from 'vitest'
import { isUnavailable, sqlState } from '../../src/store/database.ts'
import { failsUnless, sql, statement } from '../../src/store/statement.ts'
import { testDatabase } from '../database.ts'

const { database } = await testDatabase({ migrated: false, max: 1 })
await database.query(
  sql`create table kept (word text not null, planned text not null default current_setting('enable_seqscan'))`,
)
beforeEach(async () => {
  await database.query(sql`delete from kept`)
})

const keep = statement<unknown, [word: string]>('test_at_once_keep', 'insert into kept (word) values ($1)')
const keepLater = statement<unknown, [word: string]>('test_at_once_keep_later', 'insert into kept (word) values ($1)')
const demand = statement<unknown, [number]>(
  'test_at_once_demand',
  `select ${failsUnless('count(*) = $1::int')} as demanded from kept`,
)
const die = statement<unknown, []>('test_at_once_die', 'select pg_terminate_backend(pg_backend_pid())')

const kept = async () =>
  (await database.query<{ word: string }>(sql`select word from kept order by word`)).map(({ word }) => word)

test('everything that was asked takes effect, in its order, and the work’s own answer comes after the commit', async () => {
  const answer = await database.atOnce(tx => {
    tx.behind(tx.run(keep, ['a']))
    tx.behind(tx.run(demand, [1]))
    tx.behind(tx.run(keep, ['b']))
    tx.behind(tx.run(demand, [2]))
    return 'done'
  })
  expect([answer, await kept()]).toEqual(['done', ['a', 'b']])
})

test('where one fails, nothing of what stands before or behind it is kept', async () => {
  const failing = database.atOnce(tx => {
    tx.behind(tx.run(keep, ['before']))
    tx.behind(tx.run(demand, [7]))
    tx.behind(tx.run(keepLater, ['behind']))
  })
  await expect(failing).rejects.toSatisfy(error => sqlState(error) === '22012')
  expect(await kept()).toEqual([])
})

test('a statement that was never come to, since one before it failed, is prepared the next time', async () => {
  const neverBefore = statement<unknown, [word: string]>(
    'test_at_once_never_before',
    'insert into kept (word) values ($1)',
  )
  const failing = database.atOnce(tx => {
    tx.behind(tx.run(demand, [7]))
    tx.behind(tx.run(neverBefore, ['in vain']))
  })
  await expect(failing).rejects.toThrow()
  await database.atOnce(tx => tx.behind(tx.run(neverBefore, ['again'])))
  expect(await kept()).toEqual(['again'])
})

test('what cannot be bound keeps all of it from being done', async () => {
  const circular: Record<string, unknown> = {}
  circular.self = circular
  const withDeclared = database.atOnce(tx => {
    tx.behind(tx.run(keep, ['before']))
    tx.behind(tx.run(keep, [circular as unknown as string]))
    tx.behind(tx.run(keepLater, ['behind']))
  })
  await expect(withDeclared).rejects.toThrow('circular')
  const withComposed = database.atOnce(tx => {
    tx.behind(tx.run(keep, ['before']))
    tx.behind(tx.query(sql`select ${circular}::jsonb`))
    tx.behind(tx.run(keepLater, ['behind']))
  })
  await expect(withComposed).rejects.toThrow('circular')
  expect(await kept()).toEqual([])
  await database.atOnce(tx => tx.behind(tx.run(keep, ['next'])))
  expect(await kept()).toEqual(['next'])
})

test('what fails before it could be asked sends nothing', async () => {
  const failing = database.atOnce(tx => {
    tx.behind(tx.run(keep, ['asked']))
    tx.behind(Promise.reject(new Error('not even asked')))
  })
  await expect(failing).rejects.toThrow('not even asked')
  const thrown = database.atOnce(tx => {
    tx.behind(tx.run(keep, ['asked']))
    throw new Error('thrown by the work')
  })
  await expect(thrown).rejects.toThrow('thrown by the work')
  expect(await kept()).toEqual([])
})

test('it is planned by key, and what comes after it is not', async () => {
  await database.atOnce(tx => tx.behind(tx.run(keep, ['by key'])))
  await database.run(keep, ['otherwise'])
  expect(await database.query(sql`select word, planned from kept order by word`)).toEqual([
    { word: 'by key', planned: 'off' },
    { word: 'otherwise', planned: 'on' },
  ])
})

test('a connection that is lost in the middle of it is told as such, and nothing of it is kept', async () => {
  const failing = database.atOnce(tx => {
    tx.behind(tx.run(keep, ['before']))
    tx.behind(tx.run(die, []))
    tx.behind(tx.run(keepLater, ['behind']))
  })
  await expect(failing).rejects.toSatisfy(isUnavailable)
  expect(await kept()).toEqual([])
})
