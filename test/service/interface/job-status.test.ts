import { expect, test } from 'vitest'
import type { JobView } from '../../../src/contract/job.ts'
import { createCallbackReceiver } from '../../callback-receiver.ts'
import { httpDevice, responseTo } from '../../connectors/http-devices.ts'
import { isFinal, openHouse, response } from '../house.ts'
import { asking, FAR, JOBS, on } from './asking.ts'
import { shownBy } from './shown-by.ts'

const house = await openHouse()
const { cancel, make, operations, pending, put, readJob, refusal, untilJob } = asking(house)
const TRANSITION = 'Job state transition error.'
const later = { start: { date: FAR } }
const statusOf = ({ report }: JobView) => report.summary.status

let made = 0

/** A device of its own that waits to be asked. */
async function device(): Promise<{ id: string; key: string }> {
  made += 1
  return { id: `d${made}`, key: await house.provision(`d${made}`) }
}

/** A device that answers every request with a word. */
async function saying(resultCode: string): Promise<string> {
  made += 1
  const url = await httpDevice((received, reply) => void reply.writeHead(201).end(responseTo(received, { resultCode })))
  await house.provision(`d${made}`, { 'provision.device.operation.url': url })
  return `d${made}`
}

/** A job that has launched its one operation. */
async function launched(request: object = {}): Promise<{ id: string; entity: string; key: string }> {
  const { id: entity, key } = await device()
  const { id } = await make(on([entity], { ...request }))
  // A job with a short stop may have ended before anybody looked.
  await house.until(id, seen => seen.status === 'WAITING_FOR_CONNECTION' || isFinal(seen))
  return { id, entity, key }
}

test('IDLE: created, and not started because it is not active.', async () => {
  expect(statusOf(await make(on([(await device()).id], { active: false })))).toBe('IDLE')
})

test('SCHEDULED: active, and waiting for its start.', async () => {
  expect(statusOf(await make(on([(await device()).id], { schedule: later })))).toBe('SCHEDULED')
})

test('IN_PROGRESS: started.', async () => {
  expect(statusOf(await readJob((await launched()).id))).toBe('IN_PROGRESS')
})

test('PAUSED: paused by setting `active` to false while it runs.', async () => {
  const { id } = await launched()
  expect(statusOf((await put(id, { active: false })).body)).toBe('PAUSED')
})

test('FINISHED: all its operations have finished.', async () => {
  const { id } = await make(on([await saying('SUCCESSFUL')]))
  expect((await untilJob(id, 'FINISHED')).report.summary.finished).toMatchObject({ total: 1, successful: 1 })
})

test('FINISHED_WITH_ERRORS: some or all of its operations failed or were cancelled.', async () => {
  const { id } = await make(on([await saying('SUCCESSFUL'), await saying('ERROR_PROCESSING')]))
  expect((await untilJob(id, 'FINISHED_WITH_ERRORS')).report.summary.finished).toMatchObject({
    successful: 1,
    error: 1,
  })
})

test('CANCELLING_BY_USER: a user cancelled it, and operations are still being cancelled.', async () => {
  const { id } = await launched()
  const answer = await cancel(id)
  expect([answer.status, statusOf(answer.body)]).toEqual([200, 'CANCELLING_BY_USER'])
})

shownBy(
  'CANCELLING_BY_ENGINE: its stop was reached, and operations are still being cancelled.',
  'test/engine/schedule.test.ts',
  'a delayed stop counts from the start: what is open then is cancelled by the engine',
)

test('CANCELLED: the job and all its operations are cancelled.', async () => {
  const { id } = await launched()
  await cancel(id)
  await untilJob(id, 'CANCELLED')
  expect((await operations(id)).map(({ status }) => status)).toEqual(['CANCELLED'])
})

test('TIMEOUT_CANCELLED: cancelled because its maximum time was over.', async () => {
  const { id } = await launched({ schedule: { stop: { delayed: 300 } } })
  expect((await untilJob(id, 'TIMEOUT_CANCELLED')).report.summary.finished.cancelled.byEngine).toBe(1)
})

test('Created with `active` false it is IDLE.', async () => {
  const { id } = await make(on([(await device()).id], { active: false }))
  expect(statusOf(await readJob(id))).toBe('IDLE')
})

test('Created with `active` true and a delayed start it is SCHEDULED.', async () => {
  const schedule = { start: { delayed: 3_600_000 } }
  expect(statusOf(await make(on([(await device()).id], { active: true, schedule })))).toBe('SCHEDULED')
})

test('Created with `active` true and a dated start it is SCHEDULED.', async () => {
  expect(statusOf(await make(on([(await device()).id], { active: true, schedule: later })))).toBe('SCHEDULED')
})

test('Created with `active` true and an immediate start it is IN_PROGRESS, and its start is notified.', async () => {
  const receiver = await createCallbackReceiver()
  const created = await make(on([(await device()).id], { active: true, callback: receiver.url }))
  expect(statusOf(created)).toBe('IN_PROGRESS')
  expect((await receiver.hears(1)).map(({ path }) => path)).toEqual(['/jobStarted'])
})

test('IDLE becomes SCHEDULED when `active` is set and the start is delayed.', async () => {
  const { id } = await make(on([(await device()).id], { active: false, schedule: later }))
  expect(statusOf((await put(id, { active: true })).body)).toBe('SCHEDULED')
})

test('IDLE becomes IN_PROGRESS when `active` is set and the start is immediate.', async () => {
  const { id } = await make(on([(await device()).id], { active: false }))
  expect(statusOf((await put(id, { active: true })).body)).toBe('IN_PROGRESS')
})

