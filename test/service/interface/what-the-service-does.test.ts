import { expect, test } from 'vitest'
import type { OperationTypeBody } from '../../../src/contract/operation-type.ts'
import { createCallbackReceiver } from '../../callback-receiver.ts'
import { httpDevice, responseTo } from '../../connectors/http-devices.ts'
import { isFinal, openHouse, response } from '../house.ts'
import { asking, CATALOG, ENTITIES, JOBS, on, TYPES } from './asking.ts'
import { shownBy } from './shown-by.ts'

const house = await openHouse()
const { cancel, jobsOf, make, makeTask, makeType, operation, operations, pending, readJob } = asking(house)
const done = { resultCode: 'SUCCESSFUL' }

test('Operations run on devices, assets, communication modules, subscriptions and subscribers.', async () => {
  const modules = 'provision.device.communicationModules[]'
  const box = (value: string) => [{ _index: { value: 'm' }, _value: { _current: { value } } }]
  const made = await house.call('POST', `${ENTITIES}?flattened=true`, {
    'provision.device.identifier': { _value: { _current: { value: 'carrier' } } },
    [`${modules}.identifier`]: box('module'),
    [`${modules}.subscription.identifier`]: box('line'),
    [`${modules}.subscriber.identifier`]: box('card'),
  })
  expect(made.status, JSON.stringify(made.body)).toBe(201)
  const asset = { resourceType: 'entity.asset', 'provision.asset.identifier': 'pump' }
  expect((await house.call('POST', `${ENTITIES}?flattened=true`, asset)).status).toBe(201)
  for (const [id, values] of [
    ['module', { [`${modules}.identifier`]: 'module', resourceType: 'entity.commsModule' }],
    ['line', { [`${modules}.subscription.identifier`]: 'line', resourceType: 'entity.subscription' }],
    ['card', { [`${modules}.subscriber.identifier`]: 'card', resourceType: 'entity.subscriber' }],
  ] as const) {
    const own = await house.call('POST', `${ENTITIES}?flattened=true`, values)
    expect([id, own.status], JSON.stringify(own.body)).toEqual([id, 201])
  }
  const kinds = ['entity.device', 'entity.asset', 'entity.commsModule', 'entity.subscription', 'entity.subscriber']
  await makeType({ name: 'TOUCH', applicableTo: kinds })
  const { id } = await make({ ...on(['carrier', 'pump', 'module', 'line', 'card']), name: 'TOUCH' })
  const touched = await operations(id)
  expect(touched.map(({ resourceType }) => resourceType).sort()).toEqual(kinds.sort())
})

test('Reboots, firmware updates, parameters read and written, diagnostics and status changes are actions of the catalog.', async () => {
  const { body } = await house.call<OperationTypeBody[]>('GET', CATALOG)
  expect(body.map(({ name }) => name)).toEqual(
    expect.arrayContaining([
      'REBOOT_EQUIPMENT',
      'UPDATE',
      'GET_DEVICE_PARAMETERS',
      'SET_DEVICE_PARAMETERS',
      'EQUIPMENT_DIAGNOSTIC',
      'ADMINISTRATIVE_STATUS_CHANGE',
    ]),
  )
})

test('One request targets one entity or many, and becomes one operation per entity.', async () => {
  await house.provision('a1')
  await house.provision('a2')
  expect(await operations((await make(on(['a1']))).id)).toHaveLength(1)
  const both = await operations((await make({ ...on(['a1', 'a2']), name: 'REFRESH_INFO' })).id)
  expect(both.map(({ entityId }) => entityId).sort()).toEqual(['a1', 'a2'])
})

test('Each operation of a job is tracked independently of the others.', async () => {
  const key = await house.provision('apart-1')
  await house.provision('apart-2')
  const { id } = await make(on(['apart-1', 'apart-2']))
  await house.until(id, ({ status }) => status === 'WAITING_FOR_CONNECTION')
  const request = (await pending('apart-1', key))!
  await house.south('apart-1', key, 'operation/response', response(request.id, done))
  const states = new Map((await operations(id)).map(each => [each.entityId, each.status]))
  expect(states.get('apart-1')).toBe('FINISHED')
  expect(['PENDING', 'QUEUED', 'WAITING_FOR_CONNECTION']).toContain(states.get('apart-2'))
})

test('A target is a list of entities, a tag or an inline filter.', async () => {
  await house.provision('b1', { 'provision.administration.tags': ['blue'] })
  const targets = [
    { append: { entities: ['b1'] } },
    { append: { tags: ['blue'] } },
    { append: { filter: { eq: { 'provision.device.identifier': 'b1' } } } },
  ]
  for (const target of targets) {
    const { id } = await make({ name: 'REFRESH_PRESENCE', target })
    const found = await house.until(id, () => true)
    expect(found.entityId, JSON.stringify(target)).toBe('b1')
  }
})

test('An operation outlives its request: it waits for a device that is asleep.', async () => {
  const key = await house.provision('sleeper')
  const { id } = await make(on(['sleeper']))
  await house.until(id, ({ status }) => status === 'WAITING_FOR_CONNECTION')
  expect((await pending('sleeper', key))?.id).toBe((await operation(id)).operationId)
})

