import { expect, test } from 'vitest'
import { httpDevice, responseTo } from '../../connectors/http-devices.ts'
import { notes } from '../../south/parts.ts'
import { isFinal, openHouse, response } from '../house.ts'
import { asking, on } from './asking.ts'
import { shownBy } from './shown-by.ts'

const house = await openHouse()
const { make, operation, pending } = asking(house)
const done = { resultCode: 'SUCCESSFUL', resultDescription: 'done' }

/** A device that notes the ids of requests and acknowledges each at once. */
async function acknowledging(device: string) {
  const asked = notes<{ id: string; method: string | undefined }>()
  const url = await httpDevice((received, reply) => {
    reply.writeHead(201).end()
    asked.add({ id: JSON.parse(received.body).operation.request.id, method: received.method })
  })
  const key = await house.provision(device, { 'provision.device.operation.url': url })
  const { id } = await make(on([device]))
  const [request] = await asked.until(1)
  await house.until(id, ({ status }) => status === 'IN_PROGRESS')
  return {
    job: id,
    request: request!,
    tell: (members: object) => house.south(device, key, 'operation/response', response(request!.id, { ...members })),
  }
}

test('Synchronous: the service posts the request, and the answer 201 brings the result and the steps.', async () => {
  const methods: (string | undefined)[] = []
  const url = await httpDevice((received, reply) => {
    methods.push(received.method)
    reply.writeHead(201).end(responseTo(received, { ...done, steps: [{ name: 'REBOOT', result: 'SUCCESSFUL' }] }))
  })
  await house.provision('sync', { 'provision.device.operation.url': url })
  const ended = await house.until((await make(on(['sync']))).id, isFinal)
  expect(ended).toMatchObject({ status: 'FINISHED', result: 'SUCCESSFUL', steps: [{ name: 'REBOOT' }] })
  expect(methods).toEqual(['POST'])
})

test('Asynchronous with one response: the device acknowledges at once, later posts the result, and is answered 200.', async () => {
  const { job, request, tell } = await acknowledging('async')
  expect(request.method).toBe('POST')
  expect((await operation(job)).result).toBe('OPERATION_PENDING')
  expect((await tell(done)).status).toBe(200)
  expect(await operation(job)).toMatchObject({ status: 'FINISHED', result: 'SUCCESSFUL', description: 'done' })
})

test('Asynchronous with several responses: each part names its step, is answered 200 and updates the steps.', async () => {
  const { job, tell } = await acknowledging('parts')
  for (const name of ['DOWNLOAD', 'INSTALL']) {
    expect((await tell({ steps: [{ name, result: 'SUCCESSFUL' }] })).status).toBe(200)
    expect((await operation(job)).steps.at(-1)?.name).toBe(name)
  }
  expect((await operation(job)).status).toBe('IN_PROGRESS')
})

test('The final response brings the last step and the result.', async () => {
  const { job, tell } = await acknowledging('final')
  await tell({ steps: [{ name: 'DOWNLOAD', result: 'SUCCESSFUL' }] })
  expect((await tell({ ...done, steps: [{ name: 'END', result: 'SUCCESSFUL' }] })).status).toBe(200)
  expect(await operation(job)).toMatchObject({ status: 'FINISHED', steps: [{ name: 'DOWNLOAD' }, { name: 'END' }] })
})

test('Device-driven: the device asks by GET, executes, posts its response and is answered 200.', async () => {
  const key = await house.provision('pull')
  const { id } = await make(on(['pull']))
  await house.until(id, ({ status }) => status === 'WAITING_FOR_CONNECTION')
  const request = (await pending('pull', key))!
  expect((await house.south('pull', key, 'operation/response', response(request.id, done))).status).toBe(200)
  expect(await operation(id)).toMatchObject({ status: 'FINISHED', result: 'SUCCESSFUL' })
})

test('Queued operations wait in WAITING_FOR_CONNECTION until their device appears.', async () => {
  const key = await house.provision('sleeper', { 'provision.device.operation.flow': 'mqtt' })
  const { id } = await make(on(['sleeper']))
  await house.until(id, ({ status }) => status === 'WAITING_FOR_CONNECTION')
  const { client, requests } = await house.overMqtt('sleeper', key)
  const [request] = await requests.until(1)
  await client.publishAsync('odm/response/sleeper', JSON.stringify(response(request!.id, done)), { qos: 1 })
  expect(await operation(id)).toMatchObject({ status: 'FINISHED' })
})

test('The service chooses the flow by what the device can do.', async () => {
  const url = await httpDevice((received, reply) => void reply.writeHead(201).end(responseTo(received, done)))
  await house.provision('listens', { 'provision.device.operation.url': url })
  await house.provision('asks')
  expect(await house.until((await make(on(['listens']))).id, isFinal)).toMatchObject({ status: 'FINISHED' })
  const { id } = await make(on(['asks']))
  expect((await house.until(id, ({ status }) => status === 'WAITING_FOR_CONNECTION')).status).toBe(
    'WAITING_FOR_CONNECTION',
  )
})

test('A device without a public address is served when it asks.', async () => {
  const key = await house.provision('behind-nat')
  const held = house.south<{ operation: { request: { name: string } } }>('behind-nat', key, 'operation/pending?wait=30')
  await make(on(['behind-nat']))
  const { status, body } = await held
  expect([status, body.operation.request.name]).toEqual([200, 'REBOOT_EQUIPMENT'])
})

shownBy(
  'A device that asks gets what waits for it, oldest first, and the same again only after a while of silence.',
  'test/engine/pull.test.ts',
  'work never handed out comes first, oldest first; what was handed out comes again only after 30 s of silence',
)
