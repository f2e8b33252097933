/**
 * An engine on a database of its own, a virtual clock and pretend devices in the process: what every engine test stands on. Loops
 * are not started; `settle` runs them until nothing is left to do at the present instant.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Caller } from '../../src/domain/caller.ts'
import type { Flow } from '../../src/domain/flow.ts'
import { numberSource, partitionOf } from '../../src/domain/identity.ts'
import type { JobRequest } from '../../src/domain/job.ts'
import type { Addressed, Connector, OperationRequest, SendReport } from '../../src/engine/connector.ts'
import { createEngine, type Engine } from '../../src/engine/engine.ts'
import type { FilterCompiler } from '../../src/engine/job-targets.ts'
import { createJobs, type Jobs } from '../../src/engine/jobs.ts'
import type { Loop } from '../../src/engine/loop.ts'
import type { Database, Transaction } from '../../src/store/database.ts'
import type { StoredJob } from '../../src/store/jobs.ts'
import { recordHeartbeat } from '../../src/store/nodes.ts'
import { sql } from '../../src/store/statement.ts'
import { silentLog } from '../database.ts'
import { createVirtualClock, type VirtualClock } from '../virtual-clock.ts'
import { type MortalDatabase, mortal } from './mortal-database.ts'

/** Answers a request as a device would; what it does not report never happened. */
export type PretendDevice = (request: OperationRequest, report: (report: SendReport) => void) => void

/** Told in the transaction that starts or ends jobs. */
export type Tell = (tx: Transaction, kind: 'started' | 'finished', jobs: readonly StoredJob[]) => Promise<void>

export interface Workbench {
  engine: Engine
  jobs: Jobs
  clock: VirtualClock
  caller: Caller
  nextNumber: () => bigint
  /** every request that was sent, in order */
  sent: OperationRequest[]
  /** jobs told as started and finished, in order */
  told: { kind: 'started' | 'finished'; job: bigint; status: string }[]
  /** how the devices of a flow answer; by default they are sent to and stay silent */
  device: PretendDevice
  provision(
    identifiers: readonly string[],
    columns?: { tags?: string[]; flow?: Flow | `function:${string}`; cellInfo?: string },
  ): Promise<void>
  /** Runs the loops until nothing is left to do now: all of them first, or, where this process is alone, those that have work. */
  settle(all?: boolean): Promise<Date | null>
  /** Goes on in time, settling at each step; the process lives all the while. */
  advance(ms: number): Promise<void>
  /** Says that this process lives, as its loops would while time jumps. */
  beat(): Promise<void>
  /** Time passes while nothing runs. */
  outage(ms: number): Promise<void>
  /** The database as this process sees it. */
  database: MortalDatabase
  /** how many requests each connector takes at a time */
  capacity: number
  /** for which requests there is no room now; by default for none */
  full: (request: Addressed) => boolean
  /** Ends this process: nothing of it reaches the database any more. */
  abandon(): Promise<void>
}

/** Loops whose next work is no event: heartbeats and chores come round by themselves. */
const ASIDE: ReadonlySet<string> = new Set(['node-keeper', 'housekeeper'])

export const EPOCH = new Date('2026-03-02T10:00:00Z')

/** A job request with what a test does not care about filled in. */
export function jobRequest(request: Partial<JobRequest> & Pick<JobRequest, 'target'>): JobRequest {
  return {
    name: 'REBOOT_EQUIPMENT',
    parameters: {},
    active: true,
    schedule: {},
    notify: false,
    callback: '',
    ...request,
    operationParameters: {
      ackTimeout: 10_000,
      timeout: 60_000,
      retries: 0,
      retriesDelay: 0,
      retryResultList: ['ERROR_TIMEOUT'],
      ...request.operationParameters,
    },
  }
}

