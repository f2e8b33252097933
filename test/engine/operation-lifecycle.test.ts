import { afterAll, expect, test, vi } from 'vitest'
import { summaryOf } from '../../src/domain/counters.ts'
import type { Flow } from '../../src/domain/flow.ts'
import type { OperationKey } from '../../src/domain/identity.ts'
import {
  OPERATION_LIFECYCLE,
  type OperationEvent,
  type OperationPhase,
  type OperationStatus,
} from '../../src/domain/operation.ts'
import { closeOperationsOfEntities, massAnswers } from '../../src/engine/operation-canceller.ts'
import type { Happening } from '../../src/engine/operation-draft.ts'
import { applyHappenings } from '../../src/engine/operation-transitions.ts'
import { recountJobs } from '../../src/store/counters.ts'
import { readEndedOperations } from '../../src/store/ended-operations.ts'
import { readCounters } from '../../src/store/jobs.ts'
import { readOpenOperations } from '../../src/store/operations.ts'
import { sql } from '../../src/store/statement.ts'
import { testDatabase } from '../database.ts'
import { createWorkbench, EPOCH, jobRequest } from './workbench.ts'

/** The rows that the engine itself has read, whoever drove it to that. */
const asked = vi.hoisted(() => new Set<string>())
vi.mock('../../src/domain/operation.ts', async original => {
  const operation = await original<typeof import('../../src/domain/operation.ts')>()
  const decide: typeof operation.decide = (phase, event, result) => {
    asked.add(`${phase} ${event}`)
    return operation.decide(phase, event, result)
  }
  return { ...operation, decide }
})

const table = await vi.importActual<typeof import('../../src/domain/operation.ts')>('../../src/domain/operation.ts')
const { database } = await testDatabase()
const bench = await createWorkbench(database)
const now = new Date(EPOCH.getTime() + 1_000)
const exercised = new Set<string>()
let made = 0

/** Happenings that the naming turns into an event, with the rules under which it does. */
const HAPPENINGS: Partial<
  Record<OperationEvent, { happening: Omit<Happening, 'key'>; attempt?: number; ackTimeout?: number; flow?: Flow }>
> = {
  postpone: { happening: { seen: 'slotTaken' }, attempt: 0 },
  slotTaken: { happening: { seen: 'slotTaken' }, attempt: 2 },
  askedInstead: { happening: { seen: 'askedInstead' }, flow: 'mqtt' },
  acknowledged: { happening: { word: { steps: [] } } },
  part: { happening: { word: { steps: [{ name: 'S', result: 'SUCCESSFUL' }] } } },
  final: { happening: { word: { resultCode: 'NOT_SUPPORTED', steps: [] } } },
  retry: { happening: { word: { resultCode: 'ERROR_PROCESSING', steps: [] } }, attempt: 1 },
  ackTimeoutOver: { happening: { seen: 'deadlineOver' }, attempt: 3 },
  timeoutOver: { happening: { seen: 'deadlineOver' }, attempt: 3, ackTimeout: 0 },
  unreachable: { happening: { seen: 'unreachable' }, attempt: 3 },
  deviceFailed: { happening: { seen: 'deviceFailed' }, attempt: 3 },
  externalCancel: { happening: { word: { resultCode: 'CANCELLED', steps: [] } } },
  externalTimeout: { happening: { word: { resultCode: 'TIMEOUT_CANCELLED', steps: [] } } },
  lateFinal: { happening: { word: { resultCode: 'NOT_SUPPORTED', steps: [] } } },
  stray: { happening: { word: { steps: [] } } },
}
const MASS: readonly OperationEvent[] = ['userCancel', 'stopReached', 'deleted']

