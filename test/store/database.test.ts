import { EventEmitter, once } from 'node:events'
import { describe, expect, test } from 'vitest'
import { isUnavailable, openDatabase, sqlState } from '../../src/store/database.ts'
import { sql, statement } from '../../src/store/statement.ts'
import { createTestDatabase, silentLog, testDatabase } from '../database.ts'

const { database, url } = await testDatabase({ migrated: false })
await database.query(sql`create table account (id int primary key, amount bigint not null)`)
await database.query(sql`insert into account values (1, 100), (2, 100)`)

const addTo = statement<{ amount: bigint }, [amount: number, id: number]>(
  'test-add-to',
  'update account set amount = amount + $1 where id = $2 returning amount',
)

/** Two transactions that take the same two rows in opposite order, each waiting until the other holds its first. */
async function crossing(tries: number[]): Promise<void> {
  const first = Promise.withResolvers<void>()
  const second = Promise.withResolvers<void>()
  const move = (from: number, to: number, mine: PromiseWithResolvers<void>, other: PromiseWithResolvers<void>) =>
    database.transaction(async tx => {
      tries.push(from)
      await tx.run(addTo, [-1, from])
      mine.resolve()
      await other.promise
      await tx.run(addTo, [1, to])
    })
  await Promise.all([move(1, 2, first, second), move(2, 1, second, first)])
}

describe('values', () => {
  test('64-bit numbers, arrays of them, instants, json and enums read as bigint, bigint[], Date, values and text', async () => {
    await database.query(sql`create type colour as enum ('RED', 'GREEN')`)
    const [row] = await database.query(
      sql`select 9007199254740993::int8 as big, array[1, null, -3]::int8[] as bigs, '{}'::int8[] as none,
        '2026-05-01T12:00:00.5+02'::timestamptz as at, '{"a":[1]}'::jsonb as json, 'RED'::colour as colour, '2026-05-01'::date as day`,
    )
    expect(row).toEqual({
      big: 9007199254740993n,
      bigs: [1n, null, -3n],
      none: [],
      at: new Date('2026-05-01T10:00:00.500Z'),
      json: { a: [1] },
      colour: 'RED',
      day: '2026-05-01',
    })
  })

  test('arrays of bigints, instants and json texts are bound as arrays', async () => {
    const [row] = await database.query<{ sum: bigint; at: Date; json: unknown }>(
      sql`select (select sum(n)::int8 from unnest(${[9007199254740993n, 1n]}::int8[]) n) as sum,
        (${[new Date(0)]}::timestamptz[])[1] as at, (${[{ a: 'x"y' }]}::jsonb[])[1] as json`,
    )
    expect(row).toEqual({ sum: 9007199254740994n, at: new Date(0), json: { a: 'x"y' } })
  })
})

