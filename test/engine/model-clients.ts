/**
 * The clients of the model test that are told of their jobs: the service's own deliveries on its own queue, and receivers that refuse
 * now and then, or hear and are cut off. It judges by what was heard. Refuses to know devices.
 */
import { jobId } from '../../src/domain/identity.ts'
import { createDeliveryEnqueuer } from '../../src/engine/deliveries.ts'
import { createDeliveryWorker } from '../../src/engine/delivery-worker.ts'
import type { Database, Queryable } from '../../src/store/database.ts'
import { openDeliveryQueue } from '../../src/store/delivery-queue.ts'
import { sql } from '../../src/store/statement.ts'
import { silentLog } from '../database.ts'
import type { VirtualClock } from '../virtual-clock.ts'
import type { Chance } from './model-chance.ts'
import type { Tell, Workbench } from './workbench.ts'

/** Where jobs are told that have a receiver. */
export const RECEIVER = 'http://receiver.invalid/told'

/** A notification as a receiver got it. */
interface Heard {
  readonly event: string
  readonly body: string
  readonly taken: boolean
}

/** What of a process makes deliveries and carries them out. */
export interface Desk {
  readonly tell: Tell
  /** Delivers what is due, until there is nothing more to attempt. */
  deliver(): Promise<void>
  /** Takes back what a process that died had claimed, as it does once that is old. */
  recover(): Promise<void>
  close(): Promise<void>
}

export interface ModelClientsParts {
  readonly database: Database
  readonly clock: VirtualClock
  readonly chance: Chance
}

export type ModelClients = ReturnType<typeof createModelClients>

export function createModelClients({ database, clock, chance }: ModelClientsParts) {
  const heard = new Map<bigint, Heard[]>()
  let attempts = 0
  let calm = false

  /** What a receiver answers, and whether it heard at all. */
  function receive(job: bigint, event: string, body: string) {
    attempts += 1
    const told = heard.get(job) ?? []
    const odds = calm ? 1 : chance('hear', String(job), event, told.length, attempts)
    if (odds < 0.2) return { taken: false, status: 503, error: 'busy' } as const
    heard.set(job, [...told, { event, body, taken: odds >= 0.35 }])
    return odds < 0.35 ? ({ taken: false, error: 'cut off' } as const) : ({ taken: true, status: 200 } as const)
  }

  /** The queue goes by the database's clock: here its pauses are over when time goes on. */
  const endPauses = () =>
    database.executeSql(`update pgboss.job set start_after = now() where state in ('created', 'retry')`)

  return {
    async open(bench: Workbench): Promise<Desk> {
      const queue = await openDeliveryQueue({
        database: bench.database,
        log: silentLog,
        supervise: false,
        pauses: { firstMs: 1_000, longestMs: 1_000 },
      })
      const enqueuer = createDeliveryEnqueuer({ queue, mailHost: null, trapHost: null })
      const worker = createDeliveryWorker({
        database: bench.database,
        queue,
        clock,
        log: silentLog,
        senders: { callback: ({ job, event, body }) => Promise.resolve(receive(job, event, body)) },
        readOperations: async () => ({ page: { number: 1, of: 1 }, operations: [] }),
        giveUpAfterMs: 24 * 3_600_000,
      })
      return {
        tell: (tx, kind, jobs) => enqueuer[kind](tx, jobs, clock.now()),
        async deliver() {
          const open = await database.query(sql`select from delivery where state = 'OPEN' limit 1`)
          if (open.length === 0) return
          await endPauses()
          for (let before = -1; before !== attempts; ) {
            before = attempts
            await worker.runOnce(clock.now())
            await worker.settled()
          }
        },
        async recover() {
          await database.executeSql(
            `update pgboss.job set started_on = started_on - interval '2 minutes' where state = 'active'`,
          )
          await database.executeSql('update pgboss.queue set monitor_on = null, monitor_claim_on = null')
          await queue.recover()
        },
        close: () => queue.stop().catch(() => {}),
      }
    },
    /** From here on they listen. */
    calm(): void {
      calm = true
    },
    heardOf: (job: bigint) => (heard.get(job) ?? []).map(({ event }) => event),
    figures: () => ({ heard: [...heard.values()].reduce((sum, told) => sum + told.length, 0) }),
    /** What is wrong with what the receivers got, in words. `all`: everything must have been heard by now. */
    async judge(db: Queryable, all: boolean): Promise<string[]> {
      const jobs = await db.query<{
        job: bigint
        status: string
        called: boolean
        started: boolean
        finished: boolean
        delivered: string[]
        entered: string[]
      }>(sql`
        select j.job, j.status, j.request ->> 'callback' <> '' as called, j.started_at is not null as started,
               j.finished_at is not null as finished,
               array(select d.event from delivery d where d.job = j.job order by d.event desc) as entered,
               array(select d.event from delivery d where d.job = j.job and d.state <> 'OPEN') as delivered
          from job j`)
      const wrong: string[] = []
      const say = (job: bigint, what: string) => wrong.push(`${jobId(job)} ${what}`)
      const there = new Set(jobs.map(({ job }) => job))
      for (const job of heard.keys()) if (!there.has(job)) say(job, 'was told of and is not there')
      for (const { job, status, called, started, finished, delivered, entered } of jobs) {
        const told = heard.get(job) ?? []
        const events = told.map(({ event }) => event)
        const due = [...(called && started ? ['jobStarted'] : []), ...(called && finished ? ['jobFinished'] : [])]
        if (entered.join() !== due.join()) say(job, `has ${entered.join()} to tell, and not ${due.join()}`)
        for (const event of events) if (!due.includes(event)) say(job, `told ${event}, which is not so`)
        const taken = told.flatMap(each => (each.taken ? [each.event] : []))
        for (const event of delivered) if (!taken.includes(event)) say(job, `took ${event} for delivered`)
        const firstEnd = events.indexOf('jobFinished')
        if (firstEnd >= 0 && started && !taken.slice(0, firstEnd).includes('jobStarted')) {
          say(job, 'told its end before its start')
        }
        for (const { event, body } of told) {
          const { id, report } = (JSON.parse(body) as { job: { id: string; report: ToldReport } }).job
          if (id !== jobId(job)) say(job, `was told of as ${id}`)
          if (event === 'jobStarted' && report.execution.finishedDate !== '') say(job, 'told its start with its end')
          if (event === 'jobFinished' && report.summary.status !== status) say(job, `told ${report.summary.status}`)
        }
        if (all) for (const event of due) if (!taken.includes(event)) say(job, `never told ${event}`)
      }
      return wrong
    },
  }
}

interface ToldReport {
  readonly execution: { readonly finishedDate: string }
  readonly summary: { readonly status: string }
}
