/**
 * A day of load at the speed of the machine: jobs one after the other for so many minutes on one node, while its memory, the size of the
 * hot tables and the time of answers are watched. What grows with what is stored is told; what must stay flat is judged. The day lies
 * over the end of a month: a new month takes what ends, and one that is older than is kept goes.
 */
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { JobView } from '../../src/contract/job.ts'
import type { StubbornClient } from './client.ts'
import { judgeMonths, jumpTo, monthsAround, rowsOf } from './months.ts'
import type { RunEnd } from './verdict.ts'
import { openWorld, type World } from './world.ts'

export interface DayOptions {
  readonly minutes: number
  readonly devices: number
  readonly tell: (line: string) => void
}

interface Sample {
  readonly atMs: number
  readonly residentMb: number
  /** of what JavaScript holds, garbage that was not collected yet included */
  readonly heapMb: number
  readonly hotMb: number
  readonly deadRows: number
  readonly endedMb: number
  readonly operations: number
  /** 99th percentiles since the sample before, milliseconds */
  readonly readMs: number
  readonly createMs: number
}

const SAMPLE_EVERY_MS = 10_000
const AT_ONCE = 3
const NAMES = ['REBOOT_EQUIPMENT', 'REFRESH_INFO', 'DISCOVER']
/** What a fleet of ten thousand does in a day when each device has ten operations. */
const DAY_OPERATIONS = 100_000
/** From the first third to the last: more is growth, less is noise of a machine that others use too. */
const GROWTH_MAX = { residentMb: 1.3, heapMb: 1.3, hotMb: 1.5, deadRows: 2, readMs: 1.5, createMs: 1.5 } as const
/** The month ends after so much of the day. */
const MONTH_ENDS_AFTER = 0.4
/** Differences below these say nothing. */
const GRAIN = { residentMb: 60, heapMb: 40, hotMb: 10, deadRows: 20_000, readMs: 100, createMs: 200 } as const

/** Runs the load. Answers what did not stay flat, and its figures. */
export async function runDay({ minutes, devices, tell }: DayOptions): Promise<RunEnd> {
  const months = monthsAround(new Date())
  const world = await openWorld({
    seed: 1,
    nodes: 1,
    devices,
    broker: 'embedded',
    clockAt: months.old.startsAt,
    variables: { DROVER_RETENTION_MONTHS: '1' },
    fleet: { latency: { shape: 'uniform', minMs: 0, maxMs: 200 }, fail: 0.01, silent: 0, duplicate: 0.01, late: 0 },
  })
  try {
    await followJob(world.parties[0].client, await makeJob(world.parties[0].client, NAMES[0]!))
    const old = await world.database.on(client => rowsOf(client, months.old))
    if (!old) throw new Error(`nothing ended in ${months.old.name}`)
    await jumpTo(world, new Date(months.next.startsAt.getTime() - MONTH_ENDS_AFTER * minutes * 60_000))
    const over = AbortSignal.timeout(minutes * 60_000)
    const load = createLoad(world, over)
    const samples: Sample[] = []
    const startedAt = performance.now()
    while (!over.aborted) {
      await sleep(SAMPLE_EVERY_MS, undefined, { signal: over }).catch(() => {})
      world.events.length = 0
      const sample = await take(world, load, performance.now() - startedAt)
      samples.push(sample)
      tell(JSON.stringify(sample))
    }
    await load.ended
    const { wrong, figures } = summarize(samples, tell)
    const ofMonths = await world.database.on(client => judgeMonths(client, months))
    tell(
      `${months.old.name} held ${old} operations and is to be gone, ${months.next.name} to have come: ${ofMonths.length === 0}`,
    )
    return { wrong: [...wrong, ...ofMonths], leftOut: [], figures }
  } finally {
    await world.close()
  }
}

async function makeJob(client: StubbornClient, name: string): Promise<string> {
  const request = {
    name,
    parameters: {},
    active: true,
    target: { append: { tags: ['sim'] } },
    operationParameters: { ackTimeout: 20_000, timeout: 20_000, retries: 2 },
  }
  const { body } = await client.call<JobView>('POST', '/north/v80/operation/jobs', { job: { request } })
  return body.id
}

/** Reads a job until it has ended, and answers how many operations it had. */
async function followJob(
  client: StubbornClient,
  id: string,
  read: <T>(work: () => Promise<T>) => Promise<T> = work => work(),
): Promise<number> {
  for (;;) {
    const { body } = await read(() => client.call<JobView>('GET', `/north/v80/operation/jobs/${id}`))
    const { summary, execution } = body.report
    if (summary.inProgress.total === 0 && execution.finishedDate !== '') return summary.total
    await sleep(100)
  }
}

