import { expect, test } from 'vitest'
import { createCallbackReceiver } from '../../callback-receiver.ts'
import { openHouse } from '../house.ts'
import { asking, FAR, JOBS, on } from './asking.ts'
import { shownBy } from './shown-by.ts'

const house = await openHouse()
const { make, makeType, operation, operations, refusal, refuses } = asking(house)
await house.provision('m1')
const later = { schedule: { start: { date: FAR } } }

test('A job is created with a body of the form job, request; any other form is refused.', async () => {
  expect((await make(on(['m1'], { active: false }))).id).not.toBe('')
  expect((await refusal('POST', JOBS, { job: on(['m1']) })).status).toBe(400)
  expect((await refusal('POST', JOBS, { request: on(['m1']) })).status).toBe(400)
  expect((await refusal('POST', JOBS, on(['m1']))).status).toBe(400)
})

test('`name` is required.', () =>
  refuses(JOBS, { job: { request: { target: on(['m1']).target } } }, '0x010000', 'job.request.name'))

test('`name` is that of an operation type of the organization.', () =>
  refuses(JOBS, { job: { request: { ...on(['m1']), name: 'DANCE' } } }, '0x020004', 'job.request.name'))

test('`parameters` are judged by the JSON Schema of the operation type.', () =>
  refuses(
    JOBS,
    { job: { request: on(['m1'], { parameters: { type: 'GENTLE' } }) } },
    '0x020003',
    'job.request.parameters.type',
  ))

test('`parameters` are required where the operation type requires them.', async () => {
  const parameters = { type: 'object', properties: { level: { type: 'integer' } }, required: ['level'] }
  await makeType({ name: 'DIVE', parameters })
  await refuses(JOBS, { job: { request: { ...on(['m1']), name: 'DIVE' } } }, '0x020003', 'job.request.parameters.level')
})

test('`parameters` may be left out where the operation type declares none.', async () => {
  const { request } = await make({ ...on(['m1'], { active: false }), name: 'REFRESH_INFO' })
  expect(request.parameters).toEqual({})
})

test('`target` is required of a job that is to run.', () =>
  refuses(JOBS, { job: { request: { name: 'REFRESH_INFO', active: true } } }, '0x010000', 'job.request.target'))

test('`active` false creates the job without launching it.', async () => {
  const { id, report } = await make(on(['m1'], { active: false }))
  expect(report.summary.status).toBe('IDLE')
  expect((await operation(id)).status).toBe('PENDING')
})

test('`active` true launches the job.', async () => {
  await house.provision('m2')
  const { id } = await make(on(['m2'], { active: true }))
  expect((await house.until(id, ({ status }) => status !== 'PENDING')).attempts.current).toBe(1)
})

test('`schedule` says when the job runs; without it the job runs at once.', async () => {
  await house.provision('m3')
  expect((await make(on(['m3'], later))).report.summary.status).toBe('SCHEDULED')
  expect((await make(on(['m3']))).report.summary.status).toBe('IN_PROGRESS')
})

test('`operationParameters` are the timeouts and retries of each single operation.', async () => {
  const operationParameters = { ackTimeout: 5_000, timeout: 50_000, retries: 2, retriesDelay: 100 }
  const { id, request } = await make(on(['m1'], { active: false, operationParameters }))
  expect(request.operationParameters).toMatchObject(operationParameters)
  expect((await operation(id)).attempts).toEqual({ total: 3, current: 0 })
})

test('`notify` is false unless it is said.', async () => {
  expect((await make(on(['m1'], { active: false }))).request.notify).toBe(false)
  expect((await make(on(['m1'], { active: false, notify: true }))).request.notify).toBe(true)
})

shownBy(
  '`notify` tells the result by mail and by trap.',
  'test/engine/deliveries.test.ts',
  'a job with notify is told by mail to its user and by trap, where these are configured, and at its end only',
)

test('`callback` is the base address of the notifications.', async () => {
  const receiver = await createCallbackReceiver()
  const { id } = await make(on(['m1'], { active: false, callback: `${receiver.url}/base` }))
  expect((await house.call('DELETE', `${JOBS}/${id}`)).status).toBe(200)
  const [finished] = await receiver.hears(1)
  expect(finished?.path).toBe('/base/jobFinished')
})

test('`callback` is a URI.', () =>
  refuses(JOBS, { job: { request: on(['m1'], { callback: 'some where' }) } }, '0x010001', 'job.request.callback'))

test('`callback` knows the HTTP scheme only.', () =>
  refuses(
    JOBS,
    { job: { request: on(['m1'], { callback: 'https://client.example/' }) } },
    '0x010001',
    'job.request.callback',
  ))

test('An empty `callback` is taken, and disables the notifications.', async () => {
  expect((await make(on(['m1'], { active: false, callback: '' }))).request.callback ?? '').toBe('')
})

test('`userNotes` is free text that stays with the job.', async () => {
  const { id, request } = await make(on(['m1'], { active: false, userNotes: 'spring; näch\nste Zeile' }))
  expect(request.userNotes).toBe('spring; näch\nste Zeile')
  expect((await operation(id)).userNotes).toBe('spring; näch\nste Zeile')
})

test('What the device is to do and how the service manages it are different blocks: neither takes members of the other.', async () => {
  const own = { type: 'object', properties: { timeout: { type: 'integer' } } }
  await makeType({ name: 'WAIT', parameters: own })
  const { id, request } = await make({ ...on(['m1'], { active: false, parameters: { timeout: 7 } }), name: 'WAIT' })
  expect(request).toMatchObject({ parameters: { timeout: 7 }, operationParameters: { timeout: 60_000 } })
  expect((await operations(id))[0]?.parameters).toEqual({ timeout: 7 })
  const mixed = on(['m1'], { operationParameters: { type: 'HARDWARE' } })
  await refuses(JOBS, { job: { request: mixed } }, '0x010003', 'job.request.operationParameters.type')
})
