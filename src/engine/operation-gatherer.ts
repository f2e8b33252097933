/**
 * Gathers what happens to operations for a few milliseconds and applies it in batches. Whoever submits is answered after the
 * commit. Refuses to know devices and protocols.
 */
import { availableParallelism } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { DroverError, ERRORS } from '../domain/errors.ts'
import { operationId } from '../domain/identity.ts'
import { MissingLifecycleRow } from '../domain/operation.ts'
import type { Database } from '../store/database.ts'
import type { Line } from '../store/line.ts'
import { isFaultOfContent, isFaultOfItem } from './batch-faults.ts'
import type { Clock } from './clock.ts'
import type { Applied } from './operation-batch.ts'
import type { Answer, Happening } from './operation-draft.ts'
import type { OperationMemory } from './operation-memory.ts'
import { applyHappenings } from './operation-transitions.ts'
import { applyRemembered } from './operations-remembered.ts'
import { createTrust } from './trust.ts'

export interface OperationGatherer {
  /** Resolves after the commit. Rejects with a DroverError where the message itself is at fault, else as the database fails. */
  submit(happening: Happening): Promise<Answer>
  /**
   * Like `submit` for what a sender reports: it is tried again until it is written, without its texts where these cannot be stored.
   * Resolves with undefined where it never will be, because it cannot happen or the gatherer has stopped; never rejects.
   */
  report(happening: Happening): Promise<Answer | undefined>
  /** Takes no more and waits for what is in hand. */
  stop(): Promise<void>
}

export interface GathererOptions {
  database: Database
  clock: Clock
  log: Logger
  memory: OperationMemory
  /** called after each commit, so that counters are folded and what became ready is claimed */
  onCommit: () => void
  /** told what each commit has applied */
  onApplied?: (happenings: readonly Happening[]) => void
  lanes?: number
  gatherMs?: number
  batchMax?: number
  waitingMax?: number
}

/** As many as there are cores to write with, within bounds: one more only makes batches smaller, and a batch has its price. */
export const LANES = Math.min(4, Math.max(2, availableParallelism()))

interface Submission {
  readonly happening: Happening
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: unknown) => void
}

interface Lane {
  readonly queue: Submission[]
  timer: NodeJS.Timeout | null
  /** batches that are being written: at most two, one behind the other */
  readonly underWay: Set<Promise<void>>
  /** what the batches under way concern */
  readonly entities: Set<bigint>
  readonly line: Line
}

/**
 * Starts gathering. Happenings of one entity keep their order: they share a lane, and while a batch has any of them under way no other is sent
 * that has more.
 */