describe('transactions', () => {
  test('a transaction that meets a deadlock is repeated until it commits', async () => {
    const tries: number[] = []
    await crossing(tries)
    expect(tries.length).toBeGreaterThan(2)
    expect(await database.query(sql`select id, amount from account order by id`)).toEqual([
      { id: 1, amount: 100n },
      { id: 2, amount: 100n },
    ])
  })

  test('a serialisation failure is repeated at most ten times, then told', async () => {
    let tries = 0
    const failing = database.transaction(async tx => {
      tries++
      await tx.query(sql`do $$ begin raise exception 'again' using errcode = '40001'; end $$`)
    })
    await expect(failing).rejects.toThrow('again')
    expect(tries).toBe(10)
  })

  test('an error of the work rolls back, is told, and costs no connection', async () => {
    const one = await createTestDatabase({ migrated: false, max: 1 })
    const pid = async () => (await one.database.query<{ pid: number }>(sql`select pg_backend_pid() as pid`))[0]?.pid
    const before = await pid()
    await one.database.query(sql`create table t (n int)`)
    const failing = one.database.transaction(async tx => {
      await tx.query(sql`insert into t values (1)`)
      throw new Error('changed my mind')
    })
    await expect(failing).rejects.toThrow('changed my mind')
    expect(await one.database.query(sql`select n from t`)).toEqual([])
    await expect(one.database.query(sql`select * from nowhere`)).rejects.toSatisfy(error => sqlState(error) === '42P01')
    expect(await pid()).toBe(before)
    await one.close()
  })

  test('a swallowed error does not pass for a commit', async () => {
    const failing = database.transaction(async tx => {
      await tx.query(sql`select * from nowhere`).catch(() => {})
    })
    await expect(failing).rejects.toThrow('rolled back')
  })

  test('a transaction that the server has ended because it stood idle is repeated', async () => {
    const hasty = openDatabase({ url, max: 1, idleInTransactionTimeoutMs: 200, log: silentLog })
    let tries = 0
    const sum = await hasty.transaction(async tx => {
      tries += 1
      const [row] = await tx.query<{ pid: number }>(sql`select pg_backend_pid() as pid`)
      await tx.run(addTo, [1, 1])
      const isThere = () => database.query(sql`select from pg_stat_activity where pid = ${row!.pid}`)
      if (tries === 1) while ((await isThere()).length > 0);
      const [account] = await tx.run(addTo, [-1, 1])
      return account!.amount
    })
    expect(tries).toBeGreaterThan(1)
    expect((await database.run(addTo, [0, 1]))[0]!.amount).toBe(sum)
    await hasty.close()
  })

  test('statements that are asked without waiting are done in their order', async () => {
    const [, rows, none] = await database.transaction(tx =>
      Promise.all([
        tx.run(addTo, [5, 1]),
        tx.query<{ amount: bigint }>(sql`select amount from account where id = 1`),
        tx.run(addTo, [-5, 1]),
      ]),
    )
    expect(rows).toEqual([{ amount: 105n }])
    expect(none).toEqual([{ amount: 100n }])
  })

  test('what is left to the commit is committed with the rest', async () => {
    await database.transaction(async tx => {
      tx.behind(tx.run(addTo, [7, 1]))
      tx.behind(tx.run(addTo, [-7, 2]))
    })
    expect(await database.query(sql`select amount from account order by id`)).toEqual([
      { amount: 107n },
      { amount: 93n },
    ])
    await database.transaction(async tx => {
      tx.behind(tx.run(addTo, [-7, 1]))
      tx.behind(tx.run(addTo, [7, 2]))
    })
  })

  test('what fails behind the work fails the transaction with its own word, and nothing of it is kept', async () => {
    const failing = database.transaction(async tx => {
      await tx.run(addTo, [50, 1])
      tx.behind(tx.query(sql`insert into account values (1, 0)`))
      tx.behind(tx.run(addTo, [50, 2]))
    })
    await expect(failing).rejects.toSatisfy(error => sqlState(error) === '23505')
    const asking = database.transaction(async tx => {
      tx.behind(tx.query(sql`insert into account values (1, 0)`))
      await tx.run(addTo, [50, 2])
    })
    await expect(asking).rejects.toSatisfy(error => sqlState(error) === '23505')
    expect(await database.query(sql`select amount from account order by id`)).toEqual([
      { amount: 100n },
      { amount: 100n },
    ])
  })

  test('what cannot be sent fails the transaction that left it to the commit', async () => {
    const circular: Record<string, unknown> = {}
    circular.self = circular
    const failing = database.transaction(async tx => {
      tx.behind(tx.run(addTo, [50, 1]))
      tx.behind(tx.query(sql`select ${circular}::jsonb`))
    })
    await expect(failing).rejects.toThrow('circular')
    expect(await database.query(sql`select amount from account where id = 1`)).toEqual([{ amount: 100n }])
  })

  test('nothing is asked in a transaction that is ending, where it would be done outside of it', async () => {
    const failing = database.transaction(async tx => {
      await tx.query(sql`select 1`)
      tx.behind(new Promise(resolve => setImmediate(resolve)).then(() => tx.run(addTo, [50, 2])))
    })
    await expect(failing).rejects.toThrow('ending')
    expect(await database.query(sql`select amount from account where id = 2`)).toEqual([{ amount: 100n }])
  })

  test('a transaction whose begin fails has written nothing', async () => {
    const failing = database.transaction(tx => tx.run(addTo, [50, 1]), { statementTimeoutMs: -1 })
    await expect(failing).rejects.toSatisfy(error => sqlState(error) === '22023')
    expect(await database.query(sql`select amount from account where id = 1`)).toEqual([{ amount: 100n }])
  })

  test('an aborted signal ends the repeating', async () => {
    const stopping = new AbortController()
    let tries = 0
    const failing = database.transaction(
      async tx => {
        tries++
        if (tries === 2) stopping.abort(new Error('stopping'))
        await tx.query(sql`do $$ begin raise exception 'again' using errcode = '40001'; end $$`)
      },
      { signal: stopping.signal },
    )
    await expect(failing).rejects.toThrow('stopping')
    expect(tries).toBe(2)
  })

  test('an aborted signal cancels the statement under way, and costs no connection', async () => {
    const one = await createTestDatabase({ migrated: false, max: 1 })
    const stopping = new AbortController()
    const failing = one.database.transaction(
      async tx => {
        setTimeout(() => stopping.abort(new Error('stopping')), 50)
        await tx.query(sql`select pg_sleep(60)`)
      },
      { signal: stopping.signal, statementTimeoutMs: 120_000 },
    )
    await expect(failing).rejects.toThrow('stopping')
    expect(await one.database.query(sql`select 1 as one`)).toEqual([{ one: 1 }])
    await one.close()
  })

  test('so is what it asks next where it was asking nothing just then', async () => {
    const stopping = new AbortController()
    const failing = database.transaction(
      async tx => {
        await tx.query(sql`select 1`)
        stopping.abort(new Error('stopping'))
        // Whatever is cancelled first has nothing to cancel.
        await new Promise(resolve => setTimeout(resolve, 100))
        await tx.query(sql`select pg_sleep(60)`)
      },
      { signal: stopping.signal, statementTimeoutMs: 120_000 },
    )
    await expect(failing).rejects.toThrow('stopping')
  })

  test('pg-boss can take part through executeSql', async () => {
    const { rows } = await database.transaction(tx => tx.executeSql('select $1::int as n', [7]))
    expect(rows).toEqual([{ n: 7 }])
  })

  test('a statement tells how many rows it changed', async () => {
    expect(await database.count(addTo, [0, 1])).toBe(1)
    expect(await database.count(addTo, [0, 99])).toBe(0)
  })
})