/** One operation in a phase, with its job counted. */
async function operationIn(
  phase: OperationPhase,
  attempt: number,
  ackTimeout: number,
  flow: Flow = 'http',
): Promise<OperationKey> {
  made += 1
  const id = `row-${made}`
  await bench.provision([id])
  const job = await bench.jobs.create(
    bench.caller,
    jobRequest({
      active: false,
      target: { append: { entities: [id] } },
      operationParameters: {
        ackTimeout,
        timeout: 60_000,
        retries: 2,
        retriesDelay: 1_000,
        retryResultList: ['ERROR_PROCESSING', 'ALREADY_IN_PROGRESS'],
      },
    }),
  )
  const [key] = await database.query<OperationKey>(
    sql`select job, partition, entity from operation where job = ${job.job}`,
  )
  const status = phase === 'BETWEEN_ATTEMPTS' ? 'PENDING' : phase
  const launched = phase !== 'PENDING'
  await database.query(sql`
    update operation set status = ${status}::operation_status, attempt = ${attempt}, flow = ${flow},
           started_at = ${launched ? EPOCH : null}::timestamptz, launched_at = ${launched ? EPOCH : null}::timestamptz,
           deadline_at = ${launched ? EPOCH : null}::timestamptz
     where job = ${job.job}`)
  const counter: Partial<Record<OperationStatus, string>> = {
    QUEUED: 'pending_execution',
    WAITING_FOR_ACK: 'pending_execution',
    WAITING_FOR_CONNECTION: 'waiting_for_connection',
    IN_PROGRESS: 'started',
  }
  const column = counter[status]
  if (column) {
    await database.query(sql`
      insert into job_counter_delta (job, scheduled, ${sql.identifier(column, Object.values(counter))})
      values (${job.job}, -1, 1)`)
  }
  return key!
}

/** One operation that ended in a status after it was launched. */
async function operationEndedIn(status: OperationPhase): Promise<OperationKey> {
  const key = await operationIn('IN_PROGRESS', 3, 1_000)
  if (status === 'NOT_ALLOWED' || status === 'FINISHED_OUT_OF_TIME') {
    await endAs(key, 'TIMEOUT_CANCELLED')
    await database.query(sql`
      update operation_ended set status = ${status}::operation_status, counter = 'error' where job = ${key.job}`)
    await database.query(sql`insert into job_counter_delta (job, by_timeout, error) values (${key.job}, -1, 1)`)
  } else await endAs(key, status)
  return key
}

async function endAs(key: OperationKey, status: OperationPhase): Promise<void> {
  const word = status === 'FINISHED' ? 'SUCCESSFUL' : 'CANCELLED'
  const happening: Happening =
    status === 'TIMEOUT_CANCELLED' ? { key, seen: 'deadlineOver' } : { key, word: { resultCode: word, steps: [] } }
  await database.transaction(tx => applyHappenings(tx, [happening], now))
}

const rows = OPERATION_LIFECYCLE.flatMap(row => row.from.map(from => [from, row.event] as const))

test.each(rows)('%s, %s', async (from, event) => {
  const {
    happening,
    attempt = 1,
    ackTimeout = 1_000,
    flow,
  } = HAPPENINGS[event] ?? { happening: { seen: event as NonNullable<Happening['seen']> } }
  const open = !['FINISHED', 'FINISHED_OUT_OF_TIME', 'TIMEOUT_CANCELLED', 'NOT_ALLOWED', 'CANCELLED'].includes(from)
  const key = open ? await operationIn(from, attempt, ackTimeout, flow) : await operationEndedIn(from)
  const word = happening.word?.resultCode
  const expected = table.decide(from, event, word === undefined ? undefined : 'NOT_SUPPORTED')

  if (event === 'deleted') await database.transaction(tx => closeOperationsOfEntities(tx, [key], now))
  else if (MASS.includes(event)) {
    await database.query(sql`update job set status = 'IN_PROGRESS' where job = ${key.job}`)
    const status = event === 'userCancel' ? 'CANCELLING_BY_USER' : 'CANCELLING_BY_ENGINE'
    await database.query(sql`update job set status = ${status}::job_status where job = ${key.job}`)
    await bench.engine.loops.get('operation-canceller')!.runOnce(now)
  } else await database.transaction(tx => applyHappenings(tx, [{ key, ...happening }], now))

  const [left] = await readOpenOperations(database, [key])
  const [ended] = await readEndedOperations(database, [key])
  expect(left?.status ?? ended?.status).toBe(expected.status)
  if (expected.result) expect([ended?.result, ended?.counter]).toEqual([expected.result, expected.counter])
  const counters = (await readCounters(database, [key.job])).get(key.job)!
  expect(counters).toEqual((await recountJobs(database, [key.job])).get(key.job))
  expect(summaryOf(counters).total).toBe(1)
  exercised.add(`${from} ${event}`)
})

test('a mass event is decided for every open status, launched or not', () => {
  for (const event of ['userCancel', 'stopReached', 'deleted'] as const) expect(massAnswers(event)).toHaveLength(10)
})

afterAll(() => {
  const named = rows.map(pair => pair.join(' '))
  expect([...exercised].sort()).toEqual(named.toSorted())
  expect(named.filter(row => !asked.has(row))).toEqual([])
})
