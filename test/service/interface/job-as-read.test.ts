import { expect, test } from 'vitest'
import type { JobView } from '../../../src/contract/job.ts'
import { createCallbackReceiver } from '../../callback-receiver.ts'
import { httpDevice } from '../../connectors/http-devices.ts'
import { ADMIN, isFinal, openHouse, response } from '../house.ts'
import { asking, FAR, on } from './asking.ts'

const house = await openHouse({ DROVER_MIN_OPERATION_TIMEOUT_MS: '0' })
const { cancel, make, operations, pending, put, readJob, untilJob } = asking(house)

await house.provision('id')

const summaryOf = async (id: string) => (await readJob(id)).report.summary
const result = (resultCode: string) => ({ resultCode })

/** A device that asks for its work; the answers to what it is handed come one by one. */
async function answering(
  device: string,
  request: object = {},
  answer?: (handed: string, key: string) => Promise<unknown>,
) {
  const key = await house.provision(device)
  const { id } = await make(on([device], { ...request }))
  await house.until(id, ({ status }) => status === 'WAITING_FOR_CONNECTION')
  const handed = (await pending(device, key))!
  await answer?.(handed.id, key)
  return { id, key, handed: handed.id }
}
const answers = (device: string, word: object) => (handed: string, key: string) =>
  house.south(device, key, 'operation/response', response(handed, { ...word }))

test('`id` is a string, and the one under which the job is read.', async () => {
  const { id } = await make(on(['id'], { active: false }))
  expect(typeof id).toBe('string')
  expect((await readJob(id)).id).toBe(id)
})

test('`request` is the request as it was created.', async () => {
  const asked = on(['id'], { active: false, notify: true, userNotes: 'n', parameters: { type: 'SOFTWARE' } })
  expect((await make(asked)).request).toMatchObject(asked)
})

test('`request.user` is who created the job.', async () => {
  expect((await make(on(['id'], { active: false }))).request.user).toBe(ADMIN)
})

test('`report.execution` has the instants of activation and start.', async () => {
  const { id } = await make(on(['id']))
  const { activatedDate, startedDate } = (await readJob(id)).report.execution
  for (const date of [activatedDate, startedDate]) expect(new Date(date).toISOString()).toBe(date)
})

test('`report.execution.finishedDate` is empty while the job runs, and an instant once it has ended.', async () => {
  const { id } = await answering('dated')
  expect((await readJob(id)).report.execution.finishedDate).toBe('')
  await cancel(id)
  const { report } = await untilJob(id, 'CANCELLED')
  expect(new Date(report.execution.finishedDate).toISOString()).toBe(report.execution.finishedDate)
})

test('`result` is in the finished notification, and not in the job as read.', async () => {
  const receiver = await createCallbackReceiver()
  const { id } = await make(on(['id'], { active: false, callback: receiver.url }))
  await cancel(id)
  const [finished] = await receiver.hears(1)
  expect(JSON.parse(finished!.body).job.result).toMatchObject({
    page: { number: 1, of: 1 },
    operations: [{ jobId: id }],
  })
  expect(await readJob(id)).not.toHaveProperty('result')
})

test('`status` is the status of the job.', async () => {
  expect((await make(on(['id'], { active: false }))).report.summary.status).toBe('IDLE')
})

test('`total` counts the operations.', async () => {
  await house.provision('two')
  const { id } = await make(on(['id', 'two'], { active: false }))
  expect((await summaryOf(id)).total).toBe(2)
})

test('`inProgress.total` counts the operations that have not finished.', async () => {
  const { id } = await make(on(['id', 'two'], { active: false }))
  expect((await summaryOf(id)).inProgress.total).toBe(2)
})

test('`inProgress.scheduled` counts those that are not launched.', async () => {
  const { id } = await make(on(['id'], { schedule: { start: { date: FAR } } }))
  expect((await summaryOf(id)).inProgress.scheduled).toBe(1)
})

