/**
 * A day of load in some minutes, on one node: as many operations as a fleet of ten thousand has in a day, evenly over the time, while
 * memory, the size of the hot tables and the time of answers are watched. The day lies over the end of a month: a new month takes what
 * ends, and one that is older than is kept goes. What is to stay flat is judged elsewhere.
 */
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { JobView } from '../../src/contract/job.ts'
import type { StubbornClient } from './client.ts'
import { type ChaosDatabase, startChaosDatabase } from './database.ts'
import { judgeDay, percentile, type Sample } from './day-judge.ts'
import { judgeMonths, jumpTo, type Months, monthsAround, rowsOf } from './months.ts'
import type { RunEnd } from './verdict.ts'
import { openWorld, type World } from './world.ts'

export interface DayOptions {
  readonly minutes: number
  readonly devices: number
  /** how many it has; what a fleet of ten thousand does in a day unless told */
  readonly operations?: number
  readonly tell: (line: string) => void
}

/** So many samples are taken over the day. */
const SAMPLES = 36
/** A day may take so many times as long as it was given. */
const LATE_MAX = 2
/** A client asks so often beside the load: what is timed does not wait for what it causes. */
const ASK_EVERY_MS = 100
const NAMES = ['REBOOT_EQUIPMENT', 'REFRESH_INFO', 'DISCOVER']
/** Of a fleet of ten thousand when each device has ten operations. */
const DAY_OPERATIONS = 100_000
/** Of the time in which jobs must follow each other. */
const SPREAD = 0.8
const ACK_MS = 20_000
const TIMEOUT_MS = 20_000
const KEPT_WITHIN_MS = 150_000
/** The month ends after so much of the day. */
const MONTH_ENDS_AFTER = 0.5
/** Runs the load. Answers what did not stay flat, and its figures. */
export async function runDay({ minutes, devices, operations = DAY_OPERATIONS, tell }: DayOptions): Promise<RunEnd> {
  const months = monthsAround(new Date())
  const world = await openWorld({
    seed: 1,
    nodes: 1,
    devices,
    broker: 'embedded',
    clockAt: months.old.startsAt,
    variables: { DROVER_RETENTION_MONTHS: '1', DROVER_LOG_LEVEL: 'info' },
    fleet: { latency: { shape: 'uniform', minMs: 0, maxMs: 200 }, fail: 0.01, silent: 0, duplicate: 0.01, late: 0 },
  })
  let beside: ChaosDatabase | undefined
  try {
    // Of its own, so that nothing that the service does to its database slows it.
    beside = await startChaosDatabase(path.join(world.folder, 'beside'))
    await followJob(world.parties[0].client, await makeJob(world.parties[0].client, NAMES[0]!))
    const old = await world.database.on(client => rowsOf(client, months.old))
    if (!old) throw new Error(`nothing ended in ${months.old.name}`)
    await jumpTo(world, new Date(months.next.startsAt.getTime() - MONTH_ENDS_AFTER * minutes * 60_000))
    const dayMs = minutes * 60_000
    const over = new AbortController()
    const load = createLoad(world, beside, { dayMs, devices, operations }, over.signal)
    const samples: Sample[] = []
    const startedAt = performance.now()
    // On a machine that others use it may be late: it is over when it has had its operations.
    for (let atMs = 0; atMs < dayMs || (load.operations() < operations && atMs < LATE_MAX * dayMs); ) {
      await sleep(dayMs / SAMPLES)
      world.events.length = 0
      atMs = performance.now() - startedAt
      const sample = await take(world, load, atMs)
      samples.push(sample)
      tell(JSON.stringify(sample))
    }
    over.abort()
    await load.ended
    tell(`${load.operations().toLocaleString('en')} operations in ${minutes} minutes`)
    const { wrong, figures } = judgeDay(samples, { asked: operations, done: load.operations(), tell })
    const ofMonths = await monthsOnceKept(world, months)
    tell(
      `${months.old.name} held ${old} operations and is to be gone, ${months.next.name} to have come: ${ofMonths.length === 0}`,
    )
    return { wrong: [...wrong, ...ofMonths], leftOut: [], figures }
  } finally {
    await beside?.stop()
    await world.close()
  }
}

