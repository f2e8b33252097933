/**
 * Carries deliveries out: claims what is due, completes its body, hands it to the connector of its channel and logs what came of it.
 * A receiver that is slow or dead holds only its own few attempts, and none that others need. Serves: Events.
 */
import type { Logger } from 'pino'
import { type DeliveryChannel, type DeliveryOutcome, decideDelivery, deliveryHappening } from '../domain/delivery.ts'
import { cutText } from '../domain/storable.ts'
import type { Database, Transaction } from '../store/database.ts'
import {
  completeDelivery,
  type DeliveryAttempt,
  type DueDelivery,
  readDueDeliveries,
  recordAttempts,
} from '../store/deliveries.ts'
import { DELIVERY_CHANNEL, type DeliveryClaim, type DeliveryQueue } from '../store/delivery-queue.ts'
import type { Clock } from './clock.ts'
import type { SendDelivery } from './connector.ts'
import { queued } from './deliveries.ts'
import { deliveryShares } from './delivery-shares.ts'
import { createLoop, type Loop } from './loop.ts'

/** The first page of a job's operations as clients read them: `number` and `of` count pages of this size. */
export interface OperationsPage {
  readonly page: { readonly number: number; readonly of: number }
  readonly operations: readonly unknown[]
}

/** Reads the first `size` operations of a job that has ended. */
export type ReadToldOperations = (organization: number, job: bigint, size: number) => Promise<OperationsPage>

export interface DeliveryWorkerOptions {
  readonly database: Database
  readonly queue: DeliveryQueue
  readonly clock: Clock
  readonly log: Logger
  /** a channel without a connector refuses every attempt */
  readonly senders: Partial<Record<DeliveryChannel, SendDelivery>>
  readonly readOperations: ReadToldOperations
  readonly giveUpAfterMs: number
  /** told of every attempt */
  readonly onAttempt?: (channel: DeliveryChannel, taken: boolean) => void
  readonly onRun?: (loop: string, failed: boolean) => void
  /** attempts of this process that do not hang, and deliveries of one receiver over all processes */
  readonly concurrency?: number
  readonly perReceiver?: number
}

export interface DeliveryWorker extends Loop {
  /** Resolves when no attempt is under way and every one is logged. */
  settled(): Promise<void>
}

/** Operations in the page that the finished notification carries. */
const OPERATIONS_TOLD = 100
/** Deliveries to one receiver that are under way at once, over all processes. */
export const DELIVERIES_PER_RECEIVER = 8

const errorLengthMax = 1_000
const claimBatch = 50
/** Attempts bound their own time; a stop waits for them so long before it aborts them. */
const stopGraceMs = 5_000

interface Attempted {
  readonly claim: DeliveryClaim
  readonly attempt: DeliveryAttempt
}

