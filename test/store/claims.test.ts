/** Of a large job as much is read as is asked for, by a claim and by a look over the partitions before it. */
import { expect, test } from 'vitest'
import { claimReady, type LookWish, lookAtReady } from '../../src/store/claims.ts'
import { testDatabase } from '../database.ts'
import { rowsRead } from './rows-read.ts'

const { database } = await testDatabase({ max: 2 })
const LARGE = 50_000
const MINE = [3, 40, 77, 200]

// A large job and a hundred of one operation, all over the partitions.
await database.executeSql(
  `insert into operation_ready (job, place, partition, entity)
   select 1, i, i * 37 % 256, i from generate_series(1, $1::int) i
   union all select 1 + i, 1, i * 37 % 256, i from generate_series(1, 100) i`,
  [LARGE],
)
await database.executeSql('analyze operation_ready')

const wish = (job: bigint, quota: number, change: Partial<LookWish> = {}): LookWish => ({
  job,
  quota,
  lanes: [
    { low: 0, reached: 1 },
    { low: 1, reached: LARGE + 1 },
  ],
  lows: new Map(),
  inOrderFrom: 1,
  ...change,
})
const countOf = (seen: readonly { count: number }[]) => seen.reduce((sum, { count }) => sum + count, 0)

test('a look sees the next of each job, where they lie, and none that lie elsewhere', async () => {
  const seen = await lookAtReady(database, [wish(1n, 10), wish(2n, 10), wish(3n, 10)], null)
  expect(
    seen
      .filter(({ job }) => job === 1n)
      .map(({ partition }) => partition)
      .sort(),
  ).toEqual(Array.from({ length: 10 }, (_, i) => ((i + 1) * 37) % 256).sort())
  expect(countOf(seen)).toBe(12)
  const ofMine = await lookAtReady(database, [wish(1n, 10), wish(2n, 10)], MINE)
  expect(ofMine.every(({ job, partition }) => job === 1n && MINE.includes(partition))).toBe(true)
  expect(countOf(ofMine)).toBe(10)
})

test('a look passes over what lies below the place claimed last of a partition, from where the order of places begins', async () => {
  const [first] = await lookAtReady(database, [wish(1n, 1)], [3])
  const place = (3 * 173) % 256
  expect(first).toEqual({ job: 1n, partition: 3, count: 1 })
  const lows = new Map([[3, LARGE + 1]])
  expect(await lookAtReady(database, [wish(1n, 5, { lows })], [3])).toEqual([])
  expect(countOf(await lookAtReady(database, [wish(1n, 5, { lows })], [3, 40]))).toBe(5)
  const overdue = await lookAtReady(database, [wish(1n, 5, { lows, inOrderFrom: place + 257 })], [3])
  expect(countOf(overdue)).toBeGreaterThan(0)
})

test('a look at a large job beside small ones reads what it asks for, of all partitions and of a share', async () => {
  const params = (partitions: number[] | null) => {
    const wishes = [wish(1n, 100), ...Array.from({ length: 100 }, (_, i) => wish(BigInt(i + 2), 5))]
    return [
      wishes.map(({ job }) => job),
      wishes.map(({ quota }) => quota),
      ...[0, 1, 2].flatMap(lane => [
        wishes.map(({ lanes }) => lanes[lane]?.low ?? 0),
        wishes.map(({ lanes }) => lanes[lane]?.reached ?? 0),
      ]),
      wishes.map(({ inOrderFrom }) => inOrderFrom),
      wishes.map(() => '{}'),
      partitions,
    ]
  }
  expect(await rowsRead(database, 'claims_look', params(null))).toBeLessThanOrEqual(200 + 10)
  // Of four partitions in 256 each 64th is theirs.
  expect(await rowsRead(database, 'claims_look', params(MINE))).toBeLessThanOrEqual(2 * 64 * 100)
})

test('a claim takes the next of each job, and of one partition only where it is told so', async () => {
  const none = new Error('taken back')
  const back = database.transaction(async tx => {
    const all = await claimReady(tx, [wish(1n, 3), wish(2n, 3)], null)
    expect(all.map(({ job, place }) => [job, place]).sort()).toEqual([
      [1n, 1],
      [1n, 2],
      [1n, 3],
      [2n, 1],
    ])
    const ofOne = await claimReady(tx, [wish(1n, 3), wish(3n, 3)], 74)
    expect(ofOne.map(({ job, partition }) => [job, partition])).toEqual([
      [1n, 74],
      [1n, 74],
      [1n, 74],
      [3n, 74],
    ])
    throw none
  })
  await expect(back).rejects.toBe(none)
})
