/** What devices and the service owe each other beside the flows themselves: which way, what travels, who may speak, what is kept. */
import { describe, expect, test } from 'vitest'
import type { PlanView } from '../../src/contract/client/client.ts'
import { httpDevice, type Received, responseTo } from '../connectors/http-devices.ts'
import { notes } from '../south/parts.ts'
import { DEVICES, isFinal, openHouse, response } from './house.ts'
import { asking, ENTITIES, on } from './interface/asking.ts'

const house = await openHouse({ DROVER_DEVICE_URL_TEMPLATE: 'http://{address}:9/devices/{id}/ask' })
const { make, makeType, operation, pending, untilJob, user } = asking(house)
const MODULES = 'provision.device.communicationModules[]'
const box = (value: string) => [{ _index: { value: 'm' }, _value: { _current: { value } } }]
const successful = { resultCode: 'SUCCESSFUL' }

interface Sent {
  operation: {
    request: { id: string; deviceId: string; entityId?: string; name: string; timestamp: number; parameters: unknown }
  }
}

/** A device over HTTP that succeeds at everything, and what it was sent. */
async function listening() {
  const sent = notes<Sent['operation']['request'] & { received: Received }>()
  const url = await httpDevice((received, reply) => {
    sent.add({ ...(JSON.parse(received.body) as Sent).operation.request, received })
    reply.writeHead(201).end(responseTo(received, successful))
  })
  return { url, sent }
}

async function refusals(reason: string): Promise<number> {
  const page = await (await fetch(`${house.url}/metrics`)).text()
  const line = page.split('\n').find(each => each.startsWith(`drover_device_refusals_total{reason="${reason}"}`))
  return Number(line?.split(' ').at(-1))
}

describe('the way to a device that says none', () => {
  test('is MQTT while it is connected there, though it has a URL, and HTTP when it is not', async () => {
    const { url, sent } = await listening()
    const key = await house.provision('both', { 'provision.device.operation.url': url })
    const { client, requests } = await house.overMqtt('both', key)
    const first = await house.start('both')
    const [request] = await requests.until(1)
    await client.publishAsync('odm/response/both', JSON.stringify(response(request!.id, successful)), { qos: 1 })
    expect(await house.operationOf(first)).toMatchObject({ result: 'SUCCESSFUL' })
    expect(sent.all).toEqual([])
    await client.endAsync()
    const goes = async () => {
      const { status } = await house.until(await house.start('both'), isFinal)
      return [status, sent.all.length > 0]
    }
    await expect.poll(goes, { timeout: 20_000 }).toEqual(['FINISHED', true])
    expect(requests.all).toHaveLength(1)
  })

  test('is to wait for it to ask where it has neither URL nor address', async () => {
    await house.provision('nowhere')
    await house.until(await house.start('nowhere'), ({ status }) => status === 'WAITING_FOR_CONNECTION')
  })

  test('is the address of its first subscription in the template of the operator', async () => {
    const made = await house.call('POST', `${ENTITIES}?flattened=true`, {
      'provision.device.identifier': 'addressed',
      [`${MODULES}.subscription.identifier`]: box('its-line'),
      [`${MODULES}.subscription.address`]: box('127.0.0.1'),
    })
    expect(made.status, JSON.stringify(made.body)).toBe(201)
    // Nothing listens on port 9: that it was tried there is told by the failure.
    const tried = await house.until(await house.start('addressed'), isFinal)
    expect(tried).toMatchObject({ result: 'ERROR_TIMEOUT', description: expect.stringContaining('no connection') })
  })

  test('is another when the operator of the device says so, also against what is connected', async () => {
    const { url, sent } = await listening()
    const values = { 'provision.device.operation.url': url, 'provision.device.operation.flow': 'http' }
    const key = await house.provision('stubborn', values)
    const { requests } = await house.overMqtt('stubborn', key)
    await house.until(await house.start('stubborn'), isFinal)
    expect([sent.all.length, requests.all.length]).toEqual([1, 0])
  })
})