/** What is wrong with the months, once the house was kept after the last of them began: it is each minute. */
async function monthsOnceKept(world: World, months: Months): Promise<string[]> {
  for (const until = Date.now() + KEPT_WITHIN_MS; ; await sleep(1_000)) {
    const wrong = await world.database.on(client => judgeMonths(client, months))
    if (wrong.length === 0 || Date.now() > until) return wrong
  }
}

async function makeJob(
  client: StubbornClient,
  name: string,
  append: Record<string, readonly string[]> = { tags: ['sim'] },
  schedule = {},
): Promise<string> {
  const request = {
    name,
    parameters: {},
    active: true,
    target: { append },
    schedule,
    operationParameters: { ackTimeout: ACK_MS, timeout: TIMEOUT_MS, retries: 2 },
  }
  const { body } = await client.call<JobView>('POST', '/north/v80/operation/jobs', { job: { request } })
  return body.id
}

/** Reads a job until it has ended, and answers how many operations it had. */
async function followJob(client: StubbornClient, id: string): Promise<number> {
  for (;;) {
    const { body } = await client.call<JobView>('GET', `/north/v80/operation/jobs/${id}`)
    const { summary, execution } = body.report
    if (summary.inProgress.total === 0 && execution.finishedDate !== '') return summary.total
    await sleep(100)
  }
}

const TIMED = ['read', 'create', 'commit'] as const
type Times = Readonly<Record<(typeof TIMED)[number], number[]>>

interface Load {
  readonly ended: Promise<unknown>
  operations(): number
  /** the times measured since the last call */
  times(): Times
}

/** A schedule whose launches are spread over so long: what is kept free for the last of them to finish comes on top. */
function spreadOver(ms: number) {
  const reserveMs = Math.min(ms, ACK_MS + TIMEOUT_MS)
  return { stop: { delayed: Math.round(ms + reserveMs) }, scattering: { maxSpread: 100 } }
}

interface Amount {
  readonly dayMs: number
  readonly devices: number
  readonly operations: number
}

function createLoad(world: World, beside: ChaosDatabase, amount: Amount, over: AbortSignal): Load {
  const { dayMs, devices } = amount
  const [{ client }, other] = world.parties
  const startedAt = performance.now()
  let operations = 0
  let times: Times = { read: [], create: [], commit: [] }

  async function timed<T>(what: keyof Times, work: () => Promise<T>): Promise<T> {
    const from = performance.now()
    const result = await work()
    times[what].push(performance.now() - from)
    return result
  }

  /** Jobs over the fleet, none before its time, each spread over most of what it may take where as many run as there are names. */
  async function jobAfterJob(name: string): Promise<void> {
    const schedule = spreadOver(((dayMs * devices) / amount.operations) * NAMES.length * SPREAD)
    while (!over.aborted) {
      const dueMs = (operations / amount.operations) * dayMs - (performance.now() - startedAt)
      const isDue = await sleep(Math.max(1, dueMs), true, { signal: over }).catch(() => false)
      if (!isDue) return
      const done = await followJob(client, await makeJob(client, name, { tags: ['sim'] }, schedule))
      // Others have added theirs meanwhile.
      operations += done
    }
  }

  /** What is timed, at a pace of its own: a job of one device, a look at it, and a commit on another server. */
  async function ask(): Promise<void> {
    await beside.on(async database => {
      await database.query('create table chaos_commit (made int)')
      for (let made = 0; !over.aborted; made += 1) {
        const { id: device } = other.devices[made % other.devices.length]!
        const job = await timed('create', () =>
          makeJob(other.client, NAMES[made % NAMES.length]!, { entities: [device] }),
        )
        await timed('read', () => other.client.call('GET', `/north/v80/operation/jobs/${job}`))
        await timed('commit', () => database.query('insert into chaos_commit values ($1)', [made]))
        await sleep(ASK_EVERY_MS, undefined, { signal: over }).catch(() => {})
      }
    })
  }

  return {
    ended: Promise.all([...NAMES.map(jobAfterJob), ask()]),
    operations: () => operations,
    times() {
      const taken = times
      times = { read: [], create: [], commit: [] }
      return taken
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
  const { read, create, commit } = load.times()
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
    commitMs: percentile(commit, 0.99),
  }
}
