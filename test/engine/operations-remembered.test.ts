/** What this node wrote last is written again without being read, all of it or nothing; what is otherwise than remembered is read. */
import { pino } from 'pino'
import { expect, test } from 'vitest'
import type { OperationKey } from '../../src/domain/identity.ts'
import type { Happening } from '../../src/engine/operation-draft.ts'
import { createOperationGatherer } from '../../src/engine/operation-gatherer.ts'
import { createOperationMemory } from '../../src/engine/operation-memory.ts'
import { applyRemembered } from '../../src/engine/operations-remembered.ts'
import { readJobRules } from '../../src/store/jobs.ts'
import type { Line } from '../../src/store/line.ts'
import { keyText, readOpenOperations } from '../../src/store/operations.ts'
import { sql } from '../../src/store/statement.ts'
import { testDatabase } from '../database.ts'
import { deviceOf, MINUTE, operationOf, say, silent, summaryOfJob } from './scenario.ts'
import { createWorkbench, jobRequest } from './workbench.ts'

const { database } = await testDatabase()
const line = database.line()
const bench = await createWorkbench(database)
bench.device = silent
let made = 0

/** A job over new devices, each of which was sent its request, and a memory that knows all of it. */
async function launched(count: number, retries = 0) {
  made += 1
  const devices = Array.from({ length: count }, (_, i) => `remembered-${made}-${i}`)
  await bench.provision(devices)
  const { job } = await bench.jobs.create(
    bench.caller,
    jobRequest({
      target: { append: { entities: devices } },
      operationParameters: {
        ackTimeout: 10 * MINUTE,
        timeout: 10 * MINUTE,
        retries,
        retriesDelay: 0,
        retryResultList: ['ERROR_PROCESSING'],
      },
    }),
  )
  await bench.settle()
  const keys = await Promise.all(devices.map(async device => ({ job, ...(await deviceOf(bench, device)) })))
  const memory = createOperationMemory()
  await learn(memory, keys)
  return { job, devices, keys, memory }
}

async function learn(memory: ReturnType<typeof createOperationMemory>, keys: readonly OperationKey[]) {
  const rows = await readOpenOperations(database, keys)
  const rules = await readJobRules(database, [...new Set(keys.map(({ job }) => job))])
  memory.note({ written: rows.map(row => ({ row, text: keyText(row) })), ended: [], rules: [...rules.values()] })
}

const acknowledged = (key: OperationKey): Happening => ({ key, word: { steps: [] } })
const ended = (key: OperationKey, resultCode = 'SUCCESSFUL'): Happening => ({ key, word: { steps: [], resultCode } })
const apply = (happenings: readonly Happening[], memory: ReturnType<typeof createOperationMemory>) =>
  applyRemembered(line, happenings, bench.clock.now(), memory)

/** A gatherer over the same database, and the transactions in which it read. */
function gathererWith(memory: ReturnType<typeof createOperationMemory>) {
  let reading = 0
  const gatherer = createOperationGatherer({
    database: {
      ...database,
      transaction(work, options) {
        reading += 1
        return database.transaction(work, options)
      },
    },
    clock: bench.clock,
    log: pino({ level: 'silent' }),
    memory,
    onCommit: () => {},
    lanes: 1,
  })
  const tell = (happenings: readonly Happening[]) => Promise.all(happenings.map(gatherer.submit))
  return { tell, reading: () => reading }
}

test('what goes on and what ends is written in one exchange, in which nothing is read', async () => {
  const { job, keys, devices, memory } = await launched(6)
  const asked: string[] = []
  const noting: Line = {
    atOnce: work =>
      line.atOnce(tx => {
        const run: typeof tx.run = (statement, params) => {
          asked.push(statement.name)
          return tx.run(statement, params)
        }
        return work({ ...tx, run })
      }),
  }
  const happenings = keys.map((key, i) => (i % 2 === 0 ? acknowledged(key) : ended(key)))
  const { applied, left } = await applyRemembered(noting, happenings, bench.clock.now(), memory)
  expect({ answers: applied?.answers, left }).toEqual({ answers: keys.map(() => 'taken'), left: [] })
  expect(asked).toEqual([
    'jobs_rules_hold',
    'operations_lock',
    'operations_update_all',
    'operations_end_all',
    'operation_timers_arm',
    'counters_insert_deltas',
  ])
  expect(await summaryOfJob(bench, job)).toMatchObject({ inProgress: { started: 3 }, finished: { successful: 3 } })
  expect(await operationOf(bench, job, devices[0]!)).toMatchObject({ status: 'IN_PROGRESS' })
  expect(await operationOf(bench, job, devices[1]!)).toMatchObject({ status: 'FINISHED', result: 'SUCCESSFUL' })
})