describe('a request', () => {
  const parameters = { text: 'a', number: 1.5, yes: true, list: [1, 'b'], object: { deep: { er: null } } }
  const names = Object.keys(parameters)
  const typed = [
    { name: 'text', type: 'string', value: { string: 'a' } },
    { name: 'number', type: 'number', value: { number: 1.5 } },
    { name: 'yes', type: 'boolean', value: { boolean: true } },
    { name: 'list', type: 'array', value: { array: [1, 'b'] } },
    { name: 'object', type: 'object', value: { object: { deep: { er: null } } } },
  ]

  /** A list of parameters is known by its names; its order is no promise. */
  const sorted = (request: { parameters: unknown } | undefined) => {
    const given = request?.parameters
    const byName = (a: (typeof typed)[number], b: (typeof typed)[number]) =>
      names.indexOf(a.name) - names.indexOf(b.name)
    return { ...request, parameters: Array.isArray(given) ? given.toSorted(byName) : given }
  }

  test.for([
    ['typed', typed],
    ['object', parameters],
  ] as const)('carries its parameters as %s, over HTTP, over MQTT and when asked for', async ([form, travelling]) => {
    await makeType({ name: `MIXED_${form}`, parameters: { type: 'object' } })
    const asks = { name: `MIXED_${form}`, parameters }
    const values = { 'provision.device.operation.parameters': form }
    const { url, sent } = await listening()
    const pushedKey = await house.provision(`pushed-${form}`, { ...values, 'provision.device.operation.url': url })
    await house.start(`pushed-${form}`, asks)
    const [pushed] = await sent.until(1)
    expect(pushed!.received.headers['x-apikey']).toBe(pushedKey)
    const { requests } = await house.overMqtt(`mqtt-${form}`, await house.provision(`mqtt-${form}`, values))
    await house.start(`mqtt-${form}`, asks)
    const [published] = await requests.until(1)
    const key = await house.provision(`asking-${form}`, values)
    const job = await house.start(`asking-${form}`, asks)
    await house.until(job, ({ status }) => status === 'WAITING_FOR_CONNECTION')
    const handed = await pending(`asking-${form}`, key)
    for (const request of [pushed, published, handed])
      expect(sorted(request)).toMatchObject({ name: asks.name, parameters: travelling })
    const { operationId } = await operation(job)
    expect(sorted(handed)).toEqual({
      timestamp: expect.any(Number),
      deviceId: `asking-${form}`,
      name: asks.name,
      parameters: travelling,
      id: operationId,
    })
  })

  test('on what a device carries goes to that device, with the entity beside it', async () => {
    const { url, sent } = await listening()
    const made = await house.call('POST', `${ENTITIES}?flattened=true`, {
      'provision.device.identifier': 'carrier',
      'provision.device.operation.url': url,
      [`${MODULES}.identifier`]: box('module'),
      [`${MODULES}.subscription.identifier`]: box('line'),
      [`${MODULES}.subscriber.identifier`]: box('card'),
    })
    expect(made.status, JSON.stringify(made.body)).toBe(201)
    for (const [member, id] of [
      ['identifier', 'module'],
      ['subscription.identifier', 'line'],
      ['subscriber.identifier', 'card'],
    ]) {
      expect((await house.call('POST', `${ENTITIES}?flattened=true`, { [`${MODULES}.${member}`]: id })).status).toBe(
        201,
      )
    }
    await makeType({ name: 'TOUCH', applicableTo: ['entity.commsModule', 'entity.subscription', 'entity.subscriber'] })
    const { id } = await make({ ...on(['module', 'line', 'card']), name: 'TOUCH' })
    await untilJob(id, 'FINISHED')
    expect(sent.all.map(({ deviceId, entityId }) => `${deviceId} ${entityId}`).sort()).toEqual([
      'carrier card',
      'carrier line',
      'carrier module',
    ])
  })

  test('on what no device carries is not supported', async () => {
    const lone = { [`${MODULES}.subscription.identifier`]: 'lone-line' }
    expect((await house.call('POST', `${ENTITIES}?flattened=true`, lone)).status).toBe(201)
    const { id } = await make({ ...on(['lone-line']), name: 'SIM_REPLACEMENT', parameters: { icc: '8934' } })
    expect(await house.until(id, isFinal)).toMatchObject({ status: 'NOT_ALLOWED', result: 'NOT_SUPPORTED' })
  })
})

