import { beforeEach, expect, test } from 'vitest'
import { createNumbering, FREE_AFTER_MS, UNKEPT_MAX_MS } from '../../src/engine/numbering.ts'
import { sql } from '../../src/store/statement.ts'
import { testDatabase } from '../database.ts'
import { EPOCH } from './workbench.ts'

const { database } = await testDatabase()
let nowMs = EPOCH.getTime()
const clock = { now: () => new Date(nowMs) }
const numbering = (node: number) => createNumbering({ database, clock, node })
const saltIn = (number: bigint) => Number((number >> 11n) & 1023n)

beforeEach(async () => {
  nowMs = EPOCH.getTime()
  await database.query(sql`truncate number_salt, node`)
})

test('two processes hand out no number twice, though the low bits of their random node numbers are equal', async () => {
  const [one, other] = await Promise.all([numbering(7), numbering(7 + 1024)])
  const numbers = Array.from({ length: 2_000 }, () => [one.next(), other.next()]).flat()
  expect(new Set(numbers).size).toBe(4_000)
})

test('twenty processes that start together have twenty salts', async () => {
  const all = await Promise.all(Array.from({ length: 20 }, (_, at) => numbering(1024 * (at + 1))))
  expect(new Set(all.map(each => saltIn(each.next()))).size).toBe(20)
})

test('the salt of a process that has gone is given again, but not before its time', async () => {
  const gone = saltIn((await numbering(1)).next())
  const others = sql`insert into number_salt select s, 2, ${new Date(nowMs + FREE_AFTER_MS)} from generate_series(0, 1023) s`
  await database.query(sql`${others} on conflict do nothing`)
  nowMs += FREE_AFTER_MS
  await expect(numbering(3)).rejects.toThrow('No salt for numbers is free')
  nowMs += 1
  expect(saltIn((await numbering(3)).next())).toBe(gone)
})

test('a living process keeps its salt for as long as it lives', async () => {
  const living = await numbering(1)
  const salt = saltIn(living.next())
  for (let minute = 0; minute < 60; minute++) {
    nowMs += 60_000
    await living.keep()
  }
  expect(saltIn(living.next())).toBe(salt)
  expect(saltIn((await numbering(2)).next())).not.toBe(salt)
})

test('a process that could not keep its salt for long hands out no number before it has, and takes another where it is lost', async () => {
  const suspended = await numbering(1)
  const before = saltIn(suspended.next())
  nowMs += UNKEPT_MAX_MS + 1
  expect(() => suspended.next()).toThrow(
    expect.objectContaining({ entry: expect.objectContaining({ code: '0x010206' }) }),
  )
  await suspended.keep()
  expect(saltIn(suspended.next())).toBe(before)

  nowMs += FREE_AFTER_MS + 1
  await database.query(sql`update number_salt set node = 2, kept_at = ${clock.now()} where salt = ${before}`)
  expect(() => suspended.next()).toThrow()
  await suspended.keep()
  expect(saltIn(suspended.next())).not.toBe(before)
})

test('the salt of a living node of the build before, which has it of its own number, is taken by nobody', async () => {
  await database.query(
    sql`insert into node (node, name, roles, started_at, heartbeat_at)
        values (${5 * 1024}, 'before', '{engine}', ${clock.now()}, ${clock.now()})`,
  )
  const all = await Promise.all([1, 2, 3].map(numbering))
  expect(all.map(each => saltIn(each.next())).toSorted()).toEqual([1, 2, 3])
})
