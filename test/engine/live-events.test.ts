/** Whatever happens to jobs, in whatever order nodes fold it, and whoever comes and goes: figures run forward, and end where the job does. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { summaryOf } from '../../src/domain/counters.ts'
import { createLiveEvents, type LiveEvent, type Unwatch } from '../../src/engine/live-events.ts'
import type { JobChange } from '../../src/store/job-changes.ts'
import { silentLog, testDatabase } from '../database.ts'
import { ids, summaryOfJob } from './scenario.ts'
import { createWorkbench, jobRequest } from './workbench.ts'

const { database } = await testDatabase()
const nodes = [await createWorkbench(database), await createWorkbench(database, { node: 2 })] as const
const [bench] = nodes
const live = createLiveEvents({ database, clock: bench.clock, log: silentLog })
const { caller, jobs } = bench
let made = 0
let told = 0

/** Answers some at once, leaves others waiting. */
for (const node of nodes) {
  node.device = ({ id, device }, report) => {
    report({ seen: 'sent' })
    if (device.entity % 3n > 0n) {
      const resultCode = device.entity % 3n === 1n ? 'SUCCESSFUL' : 'ERROR_PROCESSING'
      report({ seen: 'answered', message: { ...device, operationId: id, resultCode, steps: [] } })
    }
  }
}

/** One who reads on, and after a break comes again with its last cursor. */
class Reader {
  readonly told: JobChange[] = []
  readonly job: bigint | undefined
  cursor: string | undefined
  unwatch: Unwatch | undefined

  constructor(job?: bigint) {
    this.job = job
  }

  async watch(): Promise<void> {
    const tell = (event: LiveEvent) => {
      if (event.kind !== 'job') return
      this.told.push(event.change)
      this.cursor = event.cursor ?? this.cursor
    }
    const options = { organization: caller.organization, cursor: this.cursor, tell }
    this.unwatch =
      this.job === undefined
        ? await live.watchOrganization(options)
        : await live.watchJob({ ...options, job: this.job })
  }

  breakOff(): void {
    this.unwatch?.()
    this.unwatch = undefined
  }
}

function expectForward(told: readonly JobChange[]): void {
  const before = new Map<bigint, JobChange>()
  for (const change of told) {
    const last = before.get(change.job)
    before.set(change.job, change)
    if (!last) continue
    // An organization's stream that is gone on from may tell a state again, never an older one.
    expect(change.revision).toBeGreaterThanOrEqual(last.revision)
    expect(change.summary.finished.total).toBeGreaterThanOrEqual(last.summary.finished.total)
    expect(change.summary.total).toBeGreaterThanOrEqual(last.summary.total)
  }
  for (const { summary } of told) {
    if (/^(FINISHED|CANCELLED|TIMEOUT)/.test(summary.status)) expect(summary.inProgress.total).toBe(0)
  }
}

const run = (node: (typeof nodes)[number], loop: string) => node.engine.loops.get(loop)!.runOnce(node.clock.now())
const actions = [
  'create',
  'launch',
  'fold',
  'foldTwice',
  'switch',
  'cancel',
  'follow',
  'read',
  'break',
  'look',
] as const

test('is so for every order of what can happen', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.constantFrom(...actions), fc.nat(1_000)), { minLength: 15, maxLength: 30 }),
      async steps => {
        const own: bigint[] = []
        const readers: Reader[] = []
        const paused = new Set<bigint>()
        for (const [action, chance] of [['create', 3], ['read', 0], ...steps] as const) {
          const node = nodes[chance % 2]!
          const job = own[chance % (own.length || 1)]
          const reader = readers[chance % (readers.length || 1)]
          if (action === 'create') {
            made += 1
            const devices = ids(`live-${made}`, 1 + (chance % 5))
            await bench.provision(devices)
            own.push((await jobs.create(caller, jobRequest({ target: { append: { entities: devices } } }))).job)
          } else if (action === 'launch') await run(node, 'operation-dispatcher')
          else if (action === 'fold') await run(node, 'counter-folder')
          else if (action === 'foldTwice') await Promise.all(nodes.map(each => run(each, 'counter-folder')))
          else if (action === 'look') await live.look()
          else if (action === 'switch' && job !== undefined) {
            const active = paused.delete(job)
            if (!active) paused.add(job)
            await jobs.change(caller, job, { active }).catch(() => {})
          } else if (action === 'cancel' && job !== undefined) await jobs.cancel(caller, job).catch(() => {})
          else if (action === 'follow' && job !== undefined) readers.push(new Reader(job))
          else if (action === 'read') readers.push(new Reader())
          else if (action === 'break' && reader) {
            if (reader.unwatch) reader.breakOff()
            else await reader.watch()
          }
          const latest = readers.at(-1)
          if (action === 'follow' || action === 'read') await latest?.watch()
        }

        for (const job of own) await jobs.cancel(caller, job).catch(() => {})
        for (const node of nodes) await node.settle()
        for (const reader of readers) if (!reader.unwatch) await reader.watch()
        await live.look()
        for (const reader of readers) {
          reader.breakOff()
          expectForward(reader.told)
          told += reader.told.length
        }
        for (const job of own) {
          const row = await summaryOfJob(bench, job)
          for (const reader of readers) {
            const last = reader.told.findLast(change => change.job === job)
            if (last || reader.job === job)
              expect(last!.summary).toMatchObject({ status: row.status, ...summaryOf(row.counters) })
          }
        }
      },
    ),
    { numRuns: 10 },
  )
  expect(told).toBeGreaterThan(50)
}, 120_000)