describe('over MQTT', () => {
  test('a subscription at QoS 2 is granted, one to anything else is not', async () => {
    const key = await house.provision('exact')
    const { client } = await house.overMqtt('exact', key, { subscribe: false })
    expect(await client.subscribeAsync('odm/request/exact', { qos: 2 })).toMatchObject([{ qos: 2 }])
    await expect(client.subscribeAsync('odm/request/other', { qos: 1 })).rejects.toThrow()
    await expect(client.subscribeAsync('#', { qos: 0 })).rejects.toThrow()
  })

  test('the first message acknowledges; with a result it acknowledges and ends', async () => {
    const key = await house.provision('brief')
    const { client, requests } = await house.overMqtt('brief', key)
    const say = (id: string, members: object) =>
      client.publishAsync('odm/response/brief', JSON.stringify(response(id, { ...members })), { qos: 1 })
    const first = await house.start('brief')
    await say((await requests.until(1))[0]!.id, { steps: [{ name: 'A', result: 'SUCCESSFUL' }] })
    expect(await house.operationOf(first)).toMatchObject({ status: 'IN_PROGRESS', steps: [{ name: 'A' }] })
    const second = await house.start('brief', { name: 'REFRESH_INFO', parameters: {} })
    await say((await requests.until(2))[1]!.id, successful)
    expect(await house.operationOf(second)).toMatchObject({ status: 'FINISHED', result: 'SUCCESSFUL' })
  })

  test('a user who manages devices connects as any of them, a viewer as none', async () => {
    await house.provision('managed')
    await house.overMqtt('managed', house.apiKey)
    await user('viewer@drover.test', 'viewer')
    const read = await house.call<{ user: { apiKey: string } }>('GET', '/north/v80/provision/users/viewer@drover.test')
    await expect(house.overMqtt('managed', read.body.user.apiKey)).rejects.toThrow('not let in')
    expect((await house.south('managed', read.body.user.apiKey, 'operation/pending')).status).toBe(401)
  })
})

describe('the token of a user', () => {
  const asks = (deviceId: string, headers: Record<string, string>) =>
    fetch(`${house.url}/south/v80/devices/${deviceId}/operation/pending`, { headers })

  test('who manages devices lets it speak for any of its organization, that of a viewer for none', async () => {
    await house.provision('spoken-for')
    const manager = await user('manager@drover.test', 'advanced')
    expect((await asks('spoken-for', manager)).status).toBe(204)
    const elsewhere = { organization: { name: 'elsewhere' } }
    expect((await house.call('POST', '/north/v80/provision/organizations', elsewhere)).status).toBe(201)
    const refused: [string, Record<string, string>][] = [
      ['spoken-for', await user('looker@drover.test', 'viewer')],
      ['spoken-for', await user('stranger@drover.test', 'admin', 'elsewhere')],
      ['never-made', manager],
      ['spoken-for', { authorization: `${manager.authorization}x` }],
      ['spoken-for', { authorization: manager.authorization!.replace('Bearer ', '') }],
      // What is shown as a key is judged as one.
      ['spoken-for', { ...manager, 'x-apikey': 'wrong' }],
    ]
    const before = await refusals('unauthorized')
    for (const [device, headers] of refused)
      expect([device, (await asks(device, headers)).status]).toEqual([device, 401])
    expect(await refusals('unauthorized')).toBe(before + refused.length)
  })

  test('is good no longer than its user is let in', async () => {
    await house.provision('spoken-for-once')
    const manager = await user('demoted@drover.test', 'advanced')
    expect((await asks('spoken-for-once', manager)).status).toBe(204)
    const demoted = { user: { profile: 'viewer' } }
    expect((await house.call('PUT', '/north/v80/provision/users/demoted@drover.test', demoted)).status).toBe(200)
    expect((await asks('spoken-for-once', manager)).status).toBe(401)
  })
})

