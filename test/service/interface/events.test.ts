import { expect, test } from 'vitest'
import { createCallbackReceiver } from '../../callback-receiver.ts'
import { httpDevice, responseTo } from '../../connectors/http-devices.ts'
import { ADMIN, openHouse } from '../house.ts'
import { asking, FAR, JOBS, job, on, TASKS, task } from './asking.ts'
import { shownBy } from './shown-by.ts'

const house = await openHouse()
const { cancel, make, makeTask, operations, put, readJob, refuses, untilJob } = asking(house)
await house.provision('away')

let made = 0

/** A device that answers at once. */
async function quick(): Promise<string> {
  made += 1
  const url = await httpDevice((received, reply) => {
    reply.writeHead(201).end(responseTo(received, { resultCode: 'SUCCESSFUL' }))
  })
  await house.provision(`d${made}`, { 'provision.device.operation.url': url })
  return `d${made}`
}

const bodyOf = (heard: { body: string } | undefined) => JSON.parse(heard!.body).job

test('The address of a `callback` follows RFC 3986.', async () => {
  await refuses(JOBS, job(on(['away'], { callback: 'http://' })), '0x010001', 'job.request.callback')
  await refuses(JOBS, job(on(['away'], { callback: 'no address' })), '0x010001', 'job.request.callback')
})

test('The HTTP scheme is the only one.', async () => {
  for (const callback of ['https://client.example/', 'ftp://client.example/', 'mailto:a@client.example']) {
    await refuses(JOBS, job(on(['away'], { callback })), '0x010001', 'job.request.callback')
  }
})

test('The method is POST, and the payload is the body.', async () => {
  const receiver = await createCallbackReceiver()
  const { id } = await make(on([await quick()], { callback: receiver.url }))
  for (const heard of await receiver.hears(2)) {
    expect([heard.method, bodyOf(heard).id]).toEqual(['POST', id])
    expect(heard.headers['content-type']).toMatch(/^application\/json/)
  }
})

test('The name of the notification is appended to the base address, so that one address serves both.', async () => {
  const receiver = await createCallbackReceiver()
  await make(on([await quick()], { callback: `${receiver.url}/base/` }))
  expect((await receiver.hears(2)).map(({ path }) => path)).toEqual(['/base/jobStarted', '/base/jobFinished'])
})

test('An empty `callback` disables the notifications.', async () => {
  const receiver = await createCallbackReceiver()
  const { id } = await make(on(['away'], { active: false, callback: receiver.url }))
  await put(id, { callback: '' })
  await cancel(id)
  const witness = await make(on(['away'], { active: false, callback: receiver.url }))
  await cancel(witness.id)
  expect((await receiver.hears(1)).map(each => bodyOf(each).id)).toEqual([witness.id])
})

test('The `callback` of a task is that of its job request, and every job of the task notifies.', async () => {
  const receiver = await createCallbackReceiver()
  const device = await quick()
  const { id } = await makeTask(on([device], { callback: receiver.url }), {
    schedule: { stop: { executions: 2 }, repeating: { period: { each: 1, unit: 'SECONDS' } } },
  })
  const heard = await receiver.hears(4)
  const jobs = new Set(heard.map(each => bodyOf(each).id))
  expect(jobs.size).toBe(2)
  for (const each of jobs) expect((await readJob(each)).taskId).toBe(id)
  await refuses(TASKS, { task: { ...task(on([device])).task, callback: receiver.url } }, '0x010003', 'task.callback')
})

test('The creation of a job is notified by nothing but its 201.', async () => {
  const receiver = await createCallbackReceiver()
  const { id } = await make(on(['away'], { schedule: { start: { date: FAR } }, callback: receiver.url }))
  await cancel(id)
  expect((await receiver.hears(1)).map(({ path }) => path)).toEqual(['/jobFinished'])
})

test('`notify` and `callback` are independent, and can be combined.', async () => {
  const receiver = await createCallbackReceiver()
  const { id, request } = await make(on(['away'], { active: false, notify: true, callback: receiver.url }))
  expect([request.notify, request.callback]).toEqual([true, receiver.url])
  await cancel(id)
  expect(await receiver.hears(1)).toHaveLength(1)
})

test('Job started is emitted when a job begins at once.', async () => {
  const receiver = await createCallbackReceiver()
  await make(on(['away'], { callback: receiver.url }))
  expect((await receiver.hears(1))[0]?.path).toBe('/jobStarted')
})

