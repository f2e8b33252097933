import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { DroverError } from '../../src/domain/errors.ts'
import type { OperationRequest } from '../../src/engine/connector.ts'
import { createServer } from '../../src/server/server.ts'
import { MESSAGES_PER_DEVICE } from '../../src/south/message-shares.ts'
import type { SouthParts } from '../../src/south/parts.ts'
import { POLLS_PER_DEVICE } from '../../src/south/polls.ts'
import { type SouthSettings, south } from '../../src/south/south.ts'
import { request } from '../connectors/requests.ts'
import { silentLog } from '../database.ts'
import { device, type StandIns, standIns } from './parts.ts'

let house: StandIns
beforeEach(() => {
  house = standIns()
})

async function open(settings: SouthSettings = {}, parts: SouthParts = house.parts) {
  const server = createServer({ log: silentLog, bodyBytesMax: 307_200 })
  await server.register(south, { prefix: '/south/v80', parts, settings })
  await server.listen({ host: '127.0.0.1', port: 0 })
  onTestFinished(() => server.close())
  const { port } = server.server.address() as AddressInfo
  return { server, port, url: `http://127.0.0.1:${port}/south/v80/devices/pump-1` }
}

const key = { 'x-apikey': 'key-of-pump-1' }
const response = (members: Record<string, unknown>) =>
  JSON.stringify({ version: '7.0', operation: { response: { id: 'op-1', ...members } } })

function post(url: string, body: string, headers: Record<string, string> = key): Promise<Response> {
  return fetch(url, { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } })
}

async function errorsOf(answer: Response): Promise<unknown> {
  expect(answer.headers.get('content-type')).toMatch(/^application\/json/)
  return ((await answer.json()) as { errors: unknown }).errors
}

describe('a response', () => {
  test('is answered 200 only after the commit', async () => {
    const { url } = await open()
    const commit = Promise.withResolvers<'taken'>()
    house.onSubmit = () => commit.promise
    let answered = false
    const answer = post(`${url}/operation/response`, response({ resultCode: 'SUCCESSFUL', timestamp: 5 })).then(got => {
      answered = true
      return got
    })
    const [message] = await house.messages.until(1)
    expect(message).toEqual({
      operationId: 'op-1',
      organization: 1,
      deviceId: 'pump-1',
      partition: 3,
      entity: device('pump-1').entity,
      resultCode: 'SUCCESSFUL',
      timestamp: 5,
      steps: [],
      raw: response({ resultCode: 'SUCCESSFUL', timestamp: 5 }),
    })
    expect(answered).toBe(false)
    commit.resolve('taken')
    const { status, headers } = await answer
    expect([status, headers.get('content-length')]).toEqual([200, '0'])
    await house.presence.until(1, ([sign]) => sign === 'seen')
  })

  test.for([
    'text/html; charset=utf-8',
    'application/x-www-form-urlencoded',
    'nonsense',
    'multipart/form-data; boundary=x',
  ])('is read as JSON though its content type says %s', async type => {
    const { url } = await open()
    const answer = await post(`${url}/operation/response`, response({ steps: [{ name: 'A', result: 'SUCCESSFUL' }] }), {
      ...key,
      'content-type': type,
    })
    expect(answer.status).toBe(200)
    expect(house.messages.all).toMatchObject([{ steps: [{ name: 'A', result: 'SUCCESSFUL' }] }])
  })

  test('is read without any content type at all', async () => {
    const { url } = await open()
    const sent = httpRequest(`${url}/operation/response`, { method: 'POST', headers: key })
    sent.end(response({}))
    const [answer] = await once(sent, 'response')
    expect(answer.statusCode).toBe(200)
    answer.resume()
  })

  test('to an unknown operation, or to that of another device, is 404 and counted', async () => {
    const { url } = await open()
    house.onSubmit = async () => 'unknown'
    const answer = await post(`${url}/operation/response`, response({}))
    expect(answer.status).toBe(404)
    expect(await errorsOf(answer)).toMatchObject([{ context: [{ name: 'operation.response.id', value: 'op-1' }] }])
    expect(house.refusals.all).toEqual(['unknown-operation'])
  })

  test.for([
    ['', 400, 'body'],
    ['{"operation":', 400, 'body'],
    ['[]', 400, 'body'],
    ['{"operation":{"response":{}}}', 400, 'operation.response.id'],
    ['{"operation":{"response":{"id":"x","steps":{}}}}', 400, 'operation.response.steps'],
    [
      '{"operation":{"response":{"id":"x","steps":[{"result":"SUCCESSFUL"}]}}}',
      400,
      'operation.response.steps[0].name',
    ],
    ['['.repeat(5000), 400, 'body'],
  ] as const)('%j is refused and names what is at fault', async ([body, status, name]) => {
    const { url } = await open()
    const answer = await post(`${url}/operation/response`, body)
    expect(answer.status).toBe(status)
    expect(await errorsOf(answer)).toMatchObject([{ context: [{ name }] }])
    expect(house.refusals.all).toEqual(['unreadable-message'])
    expect(house.messages.all).toEqual([])
  })

  test('beyond the limit is 413', async () => {
    const { url } = await open({}, { ...house.parts, bodyBytesMax: 1000 })
    const answer = await post(`${url}/operation/response`, response({ resultDescription: 'x'.repeat(1000) }))
    expect(answer.status).toBe(413)
    expect((await post(`${url}/operation/response`, response({}).padEnd(1000))).status).toBe(200)
  })

  test('that the service cannot take now is no success', async () => {
    const { url } = await open()
    house.onSubmit = () => Promise.reject(new Error('the database is gone'))
    expect((await post(`${url}/operation/response`, response({}))).status).toBe(500)
  })

  test('is taken though presence cannot be recorded', async () => {
    const { url } = await open()
    house.onPresence = () => Promise.reject(new Error('the database is gone'))
    expect((await post(`${url}/operation/response`, response({}))).status).toBe(200)
  })
})

