/**
 * Puts the engine together: its loops, its use cases, and who wakes whom. Holds no business of its own.
 */
import type { Logger } from 'pino'
import type { Database } from '../store/database.ts'
import { openAgainWhatWaits } from '../store/jobs-due.ts'
import { notifyNodes, WAKE_CHANNEL } from '../store/nodes.ts'
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
/** Wakes of other nodes are gathered for this long. */
const ANNOUNCE_MS = 50
/** How often loops that every commit wakes run at most; deadlines are kept by whole seconds. */
const DISPATCHER_REST_MS = 5
const FOLD_REST_MS = 50
const DEADLINE_REST_MS = 200
/** How often to look for what nobody tells of, where that need not be seen at once: what is due is known, and who moves it wakes. */
const TASK_POLL_MS = 5_000
const HOUSE_POLL_MS = 60_000
/** What a notification says was moved, and the loops that this is work for. */
const JOBS = 'jobs'
const OPERATIONS = 'operations'
/** Jobs were moved, and gates of theirs have opened. */
const GATES = 'gates'
const OF_JOBS = ['job-keeper', 'target-resolver', 'operation-canceller', 'task-keeper']
const LARGE_JOB_KEEPER = 'large-job-keeper'
const JOB_SETTLER = 'job-settler'
const OF_OPERATIONS = ['operation-dispatcher', 'counter-folder', 'deadline-keeper']
/** What fits into one notification. */
const DEVICES_PER_WAKE = 400

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
  let announcing: NodeJS.Timeout | null = null
  let moved = OPERATIONS
  let waitingDevices: bigint[] = []

  const wakeLoops = (names: readonly string[]) => {
    for (const name of names) loops.get(name)?.wake()
  }

  /** Wakes whatever may have work after jobs were made or moved. */
  function wake(): void {
    if (moved === OPERATIONS) moved = JOBS
    wakeLoops(OF_JOBS)
    wakeMoved()
  }

  /** Wakes the calls that are held here and on other nodes; it is followed by `wake`. */
  function onOpened(): void {
    moved = GATES
    pending.gateOpened()
  }

  /** The same after operations were moved: that is no work for those who look after jobs, and it happens all the time. */
  function wakeMoved(): void {
    wakeLoops(OF_OPERATIONS)
    // A notification in every transaction would cost more than the work it announces.
    announcing ??= setTimeout(announce, ANNOUNCE_MS)
  }

  function announce(): void {
    announcing = null
    const from = `${node} ${moved}`
    const devices = waitingDevices.map(device => device.toString(16))
    moved = OPERATIONS
    waitingDevices = []
    const payloads = [[from, ...devices.slice(0, DEVICES_PER_WAKE)]]
    for (let i = DEVICES_PER_WAKE; i < devices.length; i += DEVICES_PER_WAKE) {
      payloads.push([from, ...devices.slice(i, i + DEVICES_PER_WAKE)])
    }
    notifyNodes(
      database,
      payloads.map(payload => payload.join(' ')),
    ).catch((error: unknown) => {
      log.debug({ err: error }, 'other nodes were not woken; they poll')
    })
  }

  function onWaiting(devices: readonly DeviceNumbers[], awayAt: Date): void {
    pending.wake(devices)
    waitingDevices.push(...devices.map(device => device.entity))
    presence.lookAgain(devices, awayAt).catch((error: unknown) => {
      log.warn({ err: error }, 'presence was not looked at again; the devices are sent to when they next connect')
    })
  }

  function onNotified(payload: string | null): void {
    // After a lost connection to the database anything may have been missed.
    if (payload === null) {
      for (const loop of loops.values()) loop.wake()
      pending.wakeAll()
      return
    }
    const [from, what, ...devices] = payload.split(' ')
    if (from === String(node)) return
    if (what !== OPERATIONS) wakeLoops(OF_JOBS)
    if (what === GATES) pending.gateOpened()
    wakeLoops(OF_OPERATIONS)
    pending.wake(devices.map(device => ({ entity: BigInt(`0x${device}`) })))
  }

  const memory = createOperationMemory()
  const gatherer = createOperationGatherer({
    database,
    clock,
    log,
    memory,
    onCommit: wakeMoved,
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
  const presence = createPresence({ database, clock, memory, node, onCommit: wakeMoved })
  const pending = createPending({
    database,
    clock,
    memory,
    redeliveryMs: parts.pullRedeliveryMs,
    log,
    onCommit: wakeMoved,
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
      onCommit: wakeMoved,
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
      onCommit: wakeMoved,
    }),
    { restMs: DEADLINE_REST_MS },
  )
  const folding = createCounterFolding({
    database,
    settling,
    onEnd: wake,
    onLarge: () => wakeLoops([JOB_SETTLER]),
  })
  add('counter-folder', folding.fold, { restMs: FOLD_REST_MS })
  add(JOB_SETTLER, folding.endLarge)
  add('target-resolver', createTargetResolving({ ...parts, onCommit: wake }))
  const keeping = createJobKeeping({
    database,
    notices: parts.notices,
    settling,
    onCommit: wake,
    onOpened,
    onLarge: () => wakeLoops([LARGE_JOB_KEEPER]),
    isMissed: (tx, job, now) => isMissedByTask(tx, job, now, nodes.livedSince(now)),
  })
  add('job-keeper', keeping.keep)
  add(LARGE_JOB_KEEPER, keeping.keepLarge)
  add('housekeeper', createHousekeeping(database, parts, log), { pollMs: HOUSE_POLL_MS })
  const { nextNumber } = parts
  add('task-keeper', createTaskKeeping({ database, nextNumber, onCommit: wake, livedSince: nodes.livedSince }), {
    pollMs: TASK_POLL_MS,
  })
  add('operation-canceller', createOperationCancelling(database, settling, wake))
  add('exchange-keeper', createExchangeKeeping(database, parts.connectors))

  const listening: (() => Promise<void>)[] = []
  return {
    answers: createAnswers(database, gatherer, file),
    pending,
    presence,
    settling,
    gatherer,
    loops,
    wake,
    async start(moves) {
      await nodes.turn(clock.now())
      // A process that died may have written down that a device is there, and not come to send what waits for it.
      if (moves) await openAgainWhatWaits(database, clock.now())
      listening.push(await database.listen(WAKE_CHANNEL, onNotified))
      for (const loop of loops.values()) if (moves || loop.name === 'node-keeper') loop.start()
    },
    async stop() {
      await loops.get('operation-dispatcher')?.stop()
      await sender.stop(STOP_GRACE_MS)
      await gatherer.stop()
      await Promise.all([...loops.values()].map(loop => loop.stop()))
      for (const end of listening) await end()
      if (announcing) clearTimeout(announcing)
      await nodes.leave(clock.now())
    },
  }
}