test('`inProgress.pendingExecution` counts those that are queued for execution.', async () => {
  const url = await httpDevice(() => {})
  await house.provision('mute', { 'provision.device.operation.url': url })
  const { id } = await make(on(['mute']))
  await house.until(id, ({ status }) => status === 'WAITING_FOR_ACK')
  expect((await summaryOf(id)).inProgress.pendingExecution).toBe(1)
})

test('`inProgress.waitingForConnection` counts those that wait for their device to appear.', async () => {
  await house.provision('absent')
  const { id } = await make(on(['absent']))
  await house.until(id, ({ status }) => status === 'WAITING_FOR_CONNECTION')
  expect((await summaryOf(id)).inProgress.waitingForConnection).toBe(1)
})

test('`inProgress.started` counts those that have started.', async () => {
  const { id } = await answering('started')
  expect((await summaryOf(id)).inProgress.started).toBe(1)
})

test('`finished.total` counts the operations in a final state.', async () => {
  const { id } = await answering('final', {}, answers('final', result('NOT_SUPPORTED')))
  expect((await summaryOf(id)).finished.total).toBe(1)
})

test('`finished.successful` counts those that finished successfully.', async () => {
  const { id } = await answering('good', {}, answers('good', result('SUCCESSFUL')))
  expect((await summaryOf(id)).finished).toMatchObject({ total: 1, successful: 1, error: 0 })
})

test('`finished.error` counts those that finished with an error.', async () => {
  const { id } = await answering('bad', {}, answers('bad', result('ERROR_PROCESSING')))
  expect((await summaryOf(id)).finished).toMatchObject({ total: 1, successful: 0, error: 1 })
})

test('`finished.cancelled.total` counts those that were cancelled, whatever the cause.', async () => {
  const { id } = await make(on(['id', 'two'], { active: false }))
  await cancel(id)
  expect((await summaryOf(id)).finished).toMatchObject({ total: 2, cancelled: { total: 2 } })
})

test('`finished.cancelled.byUser` counts those that a user or the API cancelled.', async () => {
  const { id } = await make(on(['id'], { active: false }))
  await cancel(id)
  expect((await summaryOf(id)).finished.cancelled.byUser).toBe(1)
})

test('`finished.cancelled.byEngine` counts those that the engine cancelled.', async () => {
  await house.provision('stopped')
  const { id } = await make(on(['stopped'], { schedule: { stop: { delayed: 200 } } }))
  expect((await untilJob(id, 'TIMEOUT_CANCELLED')).report.summary.finished.cancelled.byEngine).toBe(1)
})

test('`finished.cancelled.byTimeout` counts those whose own time-out was over.', async () => {
  const { id } = await answering('timed', { operationParameters: { timeout: 200 } })
  await house.until(id, isFinal)
  expect((await summaryOf(id)).finished.cancelled.byTimeout).toBe(1)
})

test('`finished.cancelled.byExternalTimeout` counts those for which an external system reported a time-out.', async () => {
  const { id } = await answering('outside', {}, answers('outside', result('TIMEOUT_CANCELLED')))
  expect((await summaryOf(id)).finished.cancelled.byExternalTimeout).toBe(1)
})

test('`finished.cancelled.byExternal` counts those that an external system cancelled.', async () => {
  const { id } = await answering('other', {}, answers('other', result('CANCELLED')))
  expect((await summaryOf(id)).finished.cancelled.byExternal).toBe(1)
})

test('`finished.cancelled.byAlreadyInProgress` counts those whose entity already ran the same operation.', async () => {
  await answering('busy')
  const second = await make(on(['busy']))
  await house.until(second.id, isFinal)
  expect((await summaryOf(second.id)).finished.cancelled.byAlreadyInProgress).toBe(1)
})

test('`finishedOutOfTime.total` counts the operations whose result came outside the allowed time.', async () => {
  const { id, key, handed } = await answering('late', { operationParameters: { timeout: 200 } })
  await house.until(id, isFinal)
  await answers('late', result('SUCCESSFUL'))(handed, key)
  const { finished, finishedOutOfTime, total } = await summaryOf(id)
  expect([total, finished.total, finishedOutOfTime.total]).toEqual([1, 0, 1])
})

