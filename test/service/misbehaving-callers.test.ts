/**
 * Devices that call the service and misbehave, over HTTP and MQTT: slow, endless, unreadable, in the name of others, or all at once.
 * Each is told what is wrong, and the devices beside them are served meanwhile.
 */
import { once } from 'node:events'
import { connect as connectTcp, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { connect as connectMqtt } from 'mqtt'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { OperationView } from '../../src/contract/operation.ts'
import { openBalancer } from './balancer.ts'
import { drip, pour } from './doubles.ts'
import { bringUpFleet } from './fleet.ts'
import { openHouse } from './house.ts'
import { countersOf, createJob, jobEnded, readJob, readOperations, recount } from './jobs.ts'

const service = await openHouse({ DROVER_MIN_OPERATION_TIMEOUT_MS: '0' })
const { client } = service
const NEIGHBOURS = 40
const CROWD = 100
const RECONNECTING = Number(process.env.DROVER_TEST_DEVICES ?? 1_000)
const http = { host: '127.0.0.1', port: Number(new URL(service.url).port) }
const mqtt = { host: '127.0.0.1', port: Number(new URL(service.mqtt).port) }
const atOnce = { shape: 'uniform', minMs: 0, maxMs: 0 } as const
const final = { resultCode: 'SUCCESSFUL' }
const responsePath = (id: string) => `/south/v80/devices/${id}/operation/response`
const message = (id: string, members: object = final) => ({
  version: '8.0',
  operation: { response: { id, ...members } },
})

async function provision(id: string, flow: string): Promise<string> {
  const { status, headers } = await client.call<unknown>(
    'POST',
    '/north/v80/provision/organizations/drover/devices?flattened=true',
    { 'provision.device.identifier': id, 'provision.device.operation.flow': flow },
  )
  expect(status).toBe(201)
  return headers.get('x-apikey')!
}

function start(append: object, members: object = {}) {
  const operationParameters = { ackTimeout: 120_000, timeout: 120_000 }
  const request = { name: 'REBOOT_EQUIPMENT', active: true, target: { append }, operationParameters, ...members }
  return createJob(client, request)
}

async function operationOf(job: string): Promise<OperationView> {
  return (await readOperations(client, job))[0]!
}

async function ended(job: string): Promise<OperationView[]> {
  await jobEnded(client, job)
  return await readOperations(client, job)
}

async function refusals(reason: string): Promise<number> {
  const page = await (await fetch(`${service.url}/metrics`)).text()
  const line = page.split('\n').find(each => each.startsWith(`drover_device_refusals_total{reason="${reason}"}`))
  return Number(line?.split(' ').at(-1))
}

/** A connection that begins to post a response of a device. */
function postBegun(id: string, key: string, headers: string): Socket {
  const socket = connectTcp(http)
  socket.on('error', () => {})
  socket.write(`POST ${responsePath(id)} HTTP/1.1\r\nhost: drover\r\nx-apikey: ${key}\r\n${headers}\r\n\r\n`)
  return socket
}

describe('while hundreds', () => {
  const open: Socket[] = []
  const held = new Map<string, Socket[]>()
  let key = ''
  let stillOpen = new Map<string, number>()

  const crowd = (what: string, one: () => Socket) => {
    const sockets = Array.from({ length: CROWD }, one)
    for (const socket of sockets) socket.on('error', () => {})
    open.push(...sockets)
    held.set(what, sockets)
  }

  beforeAll(async () => {
    const neighbours = await bringUpFleet(service, { devices: NEIGHBOURS, prefix: 'neighbour', latency: atOnce })
    key = await provision('slow', 'pull')
    crowd('send a request byte by byte', () => {
      const socket = connectTcp(http)
      drip(socket, `POST ${responsePath('slow')} HTTP/1.1\r\nx: ${'x'.repeat(2_000)}`, 50)
      return socket
    })
    crowd('send a body byte by byte', () => {
      const socket = postBegun('slow', key, 'content-length: 100000')
      drip(socket, '{'.padEnd(2_000), 50)
      return socket
    })
    crowd('say nothing over HTTP', () => connectTcp(http))
    const waiting = Array.from({ length: CROWD }, () =>
      client.call('GET', '/south/v80/devices/slow/operation/pending?wait=20', undefined, { 'x-apikey': key }),
    )
    afterAll(async () => {
      for (const socket of open) socket.destroy()
      await Promise.allSettled(waiting)
      await neighbours.stop()
    })
    for (let round = 0; round < 3; round += 1) {
      // The broker waits ten seconds for a first word: these are there for the last round.
      if (round === 2) crowd('say nothing over MQTT', () => connectTcp(mqtt))
      const operations = await ended((await start({ tags: ['neighbour'] })).id)
      expect(operations.map(({ result }) => result)).toEqual(Array(NEIGHBOURS).fill('SUCCESSFUL'))
    }
    stillOpen = new Map(
      [...held].map(([what, sockets]) => [what, sockets.filter(({ destroyed }) => !destroyed).length]),
    )
  })

  test.for([
    'send a request byte by byte',
    'send a body byte by byte',
    'say nothing over MQTT',
    'say nothing over HTTP',
  ])('%s, all well-behaved devices have been served', what => {
    expect(stillOpen.get(what)).toBe(CROWD)
  })
})

describe('a device that posts', () => {
  let key = ''
  let launched = ''
  let job = ''
  const post = (body: unknown, headers: Record<string, string> = {}) =>
    client.call<{ errors: { code: string; message: string; context: { name: string }[] }[] }>(
      'POST',
      responsePath('poster'),
      body,
      { 'x-apikey': key, ...headers },
    )

  beforeAll(async () => {
    key = await provision('poster', 'pull')
    job = (await start({ entities: ['poster'] })).id
    await client.call('GET', '/south/v80/devices/poster/operation/pending?wait=20', undefined, { 'x-apikey': key })
    launched = (await operationOf(job)).operationId
  })

  test('a body without end is told that it is too large, and cut off', async () => {
    const socket = postBegun('poster', key, 'transfer-encoding: chunked')
    pour(socket, `4000\r\n${' '.repeat(16_384)}\r\n`)
    expect(await text(socket).catch(() => 'HTTP/1.1 413')).toMatch(/^HTTP\/1\.1 413/)
  })

  test.for([
    ['no JSON', '{"operation":{"response":{"id":', 'body'],
    ['nothing', '', 'body'],
    ['bytes that are no text', '\ufffd\ufffd', 'body'],
    ['JSON nested ten thousand deep', `${'['.repeat(10_000)}${']'.repeat(10_000)}`, 'body'],
    ['a list', '[]', 'body'],
    ['a message without an operation', '{}', 'operation'],
    ['a message without a response', '{"operation":{}}', 'operation.response'],
    ['a response without an id', '{"operation":{"response":{}}}', 'operation.response.id'],
    ['an id that is no text', '{"operation":{"response":{"id":7}}}', 'operation.response.id'],
    ['a step without a name', '{"operation":{"response":{"id":"x","steps":[{}]}}}', 'operation.response.steps[0].name'],
    [
      'a thousand and one steps',
      JSON.stringify(message('x', { steps: Array(1_001).fill({ name: 'A' }) })),
      'operation.response.steps',
    ],
  ])('%s is told 400, what it is and where', async ([, body, field]) => {
    const before = await refusals('unreadable-message')
    const answer = await post(body)
    expect(answer.status).toBe(400)
    const [error] = answer.body.errors
    expect(error!.context.map(({ name }) => name)).toEqual([field])
    expect(error!.message).toContain(field)
    expect(error!.message.length).toBeGreaterThan('The body cannot be read.'.length)
    expect(await refusals('unreadable-message')).toBe(before + 1)
  })

  test('huge JSON is told 413', async () => {
    expect((await post(message(launched, { ...final, variableList: 'x'.repeat(5_000_000) }))).status).toBe(413)
    expect((await operationOf(job)).status).toBe('IN_PROGRESS')
  })

  test('an operation that never was, or that is another’s, or that was never launched, is told 404, counted, and changes nothing', async () => {
    await provision('other', 'pull')
    const another = (await start({ entities: ['other'] })).id
    const idle = (await start({ entities: ['poster'] }, { active: false, name: 'REFRESH_INFO' })).id
    const before = await refusals('unknown-operation')
    const ids = ['nonsense', (await operationOf(another)).operationId, (await operationOf(idle)).operationId]
    for (const id of ids) expect((await post(message(id))).status).toBe(404)
    expect(await refusals('unknown-operation')).toBe(before + 3)
    expect((await operationOf(another)).status).toBe('WAITING_FOR_CONNECTION')
    expect((await operationOf(idle)).status).toBe('PENDING')
  })

  test('with a wrong key, without one, or for another device is told 401 and counted', async () => {
    const before = await refusals('unauthorized')
    const bad = await post(message(launched), { 'x-apikey': 'wrong' })
    expect([bad.status, bad.body.errors[0]!.code]).toEqual([401, '0x04'])
    expect((await post(message(launched), { 'x-apikey': '' })).status).toBe(401)
    const other = await client.call('POST', responsePath('other'), message(launched), { 'x-apikey': key })
    expect(other.status).toBe(401)
    expect((await client.call('POST', responsePath('nobody'), message(launched), { 'x-apikey': key })).status).toBe(401)
    expect(await refusals('unauthorized')).toBe(before + 4)
    expect((await operationOf(job)).status).toBe('IN_PROGRESS')
  })

  test('with the wrong content type, by a clock that is years off, and after its end is told 200; its end stands', async () => {
    const wrong = { 'content-type': 'text/html; charset=nonsense' }
    const step = { name: 'A', result: 'SUCCESSFUL', timestamp: '2009-01-01T00:00:00Z' }
    expect((await post(message(launched, { timestamp: -5, steps: [step] }), wrong)).status).toBe(200)
    expect((await post(message(launched, { ...final, timestamp: 99_999_999_999_999 }), wrong)).status).toBe(200)
    for (const members of [{ steps: [{ name: 'B', result: 'ERROR' }] }, { resultCode: 'ERROR_PROCESSING' }, {}]) {
      expect((await post(message(launched, members))).status).toBe(200)
    }
    const [{ status, result, steps, execution }] = (await ended(job)) as [OperationView]
    expect([status, result, steps.map(({ name }) => name)]).toEqual(['FINISHED', 'SUCCESSFUL', ['A']])
    expect(Math.abs(Date.parse(execution.finishedDate) - Date.now())).toBeLessThan(600_000)
  })
})

describe('a device that asks', () => {
  const ask = (id: string, key: string, wait: number) =>
    client.call<unknown>('GET', `/south/v80/devices/${id}/operation/pending?wait=${wait}`, undefined, {
      'x-apikey': key,
    })

  test('a hundred times at once is handed its operation once', async () => {
    const key = await provision('impatient', 'pull')
    const asking = Array.from({ length: 100 }, () => ask('impatient', key, 10))
    await start({ entities: ['impatient'] })
    const statuses = (await Promise.all(asking)).map(({ status }) => status)
    expect(statuses.filter(status => status === 200)).toHaveLength(1)
    expect(statuses.filter(status => status === 204)).toHaveLength(99)
  })

  test('and hangs up a hundred times leaves its operation to the next call', async () => {
    const key = await provision('fickle', 'pull')
    const sockets = Array.from({ length: 100 }, () => {
      const socket = connectTcp(http)
      socket.on('error', () => {})
      socket.write(
        `GET /south/v80/devices/fickle/operation/pending?wait=30 HTTP/1.1\r\nhost: drover\r\nx-apikey: ${key}\r\n\r\n`,
      )
      return socket
    })
    await Promise.all(sockets.map(socket => once(socket, 'connect')))
    await Promise.all(sockets.map(socket => once(socket.destroy(), 'close')))
    await start({ entities: ['fickle'] })
    // Calls that the service comes to read only now send an earlier one home, until it sees that they are gone; within the 30 s after which
    // what was handed out to one of them would come again.
    await expect.poll(async () => (await ask('fickle', key, 20)).status, { timeout: 25_000 }).toBe(200)
  })
})

describe('over MQTT a device that', () => {
  const connected = async (id: string, key: string) => {
    const device = connectMqtt(service.mqtt, { username: id, password: key, reconnectPeriod: 0, protocolVersion: 4 })
    const heard = (event: 'connect' | 'close' | 'message') =>
      new Promise<void>(resolve => device.once(event, () => resolve()))
    device.on('error', () => {})
    onTestFinished(() => void device.end(true))
    await heard('connect')
    return { device, heard }
  }

  test('publishes bytes that are no message, or for others, is acknowledged, and both are dropped and counted', async () => {
    const key = await provision('babbler', 'mqtt')
    const { device } = await connected('babbler', key)
    const [unreadable, foreign] = [await refusals('unreadable-message'), await refusals('foreign-topic')]
    for (const payload of [Buffer.alloc(1_000, 0xff), '', '{"operation":', '[]']) {
      await device.publishAsync('odm/response/babbler', payload, { qos: 1 })
    }
    await device.publishAsync('odm/response/other', JSON.stringify(message('x')), { qos: 1 })
    await device.publishAsync('odm/request/babbler', '{}', { qos: 1 })
    expect(await refusals('unreadable-message')).toBe(unreadable + 4)
    expect(await refusals('foreign-topic')).toBe(foreign + 2)
  })

  test('never acknowledges what it is sent can still answer it', async () => {
    const key = await provision('mute', 'mqtt')
    const { device, heard } = await connected('mute', key)
    await device.subscribeAsync('odm/request/mute', { qos: 1 })
    // No acknowledgement leaves before this is done, and it never is.
    device.handleMessage = () => {}
    const received = heard('message')
    const { id } = await start({ entities: ['mute'] })
    await received
    device.publish('odm/response/mute', JSON.stringify(message((await operationOf(id)).operationId)), {
      qos: 1,
    })
    expect(await ended(id)).toMatchObject([{ status: 'FINISHED', result: 'SUCCESSFUL' }])
  })

  test('sends a packet longer than allowed is cut off', async () => {
    const key = await provision('bulky', 'mqtt')
    const { device, heard } = await connected('bulky', key)
    const closed = heard('close')
    device.publish('odm/response/bulky', Buffer.alloc(400_000), { qos: 1 })
    await closed
  })
})

test(`${RECONNECTING} devices that lose their connections all at once, three times in the middle of a job, each do it once`, async () => {
  const front = await openBalancer([mqtt.port])
  const seen = { executed: 0, mark: () => {} }
  const fleet = await bringUpFleet(
    { client, mqtt: `mqtt://127.0.0.1:${front.port}` },
    {
      devices: RECONNECTING,
      flows: { mqtt: 1 },
      prefix: 'flapping',
      parts: 2,
      latency: { shape: 'uniform', minMs: 0, maxMs: 3_000 },
    },
    ({ what }) => {
      if (what === 'executed') seen.executed += 1
      seen.mark()
    },
  )
  try {
    const executed = (count: number) =>
      new Promise<void>(resolve => {
        seen.mark = () => seen.executed >= count && resolve()
      })
    const { id } = await start({ tags: ['flapping'] }, { operationParameters: { ackTimeout: 60_000, timeout: 60_000 } })
    for (const share of [0.05, 0.3, 0.6]) {
      await executed(RECONNECTING * share)
      front.cut()
    }
    const operations = await ended(id)
    const job = await readJob(client, id)
    expect(job.report.summary.finished).toMatchObject({ total: RECONNECTING, successful: RECONNECTING })
    expect(countersOf(job)).toEqual(recount(operations))
    expect(operations.filter(({ attempts }) => attempts.current !== 1)).toEqual([])
    expect(fleet.counters).toMatchObject({ executed: RECONNECTING, doubled: 0 })
    expect(fleet.counters.reconnects).toBeGreaterThanOrEqual(RECONNECTING)
  } finally {
    await fleet.stop()
    front.close()
  }
})
