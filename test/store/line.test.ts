/** Transactions that are one exchange each: all of it or nothing, whatever fails, and the connection is as before. */
import { beforeEach, expect, test } from 'vitest'
import { type AtOnce, isUnavailable, sqlState } from '../../src/store/database.ts'
import { failsUnless, sql, statement } from '../../src/store/statement.ts'
import { createTestDatabase, testDatabase } from '../database.ts'

const { database } = await testDatabase({ migrated: false, max: 1 })
await database.query(
  sql`create table kept (word text not null, planned text not null default current_setting('enable_seqscan'))`,
)
const line = database.line()
beforeEach(async () => {
  await database.query(sql`delete from kept`)
})

const keep = statement<unknown, [word: string]>('test_at_once_keep', 'insert into kept (word) values ($1)')
const keepLater = statement<unknown, [word: string]>('test_at_once_keep_later', 'insert into kept (word) values ($1)')
const demand = statement<unknown, [number]>(
  'test_at_once_demand',
  `select ${failsUnless('count(*) = $1::int')} as demanded from kept`,
)
const hold = statement<unknown, []>('test_at_once_hold', 'select pg_sleep(0.1)')
const die = statement<unknown, []>('test_at_once_die', 'select pg_terminate_backend(pg_backend_pid())')

const kept = async () =>
  (await database.query<{ word: string }>(sql`select word from kept order by word`)).map(({ word }) => word)

test('everything that was asked takes effect, in its order, and the work’s own answer comes after the commit', async () => {
  const answer = await line.atOnce(tx => {
    tx.behind(tx.run(keep, ['a']))
    tx.behind(tx.run(demand, [1]))
    tx.behind(tx.run(keep, ['b']))
    tx.behind(tx.run(demand, [2]))
    return 'done'
  })
  expect([answer, await kept()]).toEqual(['done', ['a', 'b']])
})

test('where one fails, nothing of what stands before or behind it is kept', async () => {
  const failing = line.atOnce(tx => {
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
  const failing = line.atOnce(tx => {
    tx.behind(tx.run(demand, [7]))
    tx.behind(tx.run(neverBefore, ['in vain']))
  })
  await expect(failing).rejects.toThrow()
  await line.atOnce(tx => tx.behind(tx.run(neverBefore, ['again'])))
  expect(await kept()).toEqual(['again'])
})

test('what cannot be bound keeps all of it from being sent, from wherever it is asked', async () => {
  const circular: Record<string, unknown> = {}
  circular.self = circular
  // As the store asks: by a function of its own, which is told of the failure and nobody waits for.
  const ask = async (tx: AtOnce) => {
    await tx.run(keep, [circular as unknown as string])
  }
  const work = (tx: AtOnce) => {
    tx.behind(tx.run(keep, ['before']))
    tx.behind(ask(tx))
    tx.behind(tx.run(keepLater, ['behind']))
  }
  const { promise: fromTimer, resolve } = Promise.withResolvers<unknown>()
  setTimeout(() => line.atOnce(work).catch(resolve), 0)
  await expect(line.atOnce(work)).rejects.toThrow('circular')
  expect(String(await fromTimer)).toContain('circular')
  expect(await kept()).toEqual([])
  await line.atOnce(tx => tx.behind(tx.run(keep, ['next'])))
  expect(await kept()).toEqual(['next'])
})

test('what fails before it could be asked sends nothing', async () => {
  const failing = line.atOnce(tx => {
    tx.behind(tx.run(keep, ['asked']))
    tx.behind(Promise.reject(new Error('not even asked')))
  })
  await expect(failing).rejects.toThrow('not even asked')
  const thrown = line.atOnce(tx => {
    tx.behind(tx.run(keep, ['asked']))
    throw new Error('thrown by the work')
  })
  await expect(thrown).rejects.toThrow('thrown by the work')
  expect(await kept()).toEqual([])
})

test('it is planned by key, and what comes after it is not', async () => {
  await line.atOnce(tx => tx.behind(tx.run(keep, ['by key'])))
  await database.run(keep, ['otherwise'])
  expect(await database.query(sql`select word, planned from kept order by word`)).toEqual([
    { word: 'by key', planned: 'off' },
    { word: 'otherwise', planned: 'on' },
  ])
})

test('a connection that is lost in the middle of it is told as such, and nothing of it is kept', async () => {
  const failing = line.atOnce(tx => {
    tx.behind(tx.run(keep, ['before']))
    tx.behind(tx.run(die, []))
    tx.behind(tx.run(keepLater, ['behind']))
  })
  await expect(failing).rejects.toSatisfy(isUnavailable)
  expect(await kept()).toEqual([])
})

test('what is sent behind one that fails fails too, without effect, and the next one works', async () => {
  const answers = await Promise.allSettled([
    line.atOnce(tx => tx.behind(tx.run(keep, ['first']))),
    line.atOnce(tx => tx.behind(tx.run(demand, [7]))),
    line.atOnce(tx => tx.behind(tx.run(keepLater, ['behind']))),
  ])
  const states = answers.map(answer => (answer.status === 'rejected' ? sqlState(answer.reason) : 'done'))
  expect([states, await kept()]).toEqual([['done', '22012', '25P02'], ['first']])
  await line.atOnce(tx => tx.behind(tx.run(keep, ['next'])))
  expect(await kept()).toEqual(['first', 'next'])
})

test('what is asked while one before it fails goes by another connection, and is done', async () => {
  const two = await createTestDatabase({ migrated: false, max: 2 })
  await two.database.query(sql`create table kept (word text not null)`)
  const other = two.database.line()
  const failed = Promise.withResolvers<void>()
  const failing = other.atOnce(tx => tx.behind(tx.run(demand, [7]))).catch(() => failed.resolve())
  const behind = other.atOnce(tx => tx.behind(tx.run(hold, []))).catch(() => {})
  await failed.promise
  await other.atOnce(tx => tx.behind(tx.run(keep, ['meanwhile'])))
  await Promise.all([failing, behind])
  expect(await two.database.query(sql`select word from kept`)).toEqual([{ word: 'meanwhile' }])
  await two.close()
})

test('a line without anything under way holds no connection, and takes one again', async () => {
  await line.atOnce(tx => tx.behind(tx.run(keep, ['a'])))
  await database.transaction(tx => tx.run(keep, ['b']))
  await line.atOnce(tx => tx.behind(tx.run(keep, ['c'])))
  expect(await kept()).toEqual(['a', 'b', 'c'])
})

test('many that follow each other take effect in their order', async () => {
  await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      line.atOnce(tx => {
        tx.behind(tx.run(demand, [i]))
        tx.behind(tx.run(keep, [`word ${i}`]))
      }),
    ),
  )
  expect(await kept()).toHaveLength(20)
})

test('a line on which there is always something gives its connection back nevertheless', async () => {
  let over = false
  const follow = async () => {
    while (!over) await line.atOnce(tx => tx.behind(tx.run(demand, [0])))
  }
  const followers = [follow(), follow()]
  await database.run(keep, ['meanwhile'])
  over = true
  await Promise.allSettled(followers)
  expect(await kept()).toEqual(['meanwhile'])
})