interface Load {
  readonly ended: Promise<unknown>
  operations(): number
  /** the times measured since the last call */
  times(): { readonly read: number[]; readonly create: number[] }
}

function createLoad(world: World, over: AbortSignal): Load {
  const { client } = world.parties[0]
  let operations = 0
  let read: number[] = []
  let create: number[] = []

  async function timed<T>(times: number[], work: () => Promise<T>): Promise<T> {
    const from = performance.now()
    const result = await work()
    times.push(performance.now() - from)
    return result
  }

  async function jobAfterJob(name: string): Promise<void> {
    while (!over.aborted) {
      const id = await timed(create, () => makeJob(client, name))
      operations += await followJob(client, id, work => timed(read, work))
    }
  }

  return {
    ended: Promise.all(NAMES.slice(0, AT_ONCE).map(jobAfterJob)),
    operations: () => operations,
    times() {
      const times = { read, create }
      read = []
      create = []
      return times
    },
  }
}

async function take(world: World, load: Load, atMs: number): Promise<Sample> {
  const status = await readFile(`/proc/${world.nodes[0]!.pid()}/status`, 'utf8')
  const [, kilobytes] = /VmRSS:\s*(\d+) kB/.exec(status) ?? []
  const { rows } = await world.database.on(client =>
    client.query<{ hot: number; ended: number; dead: number }>(
      `select coalesce(sum(pg_total_relation_size(c.oid)) filter (where c.relname !~ '^operation_ended'), 0)::float8 as hot,
              coalesce(sum(pg_total_relation_size(c.oid)) filter (where c.relname ~ '^operation_ended'), 0)::float8 as ended,
              coalesce(sum(s.n_dead_tup) filter (where c.relname !~ '^operation_ended'), 0)::float8 as dead
         from pg_class c left join pg_stat_user_tables s on s.relid = c.oid
        where c.relkind = 'r' and (c.relname ~ '^operation_' or c.relname in ('operation', 'presence', 'job_counter_delta')
           or c.relnamespace = to_regnamespace('pgboss'))`,
    ),
  )
  const metrics = await fetch(`${world.nodes[0]!.url}/metrics`).then(answer => answer.text())
  const [, heap] = /^nodejs_heap_size_used_bytes (\S+)$/m.exec(metrics) ?? []
  const { read, create } = load.times()
  const { hot, ended, dead } = rows[0]!
  return {
    atMs: Math.round(atMs),
    residentMb: Math.round(Number(kilobytes) / 1_024),
    heapMb: Math.round(Number(heap) / 1_000_000),
    hotMb: Math.round(hot / 100_000) / 10,
    deadRows: dead,
    endedMb: Math.round(ended / 1_000_000),
    operations: load.operations(),
    readMs: percentile(read, 0.99),
    createMs: percentile(create, 0.99),
  }
}

function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return Math.round(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0)
}

function summarize(samples: readonly Sample[], tell: (line: string) => void): RunEnd {
  const third = Math.floor(samples.length / 3)
  if (third === 0) return { wrong: ['the day was too short to tell'], leftOut: [], figures: {} }
  // The first samples see a process that is still warming up.
  const [first, last] = [samples.slice(1, third + 1), samples.slice(-third)]
  const { operations, atMs, endedMb } = samples.at(-1)!
  const days = operations / DAY_OPERATIONS
  tell(
    `${operations.toLocaleString('en')} operations in ${(atMs / 60_000).toFixed(1)} minutes: what ten thousand devices with ten operations a day ` +
      `do in ${days.toFixed(2)} days. Ended operations take ${endedMb} MB.`,
  )
  const figures: Record<string, unknown> = {
    operations,
    minutes: Math.round(atMs / 60_000),
    days: Math.round(days * 100) / 100,
    endedMb,
  }
  const wrong = (Object.keys(GROWTH_MAX) as (keyof typeof GROWTH_MAX)[]).flatMap(name => {
    const middle = (of: readonly Sample[]) =>
      percentile(
        of.map(sample => sample[name]),
        0.5,
      )
    const [before, after] = [middle(first), middle(last)]
    tell(`${name}: ${before} in the first third, ${after} in the last`)
    figures[name] = `${before} to ${after}`
    const grown = after > before * GROWTH_MAX[name] && after - before > GRAIN[name]
    return grown ? [`${name} grew from ${before} to ${after}`] : []
  })
  return { wrong, leftOut: [], figures }
}
