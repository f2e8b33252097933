/**
 * The tables of what is under way are empty one minute and full the next, and the server remembers the minute in which it counted them.
 * What is looked up there by key is looked up so even where the server believes that there is next to nothing to go through.
 */
import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { statements } from '../../src/store/statement.ts'
import { testDatabase } from '../database.ts'

const folder = path.join(import.meta.dirname, '..', '..', 'src', 'store')
for (const name of await readdir(folder)) if (name.endsWith('.ts')) await import(path.join(folder, name))

const { database } = await testDatabase({ max: 1 })

/** What is looked up in each table, in its index or behind it, where it is one row for one that is asked for. */
const KEYS: Readonly<Record<string, RegExp>> = {
  operation: /\bentity\b/,
  operation_detail: /\bentity\b/,
  operation_live: /\bentity\b/,
  operation_ready: /\b(place|entity)\b/,
  operation_timer: /\bdue_at\b/,
}

/** Go through all of a job on purpose, once: nothing is joined with what they find but by key. */
const OF_WHOLE_JOBS = new Set([
  'claims_clear_ready',
  'counters_recount',
  'job_insight_steps',
  // those of a job that has only a few, when an engine starts
  'jobs_waiting_for_somebody',
  // only whether there is any
  'launch_gate_jobs_in_line',
  'operation_cancels_any_open',
  'operation_timers_next',
  // the operations of a job that wait, when its gate opens
  'operation_waking_wake',
  'targets_rank_by_hash',
  'targets_rank_cleared_by_hash',
  'targets_rank_by_strategy',
  'targets_rank_cleared_by_strategy',
  'targets_take_back',
])
/** Go through some partitions on purpose, where nothing better is to be had. */
const OF_PARTITIONS = new Set([
  // only where partitions are claimed one by one, as of a distributed table
  'claims_claim_of_partition',
  // a chunk at a time, each from where the last one ended
  'operation_cancels_end_of_job',
])
/** The timer of one operation, for somebody who asks why it stands still. */
const LOOKS_FOR_ONE = 'operation_explaining_retry'
/** What clients read is left to the planner, who may hash a table where it seems small. */
const READ_BY_CLIENTS = 'operation_reading_'
const growsOnPurpose = (name: string) =>
  OF_WHOLE_JOBS.has(name) ||
  OF_PARTITIONS.has(name) ||
  name === LOOKS_FOR_ONE ||
  name.startsWith(READ_BY_CLIENTS) ||
  name.startsWith('closing_') ||
  name.startsWith('verifying_')

interface PlanNode {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Index Cond'?: string
  readonly 'TID Cond'?: string
  readonly Plans?: readonly PlanNode[]
}

/** Scans that would grow with their table. */
function growing(node: PlanNode): string[] {
  const { 'Node Type': kind, 'Relation Name': table, 'Index Cond': condition = '', 'TID Cond': place } = node
  const key = table === undefined || kind === 'ModifyTable' || place !== undefined ? undefined : KEYS[table]
  const own = key === undefined || key.test(condition) ? [] : [`${kind} of ${table} by (${condition})`]
  return [...own, ...(node.Plans ?? []).flatMap(growing)]
}

const underWay = statements.filter(({ text }) =>
  Object.keys(KEYS).some(table => new RegExp(`\\b(from|join|update|using) ${table}\\b`).test(text)),
)

/** Rows as many as fill pages, which then are counted as empty. */
beforeAll(async () => {
  const keys = 'select 1, i % 256, i from generate_series(1, 2000) i'
  for (const text of [
    `insert into operation (job, partition, entity) ${keys}`,
    `insert into operation_detail (job, partition, entity) ${keys}`,
    `insert into operation_live (job, partition, entity, name) select *, 'REBOOT_EQUIPMENT' from (${keys}) k`,
    `insert into operation_ready (job, partition, entity, place) select *, 1 from (${keys}) k`,
    `insert into operation_timer (due_at, duty, jobs, partitions, entities)
     select now(), 'retry', '{1}', '{1}', '{1}' from generate_series(1, 2000)`,
    ...Object.keys(KEYS).map(table => `delete from ${table}`),
    `vacuum (analyze, truncate false) ${Object.keys(KEYS).join(', ')}`,
  ])
    await database.executeSql(text)
})

test('the server believes the tables to be empty, and to have pages', async () => {
  const { rows } = await database.executeSql(
    'select relname from pg_class where relname = any($1) and reltuples = 0 and relpages > 0',
    [Object.keys(KEYS)],
  )
  expect(rows).toHaveLength(Object.keys(KEYS).length)
})

test.each(underWay.filter(({ name }) => !growsOnPurpose(name)))(
  '$name looks up what it is asked for',
  async ({ text }) => {
    const explain = `explain (generic_plan, format json) ${text}`
    const { rows } = await database.transaction(tx => tx.executeSql(explain), { byKey: true })
    const [{ Plan: plan }] = rows[0]!['QUERY PLAN'] as [{ Plan: PlanNode }]
    expect(growing(plan)).toEqual([])
  },
)

test.each([...OF_WHOLE_JOBS, ...OF_PARTITIONS, LOOKS_FOR_ONE])('%s is still there to go through more', name => {
  expect(underWay.map(each => each.name)).toContain(name)
})
