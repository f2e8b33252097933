import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { connectAsync } from 'mqtt'
import { describe, expect, onTestFinished, test } from 'vitest'
import { readConfig } from '../../src/config/config.ts'
import { startService } from '../../src/service/service.ts'
import { CERTIFICATE, CERTIFICATE_KEY } from '../certificate.ts'
import { httpDevice, responseTo } from '../connectors/http-devices.ts'
import { silentLog } from '../database.ts'
import { notes } from '../south/parts.ts'
import { isFinal, openHouse, response } from './house.ts'

const house = await openHouse()

const successful = { resultCode: 'SUCCESSFUL', resultDescription: 'done' }

describe('over HTTP, started by the service', () => {
  test('a device that answers in the same exchange has finished', async () => {
    const url = await httpDevice((received, reply) => {
      reply.writeHead(201, { 'content-type': 'text/html' })
      reply.end(responseTo(received, { ...successful, steps: [{ name: 'REBOOT', result: 'SUCCESSFUL' }] }))
    })
    await house.provision('d1', { 'provision.device.operation.url': url })
    const operation = await house.until(await house.start('d1'), isFinal)
    expect(operation).toMatchObject({
      status: 'FINISHED',
      result: 'SUCCESSFUL',
      description: 'done',
      steps: [{ name: 'REBOOT', result: 'SUCCESSFUL' }],
    })
    // By answering it was heard of, though it never spoke of itself.
    const connection = '/north/v80/provision/organizations/drover/devices/d1/connection'
    const seenDate = async () => (await house.call<{ seenDate?: string }>('GET', connection)).body.seenDate
    await expect.poll(seenDate).toEqual(expect.any(String))
  })

  test('a device that acknowledges, then reports parts and an end, is followed step by step', async () => {
    const asked = notes<{ id: string; key: unknown }>()
    const url = await httpDevice((received, reply) => {
      asked.add({ id: JSON.parse(received.body).operation.request.id, key: received.headers['x-apikey'] })
      reply.writeHead(201, { 'content-type': 'text/html' })
      reply.end(responseTo(received, { steps: [{ name: 'BEGIN', result: 'SUCCESSFUL' }], variableList: [] }))
    })
    const key = await house.provision('d2', { 'provision.device.operation.url': url })
    const job = await house.start('d2')
    const [request] = await asked.until(1)
    expect(request?.key).toBe(key)
    const id = request!.id
    await house.until(job, ({ status, steps }) => status === 'IN_PROGRESS' && steps.length === 1)
    // A device may post with its own key, a user with theirs.
    const post = (members: object) =>
      house.call('POST', '/south/v80/devices/d2/operation/response', response(id, { ...members }))
    expect((await post({ steps: [{ name: 'DOWNLOAD', result: 'SUCCESSFUL' }] })).status).toBe(200)
    expect((await house.operationOf(job))?.steps.map(({ name }) => name)).toEqual(['BEGIN', 'DOWNLOAD'])
    const end = { ...successful, steps: [{ name: 'END', result: 'SUCCESSFUL' }] }
    expect((await house.south('d2', key, 'operation/response', response(id, end))).status).toBe(200)
    expect(await house.operationOf(job)).toMatchObject({
      status: 'FINISHED',
      result: 'SUCCESSFUL',
      steps: [{ name: 'BEGIN' }, { name: 'DOWNLOAD' }, { name: 'END' }],
    })
  })

  test('what a device has read can be read where its messages are, however much it is and wherever it is cut', async () => {
    const read = Array.from({ length: 400 }, (_, i) => ({ name: `variable-${i}`, value: `the value ${i} with 😀😀😀` }))
    const answered = notes<string>()
    const url = await httpDevice((received, reply) => {
      // Whatever the length of what comes before, one of the two has a pair across each boundary.
      const body = responseTo(received, {
        ...successful,
        variableList: read,
        rest: `${answered.all.length ? 'x' : ''}${'😀'.repeat(40_000)}`,
      })
      answered.add(body)
      reply.writeHead(201).end(body)
    })
    for (const id of ['reads-1', 'reads-2']) {
      await house.provision(id, { 'provision.device.operation.url': url })
      const job = await house.start(id)
      const { operationId } = await house.until(job, isFinal)
      const { body } = await house.call<{ messages: { raw: string }[] }>(
        'GET',
        `/north/v80/operation/jobs/${job}/operations/${operationId}/messages`,
      )
      const [message] = body.messages
      expect(message!.raw.length).toBeGreaterThan(63_998)
      expect(answered.all.at(-1)!.startsWith(message!.raw)).toBe(true)
      expect(message!.raw).toContain('the value 399')
    }
  })

  test.for([
    [500, 'ERROR_PROCESSING'],
    [400, 'NOT_SUPPORTED'],
    [302, 'NOT_SUPPORTED'],
  ] as const)('a device that answers %i with a page ends as %s', async ([status, result]) => {
    const url = await httpDevice((_received, reply) =>
      reply.writeHead(status, { 'content-type': 'text/html; charset=utf-8' }).end('<!doctype html><h1>no</h1>'),
    )
    const id = `answers-${status}`
    await house.provision(id, { 'provision.device.operation.url': url })
    expect(await house.until(await house.start(id), isFinal)).toMatchObject({ status: 'FINISHED', result })
  })

  test('a device that nobody can reach ends as timed out', async () => {
    await house.provision('d4', { 'provision.device.operation.url': 'http://127.0.0.1:1/' })
    expect(await house.until(await house.start('d4'), isFinal)).toMatchObject({
      status: 'TIMEOUT_CANCELLED',
      result: 'ERROR_TIMEOUT',
    })
  })

  test('an end that overtakes the acknowledgement ends the operation', async () => {
    const url = await httpDevice((received, reply) => {
      const { id } = JSON.parse(received.body).operation.request
      house
        .call('POST', '/south/v80/devices/d5/operation/response', response(id, successful))
        .then(({ status }) => reply.writeHead(status === 200 ? 201 : 500).end())
        .catch(() => reply.destroy())
    })
    await house.provision('d5', { 'provision.device.operation.url': url })
    const job = await house.start('d5')
    expect(await house.until(job, isFinal)).toMatchObject({ status: 'FINISHED', result: 'SUCCESSFUL' })
  })
})

