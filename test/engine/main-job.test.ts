import { expect, test } from 'vitest'
import { summaryOf } from '../../src/domain/counters.ts'
import { recountJobs } from '../../src/store/counters.ts'
import { readJob } from '../../src/store/jobs.ts'
import { testDatabase } from '../database.ts'
import { createWorkbench, jobRequest } from './workbench.ts'

const { database } = await testDatabase()
const bench = await createWorkbench(database)
const { jobs, caller } = bench
const ids = (prefix: string, count: number) => Array.from({ length: count }, (_, i) => `${prefix}-${i}`)

async function summary(job: bigint) {
  const row = (await readJob(database, caller.organization, job))!
  expect((await recountJobs(database, [job])).get(job)).toEqual(row.counters)
  return { status: row.status, ...summaryOf(row.counters) }
}

test('a job on a list of devices that answer at once ends as FINISHED, started and finished are told', async () => {
  const devices = ids('sync', 50)
  await bench.provision(devices)
  bench.device = (request, report) => {
    report({ seen: 'sent' })
    report({
      seen: 'answered',
      message: {
        ...request.device,
        operationId: request.id,
        resultCode: 'SUCCESSFUL',
        steps: [{ name: 'R', result: 'SUCCESSFUL' }],
      },
    })
  }
  const job = await jobs.create(caller, jobRequest({ target: { append: { entities: devices } } }))
  expect(job.status).toBe('IN_PROGRESS')
  expect(job.counters.scheduled).toBe(50)
  await bench.settle()
  expect(await summary(job.job)).toMatchObject({ status: 'FINISHED', total: 50, finished: { successful: 50 } })
  expect(bench.told).toEqual([
    { kind: 'started', job: job.job, status: 'IN_PROGRESS' },
    { kind: 'finished', job: job.job, status: 'FINISHED' },
  ])
})

test('an operation nobody acknowledges is retried, then cancelled by timeout', async () => {
  await bench.provision(['silent'])
  bench.sent.length = 0
  bench.device = (_, report) => report({ seen: 'sent' })
  const job = await jobs.create(
    caller,
    jobRequest({
      target: { append: { entities: ['silent'] } },
      operationParameters: {
        ackTimeout: 10_000,
        timeout: 60_000,
        retries: 2,
        retriesDelay: 5_000,
        retryResultList: ['ERROR_TIMEOUT'],
      },
    }),
  )
  await bench.advance(45_000)
  expect(bench.sent.length).toBe(3)
  expect(new Set(bench.sent.map(request => request.id)).size).toBe(1)
  expect(await summary(job.job)).toMatchObject({
    status: 'FINISHED_WITH_ERRORS',
    finished: { cancelled: { byTimeout: 1 } },
  })
})
