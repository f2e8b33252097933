import { expect, test } from 'vitest'
import { httpDevice, responseTo } from '../../connectors/http-devices.ts'
import { isFinal, openHouse, response } from '../house.ts'
import { asking, FAR, JOBS, on, TYPES, type } from './asking.ts'
import { shownBy } from './shown-by.ts'

const house = await openHouse({ DROVER_MIN_OPERATION_TIMEOUT_MS: '0' })
const { cancel, make, makeType, operation, operations, pending } = asking(house)
await house.provision('d1')

test('PENDING: to be started.', async () => {
  const { id } = await make(on(['d1'], { schedule: { start: { date: FAR } } }))
  expect((await operation(id)).status).toBe('PENDING')
})

shownBy(
  'QUEUED: launched, and not yet at the device.',
  'test/engine/lost-senders.test.ts',
  'a request that a connector does not send is given back soon, and at once when the node stops',
)

test('WAITING_FOR_ACK: waiting for the acknowledgement of the device.', async () => {
  const url = await httpDevice(() => {})
  await house.provision('mute', { 'provision.device.operation.url': url })
  const { id } = await make(on(['mute']))
  expect((await house.until(id, ({ status }) => status === 'WAITING_FOR_ACK')).result).toBe('OPERATION_PENDING')
})

test('WAITING_FOR_CONNECTION: waiting for the device to connect.', async () => {
  await house.provision('away')
  const { id } = await make(on(['away']))
  expect((await house.until(id, ({ status }) => status === 'WAITING_FOR_CONNECTION')).execution.finishedDate).toBe('')
})

test('IN_PROGRESS: started, and waiting for its end.', async () => {
  const url = await httpDevice((_, reply) => void reply.writeHead(201).end())
  await house.provision('working', { 'provision.device.operation.url': url })
  const { id } = await make(on(['working']))
  expect((await house.until(id, ({ status }) => status === 'IN_PROGRESS')).execution.startedDate).not.toBe('')
})

test('FINISHED: completed.', async () => {
  const url = await httpDevice((received, reply) => {
    reply.writeHead(201).end(responseTo(received, { resultCode: 'SUCCESSFUL' }))
  })
  await house.provision('done', { 'provision.device.operation.url': url })
  expect(await house.until((await make(on(['done']))).id, isFinal)).toMatchObject({ status: 'FINISHED' })
})

test('FINISHED_OUT_OF_TIME: finished and collected, but outside the allowed time.', async () => {
  const key = await house.provision('late')
  const { id } = await make(on(['late'], { operationParameters: { timeout: 200 } }))
  await house.until(id, ({ status }) => status === 'WAITING_FOR_CONNECTION')
  const request = (await pending('late', key))!
  await house.until(id, ({ status }) => status === 'TIMEOUT_CANCELLED')
  await house.south('late', key, 'operation/response', response(request.id, { resultCode: 'SUCCESSFUL' }))
  expect(await operation(id)).toMatchObject({ status: 'FINISHED_OUT_OF_TIME', result: 'SUCCESSFUL' })
})

test('TIMEOUT_CANCELLED: cancelled because the maximum time was over.', async () => {
  const url = await httpDevice((_, reply) => void reply.writeHead(201).end())
  await house.provision('slow', { 'provision.device.operation.url': url })
  const { id } = await make(on(['slow'], { operationParameters: { timeout: 200 } }))
  expect((await house.until(id, isFinal)).status).toBe('TIMEOUT_CANCELLED')
})

test('NOT_ALLOWED: it cannot be executed on this entity.', async () => {
  await makeType({ name: 'NARROW' })
  await house.provision('model-a', { 'provision.device.model': 'A' })
  const { id } = await make({ ...on(['model-a', 'd1'], { active: false }), name: 'NARROW' })
  await house.call('PUT', `${TYPES}/NARROW`, { ...type({ name: 'NARROW' }), models: ['A'] })
  await house.call('PUT', `${JOBS}/${id}`, { job: { request: { active: true } } })
  await house.until(id, ({ status }) => status !== 'PENDING')
  for (;;) {
    const states = new Map((await operations(id)).map(each => [each.entityId, each.status]))
    if (states.get('d1') === 'PENDING') continue
    expect(states.get('d1')).toBe('NOT_ALLOWED')
    expect(states.get('model-a')).not.toBe('NOT_ALLOWED')
    break
  }
})

test('CANCELLED: cancelled.', async () => {
  const { id } = await make(on(['d1'], { active: false }))
  await cancel(id)
  expect((await operation(id)).status).toBe('CANCELLED')
})

shownBy(
  'Every transition of an operation is one row of one table, and each row is shown.',
  'test/engine/operation-lifecycle.test.ts',
  '%s, %s',
)