describe('the key of a device', () => {
  test('is read from the header or the query here, from the header alone on the client interface', async () => {
    const key = await house.provision('queried')
    const here = `${house.url}/south/v80/devices/queried/operation/pending`
    expect((await fetch(`${here}?X-ApiKey=${key}`)).status).toBe(204)
    expect((await fetch(here, { headers: { 'X-ApiKey': key } })).status).toBe(204)
    expect((await fetch(here)).status).toBe(401)
    const there = `${house.url}/north/v80/operationTypes/catalog`
    expect((await fetch(`${there}?X-ApiKey=${house.apiKey}`)).status).toBe(401)
    expect((await fetch(there, { headers: { 'X-ApiKey': house.apiKey } })).status).toBe(200)
    // A device is no client.
    expect((await fetch(there, { headers: { 'X-ApiKey': key } })).status).toBe(401)
  })

  test('opens nothing any more once it is revoked, and what it opened is closed', async () => {
    const key = await house.provision('revoked')
    const { client } = await house.overMqtt('revoked', key)
    const left = new Promise<void>(resolve => client.once('close', () => resolve()))
    expect((await house.call('DELETE', `${DEVICES}/revoked/key`)).status).toBe(200)
    await left
    const before = await refusals('unauthorized')
    const answer = await house.south<{ errors: { code: string }[] }>('revoked', key, 'operation/pending')
    expect([answer.status, answer.body.errors[0]!.code]).toEqual([401, '0x04'])
    expect(await refusals('unauthorized')).toBe(before + 1)
  })

  test('ends with its device', async () => {
    const key = await house.provision('gone')
    const { client } = await house.overMqtt('gone', key)
    const left = new Promise<void>(resolve => client.once('close', () => resolve()))
    expect((await house.call('DELETE', `${DEVICES}/gone`)).status).toBe(200)
    await left
    expect((await house.south('gone', key, 'operation/pending')).status).toBe(401)
    expect((await house.south('gone', house.apiKey, 'operation/pending')).status).toBe(401)
  })

  test('does nothing in another organization, where a device may have the same id', async () => {
    const organization = { organization: { name: 'neighbours' } }
    expect((await house.call('POST', '/north/v80/provision/organizations', organization)).status).toBe(201)
    const path = '/north/v80/provision/organizations/neighbours/devices?flattened=true'
    const made = await house.call('POST', path, { 'provision.device.identifier': 'twin' })
    const theirs = made.headers.get('x-apikey')!
    const ours = await house.provision('twin')
    const job = await house.start('twin')
    await house.until(job, ({ status }) => status === 'WAITING_FOR_CONNECTION')
    // The key says whose twin it is.
    expect((await house.south('twin', theirs, 'operation/pending')).status).toBe(204)
    const { operationId } = await operation(job)
    const said = await house.south('twin', theirs, 'operation/response', response(operationId, successful))
    expect(said.status).toBe(404)
    const before = await refusals('unknown-operation')
    const { client, requests } = await house.overMqtt('twin', theirs)
    await client.publishAsync('odm/response/twin', JSON.stringify(response(operationId, successful)), { qos: 1 })
    expect(await refusals('unknown-operation')).toBe(before + 1)
    expect(requests.all).toEqual([])
    expect((await house.south('twin', ours, 'operation/pending')).status).toBe(200)
  })
})