test('Job started is emitted when a job begins at its scheduled time.', async () => {
  const receiver = await createCallbackReceiver()
  const { id } = await make(on(['away'], { callback: receiver.url, schedule: { start: { delayed: 300 } } }))
  const [started] = await receiver.hears(1)
  const { startedDate } = (await untilJob(id, 'IN_PROGRESS', 'FINISHED_WITH_ERRORS')).report.execution
  expect(bodyOf(started).report.execution.startedDate).toBe(startedDate)
})

test('Job started carries the id, a part of the request and the dates, of which the last is empty.', async () => {
  const receiver = await createCallbackReceiver()
  const { id } = await make(on(['away'], { callback: receiver.url, parameters: { type: 'SOFTWARE' }, userNotes: 'n' }))
  const [started] = await receiver.hears(1)
  expect(bodyOf(started)).toEqual({
    id,
    request: { name: 'REBOOT_EQUIPMENT', parameters: { type: 'SOFTWARE' }, notify: false, user: ADMIN },
    report: {
      execution: {
        activatedDate: expect.stringMatching(/Z$/),
        startedDate: expect.stringMatching(/Z$/),
        finishedDate: '',
      },
    },
  })
})

test('Job finished is emitted when all operations have completed.', async () => {
  const receiver = await createCallbackReceiver()
  await make(on([await quick()], { callback: receiver.url }))
  const [, finished] = await receiver.hears(2)
  expect([finished?.path, bodyOf(finished).report.summary.status]).toEqual(['/jobFinished', 'FINISHED'])
})

test('Job finished is emitted when the job was cancelled.', async () => {
  const receiver = await createCallbackReceiver()
  const { id } = await make(on(['away'], { active: false, callback: receiver.url }))
  await cancel(id)
  const [finished] = await receiver.hears(1)
  expect([finished?.path, bodyOf(finished).report.summary.status]).toEqual(['/jobFinished', 'CANCELLED'])
})

test('Job finished is emitted when the schedule has ended.', async () => {
  const receiver = await createCallbackReceiver()
  await house.provision('slow')
  await make(on(['slow'], { callback: receiver.url, schedule: { stop: { delayed: 200 } } }))
  const [, finished] = await receiver.hears(2)
  expect(bodyOf(finished).report.summary.status).toBe('TIMEOUT_CANCELLED')
})

test('Job finished carries the id, the request, the dates, the summary and the result.', async () => {
  const receiver = await createCallbackReceiver()
  const { id } = await make(on([await quick()], { callback: receiver.url }))
  const [, finished] = await receiver.hears(2)
  const { request, report } = await readJob(id)
  expect(bodyOf(finished)).toEqual({
    id,
    request,
    report: { execution: report.execution, summary: report.summary },
    result: { page: { number: 1, of: 1 }, operations: await operations(id) },
  })
})

test('The result of a finished job says which page of how many it is, and holds the first; further ones are read from the listing.', async () => {
  const receiver = await createCallbackReceiver()
  const many = Array.from({ length: 120 }, (_, i) => ({
    'provision.device.identifier': `many-${i}`,
    'provision.administration.tags': ['many'],
  }))
  const bulk = '/north/v80/provision/organizations/drover/bulk/entities?action=CREATE&flattened=true'
  const entities = many.map(each => ({ resourceType: 'entity.device', ...each }))
  expect((await house.call('POST', bulk, { entities })).status).toBe(200)
  const { id } = await make({
    name: 'REFRESH_INFO',
    active: false,
    callback: receiver.url,
    target: { append: { tags: ['many'] } },
  })
  await house.until(id, () => true)
  await cancel(id)
  const [finished] = await receiver.hears(1)
  const { result } = bodyOf(finished)
  expect([result.page, result.operations.length]).toEqual([{ number: 1, of: 2 }, 100])
  const listing = (page: number) =>
    house.call<{ operations: { operationId: string }[] }>('GET', `${JOBS}/${id}/operations?start=${page}&size=100`)
  expect(result.operations).toEqual((await listing(1)).body.operations)
  expect((await listing(2)).body.operations).toHaveLength(20)
})

shownBy(
  'A receiver that is away is tried again for a day.',
  'test/engine/delivery-retries.test.ts',
  'is given up after 24 hours, which lets the end be told, and never blocks the job for ever',
)
