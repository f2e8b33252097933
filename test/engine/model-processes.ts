/**
 * The two processes of the model test, on one database: they may die at named statements and are then replaced, or stand still while
 * the other goes on. Refuses to know what they are asked to do.
 */
import { DroverError } from '../../src/domain/errors.ts'
import type { OperationRequest, SendReport } from '../../src/engine/connector.ts'
import type { Database } from '../../src/store/database.ts'
import { compileEntityFilter } from '../../src/store/entity-filter.ts'
import type { VirtualClock } from '../virtual-clock.ts'
import type { Desk, ModelClients } from './model-clients.ts'
import type { DeathPoint } from './mortal-database.ts'
import { createWorkbench, type Workbench } from './workbench.ts'

/** The statements at whose commits processes die. */
export const DEATH_STATEMENTS = [
  'jobs_insert',
  'jobs_update',
  'tasks_insert',
  'tasks_update',
  'tasks_remove_job',
  'entities_delete',
  'targets_remove_listed',
  'targets_add_listed',
  'targets_rank_by_hash',
  'targets_rank_by_strategy',
  'claims_claim',
  'live_slots_take',
  'live_slots_take_all',
  'operations_update',
  'operations_update_all',
  'operations_end',
  'operations_end_all',
  'operation_timers_arm',
  'operation_timers_take',
  'operation_cancels_end_of_job',
  'operation_cancels_end_of_entities',
  'operation_waking_wake',
  'ended_operations_answer_late',
  'counters_take_deltas',
  'presence_record',
  'nodes_beat',
  'deliveries_insert',
  'deliveries_record',
] as const

/** What came of a command. */
export type Outcome<T> =
  | { readonly kind: 'obeyed'; readonly answer: T }
  | { readonly kind: 'refused'; readonly error: DroverError }
  | { readonly kind: 'unanswered' }

export interface ModelProcessesParts {
  readonly database: Database
  readonly clock: VirtualClock
  readonly clients: ModelClients
  readonly claimsByPartition: boolean
  /** which of so many is asked next */
  readonly choose: (count: number) => number
  readonly receive: (by: Workbench, request: OperationRequest, report: (report: SendReport) => void) => void
  /** told when a process has died */
  readonly onDeath: (bench: Workbench) => void
}

export type ModelProcesses = Awaited<ReturnType<typeof createModelProcesses>>

/** Starts both; they tell clients of jobs. */
export async function createModelProcesses(parts: ModelProcessesParts) {
  const { database, clock, clients, claimsByPartition, choose, receive, onDeath } = parts
  const desks = new Map<Workbench, Desk>()
  const standing = new Set<Workbench>()
  let nodes = 0
  let deaths = 0
  let standstills = 0
  /** since when nothing was lost */
  let wholeSince = clock.now().getTime()

  async function start(): Promise<Workbench> {
    nodes += 1
    const bench = await createWorkbench(database, {
      node: nodes,
      cancelAtOnceMax: 5,
      clock,
      claimsByPartition,
      compile: compileEntityFilter,
      tell: (tx, kind, jobs) => desks.get(bench)!.tell(tx, kind, jobs),
    })
    desks.set(bench, await clients.open(bench))
    bench.device = (request, report) => receive(bench, request, report)
    bench.capacity = 7
    return bench
  }

  const benches: Workbench[] = [await start(), await start()]
  const awake = () => benches.filter(bench => !standing.has(bench))
  const living = () => awake()[choose(awake().length)]!

  /** What fails in a process that has died is of its death; of any other it is a fault. */
  async function unlessDead<T>(bench: Workbench, work: Promise<T>): Promise<T | Date> {
    try {
      return await work
    } catch (error) {
      if (!bench.database.isDead()) throw error
      return clock.now()
    }
  }

  async function buryTheDead(): Promise<void> {
    for (const [i, bench] of benches.entries()) {
      if (!bench.database.isDead()) continue
      await bench.abandon()
      deaths += 1
      wholeSince = clock.now().getTime()
      standing.delete(bench)
      await desks.get(bench)!.close()
      desks.delete(bench)
      onDeath(bench)
      const next = await start()
      await desks.get(next)!.recover()
      benches[i] = next
    }
  }

  return {
    first: benches[0]!,
    awake,
    living,
    isStanding: (bench: Workbench) => standing.has(bench),
    losses: () => deaths + standstills,
    deaths: () => deaths,
    /** For how long every partition has had a living process that claims of it: one that was lost keeps its share for a while. */
    wholeForMs: () => (claimsByPartition ? clock.now().getTime() - wholeSince : Number.POSITIVE_INFINITY),
    /** Time has passed over all of them. */
    outage(): void {
      wholeSince = clock.now().getTime()
    },
    figures: () => ({ deaths, standstills }),
    /** Runs all loops; processes may die in the middle of it, and what they were doing is then done by whoever comes. */
    async settle(): Promise<number | null> {
      const nexts = await Promise.all(awake().map(bench => unlessDead(bench, bench.settle())))
      for (const bench of awake()) await unlessDead(bench, desks.get(bench)!.deliver())
      await buryTheDead()
      return nexts.reduce<number | null>((a, next) => (next && (a === null || +next < a) ? +next : a), null)
    },
    async beat(): Promise<void> {
      for (const bench of awake()) await bench.beat()
    },
    /** A client's command: unanswered where its process died under it, refused where the service says so. */
    async command<T>(work: (bench: Workbench) => Promise<T>): Promise<Outcome<T>> {
      try {
        return { kind: 'obeyed', answer: await work(living()) }
      } catch (error) {
        if (error instanceof DroverError) return { kind: 'refused', error }
        if ((error as Error).name !== 'ProcessDied') throw error
        return { kind: 'unanswered' }
      } finally {
        await buryTheDead()
      }
    },
    /** One stands still while something happens; then it goes on as if nothing had been. */
    async standStill(index: number, meanwhile: () => Promise<unknown>): Promise<void> {
      const bench = benches[index % benches.length]!
      standing.add(bench)
      standstills += 1
      await meanwhile()
      standing.delete(bench)
      wholeSince = clock.now().getTime()
    },
    /** Now, or at a point to come. */
    async kill(index: number, point: DeathPoint | null): Promise<void> {
      const bench = benches[index % benches.length]!
      if (point) return bench.database.dieAt(point)
      bench.database.die()
      await buryTheDead()
    },
    /** Ends both in order of nothing: the world is over. */
    async end(): Promise<void> {
      for (const bench of benches) {
        await bench.abandon()
        await desks.get(bench)!.close()
      }
    },
    /** Takes back the deaths that are still to come. */
    spare(): void {
      for (const bench of benches) bench.database.dieAt(null)
    },
  }
}