describe('lost connections', () => {
  test('a connection cut in the middle of a transaction is an error to its caller, and the next call works', async () => {
    const failing = database.transaction(async tx => {
      const [row] = await tx.query<{ pid: number }>(sql`select pg_backend_pid() as pid`)
      await database.query(sql`select pg_terminate_backend(${row?.pid})`)
      await tx.query(sql`select 1`)
    })
    await expect(failing).rejects.toThrow()
    expect(await database.query(sql`select 1 as one`)).toEqual([{ one: 1 }])
  })

  test('connections cut while idle or in use between two statements do not end the process', async () => {
    await database
      .transaction(async tx => {
        const killed = await database.query(
          sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
        )
        expect(killed.length).toBeGreaterThan(0)
        await expect(tx.query(sql`select 1`)).rejects.toThrow()
      })
      .catch(() => {})
    expect(await database.query(sql`select 1 as one`)).toEqual([{ one: 1 }])
  })

  test('a server that cannot be reached is an error to the caller', async () => {
    const nowhere = openDatabase({ url: 'postgres://nobody@127.0.0.1:1/none', log: silentLog })
    await expect(nowhere.query(sql`select 1`)).rejects.toThrow('ECONNREFUSED')
    await expect(nowhere.query(sql`select 1`)).rejects.toSatisfy(isUnavailable)
    await expect(nowhere.transaction(tx => tx.query(sql`select 1`))).rejects.toSatisfy(isUnavailable)
    await expect(nowhere.listen('channel', () => {})).rejects.toThrow('ECONNREFUSED')
    await nowhere.close()
  })

  test('a close cancels what takes longer than it waits', async () => {
    const closing = openDatabase({ url, closeGraceMs: 50, log: silentLog })
    const asked = closing.query(sql`select pg_sleep(20)`)
    asked.catch(() => {})
    // Only what has its connection is under way.
    await expect
      .poll(() => database.query(sql`select from pg_stat_activity where query like 'select pg_sleep(20)%'`))
      .toHaveLength(1)
    await closing.close()
    await expect(asked).rejects.toSatisfy(error => sqlState(error) === '57014')
  })

  test('a statement that takes too long is cancelled', async () => {
    const hasty = openDatabase({ url, statementTimeoutMs: 50, log: silentLog })
    await expect(hasty.query(sql`select pg_sleep(10)`)).rejects.toSatisfy(error => sqlState(error) === '57014')
    await hasty.close()
  })
})

