import { expect, test } from 'vitest'
import { httpDevice, responseTo } from '../../connectors/http-devices.ts'
import { ADMIN, isFinal, openHouse, response } from '../house.ts'
import { asking, JOBS, on, TYPES, type } from './asking.ts'
import { shownBy } from './shown-by.ts'

const house = await openHouse({ DROVER_MIN_OPERATION_TIMEOUT_MS: '0' })
const { cancel, make, makeType, operation, pending } = asking(house)
await house.provision('d1')

/** The end of an operation whose device answers with this word. */
async function saying(device: string, resultCode: string, operationParameters: object = {}) {
  const url = await httpDevice((received, reply) => void reply.writeHead(201).end(responseTo(received, { resultCode })))
  await house.provision(device, { 'provision.device.operation.url': url })
  return house.until((await make(on([device], { operationParameters }))).id, isFinal)
}

test('`operationId` is a string, under which the operation is read.', async () => {
  const { id } = await make(on(['d1'], { active: false }))
  const { operationId } = await operation(id)
  const read = await house.call(`GET`, `${JOBS}/${id}/operations/${operationId}`)
  expect([typeof operationId, read.status]).toEqual(['string', 200])
  expect(read.body).toEqual(await operation(id))
})

test('`entityId` is the identifier of the entity.', async () => {
  expect((await operation((await make(on(['d1'], { active: false }))).id)).entityId).toBe('d1')
})

test('`resourceType` is the kind of the entity.', async () => {
  expect((await operation((await make(on(['d1'], { active: false }))).id)).resourceType).toBe('entity.device')
})

test('`name`, `parameters`, `notify` and `user` are those of the job request.', async () => {
  const { id } = await make(on(['d1'], { active: false, notify: true, parameters: { type: 'SOFTWARE' } }))
  expect(await operation(id)).toMatchObject({
    name: 'REBOOT_EQUIPMENT',
    parameters: { type: 'SOFTWARE' },
    notify: true,
    user: ADMIN,
  })
})

test('`execution` has the instants of activation, start and end.', async () => {
  const before = await operation((await make(on(['d1'], { active: false }))).id)
  expect(before.execution).toEqual({ activatedDate: '', startedDate: '', finishedDate: '' })
  const { execution } = await saying('dated', 'SUCCESSFUL')
  for (const date of Object.values(execution)) expect(new Date(date).toISOString()).toBe(date)
  expect(execution.startedDate >= execution.activatedDate).toBe(true)
  expect(execution.finishedDate >= execution.startedDate).toBe(true)
})

test('`description` is free text about the outcome.', async () => {
  const url = await httpDevice((received, reply) => {
    reply
      .writeHead(201)
      .end(responseTo(received, { resultCode: 'ERROR_PROCESSING', resultDescription: 'the disk is full' }))
  })
  await house.provision('told', { 'provision.device.operation.url': url })
  const ended = await house.until((await make(on(['told']))).id, isFinal)
  expect(ended.description).toBe('the disk is full')
})

test('`steps` is a list, empty before the first.', async () => {
  expect((await operation((await make(on(['d1'], { active: false }))).id)).steps).toEqual([])
})

test('A FINISHED operation may have a negative result.', async () => {
  expect(await saying('negative', 'ERROR_PROCESSING')).toMatchObject({ status: 'FINISHED', result: 'ERROR_PROCESSING' })
})

test('SUCCESSFUL: completed with success.', async () => {
  expect((await saying('w-successful', 'SUCCESSFUL')).result).toBe('SUCCESSFUL')
})

test('PARTIAL_SUCCESS: completed with partial success.', async () => {
  expect((await saying('w-partial', 'PARTIAL_SUCCESS')).result).toBe('PARTIAL_SUCCESS')
})

test('OPERATION_PENDING: queued to be executed, which every open operation reads.', async () => {
  expect((await operation((await make(on(['d1'], { active: false }))).id)).result).toBe('OPERATION_PENDING')
})

test('ERROR_IN_PARAM: it cannot run because of an error in the parameters.', async () => {
  expect(await saying('w-param', 'ERROR_IN_PARAM')).toMatchObject({ status: 'FINISHED', result: 'ERROR_IN_PARAM' })
})