test('one after the other, a whole life is written without reading', async () => {
  const { job, keys, memory } = await launched(4)
  const { tell, reading } = gathererWith(memory)
  await tell(keys.map(acknowledged))
  await tell(keys.map(key => ({ key, word: { steps: [{ name: 'DOWNLOAD', result: 'SUCCESSFUL' }] } })))
  await tell(keys.map(key => ended(key)))
  expect(reading()).toBe(0)
  expect((await summaryOfJob(bench, job)).finished.successful).toBe(4)
})

test('where another node has moved one of them, nothing of the batch is written by memory, and all of it by reading', async () => {
  const { job, devices, keys, memory } = await launched(4)
  await say(bench, job, devices[2]!, { resultCode: 'ERROR_PROCESSING' })
  expect(await apply(keys.map(acknowledged), memory)).toMatchObject({
    applied: null,
    left: [0, 1, 2, 3],
    wasWrong: true,
  })
  expect((await summaryOfJob(bench, job)).inProgress.started).toBe(0)
  const { tell } = gathererWith(memory)
  expect(await tell(keys.map(acknowledged))).toEqual(['taken', 'taken', 'stray', 'taken'])
  expect(await summaryOfJob(bench, job)).toMatchObject({
    inProgress: { started: 3 },
    finished: { error: 1 },
  })
})

test('what was decided by rules that the job has no more is not written, and is decided again by those it has', async () => {
  const { job, devices, keys, memory } = await launched(3)
  await database.query(sql`update job set retries = 1 where job = ${job}`)
  const failing = keys.map(key => ended(key, 'ERROR_PROCESSING'))
  expect(await apply(failing, memory)).toMatchObject({ applied: null, wasWrong: true })
  const { tell } = gathererWith(memory)
  await tell(failing)
  await bench.settle()
  expect(await operationOf(bench, job, devices[0]!)).toMatchObject({ attempt: 2 })
})

test('nothing is tried again by memory once its job is being cancelled', async () => {
  const { job, devices, keys, memory } = await launched(3, 1)
  await bench.jobs.cancel(bench.caller, job)
  const { tell } = gathererWith(memory)
  await tell(keys.map(key => ended(key, 'ERROR_PROCESSING')))
  await bench.settle()
  expect(await operationOf(bench, job, devices[0]!)).not.toMatchObject({ status: 'PENDING' })
  expect(await summaryOfJob(bench, job)).toMatchObject({ status: 'CANCELLED' })
})

test('what memory says would change nothing is read, and the rest written without', async () => {
  const { job, keys, memory } = await launched(4)
  const { applied, left } = await apply([...keys.map(acknowledged), ended(keys[3]!)], memory)
  expect({ left, ended: applied?.ended }).toEqual({ left: [], ended: [keyText(keys[3]!)] })
  memory.note(applied!)
  const stale: Happening = { key: keys[0]!, seen: 'sent', launchedAt: 1 }
  const again = await apply([stale, ended(keys[1]!), ended(keys[2]!), acknowledged(keys[3]!)], memory)
  expect(again).toMatchObject({ left: [0, 3], wasWrong: false })
  expect(again.applied?.answers).toEqual([undefined, 'taken', 'taken', undefined])
  expect(await summaryOfJob(bench, job)).toMatchObject({ inProgress: { started: 1 }, finished: { successful: 3 } })
})

test('a batch of which most is not remembered is left to one transaction that reads', async () => {
  const { keys, memory } = await launched(5)
  memory.note({ written: [], ended: keys.slice(0, 3).map(keyText), rules: [] })
  expect(await apply(keys.map(acknowledged), memory)).toEqual({ applied: null, left: [0, 1, 2, 3, 4], wasWrong: false })
})

test('a batch of which one item cannot be stored is written but for that', async () => {
  const { job, devices, keys, memory } = await launched(4)
  const { tell } = gathererWith(memory)
  const bad: Happening = { key: keys[1]!, word: { steps: [], description: 'NUL \0 within' } }
  const all = keys.map((key, i) => (i === 1 ? bad : acknowledged(key)))
  const answers = await Promise.allSettled(all.map(each => tell([each])))
  expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled'])
  expect((await summaryOfJob(bench, job)).inProgress.started).toBe(3)
  expect(await operationOf(bench, job, devices[1]!)).toMatchObject({ status: 'WAITING_FOR_ACK' })
})

test('what somebody else has ended is forgotten once it was found so', async () => {
  const { job, devices, keys, memory } = await launched(3)
  await say(bench, job, devices[0]!, { resultCode: 'SUCCESSFUL' })
  const { tell } = gathererWith(memory)
  expect(await tell([acknowledged(keys[0]!)])).toEqual(['stray'])
  expect(memory.recall(keyText(keys[0]!))).toBeUndefined()
})

test('words that cannot be stored are no reason to read what others say', async () => {
  const { keys, memory } = await launched(4)
  const { tell, reading } = gathererWith(memory)
  const bad: Happening = { key: keys[0]!, word: { steps: [], description: 'NUL \0 within' } }
  await expect(tell([bad])).rejects.toThrow('cannot be stored')
  const before = reading()
  await tell(keys.slice(1).map(acknowledged))
  expect(reading()).toBe(before)
})