describe('started by the device', () => {
  test('an operation waits for the device to ask, is handed out once, and ends with its response', async () => {
    const key = await house.provision('d6')
    const held = house.south<{ operation: { request: { id: string; parameters: unknown } } }>(
      'd6',
      key,
      'operation/pending?wait=30',
    )
    const job = await house.start('d6')
    const answer = await held
    expect(answer.status).toBe(200)
    const { id, parameters } = answer.body.operation.request
    expect(parameters).toEqual([{ name: 'type', type: 'string', value: { string: 'HARDWARE' } }])
    expect((await house.operationOf(job))?.status).toBe('IN_PROGRESS')
    expect((await house.south('d6', key, 'operation/pending')).status).toBe(204)
    expect((await house.south('d6', key, 'operation/response', response(id, successful))).status).toBe(200)
    expect(await house.operationOf(job)).toMatchObject({ status: 'FINISHED', result: 'SUCCESSFUL' })
  })

  test('a device cannot answer for another one', async () => {
    const key = await house.provision('d7')
    const other = await house.provision('other-7')
    const job = await house.start('d7')
    const { operationId } = await house.until(job, ({ status }) => status === 'WAITING_FOR_CONNECTION')
    expect((await house.south('other-7', other, 'operation/response', response(operationId, successful))).status).toBe(
      404,
    )
    expect((await house.south('d7', other, 'operation/response', response(operationId, successful))).status).toBe(401)
    expect((await house.south('d7', key, 'operation/response', response('nonsense', successful))).status).toBe(404)
    expect((await house.operationOf(job))?.status).toBe('WAITING_FOR_CONNECTION')
  })
})