test('SCHEDULED becomes IDLE when `active` is taken away.', async () => {
  const { id } = await make(on([(await device()).id], { schedule: later }))
  expect(statusOf((await put(id, { active: false })).body)).toBe('IDLE')
})

test('SCHEDULED becomes IN_PROGRESS when its start is reached, and the start is notified.', async () => {
  const receiver = await createCallbackReceiver()
  const schedule = { start: { delayed: 2_000 } }
  const { id, report } = await make(on([(await device()).id], { callback: receiver.url, schedule }))
  expect([report.summary.status, receiver.heard]).toEqual(['SCHEDULED', []])
  await untilJob(id, 'IN_PROGRESS')
  expect((await receiver.hears(1)).map(({ path }) => path)).toEqual(['/jobStarted'])
})

test('IN_PROGRESS becomes PAUSED when `active` is taken away, and nothing of it can be modified then.', async () => {
  const { id } = await launched()
  await put(id, { active: false })
  for (const members of [{ userNotes: 'n' }, { notify: true }, { schedule: { stop: { delayed: 1_000 } } }]) {
    expect((await refusal('PUT', `${JOBS}/${id}`, { job: { request: members } })).message).toBe(TRANSITION)
  }
  expect(statusOf(await readJob(id))).toBe('PAUSED')
})

test('PAUSED becomes IN_PROGRESS when `active` is set, and no second start is notified.', async () => {
  const receiver = await createCallbackReceiver()
  const { id, entity, key } = await launched({ callback: receiver.url })
  await put(id, { active: false })
  expect(statusOf((await put(id, { active: true })).body)).toBe('IN_PROGRESS')
  const request = (await pending(entity, key))!
  await house.south(entity, key, 'operation/response', response(request.id, { resultCode: 'SUCCESSFUL' }))
  expect((await receiver.hears(2)).map(({ path }) => path)).toEqual(['/jobStarted', '/jobFinished'])
})

test('IN_PROGRESS becomes FINISHED when all operations are final and successful, and the end is notified.', async () => {
  const receiver = await createCallbackReceiver()
  const { id } = await make(
    on([await saying('SUCCESSFUL'), await saying('PARTIAL_SUCCESS')], { callback: receiver.url }),
  )
  const [, finished] = await receiver.hears(2)
  expect(finished?.path).toBe('/jobFinished')
  expect(statusOf(await readJob(id))).toBe('FINISHED')
})

test('IN_PROGRESS becomes FINISHED_WITH_ERRORS when operations failed or were cancelled, and the end is notified.', async () => {
  const receiver = await createCallbackReceiver()
  const { id } = await make(on([await saying('NOT_SUPPORTED')], { callback: receiver.url }))
  const [, finished] = await receiver.hears(2)
  expect(finished?.path).toBe('/jobFinished')
  expect(statusOf(await readJob(id))).toBe('FINISHED_WITH_ERRORS')
})

test('IN_PROGRESS becomes CANCELLING_BY_USER when a user cancels.', async () => {
  expect(statusOf((await cancel((await launched()).id)).body)).toBe('CANCELLING_BY_USER')
})

test('SCHEDULED is cancelled by a user: with nothing launched it is CANCELLED when the call returns.', async () => {
  const { id } = await make(on([(await device()).id], { schedule: later }))
  expect(statusOf((await cancel(id)).body)).toBe('CANCELLED')
})

shownBy(
  'IN_PROGRESS becomes CANCELLING_BY_ENGINE when the time of the job is over.',
  'test/engine/schedule.test.ts',
  'a delayed stop counts from the start: what is open then is cancelled by the engine',
)

test('CANCELLING_BY_USER becomes CANCELLED when every operation has been cancelled.', async () => {
  const { id } = await launched()
  await cancel(id)
  expect((await untilJob(id, 'CANCELLED')).report.summary).toMatchObject({
    inProgress: { total: 0 },
    finished: { cancelled: { total: 1, byUser: 1 } },
  })
})

test('CANCELLING_BY_ENGINE becomes TIMEOUT_CANCELLED when every operation has been cancelled.', async () => {
  const { id } = await launched({ schedule: { stop: { delayed: 200 } } })
  expect((await untilJob(id, 'TIMEOUT_CANCELLED')).report.summary.inProgress.total).toBe(0)
})

test('FINISHED, FINISHED_WITH_ERRORS, CANCELLED and TIMEOUT_CANCELLED are final.', async () => {
  const finished = await make(on([await saying('SUCCESSFUL')]))
  const failed = await make(on([await saying('NOT_SUPPORTED')]))
  const cancelled = await make(on([(await device()).id], { active: false }))
  await cancel(cancelled.id)
  const stopped = await launched({ schedule: { stop: { delayed: 100 } } })
  for (const [{ id }, status] of [
    [finished, 'FINISHED'],
    [failed, 'FINISHED_WITH_ERRORS'],
    [cancelled, 'CANCELLED'],
    [stopped, 'TIMEOUT_CANCELLED'],
  ] as const) {
    await untilJob(id, status)
    for (const active of [true, false]) {
      const told = await refusal('PUT', `${JOBS}/${id}`, { job: { request: { active } } })
      expect([told.status, told.message], status).toEqual([400, TRANSITION])
    }
    expect((await refusal('DELETE', `${JOBS}/${id}`)).message).toBe(TRANSITION)
    expect(statusOf(await readJob(id))).toBe(status)
  }
})

shownBy(
  'The transitions of a job are the rows of one table, and nothing leaves a final status.',
  'test/domain/job.test.ts',
  'nothing leaves a final status',
)