test('a device with too many messages in hand is told to come again, and no other', async () => {
  const { url } = await open()
  const commit = Promise.withResolvers<'taken'>()
  house.onSubmit = ({ deviceId }) => (deviceId === 'pump-1' ? commit.promise : Promise.resolve('taken'))
  const inHand = Array.from({ length: MESSAGES_PER_DEVICE }, () => post(`${url}/operation/response`, response({})))
  await house.messages.until(MESSAGES_PER_DEVICE)
  for (const path of ['operation/response', 'collect/iot', 'collect/dmm', 'own']) {
    const refused = await post(`${url}/${path}`, response({}))
    expect([path, refused.status, refused.headers.has('retry-after')]).toEqual([path, 429, true])
  }
  expect(house.refusals.all).toEqual(Array(4).fill('too-many-messages'))
  const other = await post(`${url.replace('pump-1', 'pump-2')}/operation/response`, response({}), {
    'x-apikey': 'key-of-pump-2',
  })
  expect(other.status).toBe(200)
  // To ask for work is no message.
  expect((await fetch(`${url}/operation/pending`, { headers: key })).status).toBe(204)
  commit.resolve('taken')
  for (const answer of await Promise.all(inHand)) expect(answer.status).toBe(200)
  expect((await post(`${url}/operation/response`, response({}))).status).toBe(200)
})

test('a device that hangs up has its message no longer in hand', async () => {
  const { url, port } = await open()
  const sockets = Array.from({ length: MESSAGES_PER_DEVICE }, () => connect(port, '127.0.0.1'))
  onTestFinished(() => sockets.forEach(socket => void socket.destroy()))
  for (const socket of sockets) {
    socket.on('error', () => {})
    const head = 'POST /south/v80/devices/pump-1/collect/iot HTTP/1.1\r\nhost: x\r\nx-apikey: key-of-pump-1\r\n'
    socket.write(`${head}content-length: 100\r\n\r\n{`)
  }
  const status = async () => (await post(`${url}/operation/response`, response({}))).status
  await expect.poll(status, { timeout: 45_000 }).toBe(429)
  for (const socket of sockets) socket.resetAndDestroy()
  await expect.poll(status, { timeout: 45_000 }).toBe(200)
})

