import { expect, test } from 'vitest'
import { OPERATION_RESULTS } from '../../../src/domain/operation.ts'
import { httpDevice, responseTo } from '../../connectors/http-devices.ts'
import { isFinal, openHouse } from '../house.ts'
import { asking, JOBS, on } from './asking.ts'

const house = await openHouse({ DROVER_MIN_OPERATION_TIMEOUT_MS: '0' })
const strict = await openHouse()
const { make, operation, refuses } = asking(house)
await house.provision('idle')
await strict.provision('idle')

/** A device that only acknowledges, or says nothing at all. */
async function silent(id: string, acknowledges: boolean): Promise<void> {
  const url = await httpDevice((_, reply) => {
    if (acknowledges) reply.writeHead(201).end()
  })
  await house.provision(id, { 'provision.device.operation.url': url })
}

const ended = async (id: string, operationParameters: object) =>
  house.until((await make(on([id], { operationParameters }))).id, isFinal)

test('`ackTimeout` is the time a device has to accept the operation: when it is over, the operation is cancelled.', async () => {
  await silent('deaf', false)
  expect(await ended('deaf', { ackTimeout: 200, timeout: 60_000 })).toMatchObject({
    status: 'TIMEOUT_CANCELLED',
    result: 'ERROR_TIMEOUT',
  })
})

test('`timeout` is the time a device has to finish the operation: when it is over, the operation is cancelled.', async () => {
  await silent('slow', true)
  expect(await ended('slow', { timeout: 200 })).toMatchObject({ status: 'TIMEOUT_CANCELLED', result: 'ERROR_TIMEOUT' })
})

test('`timeout` is 60000 where it is not said.', async () => {
  const { request } = await make(on(['idle'], { active: false }))
  expect(request.operationParameters).toHaveProperty('timeout', 60_000)
})

test('`retries` is 0 where it is not said.', async () => {
  const { id, request } = await make(on(['idle'], { active: false }))
  expect(request.operationParameters).toHaveProperty('retries', 0)
  expect((await operation(id)).attempts.total).toBe(1)
})

test('An operation that is not acknowledged is tried again as often as `retries` says.', async () => {
  await silent('never', false)
  expect((await ended('never', { ackTimeout: 100, retries: 2 })).attempts).toMatchObject({ total: 3, current: 3 })
})

test('An operation that does not end in time is tried again as often as `retries` says.', async () => {
  await silent('endless', true)
  expect((await ended('endless', { timeout: 100, retries: 1 })).attempts).toMatchObject({ total: 2, current: 2 })
})

test('`retriesDelay` is the pause between attempts.', async () => {
  const askedAt: number[] = []
  const url = await httpDevice((received, reply) => {
    askedAt.push(performance.now())
    reply.writeHead(201).end(responseTo(received, { resultCode: 'ERROR_PROCESSING' }))
  })
  await house.provision('paused', { 'provision.device.operation.url': url })
  await ended('paused', { retries: 1, retriesDelay: 700, retryResultList: ['ERROR_PROCESSING'] })
  expect(askedAt).toHaveLength(2)
  expect(askedAt[1]! - askedAt[0]!).toBeGreaterThanOrEqual(700)
})

test('A result of `retryResultList` is tried again.', async () => {
  let attempts = 0
  const url = await httpDevice((received, reply) => {
    attempts += 1
    const resultCode = attempts === 1 ? 'ERROR_PROCESSING' : 'SUCCESSFUL'
    reply.writeHead(201).end(responseTo(received, { resultCode }))
  })
  await house.provision('fickle', { 'provision.device.operation.url': url })
  const read = await ended('fickle', { retries: 3, retryResultList: ['ERROR_PROCESSING'] })
  expect(read).toMatchObject({ result: 'SUCCESSFUL', attempts: { total: 4, current: 2 } })
  // What the earlier attempt saw stays readable.
  expect(read.attempts.history).toEqual([
    expect.objectContaining({ attempt: 1, result: 'ERROR_PROCESSING', steps: expect.any(Array) }),
  ])
})

test('`ERROR_TIMEOUT` causes a retry whether it is in `retryResultList` or not.', async () => {
  let attempts = 0
  const url = await httpDevice((received, reply) => {
    attempts += 1
    const resultCode = attempts === 1 ? 'ERROR_TIMEOUT' : 'SUCCESSFUL'
    reply.writeHead(201).end(responseTo(received, { resultCode }))
  })
  await house.provision('tardy', { 'provision.device.operation.url': url })
  const read = await ended('tardy', { retries: 1, retryResultList: [] })
  expect(read).toMatchObject({ result: 'SUCCESSFUL', attempts: { total: 2, current: 2 } })
})

test('Every result of an operation may be listed in `retryResultList`, and no other word.', async () => {
  const operationParameters = { retryResultList: [...OPERATION_RESULTS] }
  expect(OPERATION_RESULTS).toHaveLength(13)
  await make(on(['idle'], { active: false, operationParameters }))
  const other = on(['idle'], { operationParameters: { retryResultList: ['TIRED'] } })
  await refuses(JOBS, { job: { request: other } }, '0x010001', 'job.request.operationParameters.retryResultList[0]')
})

test('`timeout` and `ackTimeout` together must be greater than 40 seconds.', async () => {
  const { make: makeStrict, refuses: refusesStrict } = asking(strict)
  const idle = (operationParameters: object) => on(['idle'], { active: false, operationParameters })
  await makeStrict(idle({ timeout: 30_000, ackTimeout: 10_001 }))
  await makeStrict(idle({ timeout: 40_001 }))
  const field = 'job.request.operationParameters.timeout'
  await refusesStrict(JOBS, { job: { request: idle({ timeout: 30_000, ackTimeout: 10_000 }) } }, '0x010001', field)
  await refusesStrict(JOBS, { job: { request: idle({ timeout: 40_000 }) } }, '0x010001', field)
})
