import { describe, expect, test } from 'vitest'
import { deliveryId } from '../../src/domain/delivery.ts'
import { jobId } from '../../src/domain/identity.ts'
import type { SendDelivery } from '../../src/engine/connector.ts'
import { listDeliveries } from '../../src/store/deliveries.ts'
import { sql } from '../../src/store/statement.ts'
import { createCallbackReceiver } from '../callback-receiver.ts'
import {
  database,
  ended,
  enqueuer,
  finish,
  jobsWith,
  jobWith,
  logged,
  queue,
  read,
  request,
  runWorker,
  start,
} from './delivery-desk.ts'

describe('a job with a callback', () => {
  test('tells its start and then its end, each to the letter', async () => {
    const receiver = await createCallbackReceiver()
    runWorker()
    const job = await jobWith(`${receiver.url}/jobs/`)
    await start(job)
    await finish(ended(job))
    const [first, second] = await receiver.hears(2)
    expect(first?.path).toBe('/jobs/jobStarted')
    expect(JSON.parse(first?.body ?? '')).toStrictEqual({
      job: {
        id: jobId(job.job),
        request: {
          name: 'REBOOT_EQUIPMENT',
          parameters: { type: 'HARDWARE' },
          notify: false,
          user: 'ann@example.com',
        },
        report: {
          execution: {
            activatedDate: '2026-03-01T10:00:00.000Z',
            startedDate: '2026-03-01T10:00:01.000Z',
            finishedDate: '',
          },
        },
      },
    })
    expect(second?.path).toBe('/jobs/jobFinished')
    expect(JSON.parse(second?.body ?? '')).toStrictEqual({
      job: {
        id: jobId(job.job),
        request: { ...job.request, user: 'ann@example.com' },
        report: {
          execution: {
            activatedDate: '2026-03-01T10:00:00.000Z',
            startedDate: '2026-03-01T10:00:01.000Z',
            finishedDate: '2026-03-01T10:05:00.000Z',
          },
          summary: {
            status: 'FINISHED_WITH_ERRORS',
            total: 3,
            inProgress: { total: 0, scheduled: 0, pendingExecution: 0, waitingForConnection: 0, started: 0 },
            finished: {
              total: 3,
              successful: 2,
              error: 0,
              cancelled: {
                total: 1,
                byUser: 0,
                byEngine: 0,
                byTimeout: 1,
                byExternalTimeout: 0,
                byExternal: 0,
                byAlreadyInProgress: 0,
              },
            },
            finishedOutOfTime: { total: 0, successful: 0, error: 0 },
            errorCode: '0x020012',
            errorDescription: 'ERROR_TIMEOUT: 1',
          },
        },
        result: { page: { number: 1, of: 1 }, operations: [{ operationId: 'o1' }] },
      },
    })
    expect(second?.headers['webhook-id']).toBe(deliveryId(job.job, 'callback', 'jobFinished'))
  })

  test('has no error in its summary unless it finished with errors', async () => {
    const receiver = await createCallbackReceiver()
    runWorker()
    await finish(ended(await jobWith(receiver.url), { status: 'FINISHED', errorCode: null, errorDescription: null }))
    const { job } = JSON.parse((await receiver.hears(1))[0]?.body ?? '')
    expect(job.report.summary.status).toBe('FINISHED')
    expect(job.report.summary).not.toHaveProperty('errorCode')
  })

  test('that is cancelled before its start tells its end only', async () => {
    const receiver = await createCallbackReceiver()
    runWorker()
    const job = await jobWith(receiver.url, { startedAt: null })
    await finish(ended(job, { status: 'CANCELLED' }))
    const heard = await receiver.hears(1)
    expect(heard[0]?.path).toBe('/jobFinished')
    expect(JSON.parse(heard[0]?.body ?? '').job.report.execution.startedDate).toBe('')
    expect(await read(job, 'callback', 'jobStarted')).toBeUndefined()
  })

  test('tells its start first also where both were entered in one transaction', async () => {
    const receiver = await createCallbackReceiver()
    const jobs = await jobsWith(receiver.url, 20)
    await database.transaction(async tx => {
      await enqueuer().finished(
        tx,
        jobs.map(job => ended(job)),
        new Date(),
      )
      await enqueuer().started(tx, jobs, new Date())
    })
    runWorker()
    const heard = await receiver.hears(40)
    for (const job of jobs) {
      const ofJob = heard.filter(({ body }) => JSON.parse(body).job.id === jobId(job.job))
      expect(ofJob.map(({ path }) => path)).toEqual(['/jobStarted', '/jobFinished'])
    }
  })

  test('tells its start first also where the transaction that ended it began before the one that started it', async () => {
    const receiver = await createCallbackReceiver()
    const job = await jobWith(receiver.url)
    await database.transaction(async tx => {
      await tx.query(sql`select 1`)
      await start(job)
      await enqueuer().finished(tx, [ended(job)], new Date())
    })
    runWorker()
    const heard = await receiver.hears(2)
    expect(heard.map(({ path }) => path)).toEqual(['/jobStarted', '/jobFinished'])
  })

  test('tells nothing where the transaction that moved it was rolled back, and once where it was told of twice', async () => {
    const receiver = await createCallbackReceiver()
    const [undone, twice] = [await jobWith(receiver.url), await jobWith(receiver.url)]
    const rolledBack = database.transaction(async tx => {
      await enqueuer().started(tx, [undone], new Date())
      throw new Error('rolled back')
    })
    await expect(rolledBack).rejects.toThrow('rolled back')
    await start(twice)
    await start(twice)
    await finish(ended(twice))
    runWorker()
    const heard = await receiver.hears(2)
    expect(heard.map(({ path }) => path)).toEqual(['/jobStarted', '/jobFinished'])
    expect(await read(undone, 'callback', 'jobStarted')).toBeUndefined()
  })
})

test('a job without a callback and without notify tells nobody', async () => {
  const job = await jobWith('')
  await start(job)
  await finish(ended(job))
  const page = await listDeliveries(database, { organization: 1, job: job.job, state: null }, { offset: 0, size: 10 })
  expect(page).toEqual({ deliveries: [], count: 0 })
})

test('a job with notify is told by mail to its user and by trap, where these are configured, and at its end only', async () => {
  const sent: { receiver: string; body: string }[] = []
  const note: SendDelivery = async ({ receiver, body }) => {
    sent.push({ receiver, body })
    return { taken: true }
  }
  const told = enqueuer(queue, { mailHost: 'mail.example', trapHost: 'trap.example:162' })
  const job = await jobWith('', { request: request('', { notify: true, userNotes: 'at night' }) })
  await database.transaction(async tx => {
    await told.started(tx, [job], new Date())
    await told.finished(tx, [ended(job), ended(await jobWith(''))], new Date())
  })
  const worker = runWorker({ senders: { mail: note, trap: note } })
  await logged(worker, () => Promise.all([read(job, 'mail', 'jobFinished'), read(job, 'trap', 'jobFinished')]))
  expect(sent.map(({ receiver }) => receiver).sort()).toEqual(['', 'ann@example.com'])
  expect(JSON.parse(sent[0]?.body ?? '')).toMatchObject({
    id: jobId(job.job),
    name: 'REBOOT_EQUIPMENT',
    user: 'ann@example.com',
    userNotes: 'at night',
    execution: { finishedDate: '2026-03-01T10:05:00.000Z' },
    summary: { status: 'FINISHED_WITH_ERRORS', total: 3 },
  })
})