describe('a database that can take nothing now is told apart from a question that is wrong', () => {
  test.each([
    ['it has no room on its disk', `do $$ begin raise exception 'full' using errcode = '53100'; end $$`, true],
    ['it is stopping', `do $$ begin raise exception 'bye' using errcode = '57P01'; end $$`, true],
    ['the connection is cut', 'select pg_terminate_backend(pg_backend_pid())', true],
    ['the statement cannot be read', 'selec 1', false],
    ['a key is taken', `do $$ begin raise exception 'twice' using errcode = '23505'; end $$`, false],
  ])('%s', async (_, text, expected) => {
    const refusal = await database.executeSql(text).catch((error: unknown) => error)
    expect([refusal instanceof Error, isUnavailable(refusal)]).toEqual([true, expected])
  })

  test('and so is what the caller of a transaction throws', async () => {
    const own = new Error('of the caller')
    await expect(database.transaction(async () => Promise.reject(own))).rejects.toBe(own)
    expect(isUnavailable(own)).toBe(false)
  })
})

describe('listening', () => {
  test('a listener hears notifications, reconnects after its connection is cut, and is then woken once with null', async () => {
    const heard = new EventEmitter()
    const stop = await database.listen('news', payload => heard.emit('heard', payload))
    const next = async () => (await once(heard, 'heard'))[0] as string | null

    const hello = next()
    await database.query(sql`select pg_notify('news', 'hello')`)
    expect(await hello).toBe('hello')

    const missed = next()
    const cut = await database.query(
      sql`select pg_terminate_backend(pid) from pg_stat_activity where query like 'listen%' and datname = current_database()`,
    )
    expect(cut).toHaveLength(1)
    expect(await missed).toBeNull()

    const again = next()
    await database.query(sql`select pg_notify('news', 'again')`)
    expect(await again).toBe('again')
    await stop()
  })
})

describe('streams', () => {
  test('a stream gives every row in batches, with its values bound', async () => {
    const sizes: number[] = []
    let sum = 0
    for await (const rows of database.stream<{ n: number }>(sql`select n from generate_series(1, ${2500}) n`, {
      batchRows: 1000,
    })) {
      sizes.push(rows.length)
      for (const { n } of rows) sum += n
    }
    expect(sizes).toEqual([1000, 1000, 500])
    expect(sum).toBe((2500 * 2501) / 2)
  })

  test('a slow reader of a stream holds no snapshot, and one that leaves early frees its connection', async () => {
    const one = await createTestDatabase({ migrated: false, max: 1 })
    for await (const _ of one.database.stream(sql`select n from generate_series(1, 100) n`, { batchRows: 10 })) {
      const held = await database.query(
        sql`select 1 from pg_stat_activity where datname = ${new URL(one.url).pathname.slice(1)} and backend_xmin is not null`,
      )
      expect(held).toEqual([])
      break
    }
    expect(await one.database.query(sql`select 1 as one`)).toEqual([{ one: 1 }])
    await one.close()
  })

  test('a reader that asks for nothing more loses its connection to whoever needs one', async () => {
    const one = await createTestDatabase({ migrated: false, max: 1, streamUnaskedMs: 50 })
    const stalled = one.database.stream(sql`select n from generate_series(1, 100) n`, { batchRows: 10 })
    expect((await stalled.next()).value).toHaveLength(10)
    expect(await one.database.query(sql`select 1 as one`)).toEqual([{ one: 1 }])
    await expect(stalled.next()).rejects.toThrow('its reader asked for nothing more')
    for await (const _ of one.database.stream(sql`select 1`)) break
    await one.close()
  })

  test('a quarter of the pool may be streaming, and one more is refused as too many until one has ended', async () => {
    const eight = await createTestDatabase({ migrated: false, max: 8 })
    const stream = () => eight.database.stream(sql`select n from generate_series(1, 100) n`, { batchRows: 10 })
    const [first, second, third] = [stream(), stream(), stream()]
    await Promise.all([first.next(), second.next()])
    await expect(third.next()).rejects.toMatchObject({ entry: { code: '0x010203', kind: 'tooMany' } })
    await first.return()
    const fourth = stream()
    expect((await fourth.next()).value).toHaveLength(10)
    await Promise.all([second.return(), fourth.return()])
    await eight.close()
  })
})