test('`finishedOutOfTime.successful` and `.error` count those of them that succeeded and failed.', async () => {
  for (const [device, code, counted] of [
    ['late-good', 'SUCCESSFUL', { successful: 1, error: 0 }],
    ['late-bad', 'ERROR_PROCESSING', { successful: 0, error: 1 }],
  ] as const) {
    const { id, key, handed } = await answering(device)
    await cancel(id)
    await house.until(id, isFinal)
    await answers(device, result(code))(handed, key)
    expect((await summaryOf(id)).finishedOutOfTime).toMatchObject(counted)
  }
})

test('`errorCode` and `errorDescription` are there with FINISHED_WITH_ERRORS, and with no other status.', async () => {
  const { id } = await answering('failed', {}, answers('failed', result('ERROR_PROCESSING')))
  const failed = (await untilJob(id, 'FINISHED_WITH_ERRORS')).report.summary
  expect(failed.errorCode).toMatch(/^0x/)
  expect(failed.errorDescription).toContain('ERROR_PROCESSING')
  const good = await answering('fine', {}, answers('fine', result('SUCCESSFUL')))
  for (const summary of [
    (await untilJob(good.id, 'FINISHED')).report.summary,
    (await make(on(['id'], { active: false }))).report.summary,
  ]) {
    expect(summary).not.toHaveProperty('errorCode')
    expect(summary).not.toHaveProperty('errorDescription')
  }
})

test('How many operations succeeded is told by the counters: a job without a single failure can still hold partial successes.', async () => {
  const { id } = await answering('part', {}, answers('part', result('PARTIAL_SUCCESS')))
  const { status, finished } = (await untilJob(id, 'FINISHED')).report.summary
  expect([status, finished.successful]).toEqual(['FINISHED', 1])
})

test('The totals are the sums of their parts, and every operation is counted once.', async () => {
  const key = await house.provision('sum-1')
  for (const id of ['sum-2', 'sum-3']) await house.provision(id)
  const { id } = await make(on(['sum-1', 'sum-2', 'sum-3']))
  await house.until(id, ({ status }) => status === 'WAITING_FOR_CONNECTION')
  await answers('sum-1', result('SUCCESSFUL'))((await pending('sum-1', key))!.id, key)
  await put(id, { active: false })
  const { total, inProgress, finished, finishedOutOfTime } = await summaryOf(id)
  expect(total).toBe((await operations(id)).length)
  expect(inProgress.total + finished.total + finishedOutOfTime.total).toBe(total)
  const { scheduled, pendingExecution, waitingForConnection, started } = inProgress
  expect(scheduled + pendingExecution + waitingForConnection + started).toBe(inProgress.total)
})

const COUNTERS = [
  'total',
  ...['total', 'scheduled', 'pendingExecution', 'waitingForConnection', 'started'].map(each => `inProgress.${each}`),
  ...['total', 'successful', 'error'].flatMap(each => [`finished.${each}`, `finishedOutOfTime.${each}`]),
  ...['total', 'byUser', 'byEngine', 'byTimeout', 'byExternalTimeout', 'byExternal', 'byAlreadyInProgress'].map(
    each => `finished.cancelled.${each}`,
  ),
]

test('Every counter is a field of search filters, behind jobs.report.summary.', async () => {
  const at = (summary: unknown, path: string) =>
    path.split('.').reduce<unknown>((value, name) => (value as Record<string, unknown>)[name], summary)
  const { body: all } = await house.call<{ jobs: JobView[] }>('POST', '/north/v80/search/jobs', {})
  expect(COUNTERS).toHaveLength(19)
  for (const counter of COUNTERS) {
    const filter = { eq: { [`jobs.report.summary.${counter}`]: 1 } }
    const found = await house.call<{ jobs: JobView[] } | undefined>('POST', '/north/v80/search/jobs', { filter })
    const expected = all.jobs.filter(({ report }) => at(report.summary, counter) === 1).map(({ id }) => id)
    expect([counter, found.body?.jobs.map(({ id }) => id).sort() ?? []]).toEqual([counter, expected.sort()])
  }
})
