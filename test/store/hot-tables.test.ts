import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { sql, statements } from '../../src/store/statement.ts'
import { testDatabase } from '../database.ts'

const folder = path.join(import.meta.dirname, '..', '..', 'src', 'store')
for (const name of await readdir(folder)) if (name.endsWith('.ts')) await import(path.join(folder, name))

const { database } = await testDatabase({ max: 1 })

/** The tables that would be distributed by partition over many machines; all others stay on one. */
const HOT = (
  await database.query<{ name: string }>(sql`
    select c.relname as name from pg_class c join pg_index i on i.indrelid = c.oid and i.indisprimary
      join pg_attribute a on a.attrelid = c.oid and a.attname = 'partition' and a.attnum = any(i.indkey)
     where c.relnamespace = 'public'::regnamespace and not c.relispartition order by 1`)
).map(({ name }) => name)

/** Statements that look at all partitions of a job, an organization or a node on purpose. None but what is said beside it runs once per batch of messages. */
const OVER_ALL_PARTITIONS = new Set([
  // claims_claim_of_partition takes its place where partitions are asked one by one
  'claims_claim',
  'launch_gate_jobs_in_line',
  'claims_first_ready',
  'claims_clear_ready',
  'claims_clear_ready_chunk',
  // what a device carries is anywhere; runs when a device has moved to another cell
  'collected_spread_cells',
  'counters_recount',
  // a message shows a device's id or key and nothing of its organization; both run once per batch of messages
  'device_keys_own',
  'device_names_by_id',
  'ended_operations_count_results',
  'former_entities_forget',
  'job_insight_failures',
  'job_insight_steps',
  // once, before a month is let go
  'months_open_jobs',
  'operation_cancels_any_open',
  // what a device carries is anywhere; runs once per batch of devices that come or go
  'operation_devices_live',
  // the same of devices that are given an address, or began to wait just then
  'operation_waking_of_devices',
  'presence_end_silent_calls',
  'presence_forget_called',
  'presence_forget_nodes',
  // the places of a job, given once, when it starts
  'targets_rank_by_hash',
  'targets_rank_cleared_by_hash',
  // the entities of a tag are anywhere; once, when a tag is taken out of a job
  'targets_remove_tagged',
  'targets_some_entities',
  'targets_take_back',
])
const isOverAll = (name: string) =>
  OVER_ALL_PARTITIONS.has(name) || name.startsWith('closing_') || name.startsWith('verifying_')

/** Inserts of what is new, which can be joined with nothing that is there. */
const NOTHING_TO_JOIN = new Set(['entities_insert', 'presence_record', 'carried_remember'])

const flat = (text: string) => text.replace(/--.*$/gm, '').replace(/\s+/g, ' ')
const hotTablesIn = (text: string) =>
  HOT.filter(table => new RegExp(`\\b(from|join|into|update|using|delete from) ${table}\\b`).test(text))
const AFTER_TABLE = new Set([
  'where',
  'set',
  'order',
  'on',
  'using',
  'join',
  'left',
  'cross',
  'select',
  'values',
  'limit',
])

/** Whether a partition, of the table of that name or of any, is compared with something: alone, in a row, or by `using`. */
function comparesPartition(text: string, name?: string): boolean {
  const column = name === undefined ? '(?:\\w+\\.)?partition\\b' : `\\b${name}\\.partition\\b`
  const row = `\\([^()]*${column}[^()]*\\)`
  const using = '(?:join|using) [^()]*using \\([^()]*\\bpartition\\b[^()]*\\)'
  return new RegExp(`(?:${column}|${row}) (?:=|in\\b|between\\b)|(?:=|in) (?:${column}|${row})|${using}`).test(text)
}

/**
 * Whether each use of a table is bound to its partition: what is inserted names it among its columns, all else compares it, under the name
 * that the table has in the statement. To read it or to order by it is not enough.
 */
function namesPartition(text: string, table: string): boolean {
  const uses = new RegExp(`\\b(from|join|into|update|using) ${table}\\b(?: as)?(?: (\\w+))?( \\([^()]*\\))?`, 'g')
  return [...text.matchAll(uses)].every(([, verb, word, columns]) => {
    if (verb === 'into') return /\bpartition\b/.test(columns ?? '')
    return comparesPartition(text, word === undefined || AFTER_TABLE.has(word) ? undefined : word)
  })
}

const hotStatements = statements
  .map(({ name, text }) => ({ name, text: flat(text) }))
  .filter(({ text }) => hotTablesIn(text).length > 0)

/** Composed where they are asked: what a client selects, counts and plans is of all partitions, and not of the hot path. */
const COMPOSED_OVER_ALL = new Set(['selected-entities.ts', 'target-counting.ts'])