describe('who may speak', () => {
  test('is known by the key in the header or in the query', async () => {
    const { url } = await open()
    expect((await fetch(`${url}/operation/pending`, { headers: key })).status).toBe(204)
    expect((await fetch(`${url}/operation/pending?X-ApiKey=key-of-pump-1`)).status).toBe(204)
    expect((await fetch(`${url}/operation/pending?x-apikey=key-of-pump-1`)).status).toBe(204)
  })

  test.for([
    ['no key', {}],
    ['a wrong key', { 'x-apikey': 'wrong' }],
    ['the key of another device', { 'x-apikey': 'key-of-pump-2' }],
  ] as const)('with %s is 401 on every route, and counted', async ([, headers]) => {
    const { url } = await open()
    const answers = [
      await post(`${url}/operation/response`, response({}), headers),
      await post(`${url}/collect/iot`, '{"datastreams":[]}', headers),
      await post(`${url}/collect/dmm`, '{"event":{"device":{}}}', headers),
      await fetch(`${url}/operation/pending?wait=30`, { headers }),
    ]
    for (const answer of answers) {
      expect(answer.status).toBe(401)
      expect(await errorsOf(answer)).toMatchObject([{ code: '0x04' }])
    }
    expect(house.refusals.all).toEqual(Array(4).fill('unauthorized'))
    expect([house.messages.all, house.collected.all, house.polls.all]).toEqual([[], [], []])
  })

  test('is told 401 before the body is read', async () => {
    const { port } = await open()
    const socket = connect(port, '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    socket.write('POST /south/v80/devices/pump-1/collect/iot HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\n')
    const [answer] = await once(socket, 'data')
    expect(answer.toString()).toMatch(/^HTTP\/1.1 401/)
  })

  test('is read from a path that is percent-encoded', async () => {
    const { url } = await open()
    const odd = url.replace('pump-1', encodeURIComponent('a/b ü'))
    const answer = await fetch(`${odd}/operation/pending?X-ApiKey=${encodeURIComponent('key-of-a/b ü')}`)
    expect(answer.status).toBe(204)
    expect(house.polls.all).toMatchObject([{ deviceId: 'a/b ü' }])
  })
})

describe('the call for a pending request', () => {
  test('answers one request as it travels on every other way', async () => {
    const { url } = await open()
    const operation = request({}, { entityId: 'sim-1' })
    house.onTake = async () => operation
    const answer = await fetch(`${url}/operation/pending`, { headers: key })
    expect(answer.status).toBe(200)
    expect(await answer.json()).toEqual({
      operation: {
        request: {
          timestamp: operation.launchedAt,
          deviceId: 'pump-1',
          entityId: 'sim-1',
          name: 'REBOOT_EQUIPMENT',
          parameters: [{ name: 'type', type: 'string', value: { string: 'HARDWARE' } }],
          id: operation.id,
        },
      },
    })
  })

  test('is held for `wait` seconds, at most 60', async () => {
    const { url } = await open()
    for (const wait of ['', '?wait=0', '?wait=30', '?wait=3600']) {
      expect((await fetch(`${url}/operation/pending${wait}`, { headers: key })).status).toBe(204)
    }
    expect(house.polls.all.map(({ waitMs }) => waitMs)).toEqual([0, 0, 30_000, 60_000])
  })

  test.for(['-1', 'soon', '1.5', ''])('refuses a wait of %j', async wait => {
    const { url } = await open()
    const answer = await fetch(`${url}/operation/pending?wait=${wait}`, { headers: key })
    expect(answer.status).toBe(400)
    expect(await errorsOf(answer)).toMatchObject([{ context: [{ name: 'wait' }] }])
  })

  test('ends when its device hangs up', async () => {
    const { port } = await open()
    const ended = Promise.withResolvers<void>()
    house.onTake = (_device, _waitMs, signal) =>
      new Promise(resolve => {
        signal.addEventListener('abort', () => {
          ended.resolve()
          resolve(undefined)
        })
      })
    const socket = connect(port, '127.0.0.1')
    socket.write(
      'GET /south/v80/devices/pump-1/operation/pending?wait=60 HTTP/1.1\r\nhost: x\r\nx-apikey: key-of-pump-1\r\n\r\n',
    )
    await house.polls.until(1)
    socket.destroy()
    await ended.promise
  })

  test('ends when the service stops, without a request lost', async () => {
    const { server, url } = await open()
    house.onTake = (_device, _waitMs, signal) =>
      new Promise(resolve => signal.addEventListener('abort', () => resolve(undefined)))
    const answer = fetch(`${url}/operation/pending?wait=60`, { headers: key })
    await house.polls.until(1)
    await server.close()
    expect((await answer).status).toBe(204)
  })

  test('beyond the bound is told to come again later, each device at its own time', async () => {
    const { url } = await open({ pollsMax: 3 })
    const release: ((operation?: OperationRequest) => void)[] = []
    house.onTake = () => new Promise(resolve => release.push(resolve))
    const held = Array.from({ length: 3 }, () => fetch(`${url}/operation/pending?wait=60`, { headers: key }))
    await house.polls.until(3)
    const pauses = new Set<number>()
    for (let k = 0; k < 12; k += 1) {
      const refused = await fetch(`${url}/operation/pending?wait=60`, { headers: key })
      expect(refused.status).toBe(429)
      pauses.add(Number(refused.headers.get('retry-after')))
    }
    expect(pauses.size).toBeGreaterThan(1)
    expect(Math.min(...pauses)).toBeGreaterThanOrEqual(5)
    expect(Math.max(...pauses)).toBeLessThanOrEqual(25)
    expect(house.refusals.all).toEqual(Array(12).fill('too-many-polls'))
    for (const letGo of release) letGo()
    for (const answer of await Promise.all(held)) expect(answer.status).toBe(204)
    house.onTake = async () => undefined
    expect((await fetch(`${url}/operation/pending`, { headers: key })).status).toBe(204)
  })

  test('that one device makes over and over takes no place of others: the call that is open for longest ends', async () => {
    const { url } = await open({ pollsMax: POLLS_PER_DEVICE + 1 })
    const letGo = new AbortController()
    house.onTake = (_device, _waitMs, signal) =>
      new Promise(resolve => {
        for (const each of [signal, letGo.signal]) each.addEventListener('abort', () => resolve(undefined))
      })
    const hostile: Promise<Response>[] = []
    for (let k = 0; k < 4 * POLLS_PER_DEVICE; k += 1) {
      hostile.push(fetch(`${url}/operation/pending?wait=60`, { headers: key }))
      await house.polls.until(k + 1)
    }
    const superseded = await Promise.all(hostile.slice(0, -POLLS_PER_DEVICE))
    expect(superseded.map(({ status }) => status)).toEqual(superseded.map(() => 204))
    const neighbour = fetch(`${url.replace('pump-1', 'pump-2')}/operation/pending?wait=60`, {
      headers: { 'x-apikey': 'key-of-pump-2' },
    })
    await house.polls.until(1, ({ deviceId }) => deviceId === 'pump-2')
    const open_ = house.polls.all.slice(-POLLS_PER_DEVICE - 1).map(({ deviceId, signal }) => [deviceId, signal.aborted])
    expect(open_).toEqual([...Array(POLLS_PER_DEVICE).fill(['pump-1', false]), ['pump-2', false]])
    expect(house.refusals.all).toEqual([])
    letGo.abort()
    expect((await neighbour).status).toBe(204)
    await Promise.all(hostile)
  })

  test('by HEAD is no call: it would hand out a request without delivering it', async () => {
    const { url } = await open()
    expect((await fetch(`${url}/operation/pending`, { method: 'HEAD', headers: key })).status).toBe(404)
    expect(house.polls.all).toEqual([])
  })
})

describe('collected data', () => {
  test('is answered 201 without a body once it is kept', async () => {
    const { url } = await open()
    const iot = {
      version: '1.0',
      datastreams: [{ id: 'temperature', datapoints: [{ at: 1_700_000_000_000, value: 21.5 }] }],
    }
    const answers = [
      await post(`${url}/collect/iot`, JSON.stringify(iot), { ...key, 'content-type': 'text/plain' }),
      await post(`${url}/collect/dmm`, JSON.stringify({ event: { id: 'e', device: { model: { name: 'm' } } } })),
    ]
    for (const answer of answers) expect([answer.status, await answer.text()]).toEqual([201, ''])
    expect(house.collected.all).toEqual([
      {
        deviceId: 'pump-1',
        iot: { datastreams: [{ id: 'temperature', datapoints: [{ at: 1_700_000_000_000, value: 21.5 }] }] },
      },
      { deviceId: 'pump-1', dmm: { eventId: 'e', device: { model: { name: 'm' } } } },
    ])
  })

  test('is a sight of its device, as are a response and a question', async () => {
    const { url } = await open()
    await post(`${url}/collect/iot`, '{"datastreams":[]}')
    await post(`${url}/collect/dmm`, '{"event":{"device":{}}}')
    await post(`${url}/operation/response`, response({}))
    await fetch(`${url}/operation/pending`, { headers: key })
    await post(`${url}/operation/response`, 'no JSON')
    expect(house.presence.all).toEqual(Array(4).fill(['seen', 'pump-1']))
  })

  test('of another shape is 400 and names the field', async () => {
    const { url } = await open()
    const answer = await post(`${url}/collect/iot`, '{"datastreams":[{"id":"a","datapoints":[{}]}]}')
    expect(answer.status).toBe(400)
    expect(await errorsOf(answer)).toMatchObject([{ context: [{ name: 'datastreams[0].datapoints[0].value' }] }])
  })
})

describe('a message of a device’s own format', () => {
  test('is taken as the responses that the function of its route makes of it', async () => {
    const { url } = await open()
    const asked: unknown[] = []
    house.onOwnMessage = async (_device, message) => {
      asked.push(message)
      return [{ id: 'op-1' }, { operation: { response: { id: 'op-1', resultCode: 'SUCCESSFUL' } } }]
    }
    const answer = await post(`${url}/meter`, '{"ref":1}', { ...key, 'content-type': 'application/x-meter' })
    expect([answer.status, await answer.text()]).toEqual([200, ''])
    expect(asked).toEqual([
      { via: 'http', route: 'meter', contentType: 'application/x-meter', body: '{"ref":1}', json: { ref: 1 } },
    ])
    expect(house.messages.all).toMatchObject([
      { operationId: 'op-1', deviceId: 'pump-1', raw: '{"ref":1}' },
      { operationId: 'op-1', resultCode: 'SUCCESSFUL' },
    ])
  })

  test('may be no JSON, and may mean nothing', async () => {
    const { url } = await open()
    const asked: unknown[] = []
    house.onOwnMessage = async (_device, message) => {
      asked.push(message)
      return null
    }
    expect((await post(`${url}/meter`, 'REF=1;OK', { ...key, 'content-type': 'text/plain' })).status).toBe(200)
    expect(asked).toEqual([{ via: 'http', route: 'meter', contentType: 'text/plain', body: 'REF=1;OK' }])
    expect(house.messages.all).toEqual([])
  })

  test('is given to the function byte by byte, and kept as a text that the database can hold', async () => {
    const { url } = await open()
    const asked: unknown[] = []
    house.onOwnMessage = async (_device, { body }) => {
      asked.push(body)
      return { id: 'op-1', resultCode: 'SUCCESSFUL', resultDescription: 'a\u0000b' }
    }
    expect((await post(`${url}/meter`, 'REF=1\u0000OK', { ...key, 'content-type': 'text/plain' })).status).toBe(200)
    expect(asked).toEqual(['REF=1\u0000OK'])
    expect(house.messages.all).toMatchObject([{ resultDescription: 'a\uFFFDb', raw: 'REF=1\uFFFDOK' }])
  })

  test('on a route that no function reads is 404', async () => {
    const { url } = await open()
    const answer = await post(`${url}/nothing`, '{}')
    expect([answer.status, await errorsOf(answer)]).toMatchObject([
      404,
      [{ context: [{ name: 'path', value: 'nothing' }] }],
    ])
  })

  test('about operations that are not its own is 404 and counted', async () => {
    const { url } = await open()
    house.onOwnMessage = async () => [{ id: 'a' }, { id: 'b' }]
    house.onSubmit = async () => 'unknown'
    expect((await post(`${url}/meter`, '{}')).status).toBe(404)
    expect(house.refusals.all).toEqual(['unknown-operation', 'unknown-operation'])
  })

  test('that the function fails on, or makes no responses of, is 400 and counted', async () => {
    const { url } = await open()
    house.onOwnMessage = () => Promise.reject(new DroverError('invalidField', [{ name: 'body', value: 'it throws' }]))
    expect((await post(`${url}/meter`, '{}')).status).toBe(400)
    house.onOwnMessage = async () => [{ resultCode: 'SUCCESSFUL' }]
    const answer = await post(`${url}/meter`, '{}')
    expect(await errorsOf(answer)).toMatchObject([
      { context: [{ name: 'body', value: expect.stringContaining('.id') }] },
    ])
    expect(house.refusals.all).toEqual(['unreadable-message', 'unreadable-message'])
  })

  test('needs a key as every other', async () => {
    const { url } = await open()
    expect((await post(`${url}/meter`, '{}', {})).status).toBe(401)
  })
})