test('NOT_ALLOWED: not allowed for this entity.', async () => {
  await makeType({ name: 'SHRINK' })
  await house.provision('w-allowed', { 'provision.device.model': 'A' })
  const { id } = await make({ ...on(['w-allowed'], { active: false }), name: 'SHRINK' })
  const { status } = await house.call('PUT', `${TYPES}/SHRINK`, { ...type({ name: 'SHRINK' }), models: ['B'] })
  expect(status).toBe(200)
  await house.call('PUT', `${JOBS}/${id}`, { job: { request: { active: true } } })
  expect(await house.until(id, isFinal)).toMatchObject({ status: 'NOT_ALLOWED', result: 'NOT_ALLOWED' })
})

test('NOT_SUPPORTED: not supported by the entity.', async () => {
  expect((await saying('w-supported', 'NOT_SUPPORTED')).result).toBe('NOT_SUPPORTED')
})

test('ALREADY_IN_PROGRESS: it is already being executed.', async () => {
  await house.provision('w-busy')
  const first = await make(on(['w-busy']))
  await house.until(first.id, ({ status }) => status === 'WAITING_FOR_CONNECTION')
  const second = await house.until((await make(on(['w-busy']))).id, isFinal)
  expect(second.result).toBe('ALREADY_IN_PROGRESS')
})

test('ERROR_PROCESSING: finished with an unknown error.', async () => {
  const url = await httpDevice((_, reply) => void reply.writeHead(500).end())
  await house.provision('w-processing', { 'provision.device.operation.url': url })
  const ended = await house.until((await make(on(['w-processing']))).id, isFinal)
  expect(ended).toMatchObject({ status: 'FINISHED', result: 'ERROR_PROCESSING' })
})

test('ERROR_TIMEOUT: the response of the device timed out.', async () => {
  const url = await httpDevice(() => {})
  await house.provision('w-timeout', { 'provision.device.operation.url': url })
  const { id } = await make(on(['w-timeout'], { operationParameters: { ackTimeout: 200 } }))
  expect((await house.until(id, isFinal)).result).toBe('ERROR_TIMEOUT')
})

test('TIMEOUT_CANCELLED: cancelled because the maximum time was over.', async () => {
  await house.provision('w-stop')
  const { id } = await make(on(['w-stop'], { schedule: { stop: { delayed: 200 } } }))
  expect(await house.until(id, isFinal)).toMatchObject({ status: 'TIMEOUT_CANCELLED', result: 'TIMEOUT_CANCELLED' })
})

test('CANCELLED: cancelled by a user or through the API.', async () => {
  const { id } = await make(on(['d1'], { active: false }))
  await cancel(id)
  expect(await operation(id)).toMatchObject({ status: 'CANCELLED', result: 'CANCELLED' })
})

test('CANCELLED_INTERNAL: cancelled by the engine.', async () => {
  await makeType({ name: 'GONE' })
  await house.provision('w-gone')
  const { id } = await make({ ...on(['w-gone']), name: 'GONE' })
  expect((await house.call('DELETE', `${TYPES}/GONE`)).status).toBe(200)
  expect(await house.until(id, isFinal)).toMatchObject({ status: 'CANCELLED', result: 'CANCELLED_INTERNAL' })
})

test('UNKNOWN_RESULT: a result that the service does not recognise.', async () => {
  expect(await saying('w-unknown', 'TIRED')).toMatchObject({ status: 'FINISHED', result: 'UNKNOWN_RESULT' })
})

test('A listed result is tried again, and the device may still succeed.', async () => {
  const key = await house.provision('again')
  const { id } = await make(on(['again'], { operationParameters: { retries: 1, retryResultList: ['NOT_SUPPORTED'] } }))
  await house.until(id, ({ status }) => status === 'WAITING_FOR_CONNECTION')
  const first = (await pending('again', key))!
  await house.south('again', key, 'operation/response', response(first.id, { resultCode: 'NOT_SUPPORTED' }))
  await house.until(id, ({ status, attempts }) => status === 'WAITING_FOR_CONNECTION' && attempts.current === 2)
  const second = (await pending('again', key))!
  await house.south('again', key, 'operation/response', response(second.id, { resultCode: 'SUCCESSFUL' }))
  expect(await operation(id)).toMatchObject({ status: 'FINISHED', result: 'SUCCESSFUL' })
})

shownBy(
  'A result that is not listed is final.',
  'test/engine/retries.test.ts',
  'a result that is not listed is final, however many retries are left',
)
