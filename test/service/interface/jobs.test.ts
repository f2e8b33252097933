import { expect, test } from 'vitest'
import type { JobView } from '../../../src/contract/job.ts'
import type { OperationsPage } from '../../../src/contract/operation.ts'
import { isFinal, openHouse, response } from '../house.ts'
import { asking, FAR, JOBS, job, on } from './asking.ts'
import { shownBy } from './shown-by.ts'

const house = await openHouse()
const { call } = house
const { cancel, make, operation, operations, pending, put, refusal, refuses, untilJob } = asking(house)
const TRANSITION = 'Job state transition error.'
const names = Array.from({ length: 25 }, (_, i) => `d${String(i).padStart(2, '0')}`)
for (const name of names) await house.provision(name)
const idle = (members: object = {}) => make(on(['d00'], { active: false, ...members }))

/** A job that runs, on a device that stays away. */
async function running(device: string): Promise<string> {
  await house.provision(device)
  const { id } = await make(on([device]))
  await house.until(id, ({ status }) => status === 'WAITING_FOR_CONNECTION')
  return id
}

test('POST answers 201 with a location that carries the identifier of the job.', async () => {
  const { status, headers, body } = await call<JobView>('POST', JOBS, job(on(['d00'], { active: false })))
  expect(status).toBe(201)
  expect(headers.get('location')?.split('/').at(-1)).toBe(body.id)
  expect((await call('GET', headers.get('location')!)).status).toBe(200)
})

test('POST takes `resourceType` in its query.', async () => {
  const target = { append: { filter: {} } }
  expect((await make({ name: 'REFRESH_INFO', active: false, target }, '?resourceType=entity.device')).id).not.toBe('')
})

test('GET answers the request of the job and its summary.', async () => {
  const created = await idle({ userNotes: 'read me' })
  const { status, body } = await call<JobView>('GET', `${JOBS}/${created.id}`)
  expect([status, body.id, body.request.userNotes]).toEqual([200, created.id, 'read me'])
  expect(body.report.summary).toMatchObject({ status: 'IDLE', total: 1 })
})

test('GET of the operations answers them page by page, by `start` and `size`.', async () => {
  const { id } = await make(on(names, { active: false }))
  const seen = new Set<string>()
  for (const [start, count] of [
    [1, 10],
    [2, 10],
    [3, 5],
  ] as const) {
    const { status, body } = await call<OperationsPage>('GET', `${JOBS}/${id}/operations?start=${start}&size=10`)
    expect([status, body.page.number, body.page.of, body.operations.length]).toEqual([200, start, 3, count])
    for (const { entityId } of body.operations) seen.add(entityId)
  }
  expect([...seen].sort()).toEqual(names)
})

test('GET of an operation answers that one.', async () => {
  const { id } = await idle()
  const { operationId } = await operation(id)
  const { status, body } = await call<{ operationId: string }>('GET', `${JOBS}/${id}/operations/${operationId}`)
  expect([status, body.operationId]).toEqual([200, operationId])
})

test('PUT of a part of the request answers the changed job.', async () => {
  const { id, request } = await idle()
  const { status, body } = await put(id, { userNotes: 'new' })
  expect([status, body.id, body.request]).toEqual([200, id, { ...request, userNotes: 'new' }])
})

test('DELETE begins the cancellation.', async () => {
  const { status, body } = await cancel(await running('gone'))
  expect([status, body.report.summary.status]).toEqual([200, 'CANCELLING_BY_USER'])
})

test('PUT of more than `active` is refused while the job is active.', async () => {
  const { id } = await make(on(['d00'], { schedule: { start: { date: FAR } } }))
  expect((await refusal('PUT', `${JOBS}/${id}`, job({ userNotes: 'n' }))).message).toBe(TRANSITION)
})

test('PUT of more than `active` is refused once the job has started.', async () => {
  const id = await running('begun')
  expect((await refusal('PUT', `${JOBS}/${id}`, job({ userNotes: 'n' }))).message).toBe(TRANSITION)
  await put(id, { active: false })
  expect((await refusal('PUT', `${JOBS}/${id}`, job({ userNotes: 'n' }))).message).toBe(TRANSITION)
})

test('PUT changes `active`.', async () => {
  const { id } = await idle({ schedule: { start: { date: FAR } } })
  expect((await put(id, { active: true })).body.report.summary.status).toBe('SCHEDULED')
})

test('PUT changes `notify`.', async () => {
  expect((await put((await idle()).id, { notify: true })).body.request.notify).toBe(true)
})

test('PUT changes `callback`.', async () => {
  const callback = 'http://client.example/elsewhere'
  expect((await put((await idle()).id, { callback })).body.request.callback).toBe(callback)
})

