import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Ranked, rankPlaces, scatterHash } from '../../src/domain/scattering-rank.ts'
import { rankPlacesSql, scatterHashSql } from '../../src/store/scattering-rank.ts'
import { sql } from '../../src/store/statement.ts'
import { testDatabase } from '../database.ts'

// Only the columns that the ranking reads: it is held to them, not to the rest of the schema.
const { database } = await testDatabase({ migrated: false, statementTimeoutMs: 600_000 })
await database.query(sql`create table operation (job bigint, partition smallint, entity bigint)`)
await database.query(sql`create table entity (partition smallint, entity bigint, cell_info text)`)

/** `DROVER_TEST_TARGET` says how many are ranked by a strategy. */
const RANKED = Number(process.env.DROVER_TEST_TARGET ?? 10_000)
const largest = 2n ** 63n - 1n
const number = fc.oneof(fc.bigInt({ min: 0n, max: 5n }), fc.bigInt({ min: 0n, max: largest }), fc.constant(largest))

async function placesInDatabase(rows: readonly Ranked[], job: bigint, factor: number | null) {
  const ids = rows.map(row => row.entity)
  await database.query(sql`truncate operation, entity`)
  await database.query(sql`
    insert into entity select entity % 256, entity, cell
    from unnest(${ids}::int8[], ${rows.map(row => row.group)}::text[]) as given (entity, cell)`)
  await database.query(sql`
    insert into operation select j.job, e.partition, e.entity from entity e, (values (${job}::int8), (${job - 1n}::int8)) as j (job)`)
  const params = factor === null ? [job] : [job, factor]
  const { rows: ranked } = await database.executeSql(rankPlacesSql(factor !== null), params)
  return new Map(ranked.map(row => [row.entity as bigint, Number(row.place)]))
}

describe('the ranking statement', () => {
  test('hashes exactly as the domain does, over all 63 bits', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(number, number), { minLength: 1, maxLength: 200 }), async pairs => {
        const { rows } = await database.executeSql(
          `select ${scatterHashSql('p.job', 'p.entity')} as hash
          from unnest($1::int8[], $2::int8[]) with ordinality as p (job, entity, nr) order by nr`,
          [pairs.map(([job]) => job), pairs.map(([, entity]) => entity)],
        )
        expect(rows.map(row => Number(row.hash))).toEqual(pairs.map(([job, entity]) => scatterHash(job, entity)))
      }),
      { numRuns: 30 },
    )
  })

  test('gives every operation of the job the place that the definition gives it', async () => {
    const group = fc.oneof(fc.constantFrom('a', 'B', 'b', 'ä', '', '\u{1F600}', '\uFFFD'), fc.constant(null))
    const rows = fc.uniqueArray(fc.record({ entity: number, group }), { selector: row => row.entity, maxLength: 80 })
    await fc.assert(
      fc.asyncProperty(
        rows,
        fc.bigInt({ min: 1n, max: largest }),
        fc.option(fc.integer({ min: 0, max: 100 })),
        async (given, job, factor) => {
          expect(await placesInDatabase(given, job, factor)).toEqual(rankPlaces(given, job, factor))
        },
      ),
      { numRuns: 60 },
    )
  })

  test(`agrees with the definition on ${RANKED} operations in uneven groups`, { timeout: 900_000 }, async () => {
    const given = Array.from({ length: RANKED }, (_, index) => ({
      entity: BigInt(index + 1),
      group: index % 7 === 0 ? null : `cell ${Math.floor(Math.sqrt(index))}`,
    }))
    // Of very many one factor shows it.
    for (const factor of RANKED > 100_000 ? [37] : [null, 0, 37, 100]) {
      const places = await placesInDatabase(given, 99n, factor)
      const defined = rankPlaces(given, 99n, factor)
      expect(places.size).toBe(RANKED)
      expect([...defined].filter(([entity, place]) => places.get(entity) !== place).slice(0, 5)).toEqual([])
    }
  })

  test('sorts once without a strategy, and twice with one', async () => {
    for (const [strategy, params, sorts] of [
      [false, [5n], 1],
      [true, [5n, 50], 2],
    ] as const) {
      const { rows } = await database.executeSql(`explain (format json) ${rankPlacesSql(strategy)}`, [...params])
      const [{ Plan: plan }] = rows[0]!['QUERY PLAN'] as [{ Plan: PlanNode }]
      expect(sortsForWindows(plan)).toBe(sorts)
    }
  })
})

type PlanNode = { 'Node Type': string; Plans?: PlanNode[] }

/** Sorts that feed a window function; one that serves a merge join depends on the size of the tables. */
function sortsForWindows({ 'Node Type': type, Plans: below = [] }: PlanNode): number {
  const here = type === 'WindowAgg' ? below.filter(node => node['Node Type'].endsWith('Sort')).length : 0
  return below.reduce((sum, node) => sum + sortsForWindows(node), here)
}
