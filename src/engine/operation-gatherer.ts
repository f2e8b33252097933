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

/** Starts gathering. Happenings of one entity keep their order: they share a lane, and a lane applies one batch at a time. */
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
  const queues: Submission[][] = Array.from({ length: lanes }, () => [])
  const busy = new Map<number, Promise<void>>()
  const timers: (NodeJS.Timeout | null)[] = new Array(lanes).fill(null)
  let waiting = 0
  let stopping = false
  const trust = createTrust()

  function submit(happening: Happening): Promise<Answer> {
    if (stopping) return Promise.reject(new DroverError('stopping'))
    if (waiting >= waitingMax) return Promise.reject(new DroverError('tooMany'))
    // By a hash: entities that were provisioned one by one have numbers that all are even.
    const lane = happening.key.partition % lanes
    return new Promise((resolve, reject) => {
      waiting += 1
      queues[lane]!.push({ happening, resolve, reject })
      if (queues[lane]!.length >= batchMax) flush(lane)
      else timers[lane] ??= setTimeout(flush, gatherMs, lane)
    })
  }

  function flush(lane: number): void {
    if (busy.has(lane)) return
    if (timers[lane]) clearTimeout(timers[lane])
    timers[lane] = null
    const batch = takeBatch(queues[lane]!, batchMax)
    if (batch.length === 0) return
    waiting -= batch.length
    const applied = applyBatch(batch).finally(() => {
      busy.delete(lane)
      flush(lane)
    })
    busy.set(lane, applied)
  }

  async function applyBatch(batch: readonly Submission[]): Promise<void> {
    const unknown = await applyKnown(batch)
    if (unknown.length > 0) await applyRead(unknown)
  }

  /** Applies what memory can tell of; answers the rest. */
  async function applyKnown(batch: readonly Submission[]): Promise<readonly Submission[]> {
    if (!trust.holds()) return batch
    try {
      const happenings = batch.map(({ happening }) => happening)
      const { applied, left, wasWrong } = await applyRemembered(database, happenings, clock.now(), memory)
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
      while (waiting > 0 || busy.size > 0) {
        for (let lane = 0; lane < lanes; lane += 1) flush(lane)
        await Promise.all(busy.values())
      }
    },
  }
}

/** From so many on, locking what moves and what ends in one order costs more than a transaction for each. */
const APART_FROM = 100

/**
 * Takes the next batch from the head of a queue. Of many waiting it takes those that are about to end, or those that are not: what moves
 * and what ends are two statements, and rows of both have to be locked beforehand. What is told of one operation stays together.
 */
function takeBatch(queue: Submission[], batchMax: number): Submission[] {
  if (queue.length < APART_FROM) return queue.splice(0, batchMax)
  const head = queue.splice(0, 2 * batchMax)
  const ending = new Set<bigint>()
  for (const { happening } of head) if (happening.word?.resultCode !== undefined) ending.add(happening.key.entity)
  const isEnding = ({ happening }: Submission) => ending.has(happening.key.entity)
  const alike = head.filter(each => isEnding(each) === isEnding(head[0]!)).slice(0, batchMax)
  const taken = new Set(alike)
  queue.unshift(...head.filter(each => !taken.has(each)))
  return alike
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