export function createOperationGatherer(options: GathererOptions): OperationGatherer {
  const {
    database,
    clock,
    log,
    memory,
    onCommit,
    onApplied = () => {},
    lanes = LANES,
    gatherMs = 4,
    batchMax = 500,
    waitingMax = 50_000,
  } = options
  const all = Array.from(
    { length: lanes },
    (): Lane => ({ queue: [], timer: null, underWay: new Set(), entities: new Set(), line: database.line() }),
  )
  const trust = createTrust()
  let waiting = 0
  let stopping = false

  function submit(happening: Happening): Promise<Answer> {
    if (stopping) return Promise.reject(new DroverError('stopping'))
    if (waiting >= waitingMax) return Promise.reject(new DroverError('tooMany'))
    // By a hash: entities that were provisioned one by one have numbers that all are even.
    const lane = all[happening.key.partition % lanes]!
    return new Promise((resolve, reject) => {
      waiting += 1
      lane.queue.push({ happening, resolve, reject })
      if (lane.queue.length === batchMax) flush(lane)
      else lane.timer ??= setTimeout(flush, gatherMs, lane)
    })
  }

  function flush(lane: Lane): void {
    if (lane.timer) clearTimeout(lane.timer)
    lane.timer = null
    const batch = takeBatch(lane, leastOf(lane), batchMax)
    if (batch.length === 0) return
    waiting -= batch.length
    for (const { happening } of batch) lane.entities.add(happening.key.entity)
    const applied = applyBatch(lane, batch).finally(() => {
      lane.underWay.delete(applied)
      for (const { happening } of batch) lane.entities.delete(happening.key.entity)
      flush(lane)
    })
    lane.underWay.add(applied)
  }

  /** How many make a batch now. One more is sent behind the batch under way where it is worth its price, and memory is trusted. */
  function leastOf({ underWay }: Lane): number {
    if (underWay.size === 0) return 1
    return underWay.size === 1 && trust.holds() ? batchMax / 2 : Number.POSITIVE_INFINITY
  }

  async function applyBatch(lane: Lane, batch: readonly Submission[]): Promise<void> {
    const unknown = await applyKnown(lane, batch)
    if (unknown.length > 0) await applyRead(unknown)
  }

  /** Applies what memory can tell of; answers the rest. */
  async function applyKnown(lane: Lane, batch: readonly Submission[]): Promise<readonly Submission[]> {
    if (!trust.holds()) {
      trust.spend()
      return batch
    }
    try {
      const happenings = batch.map(({ happening }) => happening)
      const { applied, left, wasWrong } = await applyRemembered(lane.line, happenings, clock.now(), memory)
      if (wasWrong) trust.lose()
      if (applied) committed(batch, applied)
      return left.map(place => batch[place]!)
    } catch (error) {
      for (const { reject } of batch) reject(error)
      return []
    }
  }

  /** `applied` may have done nothing yet to some of the batch, which then have no answer. */
  function committed(batch: readonly Submission[], applied: Applied): void {
    memory.note(applied)
    const done = batch.filter((_, place) => applied.answers[place] !== undefined)
    applied.answers.forEach((answer, place) => {
      batch[place]!.resolve(answer)
    })
    onApplied(done.map(({ happening }) => happening))
    onCommit()
  }

  async function applyRead(batch: readonly Submission[]): Promise<void> {
    try {
      const happenings = batch.map(({ happening }) => happening)
      const applied = await database.transaction(tx => applyHappenings(tx, happenings, clock.now(), { memory }), {
        byKey: true,
      })
      committed(batch, applied)
    } catch (error) {
      if (!isFaultOfItem(error)) {
        for (const { reject } of batch) reject(error)
        return
      }
      if (batch.length > 1) {
        const half = Math.ceil(batch.length / 2)
        await applyRead(batch.slice(0, half))
        await applyRead(batch.slice(half))
        return
      }
      const { happening, reject } = batch[0]!
      if (!isFaultOfContent(error)) {
        log.error({ err: error, operation: operationId(happening.key) }, 'something happened that cannot happen')
        return reject(error)
      }
      log.warn({ err: error, operation: operationId(happening.key) }, 'a message that cannot be stored was refused')
      reject(
        new DroverError('malformed', [{ name: 'operation.response' }], 'The message holds text that cannot be stored.'),
      )
    }
  }

  async function report(told: Happening): Promise<Answer | undefined> {
    let happening = told
    for (let pauseMs = 50; ; pauseMs = Math.min(pauseMs * 2, 2_000)) {
      try {
        return await submit(happening)
      } catch (error) {
        // Nobody says it again: that it happened must not be lost for how it was said.
        if (isMalformed(error) && happening === told) {
          happening = withoutTexts(told)
          continue
        }
        const hopeless = error instanceof MissingLifecycleRow || isMalformed(error)
        if (stopping || hopeless) return undefined
        log.warn({ err: error, operation: operationId(happening.key) }, "a sender's report is tried again")
      }
      await sleep(pauseMs, undefined, { ref: false })
    }
  }

  return {
    submit,
    report,
    async stop() {
      stopping = true
      while (waiting > 0 || all.some(({ underWay }) => underWay.size > 0)) {
        for (const lane of all) flush(lane)
        await Promise.all(all.flatMap(({ underWay }) => [...underWay]))
      }
    },
  }
}

/** From so many on, locking what moves and what ends in one order costs more than a transaction for each. */
const APART_FROM = 100

/**
 * Takes the next batch of `least` to `most` from the head of the queue, without what concerns an entity of which something is under way. Of
 * many waiting it takes those that are about to end, or those that are not: what moves and what ends are two statements, and rows of both
 * have to be locked beforehand. What is told of one operation stays together.
 */
function takeBatch({ queue, entities }: Lane, least: number, most: number): Submission[] {
  if (queue.length < least) return []
  const head = queue.slice(0, 2 * most)
  const free = entities.size === 0 ? head : head.filter(({ happening }) => !entities.has(happening.key.entity))
  const ending = new Set<bigint>()
  for (const { happening } of free) if (happening.word?.resultCode !== undefined) ending.add(happening.key.entity)
  const isEnding = ({ happening }: Submission) => ending.has(happening.key.entity)
  const isApart = head.length >= APART_FROM
  const batch = free.filter(each => !isApart || isEnding(each) === isEnding(free[0]!)).slice(0, most)
  if (batch.length < least) return []
  const taken = new Set(batch)
  queue.splice(0, head.length, ...head.filter(each => !taken.has(each)))
  return batch
}

const UNSTORABLE = 'What was said of it cannot be stored.'

/** The same event, told in no words but our own. */
function withoutTexts({ word, description, ...happening }: Happening): Happening {
  return {
    ...happening,
    ...(word && { word: { resultCode: word.resultCode, steps: [], description: UNSTORABLE } }),
    ...(description !== undefined && { description: UNSTORABLE }),
  }
}

/** Whether a message was refused because it cannot be stored. */
export function isMalformed(error: unknown): boolean {
  return error instanceof DroverError && error.entry.code === ERRORS.malformed.code
}
