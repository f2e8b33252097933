/**
 * Who watches which operations: a page of a job's, or what ends in an organization. Both are looked at once a second, whoever
 * watches, and only while somebody does: the hot path knows nothing of it. It tells how operations stand, not each step between.
 */
import { createHash } from 'node:crypto'
import type { Logger } from 'pino'
import { DroverError } from '../domain/errors.ts'
import { operationId } from '../domain/identity.ts'
import type { Database } from '../store/database.ts'
import { type OperationReading, readNewestEnded, readOperationPage } from '../store/operation-reading.ts'
import type { Clock } from './clock.ts'
import { createLoop } from './loop.ts'
import { oneByOne } from './one-by-one.ts'

/** How deep a page that is watched may lie: it is read again and again. */
export const WATCHED_DEPTH_MAX = 10_000

type Tell = (operation: OperationReading) => void

/** A page of a job's operations, as the listing counts them. */
export interface WatchedPage {
  readonly job: bigint
  readonly start: number
  readonly size: number
}

export interface LiveOperations {
  /** Tells each operation of a page as it stands, then whenever it stands otherwise. Fails with `tooMany` beyond a bound. */
  watchPage(page: WatchedPage, tell: Tell): () => void
  /** Tells operations of an organization as they end, the newest `ENDED_MAX` of each second. Fails with `tooMany` beyond a bound. */
  watchEnded(organization: number, tell: Tell): () => void
  start(): void
  stop(): Promise<void>
}

/** What some watch together. */
interface Topic {
  readonly watchers: Set<Tell>
  /** those of them that have been told nothing yet */
  readonly fresh: Set<Tell>
  /** reads, and tells them what is new to them */
  readonly look: Look
}
type Look = (topic: Pick<Topic, 'watchers' | 'fresh'>) => Promise<void>

const REST_MS = 1_000
/** Each costs a read a second, and what is remembered of its operations. */
const TOPICS_MAX = 500
const RETRY_AFTER_MS = 5_000
/** Operations told of those that ended in a second. */
export const ENDED_MAX = 100
/** Operations are dated before they are committed: for so long what ended is looked for again. */
const LATE_COMMIT_MS = 3_000

/** Makes the watch of one process, not yet started. Without a watcher it reads nothing. */
export function createLiveOperations(parts: {
  readonly database: Database
  readonly clock: Clock
  readonly log: Logger
}): LiveOperations {
  const { database, clock, log } = parts
  const topics = new Map<string, Topic>()

  function lookAtPage({ job, start, size }: WatchedPage): Look {
    let known = new Map<string, string>()
    return async ({ watchers, fresh }) => {
      const page = await readOperationPage(database, job, { skip: (start - 1) * size }, size)
      const next = new Map<string, string>()
      for (const operation of page) {
        const id = operationId(operation)
        const stands = markOf(operation)
        next.set(id, stands)
        for (const tell of known.get(id) === stands ? fresh : watchers) tell(operation)
      }
      known = next
    }
  }

  function lookAtEnded(organization: number): Look {
    const watchedFrom = clock.now()
    let newest = watchedFrom
    let told = new Map<string, Date>()
    return async ({ watchers }) => {
      const from = new Date(newest.getTime() - LATE_COMMIT_MS)
      for (const operation of await readNewestEnded(database, organization, from, ENDED_MAX)) {
        const id = operationId(operation)
        const endedAt = operation.endedAt!
        if (endedAt >= watchedFrom && !told.has(id)) for (const tell of watchers) tell(operation)
        told.set(id, endedAt)
        if (endedAt > newest) newest = endedAt
      }
      told = new Map([...told].filter(([, endedAt]) => endedAt >= from))
    }
  }

  function watch(name: string, makeLook: () => Look, tell: Tell): () => void {
    const topic = topics.get(name) ?? open(name, makeLook())
    topic.watchers.add(tell)
    topic.fresh.add(tell)
    loop.wake()
    return () => {
      topic.watchers.delete(tell)
      topic.fresh.delete(tell)
      if (topic.watchers.size === 0 && topics.get(name) === topic) topics.delete(name)
    }
  }

  function open(name: string, look: Look): Topic {
    if (topics.size >= TOPICS_MAX) throw new DroverError('tooMany', [], undefined, RETRY_AFTER_MS)
    const topic = { watchers: new Set<Tell>(), fresh: new Set<Tell>(), look }
    topics.set(name, topic)
    return topic
  }

  async function runOnce(_now: Date, signal: AbortSignal): Promise<null> {
    // A page that cannot be read in time must not keep the others from those who watch them.
    await oneByOne([...topics.values()], signal, async topic => {
      await topic.look(topic)
      topic.fresh.clear()
    })
    return null
  }

  const loop = createLoop({ name: 'live-operations', clock, runOnce, restMs: REST_MS, log })
  return {
    watchPage: (page, tell) => watch(`${page.job}/${page.start}/${page.size}`, () => lookAtPage(page), tell),
    watchEnded: (organization, tell) => watch(`ended/${organization}`, () => lookAtEnded(organization), tell),
    start: () => loop.start(),
    async stop() {
      topics.clear()
      await loop.stop()
    },
  }
}

/** By what it is seen that an operation stands otherwise; short, since it is kept. */
function markOf({ status, result, attempt, startedAt, endedAt, steps, description }: OperationReading): string {
  const text = JSON.stringify([status, result, attempt, startedAt, endedAt, steps, description])
  return createHash('sha256').update(text).digest('base64')
}
