import { expect, test } from 'vitest'
import type { JobRequest } from '../../src/domain/job.ts'
import { OPERATION_RESULTS, type OperationResult } from '../../src/domain/operation.ts'
import type { SendReport } from '../../src/engine/connector.ts'
import { testDatabase } from '../database.ts'
import { HOUR, MINUTE, operationOf, SECOND, say, sentTo, silent, summaryOfJob } from './scenario.ts'
import { createWorkbench, jobRequest } from './workbench.ts'

const { database } = await testDatabase()
const bench = await createWorkbench(database)
const { jobs, caller } = bench
let made = 0

async function jobOnOne({
  schedule = {},
  ...rules
}: {
  retries: number
  retriesDelay?: number
  retryResultList?: OperationResult[]
  schedule?: JobRequest['schedule']
}) {
  made += 1
  const device = `retried-${made}`
  await bench.provision([device])
  bench.sent.length = 0
  const { job } = await jobs.create(
    caller,
    jobRequest({
      target: { append: { entities: [device] } },
      schedule,
      operationParameters: {
        ackTimeout: 10_000,
        timeout: 60_000,
        retriesDelay: 0,
        retryResultList: ['ERROR_TIMEOUT'],
        ...rules,
      },
    }),
  )
  return { job, device }
}

test('a result that is listed is tried again after the pause, and earlier attempts stay readable with their steps', async () => {
  bench.device = silent
  const { job, device } = await jobOnOne({
    retries: 2,
    retriesDelay: 30 * SECOND,
    retryResultList: ['ERROR_TIMEOUT', 'ERROR_PROCESSING'],
  })
  await bench.settle()
  await say(bench, job, device, {
    resultCode: 'ERROR_PROCESSING',
    resultDescription: 'flash is busy',
    steps: [{ name: 'DOWNLOAD', result: 'ERROR' }],
  })
  await bench.settle()
  expect(await operationOf(bench, job, device)).toMatchObject({
    status: 'PENDING',
    attempt: 1,
    steps: null,
    attempts: [{ attempt: 1, result: 'ERROR_PROCESSING', description: 'flash is busy', steps: [{ name: 'DOWNLOAD' }] }],
  })
  expect((await summaryOfJob(bench, job)).inProgress.scheduled).toBe(1)
  await bench.advance(29 * SECOND)
  expect(bench.sent.length).toBe(1)
  await bench.advance(2 * SECOND)
  expect(bench.sent.length).toBe(2)
  await say(bench, job, device, { resultCode: 'SUCCESSFUL', steps: [{ name: 'DOWNLOAD', result: 'SUCCESSFUL' }] })
  await bench.settle()
  expect(await operationOf(bench, job, device)).toMatchObject({
    status: 'FINISHED',
    attempt: 2,
    steps: [{ result: 'SUCCESSFUL' }],
    attempts: [{ attempt: 1, steps: [{ result: 'ERROR' }] }],
  })
  expect(await summaryOfJob(bench, job)).toMatchObject({ status: 'FINISHED', total: 1 })
})

test('attempts never exceed retries + 1, and the last result stands', async () => {
  const { job, device } = await jobOnOne({ retries: 2, retryResultList: ['ERROR_PROCESSING'] })
  for (let attempt = 1; attempt <= 3; attempt += 1) {
    await bench.settle()
    await say(bench, job, device, { resultCode: 'ERROR_PROCESSING' })
  }
  await bench.settle()
  expect(bench.sent.length).toBe(3)
  expect(await operationOf(bench, job, device)).toMatchObject({
    status: 'FINISHED',
    result: 'ERROR_PROCESSING',
    attempt: 3,
  })
})

test.each(OPERATION_RESULTS)(
  '%s, where it is listed, brings another attempt, unless it says nothing or forbids it',
  async word => {
    bench.device = silent
    const { job, device } = await jobOnOne({ retries: 1, retryResultList: [word] })
    await bench.settle()
    // A word that the service does not know is one of its own.
    const said = word === 'UNKNOWN_RESULT' ? 'OUT_OF_ORDER' : word
    await say(bench, job, device, { resultCode: said, resultDescription: 'as I said' })
    await bench.settle()
    const operation = await operationOf(bench, job, device)
    if (word === 'OPERATION_PENDING') {
      expect(operation).toMatchObject({ status: 'IN_PROGRESS', attempt: 1 })
    } else if (word === 'NOT_ALLOWED') {
      expect(operation).toMatchObject({ status: 'FINISHED', result: 'NOT_ALLOWED', attempt: 1 })
    } else {
      expect(operation).toMatchObject({
        status: 'WAITING_FOR_ACK',
        attempt: 2,
        attempts: [{ attempt: 1, result: word, description: 'as I said', steps: [] }],
      })
      expect(bench.sent.length).toBe(2)
    }
  },
)