describe('over MQTT', () => {
  test('acknowledgement, parts and end travel on the response topic', async () => {
    const key = await house.provision('d8')
    const { client, requests } = await house.overMqtt('d8', key)
    const job = await house.start('d8')
    const [request] = await requests.until(1)
    const say = (members: object) =>
      client.publishAsync('odm/response/d8', JSON.stringify(response(request!.id, { ...members })), { qos: 1 })
    await house.until(job, ({ status }) => status === 'WAITING_FOR_ACK')
    await say({})
    expect((await house.operationOf(job))?.status).toBe('IN_PROGRESS')
    await say({ steps: [{ name: 'A', result: 'SUCCESSFUL' }] })
    expect((await house.operationOf(job))?.steps).toMatchObject([{ name: 'A' }])
    await say(successful)
    expect(await house.operationOf(job)).toMatchObject({ status: 'FINISHED', result: 'SUCCESSFUL' })
  })

  test('a request for a device that is away is sent when it connects', async () => {
    const key = await house.provision('d9', { 'provision.device.operation.flow': 'mqtt' })
    const job = await house.start('d9')
    await house.until(job, ({ status }) => status === 'WAITING_FOR_CONNECTION')
    const { client, requests } = await house.overMqtt('d9', key)
    const [request] = await requests.until(1)
    await client.publishAsync('odm/response/d9', JSON.stringify(response(request!.id, successful)), { qos: 1 })
    expect(await house.operationOf(job)).toMatchObject({ status: 'FINISHED', result: 'SUCCESSFUL' })
  })

  test('a device whose connection broke before it acknowledged is sent the same request again', async () => {
    const key = await house.provision('d10')
    const first = await house.overMqtt('d10', key)
    const job = await house.start('d10')
    const [before] = await first.requests.until(1)
    await house.until(job, ({ status }) => status === 'WAITING_FOR_ACK')
    first.client.end(true)
    const second = await house.overMqtt('d10', key)
    const [after] = await second.requests.until(1)
    expect(after?.id).toBe(before?.id)
    await second.client.publishAsync('odm/response/d10', JSON.stringify(response(after!.id, successful)), { qos: 1 })
    expect(await house.operationOf(job)).toMatchObject({ status: 'FINISHED' })
  })

  test('a device that connects while its request waits to be asked for is served once', async () => {
    const key = await house.provision('d11')
    const job = await house.start('d11')
    await house.until(job, ({ status }) => status === 'WAITING_FOR_CONNECTION')
    const { client, requests } = await house.overMqtt('d11', key)
    const [request] = await requests.until(1)
    await client.publishAsync('odm/response/d11', JSON.stringify(response(request!.id)), { qos: 1 })
    expect((await house.south('d11', key, 'operation/pending')).status).toBe(204)
    await client.publishAsync('odm/response/d11', JSON.stringify(response(request!.id, successful)), { qos: 1 })
    expect(await house.operationOf(job)).toMatchObject({ status: 'FINISHED' })
    expect(requests.all).toHaveLength(1)
  })

  test('a device that leaves MQTT in the middle of an operation and asks for it is served once, with the same request', async () => {
    const key = await house.provision('d15')
    const { client, requests } = await house.overMqtt('d15', key)
    const job = await house.start('d15')
    const [request] = await requests.until(1)
    await house.until(job, ({ status }) => status === 'WAITING_FOR_ACK')
    client.end(true)
    const asked = await house.south<{ operation: { request: { id: string } } }>('d15', key, 'operation/pending?wait=60')
    expect(asked.status).toBe(200)
    expect(asked.body.operation.request.id).toBe(request!.id)
    expect((await house.south('d15', key, 'operation/pending')).status).toBe(204)
    const again = await house.overMqtt('d15', key)
    await house.south('d15', key, 'operation/response', response(request!.id, successful))
    expect(await house.operationOf(job)).toMatchObject({ status: 'FINISHED', attempts: { current: 1 } })
    expect(again.requests.all).toEqual([])
  })

  test('data that devices collect is kept, whichever way it came', async () => {
    const key = await house.provision('d12')
    const { client } = await house.overMqtt('d12', key)
    const message = (id: string, value: number) => ({ datastreams: [{ id, datapoints: [{ value }] }] })
    expect((await house.south('d12', key, 'collect/iot', message('temperature', 21))).status).toBe(201)
    await client.publishAsync('odm/iot/d12', JSON.stringify(message('humidity', 40)), { qos: 1 })
    const answer = await house.call('POST', '/north/v80/search/entities', {
      filter: { and: [{ eq: { temperature: 21 } }, { eq: { humidity: 40 } }] },
    })
    expect(answer.status).toBe(200)
  })
})

test('with a certificate the embedded broker serves devices over TLS', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'drover-tls-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const files = { cert: path.join(folder, 'cert.pem'), key: path.join(folder, 'key.pem') }
  await writeFile(files.cert, CERTIFICATE)
  await writeFile(files.key, CERTIFICATE_KEY)
  const service = await startService({
    config: readConfig({
      DATABASE_URL: house.databaseUrl,
      DROVER_PORT: '0',
      DROVER_MQTT_PORT: '0',
      DROVER_MQTT_TLS_CERT_FILE: files.cert,
      DROVER_MQTT_TLS_KEY_FILE: files.key,
    }),
    log: silentLog,
    tell: () => {},
    onFailure: () => {},
  })
  onTestFinished(() => service.stop())
  const key = await house.provision('d14')
  const client = await connectAsync(`mqtts://localhost:${service.mqttPort}`, {
    username: 'd14',
    password: key,
    ca: CERTIFICATE,
    reconnectPeriod: 0,
  })
  await expect(client.subscribeAsync('odm/request/d14', { qos: 1 })).resolves.toMatchObject([{ qos: 1 }])
  client.end(true)
})

test('a device whose key is replaced is disconnected, and its old key opens nothing', async () => {
  const key = await house.provision('d13')
  const { client } = await house.overMqtt('d13', key)
  const left = new Promise<void>(resolve => client.once('close', () => resolve()))
  const replaced = await house.call('POST', '/north/v80/provision/organizations/drover/devices/d13/key')
  expect(replaced.status).toBeLessThan(300)
  await left
  const fresh = replaced.headers.get('x-apikey')!
  expect((await house.south('d13', key, 'operation/pending')).status).toBe(401)
  await expect(house.overMqtt('d13', key)).rejects.toThrow()
  expect((await house.south('d13', fresh, 'operation/pending')).status).toBe(204)
  await house.overMqtt('d13', fresh)
})
