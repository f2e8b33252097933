/**
 * The same job with one engine and with two, each a process of its own, on one database: what a second node costs where it brings no
 * second machine, and that none loses an operation or does one twice.
 */
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Child, startChild } from '../src/cli/processes/child.ts'
import type { Database } from '../src/store/database.ts'
import { sql } from '../src/store/statement.ts'
import { assertExact, benchEngine, provisionBench } from './bench-engine.ts'
import type { Measurement } from './figures.ts'
import { onDatabase } from './lifecycle.ts'

const WITHIN_MS = 300_000
const PARENT_NODE = 99

export function nodes(operations = 50_000): Measurement {
  return {
    name: 'nodes',
    about: `${operations.toLocaleString('en')} operations of one job with one engine process and with two on one database; a run counts only where every operation was successful and the counters equal a recount of the rows; lost are those that no device was asked for, doubled those that one was asked for twice`,
    targets: { 'two / one': { least: 0.9 }, lost: { most: 0 }, doubled: { most: 0 } },
    async run() {
      const one = await onDatabase(({ database, postgres }) => runWith(1, database, postgres.url, operations))
      const two = await onDatabase(({ database, postgres }) => runWith(2, database, postgres.url, operations))
      return {
        'one, operations/s': one.perSecond,
        'two, operations/s': two.perSecond,
        'two / one': two.perSecond / one.perSecond,
        lost: one.lost + two.lost,
        doubled: one.doubled + two.doubled,
        'share of the smaller of two': Math.min(...two.shares),
      }
    },
  }
}

async function runWith(count: number, database: Database, url: string, operations: number) {
  const organization = await provisionBench(database, operations)
  const children: Child[] = []
  try {
    for (let node = 1; node <= count; node += 1) {
      const child = startChild(path.join(import.meta.dirname, 'engine-process.ts'), [url, String(node)])
      children.push(child)
      await child.line(line => line.ready === true, 60_000)
    }
    const { createJob } = benchEngine(database, PARENT_NODE)
    const startedAt = performance.now()
    const job = await createJob(organization)
    await untilEnded(database, job, startedAt + WITHIN_MS)
    const perSecond = (operations / (performance.now() - startedAt)) * 1000
    const sent = await Promise.all(children.map(sentBy))
    await assertExact(database, job, operations)
    const times = new Map<string, number>()
    for (const [id, often] of sent.flat()) times.set(id, (times.get(id) ?? 0) + often)
    return {
      perSecond,
      lost: operations - times.size,
      doubled: [...times.values()].filter(often => often > 1).length,
      shares: sent.map(each => each.length / operations),
    }
  } finally {
    for (const child of children) await child.end(10_000)
  }
}

async function sentBy(child: Child): Promise<[string, number][]> {
  child.process.stdin?.end()
  const { sent } = await child.line(line => 'sent' in line, 60_000)
  return sent as [string, number][]
}

async function untilEnded(database: Database, job: bigint, until: number): Promise<void> {
  for (;;) {
    const [row] = await database.query<{ ended: boolean }>(sql`
      select finished_at is not null as ended from job where job = ${job}`)
    if (row!.ended) return
    if (performance.now() > until) throw new Error('the job does not end')
    await sleep(20)
  }
}
