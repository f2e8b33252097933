/**
 * Who watches which jobs: changes are read once for all who watch, and each is told a job's newest state, never an older one than
 * before. It keeps no history and knows no protocol.
 */
import type { Logger } from 'pino'
import type { Database } from '../store/database.ts'
import {
  CHANGES_KEPT_MS,
  JOB_CHANGE_CHANNEL,
  type JobChange,
  readJobState,
  readNewerOfJobs,
  readNewerOfOrganizations,
  readOpenJobStates,
  readSecondsOfJob,
  readSecondsOfOrganization,
  readSnapshot,
  type SecondCount,
  type Snapshot,
} from '../store/job-changes.ts'
import type { Clock } from './clock.ts'
import { createLoop } from './loop.ts'

/** What a watcher is told: first how many operations ended lately, by the second; then jobs as they change. */
export type LiveEvent =
  | { readonly kind: 'seconds'; readonly seconds: readonly SecondCount[] }
  /** with a cursor where a watch that has been told so far can go on from it */
  | { readonly kind: 'job'; readonly change: JobChange; readonly cursor?: string }

export interface WatchOptions {
  readonly organization: number
  /** where an earlier watch was broken off, in the words of its events; what cannot be gone on from begins anew */
  readonly cursor?: string | undefined
  readonly tell: (event: LiveEvent) => void
}

/** Ends a watch. */
export type Unwatch = () => void

export interface LiveEvents {
  /** Watches one job; undefined where the organization has none of this number. */
  watchJob(options: WatchOptions & { readonly job: bigint }): Promise<Unwatch | undefined>
  /** Watches every job of an organization. */
  watchOrganization(options: WatchOptions): Promise<Unwatch>
  /** Reads what is new and tells it, once; a started watch does so by itself. */
  look(): Promise<void>
  start(): Promise<void>
  stop(): Promise<void>
}

interface JobWatcher extends WatchOptions {
  readonly job: bigint
  told: bigint
}

interface OrganizationWatcher extends WatchOptions {
  /** what came before the first state was told, null from then on */
  held: JobChange[] | null
  /** revisions of the first state: a run that was under way then may bring older ones */
  first: Map<bigint, bigint>
}

/** Changes are gathered for this long, so that a busy fleet costs a bounded number of reads. */
export const LIVE_REST_MS = 200
/** Open jobs told to begin with. */
export const FIRST_JOBS_MAX = 500

/** A state as the first thing told: of what ended before nothing is counted. */
const NOTHING_ENDED = { ended: 0, successful: 0 }