/** The statements of a file that are composed as they are asked, with the pieces of the same file in their places. */
function composedIn(source: string): string[] {
  const pieces = new Map(
    [...source.matchAll(/const (\w+) = sql`([^`]*)`/g)].map(([, name, text]) => [name!, text!] as const),
  )
  return [...source.matchAll(/\bsql`([^`]*)`/g)].map(([, text]) =>
    flat(text!.replaceAll(/\$\{(\w+)\}/g, (whole, name: string) => pieces.get(name) ?? whole)),
  )
}

const composed = (
  await Promise.all(
    (
      await readdir(folder)
    ).map(async file => composedIn(await readFile(path.join(folder, file), 'utf8')).map(text => ({ file, text }))),
  )
)
  .flat()
  .filter(({ text }) => hotTablesIn(text).length > 0)

const rowsOf = async (text: string) => (await database.executeSql(text, [HOT])).rows

describe('a hot table', () => {
  test('is one with the partition in its key, and every table of operations is', async () => {
    expect(HOT).toContain('entity')
    const { rows } = await database.executeSql(`
      select relname as name from pg_class
       where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
         and relname ~ '^operation(_|$)' and relname not in ('operation_timer', 'operation_type')`)
    expect(rows.map(({ name }) => name).filter(name => !HOT.includes(String(name)))).toEqual([])
  })

  test('has the partition in every primary key and unique index', async () => {
    const without = await rowsOf(`
      select i.indexrelid::regclass::text as index from pg_index i
       where i.indrelid = any($1::regclass[]) and i.indisunique
         and not exists (select from pg_attribute a
                          where a.attrelid = i.indrelid and a.attnum = any(i.indkey) and a.attname = 'partition')`)
    expect(without).toEqual([])
  })

  test('has no trigger and no foreign key', async () => {
    expect(
      await rowsOf('select tgname from pg_trigger where tgrelid = any($1::regclass[]) and not tgisinternal'),
    ).toEqual([])
    expect(
      await rowsOf("select conname from pg_constraint where conrelid = any($1::regclass[]) and contype = 'f'"),
    ).toEqual([])
  })

  test('is partitioned on one level at most', async () => {
    const nested = await rowsOf(`
      select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
       where i.inhparent = any($1::regclass[]) and c.relkind = 'p'`)
    expect(nested).toEqual([])
  })

  test('has no index on what a transition changes, where operations are open', async () => {
    const { rows } = await database.executeSql(`
      select a.attname as column from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any(i.indkey)
       where i.indrelid = 'operation'::regclass group by 1 order by 1`)
    expect(rows.map(row => row.column)).toEqual(['entity', 'job', 'partition'])
  })
})

describe('a change of tables while the service runs', () => {
  test('is one statement in each call', async () => {
    const texts: string[] = []
    for (const file of await readdir(folder, { recursive: true })) {
      if (!file.endsWith('.ts')) continue
      const source = await readFile(path.join(folder, file), 'utf8')
      for (const [, text] of source.matchAll(/\bexecuteSql\(\s*[`'"]([^`'"]*)[`'"]/g)) texts.push(text!)
    }
    const changes = texts.filter(text => /\b(create|alter|drop|lock) /.test(text))
    expect(changes.length).toBeGreaterThan(0)
    expect(changes.filter(text => /;\s*\S/.test(text))).toEqual([])
  })
})

describe('a statement on hot tables', () => {
  test('there are some', () => {
    expect(hotStatements.length).toBeGreaterThan(20)
  })

  test.each([
    ['reads it', 'select o.partition from operation o where o.job = $1'],
    ['returns it', 'update operation o set attempt = 1 where o.job = $1 returning o.*'],
    ['orders by it', 'delete from operation_ready r where r.job = any(array(select job from k order by partition))'],
    ['compares that of another', 'select from operation o join entity e on e.partition = $1 and e.entity = o.entity'],
    [
      'inserts without it',
      'insert into operation_ready (job, place) select job, partition from k where k.partition = $1',
    ],
  ])('does not name the partition where it only %s', (_, text) => {
    expect(hotTablesIn(text).some(table => !namesPartition(text, table))).toBe(true)
  })

  test('names the partition also where it is composed as it is asked, as a target is resolved', () => {
    expect(composed.some(({ text }) => text.includes('insert into operation ('))).toBe(true)
    const without = composed.filter(
      ({ file, text }) => !COMPOSED_OVER_ALL.has(file) && hotTablesIn(text).some(table => !namesPartition(text, table)),
    )
    expect(without).toEqual([])
  })

  test('is meant for all partitions only where it still is there', () => {
    const names = new Set(statements.map(({ name }) => name))
    expect([...OVER_ALL_PARTITIONS, ...NOTHING_TO_JOIN].filter(name => !names.has(name))).toEqual([])
    expect([...COMPOSED_OVER_ALL].filter(file => !composed.some(each => each.file === file))).toEqual([])
  })

  test('names the partition of each of them, unless it is meant for all', () => {
    const without = hotStatements.filter(
      ({ name, text }) => !isOverAll(name) && hotTablesIn(text).some(table => !namesPartition(text, table)),
    )
    expect(without.map(({ name }) => name)).toEqual([])
  })

  test('merges nothing, and calls nothing that answers differently each time', () => {
    const wrong = hotStatements.filter(({ text }) =>
      /\bmerge into\b|\b(random|now|clock_timestamp|nextval|gen_random_uuid)\(/i.test(text),
    )
    expect(wrong.map(({ name }) => name)).toEqual([])
  })

  test('inserts from arrays only joined with what is there', () => {
    const bare = hotStatements.filter(
      ({ name, text }) =>
        !NOTHING_TO_JOIN.has(name) &&
        HOT.some(table => new RegExp(`insert into ${table}\\b`).test(text)) &&
        /\bfrom unnest\b/.test(text) &&
        !/\bjoin\b|\busing\b/.test(text),
    )
    expect(bare.map(({ name }) => name)).toEqual([])
  })

  test('never writes a job', () => {
    const writing = hotStatements.filter(
      ({ name, text }) => !isOverAll(name) && /\b(update|insert into|delete from) job\b/.test(text),
    )
    expect(writing.map(({ name }) => name)).toEqual([])
  })

  test('claims by row identity, so that the locking select runs once', () => {
    const locking = hotStatements.filter(({ text }) => /for update skip locked/.test(text))
    expect(locking.length).toBeGreaterThan(0)
    for (const { name, text } of locking) expect(text, name).toMatch(/ctid = any\(array\(/)
  })
})