/** Builds a workbench on an empty, migrated database. */
export async function createWorkbench(
  shared: Database,
  {
    node = 1,
    cancelAtOnceMax = 10_000,
    clock = createVirtualClock(EPOCH),
    tell = undefined,
    measureClock = () => Promise.resolve<unknown>(undefined),
    claimsByPartition = false,
    compile = () => Promise.resolve(sql`true`),
    profiles = null,
  }: {
    node?: number
    cancelAtOnceMax?: number
    clock?: VirtualClock
    tell?: Tell | undefined
    measureClock?: () => Promise<unknown>
    claimsByPartition?: boolean
    compile?: FilterCompiler
    /** who may run operation types; null for everybody */
    profiles?: readonly string[] | null
  } = {},
): Promise<Workbench> {
  const database = mortal(shared)
  const nextNumber = numberSource(() => clock.now().getTime(), node)
  const organization = await organizationOf(shared)
  const caller: Caller = { email: 'a@b.c', organization, organizationName: 'drover', profile: 'admin' }
  const sent: OperationRequest[] = []
  const told: Workbench['told'] = []
  const telling = (kind: 'started' | 'finished') => async (tx: Transaction, jobs: readonly StoredJob[]) => {
    for (const { job, status } of jobs) told.push({ kind, job, status })
    await tell?.(tx, kind, jobs)
  }
  const connector = (flow: Flow): Connector => ({
    flow,
    capacity: () => workbench.capacity,
    room() {
      let left = workbench.capacity
      return request => {
        if (left === 0 || workbench.full(request)) return false
        left -= 1
        return true
      }
    },
    send(requests, report) {
      for (const request of requests) {
        sent.push(request)
        workbench.device(request, each => report(request, each))
      }
    },
    stop: () => Promise.resolve(),
  })
  const applicability = { resourceTypes: ['entity.device'], models: [] }
  const notices = { started: telling('started'), finished: telling('finished') }
  const engine = createEngine({
    database,
    clock,
    measureClock,
    log: silentLog,
    node,
    nodeName: `node-${node}`,
    roles: ['engine'],
    connectors: [connector('http'), connector('mqtt'), connector('function')],
    notices,
    nextNumber,
    openKey: sealed => sealed.toString(),
    pullRedeliveryMs: 30_000,
    claimsByPartition,
    retentionMonths: null,
    deliveryRetentionMs: 90 * 86_400_000,
    callMs: 86_400_000,
    applicabilityOf: () => Promise.resolve(applicability),
    compile,
  })
  const jobs = createJobs({
    database,
    now: () => clock.now(),
    nextNumber,
    notices,
    settling: engine.settling,
    findType: (_tx, _organization, name) =>
      Promise.resolve({ name, profiles, applicability, judgeParameters: own => ({ ...own }) }),
    compile,
    cancelAtOnceMax,
    onCommit: engine.wake,
  })

  /** A process that lives has beaten within the last second; only an outage is silent. */
  async function beat(): Promise<void> {
    await recordHeartbeat(shared, { node, name: `node-${node}`, roles: ['engine'] }, clock.now(), clock.now())
  }

  const woken = new Set<string>()
  const nextAts = new Map<string, Date | null>()
  for (const loop of [...engine.loops.values()]) {
    const wake = () => {
      woken.add(loop.name)
      loop.wake()
    }
    ;(engine.loops as Map<string, Loop>).set(loop.name, { ...loop, wake })
  }

  /** Runs the loops that were woken, or that have something to do by now; answers whether there were any. */
  async function runDue(): Promise<boolean> {
    let ran = false
    for (const loop of engine.loops.values()) {
      const nextAt = nextAts.get(loop.name) ?? null
      if (!woken.delete(loop.name) && (nextAt === null || nextAt > clock.now())) continue
      nextAts.set(loop.name, await loop.runOnce(clock.now()))
      ran = true
    }
    return ran
  }

  /** Answers when the loops next have something to do, heartbeats and chores aside. `all`: others may have left them work in silence. */
  async function settle(all = true): Promise<Date | null> {
    if (all) for (const name of engine.loops.keys()) woken.add(name)
    for (let looked = all; ; looked = false) {
      const before = sent.length
      const ran = await runDue()
      // Reports are gathered for a few milliseconds of real time, and then written.
      const reporting = looked || sent.length > before || database.underWay() > 0
      if (reporting) {
        // What one gathering has written may lead to the next, before which there is nothing to see for those milliseconds.
        for (let quiet = 0; quiet < 2; quiet = database.underWay() > 0 ? 0 : quiet + 1) await sleep(5)
      }
      if (!ran && !reporting) break
    }
    const due = [...nextAts].flatMap(([name, at]) => (at === null || ASIDE.has(name) ? [] : [at]))
    return due.length === 0 ? null : new Date(Math.min(...due.map(at => at.getTime())))
  }

  const workbench: Workbench = {
    engine,
    jobs,
    clock,
    caller,
    nextNumber,
    sent,
    told,
    device: (_, report) => report({ seen: 'sent' }),
    async provision(identifiers, { tags = [], flow = 'http', cellInfo } = {}) {
      await shared.query(sql`
        insert into entity (partition, entity, organization, identifier, resource_type, document, tags, flow, cell_info,
                            created_at, updated_at)
        select i.partition, i.entity, ${organization}, i.identifier, 'entity.device', '{}', ${tags}::text[], ${flow}::text,
               ${cellInfo ?? null}::text, ${EPOCH}, ${EPOCH}
          from unnest(${identifiers.map(id => partitionOf(organization, id))}::smallint[],
                      ${identifiers.map(() => nextNumber())}::bigint[], ${identifiers}::text[]) as i(partition, entity, identifier)`)
    },
    settle,
    async advance(ms) {
      const until = clock.now().getTime() + ms
      let nextAt = await settle()
      while (clock.now().getTime() < until) {
        const wakeUpAt = clock.nextWakeUp()?.getTime() ?? Number.POSITIVE_INFINITY
        await clock.advanceTo(new Date(Math.min(until, wakeUpAt, nextAt?.getTime() ?? until)))
        // Whoever woke may have something to report.
        if (wakeUpAt <= clock.now().getTime()) await sleep(6)
        await beat()
        nextAt = await settle(false)
      }
    },
    async outage(ms) {
      await clock.advanceTo(new Date(clock.now().getTime() + ms))
    },
    beat,
    database,
    capacity: 500,
    full: () => false,
    async abandon() {
      database.die()
      await engine.gatherer.stop()
      await engine.stop().catch(() => {})
    },
  }
  await engine.loops.get('node-keeper')!.runOnce(clock.now())
  return workbench
}

async function organizationOf(database: Database): Promise<number> {
  await database.query(sql`
    insert into organization (name, created_at) values ('drover', ${EPOCH}) on conflict do nothing`)
  const [row] = await database.query<{ organization: number }>(
    sql`select organization from organization where name = 'drover'`,
  )
  await database.query(sql`
    insert into operation_type (organization, name, applicable_to, created_at)
    values (${row!.organization}, 'REBOOT_EQUIPMENT', '{entity.device}', ${EPOCH}) on conflict do nothing`)
  return row!.organization
}