/** Makes the watch of one process, not yet started. Without a watcher it reads nothing. */
export function createLiveEvents(parts: {
  readonly database: Database
  readonly clock: Clock
  readonly log: Logger
}): LiveEvents {
  const { database, clock, log } = parts
  const jobWatchers = new Set<JobWatcher>()
  const organizationWatchers = new Set<OrganizationWatcher>()
  /** up to where the changes of organizations were read; null while nobody watches one */
  let snapshot: Snapshot | null = null
  let listening: (() => Promise<void>) | null = null

  async function runOnce(): Promise<null> {
    await lookAtJobs()
    await lookAtOrganizations()
    return null
  }

  async function lookAtJobs(): Promise<void> {
    const asked = new Map([...jobWatchers].map(({ job, told }) => [keyOf(job, told), { job, known: told }]))
    const newer = await readNewerOfJobs(database, [...asked.values()])
    const changes = new Map(newer.map(change => [keyOf(change.job, change.known), change]))
    for (const watcher of jobWatchers) {
      const change = changes.get(keyOf(watcher.job, watcher.told))
      if (!change) continue
      watcher.told = change.revision
      watcher.tell({ kind: 'job', change, cursor: String(change.revision) })
    }
  }

  async function lookAtOrganizations(): Promise<void> {
    const since = snapshot
    if (since === null) return
    const before = [...organizationWatchers].filter(({ held }) => held === null)
    const organizations = [...new Set([...organizationWatchers].map(({ organization }) => organization))]
    const newer = await readNewerOfOrganizations(database, organizations, since)
    if (snapshot === since) snapshot = newer.snapshot
    const cursor = cursorOf(newer.snapshot, clock.now())
    for (const watcher of organizationWatchers) {
      const changes = newer.changes.filter(({ organization }) => organization === watcher.organization)
      if (watcher.held) watcher.held.push(...changes)
      else tellAll(watcher, changes, cursor)
    }
    // Whoever knew its first state when this run began is told nothing older by the next.
    for (const watcher of before) watcher.first.clear()
  }

  /** A stream that breaks between two of these has not seen all that the cursor stands for: the last one brings it. */
  function tellAll({ first, tell }: OrganizationWatcher, changes: readonly JobChange[], cursor: string): void {
    const newer = changes.filter(({ job, revision }) => revision > (first.get(job) ?? -1n))
    for (const change of newer.slice(0, -1)) tell({ kind: 'job', change })
    for (const change of newer.slice(-1)) tell({ kind: 'job', change, cursor })
  }

  const loop = createLoop({ name: 'live-events', clock, runOnce, restMs: LIVE_REST_MS, log })

  return {
    async watchJob(options) {
      const known = revisionOf(options.cursor)
      const first = await database.transaction(
        async tx => {
          const present = await readJobState(tx, options.organization, options.job)
          if (!present) return undefined
          if (known === undefined || known > present.revision) {
            return { ...present, seconds: await readSecondsOfJob(tx, options.job) }
          }
          const [missed] = await readNewerOfJobs(tx, [{ job: options.job, known }])
          // What was forgotten since is told by the state alone.
          const change = missed ?? (present.revision > known ? present.state : undefined)
          return { revision: present.revision, ...(change && { state: change }) }
        },
        { snapshot: true },
      )
      if (!first) return undefined
      if ('seconds' in first) options.tell({ kind: 'seconds', seconds: first.seconds })
      const cursor = String(first.revision)
      if (first.state) options.tell({ kind: 'job', change: { ...NOTHING_ENDED, ...first.state }, cursor })
      const watcher = { ...options, told: first.revision }
      jobWatchers.add(watcher)
      loop.wake()
      return () => void jobWatchers.delete(watcher)
    },

    async watchOrganization(options) {
      const watcher: OrganizationWatcher = { ...options, held: [], first: new Map() }
      const unwatch = () => {
        organizationWatchers.delete(watcher)
        if (organizationWatchers.size === 0) snapshot = null
      }
      organizationWatchers.add(watcher)
      try {
        const taken = await readSnapshot(database)
        snapshot ??= taken
        const first = await database.transaction(tx => firstOf(tx, options), { snapshot: true })
        if (first.seconds) options.tell({ kind: 'seconds', seconds: first.seconds })
        tellAll(watcher, first.changes, first.cursor)
        for (const { job, revision } of first.changes) watcher.first.set(job, revision)
        tellAll(watcher, newestOf(watcher.held ?? []), first.cursor)
        watcher.held = null
      } catch (error) {
        unwatch()
        throw error
      }
      loop.wake()
      return unwatch
    },

    async look() {
      await loop.runOnce(clock.now())
    },

    async start() {
      loop.start()
      listening = await database.listen(JOB_CHANGE_CHANNEL, () => {
        if (jobWatchers.size + organizationWatchers.size > 0) loop.wake()
      })
    },

    async stop() {
      jobWatchers.clear()
      organizationWatchers.clear()
      await loop.stop()
      await listening?.()
    },
  }

  async function firstOf(tx: Parameters<typeof readSnapshot>[0], { organization, cursor }: WatchOptions) {
    const present = await readSnapshot(tx)
    const now = clock.now()
    const since = snapshotOf(cursor, present, now)
    if (since === undefined) {
      const states = await readOpenJobStates(tx, organization, FIRST_JOBS_MAX)
      const seconds = await readSecondsOfOrganization(tx, organization)
      return { changes: states.map(state => ({ ...state, ...NOTHING_ENDED })), seconds, cursor: cursorOf(present, now) }
    }
    const { changes } = await readNewerOfOrganizations(tx, [organization], since)
    return { changes, seconds: undefined, cursor: cursorOf(present, now) }
  }
}

/** Of several changes of a job the newest, in the place of the first. */
function newestOf(changes: readonly JobChange[]): JobChange[] {
  const newest = new Map<bigint, JobChange>()
  for (const change of changes) {
    const before = newest.get(change.job)
    const ended = change.ended + (before?.ended ?? 0)
    const successful = change.successful + (before?.successful ?? 0)
    newest.set(change.job, { ...change, ended, successful })
  }
  return [...newest.values()]
}

function keyOf(job: bigint, revision: bigint): string {
  return `${job}/${revision}`
}

function revisionOf(cursor: string | undefined): bigint | undefined {
  return cursor !== undefined && /^\d{1,18}$/.test(cursor) ? BigInt(cursor) : undefined
}

/** From where an organization's watch goes on: whatever was not over by then, and when that was. */
function cursorOf(snapshot: Snapshot, now: Date): string {
  return `${snapshot.split(':')[0]}@${now.getTime()}`
}

/** The snapshot of a cursor; undefined where it is none of this database, or so old that changes since may be forgotten. */
function snapshotOf(cursor: string | undefined, present: Snapshot, now: Date): Snapshot | undefined {
  const [, xmin = '', atMs = ''] = /^(\d{1,19})@(\d{1,15})$/.exec(cursor ?? '') ?? []
  if (xmin === '' || BigInt(xmin) > BigInt(present.split(':')[0]!)) return undefined
  const ageMs = now.getTime() - Number(atMs)
  // Half of what is kept: the rest is for clocks and for whoever forgets.
  return Math.abs(ageMs) < CHANGES_KEPT_MS / 2 ? `${xmin}:${xmin}:` : undefined
}