test('a user cancel is never tried again, listed or not, nor is a stop; a retry that is due after the stop is cancelled by it', async () => {
  bench.device = silent
  const listed = { retries: 3, retryResultList: [...OPERATION_RESULTS] }
  const cancelled = await jobOnOne(listed)
  await bench.settle()
  await jobs.cancel(caller, cancelled.job)
  await bench.settle()
  expect(await operationOf(bench, cancelled.job, cancelled.device)).toMatchObject({ status: 'CANCELLED', attempt: 1 })

  const stopped = await jobOnOne({ ...listed, retriesDelay: HOUR, schedule: { stop: { delayed: 30 * MINUTE } } })
  await bench.settle()
  await say(bench, stopped.job, stopped.device, { resultCode: 'ERROR_PROCESSING' })
  await bench.advance(29 * MINUTE)
  expect(await operationOf(bench, stopped.job, stopped.device)).toMatchObject({ status: 'PENDING', attempt: 1 })
  await bench.advance(2 * HOUR)
  expect(await operationOf(bench, stopped.job, stopped.device)).toMatchObject({
    status: 'TIMEOUT_CANCELLED',
    result: 'TIMEOUT_CANCELLED',
    attempt: 1,
  })
  expect(sentTo(bench).filter(device => device === stopped.device)).toHaveLength(1)
})

test('a result that is not listed is final, however many retries are left', async () => {
  const { job, device } = await jobOnOne({ retries: 5, retryResultList: ['ERROR_PROCESSING'] })
  await bench.settle()
  await say(bench, job, device, { resultCode: 'ERROR_IN_PARAM' })
  expect(await operationOf(bench, job, device)).toMatchObject({ status: 'FINISHED', result: 'ERROR_IN_PARAM' })
})

test.each([
  ['no connection', { seen: 'unreachable', description: 'refused' }, 2, 'TIMEOUT_CANCELLED', 'ERROR_TIMEOUT'],
  ['an answer 5xx', { seen: 'deviceFailed', description: '503' }, 2, 'FINISHED', 'ERROR_PROCESSING'],
  ['an answer 4xx', { seen: 'deviceRefused', description: '404' }, 1, 'FINISHED', 'NOT_SUPPORTED'],
] as const)('%s: %o', async (_, seen: SendReport, sent, status, result) => {
  bench.device = (_request, report) => report(seen)
  const { job, device } = await jobOnOne({ retries: 1 })
  await bench.settle()
  expect(bench.sent.length).toBe(sent)
  expect(await operationOf(bench, job, device)).toMatchObject({ status, result, attempt: sent })
})

test('no end within the timeout is retried, too, and the timeout counts anew', async () => {
  bench.device = silent
  const { job, device } = await jobOnOne({ retries: 1 })
  await bench.settle()
  await say(bench, job, device)
  await bench.advance(61 * SECOND)
  expect(bench.sent.length).toBe(2)
  await say(bench, job, device)
  await bench.advance(59 * SECOND)
  expect(await operationOf(bench, job, device)).toMatchObject({ status: 'IN_PROGRESS', attempt: 2 })
  await bench.advance(2 * SECOND)
  expect(await operationOf(bench, job, device)).toMatchObject({
    status: 'TIMEOUT_CANCELLED',
    result: 'ERROR_TIMEOUT',
    attempts: [{ attempt: 1, result: 'ERROR_TIMEOUT' }],
  })
})

test('an answer between two attempts ends the operation, and nothing is sent again', async () => {
  bench.device = silent
  const { job, device } = await jobOnOne({ retries: 3, retriesDelay: MINUTE })
  await bench.advance(11 * SECOND)
  expect(await operationOf(bench, job, device)).toMatchObject({ status: 'PENDING', attempt: 1 })
  await say(bench, job, device, { steps: [{ name: 'LATE', result: 'SUCCESSFUL' }] })
  expect(await operationOf(bench, job, device)).toMatchObject({
    status: 'PENDING',
    steps: null,
    attempts: [{ steps: [{ name: 'LATE' }] }],
  })
  await say(bench, job, device, { resultCode: 'SUCCESSFUL' })
  await bench.advance(2 * MINUTE)
  expect(bench.sent.length).toBe(1)
  expect(await operationOf(bench, job, device)).toMatchObject({
    status: 'FINISHED',
    result: 'SUCCESSFUL',
    attempt: 1,
    steps: [{ name: 'LATE' }],
    attempts: null,
  })
})

test('what a sender reports of an attempt that is over says nothing of the next one', async () => {
  const reports: ((report: SendReport) => void)[] = []
  bench.device = (_, report) => reports.push(report)
  const { job, device } = await jobOnOne({ retries: 1 })
  await bench.advance(11 * SECOND)
  expect(reports.length).toBe(2)
  reports[0]!({ seen: 'unreachable', description: 'at last' })
  reports[1]!({ seen: 'sent' })
  await bench.settle()
  expect(await operationOf(bench, job, device)).toMatchObject({ status: 'WAITING_FOR_ACK', attempt: 2 })
})