/** Makes the worker, not yet started. Its stop waits for attempts under way, aborts them after 5 s, and logs them all. */
export function createDeliveryWorker(options: DeliveryWorkerOptions): DeliveryWorker {
  const { database, queue, clock, log, concurrency = 200, perReceiver = DELIVERIES_PER_RECEIVER } = options
  const shares = deliveryShares(concurrency, perReceiver)
  const underWay = new Set<Promise<void>>()
  let claimed: readonly DeliveryClaim[] = []
  let attempted: Attempted[] = []
  let recording: Promise<void> = Promise.resolve()
  let aborting = new AbortController()
  let listening: Promise<(() => Promise<void>) | undefined> | null = null

  async function bodyOf(delivery: DueDelivery): Promise<string> {
    if (delivery.complete) return delivery.body
    const told = JSON.parse(delivery.body) as { job: object }
    const result = await options.readOperations(delivery.organization, delivery.job, OPERATIONS_TOLD)
    const body = JSON.stringify({ job: { ...told.job, result } })
    await completeDelivery(database, delivery.delivery, body)
    return body
  }

  async function outcomeOf(delivery: DueDelivery): Promise<DeliveryOutcome> {
    const send = options.senders[delivery.channel]
    if (!send) return { taken: false, error: `${delivery.channel} is not configured` }
    try {
      const { delivery: id, organization, job, event, receiver } = delivery
      const body = await bodyOf(delivery)
      return await send({ id, organization, job, event, receiver, body, at: clock.now() }, aborting.signal)
    } catch (error) {
      log.error({ err: error, delivery: delivery.delivery }, 'a delivery could not be attempted')
      return { taken: false, error: `not attempted: ${error instanceof Error ? error.message : String(error)}` }
    }
  }

  async function attemptDelivery(claim: DeliveryClaim, delivery: DueDelivery): Promise<void> {
    const end = shares.begin(claim.group, clock.now().getTime())
    const outcome = await outcomeOf(delivery)
    end(clock.now().getTime())
    options.onAttempt?.(delivery.channel, outcome.taken)
    const attemptedAt = clock.now()
    const happening = deliveryHappening(outcome, delivery.openedAt, attemptedAt, options.giveUpAfterMs)
    attempted.push({
      claim,
      attempt: {
        delivery: delivery.delivery,
        from: delivery.state,
        to: decideDelivery(delivery.state, happening),
        status: outcome.status ?? null,
        error: outcome.taken ? null : cutText(outcome.error, errorLengthMax),
        attemptedAt,
      },
    })
    loop.wake()
  }

  /** Logs what was attempted and ends its claims, in one transaction; kept for the next run where that fails. */
  function record(): Promise<void> {
    const recorded = recording.then(async () => {
      const batch = [...attempted]
      if (batch.length === 0) return
      const open = batch.filter(({ attempt }) => attempt.to === 'OPEN').map(({ claim }) => claim)
      const ended = batch.filter(({ attempt }) => attempt.to !== 'OPEN').map(({ claim }) => claim)
      const attempts = batch.map(({ attempt }) => attempt)
      await database.transaction(async tx => {
        await recordAttempts(tx, attempts)
        await queue.settle(tx, ended, open)
      })
      attempted = attempted.slice(batch.length)
      const givenUp = attempts.filter(({ to }) => to === 'GIVEN_UP').map(({ delivery }) => delivery)
      if (givenUp.length > 0) log.warn({ deliveries: givenUp }, 'deliveries were given up')
    })
    recording = recorded.catch(() => {})
    return recorded
  }

  /**
   * Begins what is claimed. What fails on the way stays claimed, for the next run: a claim that was forgotten would hold up its receiver
   * until it is old enough to be a dead process's.
   */
  async function begin(): Promise<void> {
    if (claimed.length === 0) return
    const found = await readDueDeliveries(
      database,
      claimed.map(claim => claim.delivery),
    )
    const due = new Map(found.map(delivery => [delivery.delivery, delivery]))
    const idle: DeliveryClaim[] = []
    const early: DueDelivery[] = []
    for (const claim of claimed) {
      const delivery = due.get(claim.delivery)
      if (delivery?.state === 'OPEN' && !delivery.early) start(claim, delivery)
      else {
        idle.push(claim)
        if (delivery?.state === 'OPEN') early.push(delivery)
      }
    }
    claimed = idle
    if (idle.length > 0) await database.transaction(tx => putBack(tx, idle, early))
    claimed = []
  }

  /** What is not to be sent leaves the queue; what came before the start was told enters it again, behind that and a second later. */
  async function putBack(tx: Transaction, claims: readonly DeliveryClaim[], early: readonly DueDelivery[]) {
    await queue.settle(tx, claims, [])
    await queue.enterAgain(tx, early.map(queued), 1)
  }

  function start(claim: DeliveryClaim, delivery: DueDelivery): void {
    const promise = attemptDelivery(claim, delivery).finally(() => underWay.delete(promise))
    underWay.add(promise)
  }

  const loop = createLoop({
    name: 'delivery-worker',
    clock,
    // What is tried again is known to the queue alone, whose pauses are of seconds.
    pollMs: 1_000,
    log,
    ...(options.onRun && { onRun: options.onRun }),
    async runOnce(_now, signal) {
      await record()
      await begin()
      for (const next of [shares.first, shares.more]) {
        while (!signal.aborted) {
          const { free, perReceiver: most, ignored } = next(clock.now().getTime())
          const limit = Math.min(free - attempted.length, claimBatch)
          claimed = limit > 0 ? await queue.claim(limit, most, ignored) : []
          if (claimed.length === 0) break
          await begin()
        }
      }
      return null
    },
  })

  /** Leaves what was claimed and could not be begun to whoever comes next. */
  async function giveBack(): Promise<void> {
    if (claimed.length === 0) return
    await database.transaction(tx => queue.settle(tx, [], claimed))
    claimed = []
  }

  async function settled(): Promise<void> {
    while (underWay.size > 0) await Promise.all(underWay)
    await record()
  }

  async function listen(): Promise<(() => Promise<void>) | undefined> {
    try {
      return await database.listen(DELIVERY_CHANNEL, () => loop.wake())
    } catch (error) {
      log.warn({ err: error }, 'the delivery worker only polls: it cannot listen')
      return undefined
    }
  }

  return {
    ...loop,
    start() {
      aborting = new AbortController()
      listening ??= listen()
      loop.start()
    },
    async stop() {
      const listened = listening
      listening = null
      await loop.stop()
      await (await listened)?.()
      const running = aborting
      const timer = setTimeout(() => running.abort(), stopGraceMs)
      await Promise.all([
        settled().catch(error =>
          log.error({ err: error }, 'the last attempts could not be logged: they are made again'),
        ),
        giveBack().catch(error =>
          log.error({ err: error }, 'what was claimed and not begun could not be given back: it is taken over later'),
        ),
      ])
      clearTimeout(timer)
    },
    settled,
  }
}