test('PUT changes `userNotes`.', async () => {
  expect((await put((await idle({ userNotes: 'a' })).id, { userNotes: 'b' })).body.request.userNotes).toBe('b')
})

test('PUT changes `schedule.start`.', async () => {
  const { body } = await put((await idle()).id, { schedule: { start: { delayed: 60_000 } } })
  expect(body.request.schedule).toMatchObject({ start: { delayed: 60_000 } })
})

test('PUT changes `schedule.stop`.', async () => {
  const { body } = await put((await idle()).id, { schedule: { stop: { delayed: 90_000 } } })
  expect(body.request.schedule).toMatchObject({ stop: { delayed: 90_000 } })
})

test('PUT appends entities to the target, and removes them.', async () => {
  const { id } = await idle()
  await put(id, { target: { append: { entities: ['d01', 'd02'] } } })
  await put(id, { target: { remove: { entities: ['d01'] } } })
  expect((await operations(id)).map(({ entityId }) => entityId).sort()).toEqual(['d00', 'd02'])
})

test('PUT changes nothing else.', async () => {
  const { id } = await idle()
  const path = `${JOBS}/${id}`
  for (const [member, value] of [
    ['name', 'REFRESH_INFO'],
    ['parameters', { type: 'SOFTWARE' }],
    ['operationParameters', { timeout: 90_000 }],
  ] as const) {
    await refuses(path, job({ [member]: value }), '0x010003', `job.request.${member}`, 'PUT')
  }
  for (const [member, value] of [
    ['window', { weekly: [{ daily: { start: '09:00:00Z', stop: '15:00:00Z' } }] }],
    ['scattering', { maxSpread: 5 }],
  ] as const) {
    await refuses(path, job({ schedule: { [member]: value } }), '0x010003', `job.request.schedule.${member}`, 'PUT')
  }
})

test('PUT has the size limit of creation.', async () => {
  const { id } = await idle()
  const padded = `${' '.repeat(307_200)}${JSON.stringify(job({ userNotes: 'n' }))}`
  expect((await call('PUT', `${JOBS}/${id}`, padded)).status).toBe(413)
  const listed = Array.from({ length: 101 }, (_, i) => `e${i}`)
  const body = job({ target: { append: { entities: listed } } })
  await refuses(`${JOBS}/${id}`, body, '0x010001', 'job.request.target.append.entities', 'PUT')
})

test('A target larger than one list is built by several PUTs, and `active` in the last one starts the job.', async () => {
  const { id } = await make(on(names.slice(0, 10), { active: false }))
  await put(id, { target: { append: { entities: names.slice(10, 20) } } })
  const last = await put(id, { active: true, target: { append: { entities: names.slice(20) } } })
  expect([last.status, last.body.report.summary.status, last.body.report.summary.total]).toEqual([
    200,
    'IN_PROGRESS',
    25,
  ])
  expect((await operations(id)).map(({ entityId }) => entityId).sort()).toEqual(names)
})

test('PUT of `active` false pauses a running job, `active` true resumes it.', async () => {
  const id = await running('pausing')
  expect((await put(id, { active: false })).body.report.summary.status).toBe('PAUSED')
  expect((await put(id, { active: true })).body.report.summary.status).toBe('IN_PROGRESS')
})

test('After a DELETE the job goes to CANCELLING_BY_USER, and then to CANCELLED.', async () => {
  const id = await running('leaving')
  expect((await cancel(id)).body.report.summary.status).toBe('CANCELLING_BY_USER')
  expect((await untilJob(id, 'CANCELLED')).report.execution.finishedDate).not.toBe('')
})

test('When the service cancels a job itself it ends in the cancelled status of time-outs.', async () => {
  await house.provision('stopped')
  const { id } = await make(on(['stopped'], { schedule: { stop: { delayed: 200 } } }))
  expect((await untilJob(id, 'TIMEOUT_CANCELLED')).report.summary.finished.cancelled.byEngine).toBe(1)
})

test('Steps already executed are not rolled back by a DELETE.', async () => {
  const key = await house.provision('stepped')
  const { id } = await make(on(['stepped']))
  await house.until(id, ({ status }) => status === 'WAITING_FOR_CONNECTION')
  const request = (await pending('stepped', key))!
  const steps = [{ name: 'DOWNLOAD', result: 'SUCCESSFUL' }]
  await house.south('stepped', key, 'operation/response', response(request.id, { steps }))
  await cancel(id)
  expect((await house.until(id, isFinal)).steps).toMatchObject(steps)
  expect(await pending('stepped', key)).toBeUndefined()
})

shownBy(
  'Nothing is launched or handed out any more once a DELETE was answered.',
  'test/engine/cancel.test.ts',
  'nothing is launched, retried or sent again after a cancel was answered',
)
