/**
 * Puts the engine together: its loops and its use cases, and what each is told of by the others. Holds no business of its own.
 */
import type { Logger } from 'pino'
import type { Database } from '../store/database.ts'
import { openAgainWhatWaits } from '../store/jobs-due.ts'
import type { DeviceNumbers } from '../store/operation-devices.ts'
import { forgetConnectionsOfDead } from '../store/presence.ts'
import { type Answers, createAnswers, createMessageFiling } from './answers.ts'
import type { Clock } from './clock.ts'
import type { Connector } from './connector.ts'
import { createCounterFolding } from './counter-folder.ts'
import { createDeadlineKeeping } from './deadline-keeper.ts'
import { createExchangeKeeping } from './exchange-keeper.ts'
import { createHousekeeping } from './housekeeper.ts'
import { createJobKeeping, createOverdueSpreading } from './job-keeper.ts'
import { createJobSettling, type JobNotices, type JobSettling } from './job-settling.ts'
import { createLoop, type Loop, type LoopOptions } from './loop.ts'
import { createNodeKeeping } from './node-keeper.ts'
import { type EngineObserver, unobserved } from './observer.ts'
import { createOperationCancelling } from './operation-canceller.ts'
import { createOperationDispatch } from './operation-dispatcher.ts'
import { createOperationGatherer, type OperationGatherer } from './operation-gatherer.ts'
import { createOperationMemory } from './operation-memory.ts'
import { createPending, type Pending } from './pending.ts'
import { createPresence, type Presence } from './presence.ts'
import { createRequestSender } from './request-sender.ts'
import { createTargetResolving, type TargetResolverParts } from './target-resolver.ts'
import { createTaskKeeping, isMissedByTask } from './task-keeper.ts'
import { createWakes } from './wakes.ts'

export interface EngineParts extends Pick<TargetResolverParts, 'applicabilityOf' | 'compile'> {
  readonly database: Database
  /** for heartbeats: the same database on a connection that nobody else waits for */
  readonly heartDatabase?: Database
  readonly clock: Clock
  /** asks for the time anew; a clock that is the test's own needs none */
  readonly measureClock?: () => Promise<unknown>
  readonly log: Logger
  /** tells this process from the others; random, positive */
  readonly node: number
  readonly nodeName: string
  readonly roles: readonly string[]
  readonly connectors: readonly Connector[]
  readonly notices: JobNotices
  readonly nextNumber: () => bigint
  /** keeps apart the numbers of this process from those of others; numbers that are the test's own need none */
  readonly keepNumbering?: () => Promise<void>
  /** a sealed device key in the clear */
  readonly openKey: (sealed: Buffer) => string
  readonly pullRedeliveryMs: number
  /** months for which ended operations are kept; null for ever */
  readonly retentionMonths: number | null
  /** claims of this node's share of the partitions, one at a time, as a database that is distributed by them needs it */
  readonly claimsByPartition?: boolean
  /** how long the log keeps what has been delivered or given up */
  readonly deliveryRetentionMs: number
  /** how long a device that called through a broker of the operator counts as connected after it was last heard there */
  readonly callMs: number
  readonly observer?: EngineObserver
}

export interface Engine {
  readonly answers: Answers
  readonly pending: Pending
  readonly presence: Presence
  readonly settling: JobSettling
  readonly gatherer: OperationGatherer
  /** by name: tests run them one at a time */
  readonly loops: ReadonlyMap<string, Loop>
  /** Wakes what may have work after a commit, here and on other nodes. */
  readonly wake: () => void
  /** Starts the loops; a process without the engine's role only listens, for the calls that its doors hold. */
  start(moves: boolean): Promise<void>
  /** Stops claiming, lets what is under way end or gives it back, then stops the rest. */
  stop(): Promise<void>
}

const STOP_GRACE_MS = 2_000
/** How often loops that every commit wakes run at most; deadlines are kept by whole seconds. */
const DISPATCHER_REST_MS = 5
const FOLD_REST_MS = 50
const DEADLINE_REST_MS = 200
/** How often to look for what nobody tells of, where that need not be seen at once: what is due is known, and who moves it wakes. */
const TASK_POLL_MS = 5_000
const HOUSE_POLL_MS = 60_000
const LARGE_JOB_KEEPER = 'large-job-keeper'
const JOB_SETTLER = 'job-settler'