describe('what a device collects', () => {
  const search = async (filter: object) => {
    const { status, body } = await house.call<{ entities: Record<string, unknown>[] } | undefined>(
      'POST',
      '/north/v80/search/entities?flattened=true',
      { filter },
    )
    return status === 200 ? body!.entities.length : 0
  }

  test('is kept by its latest instant, whichever way and in whichever order it came, in batches too', async () => {
    const key = await house.provision('sensor')
    const { client } = await house.overMqtt('sensor', key)
    const datapoints = [
      { at: 3_000, value: 30 },
      { at: 5_000, value: 50 },
      { at: 4_000, value: 40 },
    ]
    const first = { version: '1.0', datastreams: [{ id: 'level', feed: 'f', datapoints }] }
    expect((await house.south('sensor', key, 'collect/iot', first)).status).toBe(201)
    const late = { datastreams: [{ id: 'level', datapoints: [{ at: 4_500, value: 45, tags: ['x'] }] }] }
    await client.publishAsync('odm/iot/sensor', JSON.stringify(late), { qos: 1 })
    expect([await search({ eq: { level: 50 } }), await search({ eq: { level: 45 } })]).toEqual([1, 0])
    const { body } = await house.call<{ entities: { level: unknown }[] }>(
      'POST',
      '/north/v80/search/entities?flattened=true',
      { filter: { eq: { level: 50 } } },
    )
    expect(body.entities[0]!.level).toEqual({ _value: { _current: { value: 50, at: new Date(5_000).toISOString() } } })
  })

  test('describes the device by either way, and reaches the cell by which a job is scattered', async () => {
    const key = await house.provision('modem')
    const { client } = await house.overMqtt('modem', key)
    const event = (device: object) => ({ version: '1.0', event: { id: 'e', device } })
    const first = event({ id: 'modem', model: { name: 'M1' } })
    expect((await house.south('modem', key, 'collect/dmm', first)).status).toBe(201)
    await client.publishAsync('odm/dmm/modem', JSON.stringify(event({ temperature: { value: 7 } })), { qos: 1 })
    expect(await search({ eq: { 'device.temperature.value': 7 } })).toBe(1)
    const cell = (value: string) => ({
      datastreams: [{ id: 'subscription.collected.cellInfo', datapoints: [{ value }] }],
    })
    expect((await house.south('modem', key, 'collect/iot', cell('cell-9'))).status).toBe(201)
    expect(await search({ eq: { 'subscription.collected.cellInfo': 'cell-9' } })).toBe(1)
    await client.publishAsync('odm/iot/modem', JSON.stringify(cell('cell-10')), { qos: 1 })
    expect(await search({ eq: { 'subscription.collected.cellInfo': 'cell-10' } })).toBe(1)
    const other = await house.provision('router')
    expect((await house.south('router', other, 'collect/iot', cell('cell-9'))).status).toBe(201)
    const { body } = await house.call<PlanView>('POST', '/north/v80/operation/jobs/plan', {
      job: {
        request: {
          name: 'REFRESH_INFO',
          parameters: {},
          active: true,
          target: { append: { entities: ['modem', 'router'] } },
          schedule: {
            stop: { delayed: 3_600_000 },
            scattering: { maxSpread: 50, strategy: { field: 'subscription.collected.cellInfo', factor: 0 } },
          },
          operationParameters: { timeout: 60_000 },
        },
      },
    })
    expect(body.scattering.groups!.map(({ value }) => value).toSorted()).toEqual(['cell-10', 'cell-9'])
  })

  test('groups a summary', async () => {
    for (const [device, value] of [
      ['door-1', 'open'],
      ['door-2', 'shut'],
      ['door-3', 'open'],
    ] as const) {
      const key = await house.provision(device)
      await house.south(device, key, 'collect/iot', { datastreams: [{ id: 'door', datapoints: [{ value }] }] })
    }
    const asked = { filter: { exists: { door: true } }, group: { parameters: [{ name: 'door' }] } }
    const { status, body } = await house.call<{ summary: { summaryGroup: { door: { list: unknown } }[] } }>(
      'POST',
      '/north/v80/search/entities/summary',
      asked,
    )
    expect(status).toBe(200)
    expect(body.summary.summaryGroup[0]!.door).toMatchObject({ count: 3 })
    expect(body.summary.summaryGroup[0]!.door.list).toHaveLength(2)
    expect(body.summary.summaryGroup[0]!.door.list).toEqual(
      expect.arrayContaining([
        { name: 'open', count: 2 },
        { name: 'shut', count: 1 },
      ]),
    )
  })

  test('chooses the entities of a job', async () => {
    const key = await house.provision('cold')
    await house.south('cold', key, 'collect/iot', { datastreams: [{ id: 'celsius', datapoints: [{ value: -20 }] }] })
    const request = { name: 'REBOOT_EQUIPMENT', target: { append: { filter: { lt: { celsius: -10 } } } } }
    const { id } = await make({ ...request, active: true }, '?resourceType=entity.device')
    expect(await house.until(id, () => true)).toMatchObject({ entityId: 'cold' })
  })
})

test('a device that asks is present from then on, and how long ago it was heard of is told', async () => {
  const key = await house.provision('heard')
  const job = await house.start('heard')
  await house.until(job, ({ status }) => status === 'WAITING_FOR_CONNECTION')
  const { operationId } = await operation(job)
  await house.south('heard', key, 'collect/iot', { datastreams: [] })
  const told = async () => {
    const { body } = await house.call('GET', `/north/v80/operation/jobs/${job}/operations/${operationId}/why`)
    return JSON.stringify(body)
  }
  await expect.poll(told, { timeout: 20_000 }).toMatch(/"seenDate":"20/)
})