shownBy(
  'An operation has timeouts and retries of its own.',
  'test/engine/main-job.test.ts',
  'an operation nobody acknowledges is retried, then cancelled by timeout',
)

shownBy(
  'A job can be paused and resumed while its operations are under way.',
  'test/engine/pausing.test.ts',
  'nothing is launched after a pause was answered, and the rest goes on after the resume',
)

test('An operation type is a name and an object of parameters.', async () => {
  await house.provision('c1')
  const { request } = await make(on(['c1'], { parameters: { type: 'SOFTWARE' } }))
  expect([request.name, request.parameters]).toEqual(['REBOOT_EQUIPMENT', { type: 'SOFTWARE' }])
})

test('An operation type that an organization adds is run at the same address as every other.', async () => {
  await house.provision('d1')
  await makeType({ name: 'DANCE', parameters: { type: 'object', properties: { steps: { type: 'integer' } } } })
  const { status } = await house.call('POST', JOBS, {
    job: { request: { ...on(['d1']), name: 'DANCE', parameters: { steps: 3 } } },
  })
  expect(status).toBe(201)
})

test('Progress is reported step by step while an operation runs.', async () => {
  const key = await house.provision('e1')
  const { id } = await make(on(['e1']))
  await house.until(id, ({ status }) => status === 'WAITING_FOR_CONNECTION')
  const request = (await pending('e1', key))!
  for (const name of ['DOWNLOAD', 'INSTALL']) {
    const part = { steps: [{ name, result: 'SUCCESSFUL' }] }
    expect((await house.south('e1', key, 'operation/response', response(request.id, part))).status).toBe(200)
    const read = await operation(id)
    expect([read.status, read.steps.at(-1)?.name]).toEqual(['IN_PROGRESS', name])
  }
})

test('The client asks in one way, whether the service reaches the device over HTTP, over MQTT or waits for it to ask.', async () => {
  const url = await httpDevice((received, reply) => void reply.writeHead(201).end(responseTo(received, done)))
  await house.provision('by-http', { 'provision.device.operation.url': url })
  const mqttKey = await house.provision('by-mqtt')
  const { client, requests } = await house.overMqtt('by-mqtt', mqttKey)
  const pullKey = await house.provision('by-pull')
  const { id } = await make(on(['by-http', 'by-mqtt', 'by-pull']))
  const [sent] = await requests.until(1)
  await client.publishAsync('odm/response/by-mqtt', JSON.stringify(response(sent!.id, done)), { qos: 1 })
  const held = await house.south<{ operation: { request: { id: string } } }>(
    'by-pull',
    pullKey,
    'operation/pending?wait=30',
  )
  await house.south('by-pull', pullKey, 'operation/response', response(held.body.operation.request.id, done))
  for (;;) {
    const all = await operations(id)
    if (!all.every(isFinal)) continue
    expect(all.map(({ result }) => result)).toEqual(['SUCCESSFUL', 'SUCCESSFUL', 'SUCCESSFUL'])
    break
  }
})

test('Tasks make jobs of an operation type, jobs have operations, operations have steps, and each can be read.', async () => {
  const key = await house.provision('f1')
  const made = await makeTask(on(['f1']), { schedule: {} })
  let [first] = await jobsOf(made.id)
  while (first?.report.summary.inProgress.waitingForConnection !== 1) [first] = await jobsOf(made.id)
  expect((await house.call('GET', `${TYPES}/${first.request.name}`)).status).toBe(200)
  const request = (await pending('f1', key))!
  const end = { ...done, steps: [{ name: 'REBOOT', result: 'SUCCESSFUL' }] }
  await house.south('f1', key, 'operation/response', response(request.id, end))
  const read = await house.call<{ steps: object[] }>('GET', `${JOBS}/${first.id}/operations/${request.id}`)
  expect(read.body.steps).toMatchObject([{ name: 'REBOOT' }])
})

test('Cancelling a job leaves the steps that already ran as they are.', async () => {
  const key = await house.provision('g1')
  const { id } = await make(on(['g1']))
  await house.until(id, ({ status }) => status === 'WAITING_FOR_CONNECTION')
  const request = (await pending('g1', key))!
  const part = { steps: [{ name: 'DOWNLOAD', result: 'SUCCESSFUL' }] }
  await house.south('g1', key, 'operation/response', response(request.id, part))
  await cancel(id)
  const ended = await house.until(id, isFinal)
  expect(ended).toMatchObject({ status: 'CANCELLED', steps: [{ name: 'DOWNLOAD', result: 'SUCCESSFUL' }] })
})

test('A client learns of progress by reading the job, or by two notifications.', async () => {
  const receiver = await createCallbackReceiver()
  const url = await httpDevice((received, reply) => void reply.writeHead(201).end(responseTo(received, done)))
  await house.provision('h1', { 'provision.device.operation.url': url })
  const { id } = await make(on(['h1'], { callback: receiver.url }))
  const heard = await receiver.hears(2)
  expect(heard.map(({ path }) => path)).toEqual(['/jobStarted', '/jobFinished'])
  expect((await readJob(id)).report.summary.status).toBe('FINISHED')
})