export function createEngine(parts: EngineParts): Engine {
  const { database, clock, log, node, observer = unobserved } = parts
  const loops = new Map<string, Loop>()
  const nodes = createNodeKeeping({
    database: parts.heartDatabase ?? database,
    measureClock: parts.measureClock ?? (() => Promise.resolve()),
    keepNumbering: parts.keepNumbering ?? (() => Promise.resolve()),
    self: { node, name: parts.nodeName, roles: parts.roles },
    onOutage: createOverdueSpreading(database),
    onSilence: silentMs =>
      log.warn({ node, silentMs }, 'this node was silent for so long that others may have taken it for dead'),
    onRevival: () =>
      presence.recordAgain().catch((error: unknown) => {
        log.warn({ err: error, node }, 'connected devices were not recorded again; tried after the next heartbeat')
        throw error
      }),
    onDeath: silentSince =>
      database
        .transaction(tx => forgetConnectionsOfDead(tx, silentSince))
        .catch((error: unknown) => {
          log.warn({ err: error, node }, 'connections of dead nodes were not forgotten; tried after the next heartbeat')
          throw error
        }),
    onChange: living => log.info({ node, living: [...living] }, 'the living nodes changed'),
  })
  const wakes = createWakes({ database, log, node, loops, calls: () => pending })

  function onWaiting(devices: readonly DeviceNumbers[], awayAt: Date): void {
    wakes.devicesWaitedFor(devices)
    presence.lookAgain(devices, awayAt).catch((error: unknown) => {
      log.warn({ err: error }, 'presence was not looked at again; the devices are sent to when they next connect')
    })
  }

  const memory = createOperationMemory()
  const gatherer = createOperationGatherer({
    database,
    clock,
    log,
    memory,
    onCommit: wakes.operationsMoved,
    onApplied: observer.applied,
  })
  const file = createMessageFiling(database, clock)
  const sender = createRequestSender({
    connectors: parts.connectors,
    gatherer,
    clock,
    log,
    node,
    onAway: ({ device }, handedAt) => onWaiting([device], handedAt),
    onHeard(device) {
      presence.seen(device).catch((error: unknown) => log.debug({ err: error }, 'presence was not recorded'))
    },
    onStray(message) {
      file({ message, reason: 'stray' }).catch((error: unknown) => {
        log.warn({ err: error, operation: message.operationId }, 'an answer that changed nothing was not filed')
      })
    },
  })
  const settling = createJobSettling(parts.notices)
  const presence = createPresence({ database, clock, memory, node, onCommit: wakes.operationsMoved })
  const pending = createPending({
    database,
    clock,
    memory,
    redeliveryMs: parts.pullRedeliveryMs,
    log,
    onCommit: wakes.operationsMoved,
  })

  const add = (name: string, runOnce: LoopOptions['runOnce'], rhythm: Pick<LoopOptions, 'restMs' | 'pollMs'> = {}) =>
    loops.set(name, createLoop({ name, clock, runOnce, ...rhythm, log, onRun: observer.ran }))
  add('node-keeper', nodes.turn)
  add(
    'operation-dispatcher',
    createOperationDispatch({
      database,
      clock,
      memory,
      sender,
      node,
      mayClaim: nodes.isLiving,
      partitions: parts.claimsByPartition ? nodes.partitions : () => null,
      openKey: parts.openKey,
      onWaiting,
      onCommit: wakes.operationsMoved,
    }),
    { restMs: DISPATCHER_REST_MS },
  )
  add(
    'deadline-keeper',
    createDeadlineKeeping({
      database,
      node,
      livingNodes: nodes.living,
      isSending: sender.isSending,
      log,
      onCommit: wakes.operationsMoved,
    }),
    { restMs: DEADLINE_REST_MS },
  )
  const folding = createCounterFolding({
    database,
    settling,
    onEnd: wakes.jobsMoved,
    onLarge: () => loops.get(JOB_SETTLER)?.wake(),
  })
  add('counter-folder', folding.fold, { restMs: FOLD_REST_MS })
  add(JOB_SETTLER, folding.endLarge)
  add('target-resolver', createTargetResolving({ ...parts, onCommit: wakes.jobsMoved }))
  const keeping = createJobKeeping({
    database,
    notices: parts.notices,
    settling,
    onCommit: wakes.jobsMoved,
    onOpened: wakes.gatesOpened,
    onLarge: () => loops.get(LARGE_JOB_KEEPER)?.wake(),
    isMissed: (tx, job, now) => isMissedByTask(tx, job, now, nodes.livedSince(now)),
  })
  add('job-keeper', keeping.keep)
  add(LARGE_JOB_KEEPER, keeping.keepLarge)
  add('housekeeper', createHousekeeping(database, parts, log), { pollMs: HOUSE_POLL_MS })
  const { nextNumber } = parts
  add(
    'task-keeper',
    createTaskKeeping({ database, nextNumber, onCommit: wakes.jobsMoved, livedSince: nodes.livedSince }),
    { pollMs: TASK_POLL_MS },
  )
  add('operation-canceller', createOperationCancelling(database, settling, wakes.jobsMoved))
  add('exchange-keeper', createExchangeKeeping(database, parts.connectors))

  return {
    answers: createAnswers(database, gatherer, file),
    pending,
    presence,
    settling,
    gatherer,
    loops,
    wake: wakes.jobsMoved,
    async start(moves) {
      await nodes.turn(clock.now())
      // A process that died may have written down that a device is there, and not come to send what waits for it.
      if (moves) await openAgainWhatWaits(database, clock.now())
      await wakes.listen()
      for (const loop of loops.values()) if (moves || loop.name === 'node-keeper') loop.start()
    },
    async stop() {
      await loops.get('operation-dispatcher')?.stop()
      await sender.stop(STOP_GRACE_MS)
      await gatherer.stop()
      await Promise.all([...loops.values()].map(loop => loop.stop()))
      await wakes.stop()
      await nodes.leave(clock.now())
    },
  }
}
