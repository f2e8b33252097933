/** How many wrong passwords may be tried, whichever node is asked. */
import { expect, test } from 'vitest'
import { DroverError } from '../../src/domain/errors.ts'
import { createHousekeeping } from '../../src/engine/housekeeper.ts'
import { createLoginBudget } from '../../src/engine/login-budget.ts'
import { createSeal } from '../../src/engine/secret.ts'
import { sql } from '../../src/store/statement.ts'
import { silentLog, testDatabase } from '../database.ts'

const { database } = await testDatabase({ max: 8 })
const seal = createSeal('the secret that every node is given')
let nowMs = Date.parse('2026-11-21T10:00:00Z')
const node = () => createLoginBudget(database, seal, () => new Date(nowMs))
const nodes = [node(), node()]

const wrong = async () => false
const right = async () => true

/** What comes of tries made at once, one node after the other: how many were checked, and how long the others are to wait. */
async function tryAll(tries: readonly { email: string; address: string }[], check = wrong) {
  let checked = 0
  const waitsMs: number[] = []
  await Promise.all(
    tries.map(async ({ email, address }, index) => {
      try {
        await nodes[index % 2]!.spend(email, address, () => {
          checked += 1
          return check()
        })
      } catch (error) {
        if (!(error instanceof DroverError) || error.entry.kind !== 'tooMany') throw error
        waitsMs.push(error.retryAfterMs!)
      }
    }),
  )
  return { checked, waitsMs }
}

const many = <T>(count: number, make: (index: number) => T) => Array.from({ length: count }, (_, index) => make(index))

test('an account has one budget over all nodes, however many ask at once and from wherever', async () => {
  const { checked, waitsMs } = await tryAll(
    many(40, index => ({ email: index % 3 ? 'a@example.com' : 'A@EXAMPLE.com', address: `198.51.100.${index}` })),
  )
  expect(checked).toBe(10)
  expect(new Set(waitsMs)).toEqual(new Set([15_000]))
})

test('an address has one budget over all nodes, for whatever accounts; of IPv6 its network has', async () => {
  const from = (address: (index: number) => string, domain: string) =>
    tryAll(many(80, index => ({ email: `n${index}@${domain}`, address: address(index) })))
  expect((await from(() => '203.0.113.7', 'four.example')).checked).toBe(50)
  expect((await from(index => `2001:db8:1:2::${index.toString(16)}`, 'six.example')).checked).toBe(50)
  expect((await from(index => `::ffff:192.0.2.${index}`, 'mapped.example')).checked).toBe(80)
})

test('a node that starts knows what was used up before, and what comes back with time', async () => {
  const account = { email: 'restart@example.com', address: '192.0.2.1' }
  expect((await tryAll(many(10, () => account))).checked).toBe(10)
  await expect(node().spend(account.email, account.address, right)).rejects.toThrow('Too many failed logins.')
  nowMs += 15_000
  expect(await node().spend(account.email, account.address, wrong)).toBe(false)
  await expect(node().spend(account.email, account.address, right)).rejects.toThrow('Too many failed logins.')
})

test('a right password costs nothing', async () => {
  for (let times = 0; times < 6; times += 1) {
    const { checked } = await tryAll(
      many(8, () => ({ email: 'right@example.com', address: '192.0.2.9' })),
      right,
    )
    expect(checked).toBe(8)
  }
})

test('a check that fails of itself costs nothing', async () => {
  const fails = async () => {
    throw new Error('no room')
  }
  for (let times = 0; times < 12; times += 1) {
    await expect(node().spend('busy@example.com', '192.0.2.10', fails)).rejects.toThrow('no room')
  }
})

test('nothing that was typed is kept to be read, and what is rested is forgotten', async () => {
  await tryAll([{ email: 'my password, typed into the wrong field', address: '192.0.2.20' }])
  const kept = await database.query<{ key: Buffer }>(sql`select key from login_budget`)
  expect(kept.length).toBeGreaterThan(0)
  expect(kept.every(({ key }) => key.length === 32)).toBe(true)

  const retention = { retentionMonths: null, deliveryRetentionMs: 86_400_000, callMs: 86_400_000 }
  const keep = createHousekeeping(database, retention, silentLog)
  nowMs += 1_000
  await keep(new Date(nowMs), new AbortController().signal)
  const before = await database.query<{ rested: boolean }>(
    sql`select rested_at <= ${new Date(nowMs)} as rested from login_budget`,
  )
  expect(before.length).toBeGreaterThan(0)
  expect(before.some(({ rested }) => rested)).toBe(false)
  nowMs += 200_000
  await keep(new Date(nowMs), new AbortController().signal)
  expect(await database.query(sql`select 1 from login_budget`)).toEqual([])
})
