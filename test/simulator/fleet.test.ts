import { request } from 'undici'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { FleetEvent } from '../../src/simulator/device-run.ts'
import { type Fleet, openFleet } from '../../src/simulator/fleet.ts'
import type { FleetRequest, Flow } from '../../src/simulator/options.ts'
import { type FakeService, openFakeService } from './fake-service.ts'
import { startFleet } from './started-fleet.ts'

let service: FakeService
let fleet: Fleet | undefined
let events: FleetEvent[]
const elements = { deploymentElements: [{ name: 'fw', version: '2' }], bundleVersion: '2' }

beforeEach(async () => {
  service = await openFakeService()
  events = []
})

afterEach(async () => {
  await fleet?.stop()
  fleet = undefined
  await service.close()
})

async function start(flow: Flow, options: Partial<FleetRequest> = {}): Promise<Fleet> {
  const { url, mqtt } = service
  const latency = { shape: 'uniform', minMs: 0, maxMs: 20 } as const
  const asked = { apiKey: 'key', url, mqtt, devices: 3, flows: { [flow]: 1 }, latency, pullWaitS: 1, ...options }
  fleet = await startFleet(asked, event => events.push(event))
  return fleet
}

describe('a synchronous HTTP device', () => {
  test('answers 201 with the result and every step in the same exchange', async () => {
    const { devices } = await start('http-sync')
    const { status, response } = await service.push(devices[1]!.url!, 'sim-1', 'op-1', 'UPDATE', elements)
    expect(status).toBe(201)
    expect(response).toMatchObject({ operationId: 'op-1', deviceId: 'sim-1', name: 'UPDATE', resultCode: 'SUCCESSFUL' })
    expect(response.steps.map(({ name, result }) => `${name} ${result}`)).toEqual([
      'BEGINUPDATE SUCCESSFUL',
      'DOWNLOADFILE SUCCESSFUL',
      'BEGININSTALL SUCCESSFUL',
      'ENDINSTALL SUCCESSFUL',
      'ENDUPDATE SUCCESSFUL',
    ])
  })

  test('says NOT_SUPPORTED to an operation it does not know', async () => {
    const { devices } = await start('http-sync')
    const { status, response } = await service.push(devices[0]!.url!, 'sim-0', 'op-1', 'MAKE_COFFEE')
    expect([status, response.resultCode, response.steps]).toEqual([201, 'NOT_SUPPORTED', []])
  })

  test('reads back what was written to it, and nothing that was written to its neighbour', async () => {
    const { devices } = await start('http-sync')
    const variableList = [{ name: 'interval', value: 30 }]
    await service.push(devices[0]!.url!, 'sim-0', 'op-1', 'SET_DEVICE_PARAMETERS', { variableList })
    const get = (index: number) =>
      service.push(devices[index]!.url!, `sim-${index}`, `op-get-${index}`, 'GET_DEVICE_PARAMETERS', {
        variableList: ['interval'],
      })
    expect((await get(0)).response.variableList).toEqual(variableList)
    expect((await get(1)).response.variableList).toEqual([{ name: 'interval', value: null }])
  })

  test('answers a repeat of a running operation with the one result, in its own exchange', async () => {
    const { devices, counters } = await start('http-sync')
    const push = () => service.push(devices[0]!.url!, 'sim-0', 'op-1', 'REBOOT_EQUIPMENT')
    const [first, second] = await Promise.all([push(), push()])
    expect(second.response.resultCode).toBe(first.response.resultCode)
    expect(counters).toMatchObject({ received: 2, repeated: 1, executed: 1 })
  })

  test('posts its answer when the service has hung up before it came', async () => {
    const { devices } = await start('http-sync', { latency: { shape: 'uniform', minMs: 300, maxMs: 300 } })
    await expect(
      request(devices[0]!.url!, {
        method: 'POST',
        signal: AbortSignal.timeout(50),
        body: JSON.stringify({ operation: { request: { id: 'op-1', name: 'REBOOT_EQUIPMENT', parameters: [] } } }),
      }),
    ).rejects.toThrow('timeout')
    const [arrival] = await service.arrived('op-1', 1)
    expect(arrival).toMatchObject({ way: 'http', deviceId: 'sim-0', response: { resultCode: 'SUCCESSFUL' } })
  })

  test.each([
    ['a device that is not of the fleet', 404, '/devices/other-1/operation/request', '{}'],
    ['text that is not JSON', 400, '/devices/sim-0/operation/request', 'reboot!'],
    [
      'a request that names another device',
      400,
      '/devices/sim-0/operation/request',
      '{"operation":{"request":{"id":"a","name":"b","deviceId":"sim-1"}}}',
    ],
  ])('refuses %s with %i', async (_, status, path, body) => {
    const { url, counters } = await start('http-sync')
    const answer = await request(`${url}${path}`, { method: 'POST', body })
    await answer.body.dump()
    expect(answer.statusCode).toBe(status)
    expect(counters.executed).toBe(0)
  })
})

describe('an asynchronous HTTP device', () => {
  test('acknowledges at once, then posts its parts in order and the result last', async () => {
    const { devices, counters } = await start('http-async', { parts: 2 })
    const { status, response } = await service.push(devices[0]!.url!, 'sim-0', 'op-1', 'UPDATE', elements)
    expect([status, response.resultCode, response.steps]).toEqual([201, undefined, []])
    const [, ...posted] = await service.arrived('op-1', 4)
    expect(
      posted.map(({ way, response }) => [way, response.resultCode, response.steps.map(({ name }) => name)]),
    ).toEqual([
      ['http', undefined, ['BEGINUPDATE']],
      ['http', undefined, ['DOWNLOADFILE', 'BEGININSTALL']],
      ['http', 'SUCCESSFUL', ['ENDINSTALL', 'ENDUPDATE']],
    ])
    expect(counters).toMatchObject({ executed: 1, acknowledgements: 1, parts: 2 })
  })

  test('posts again until the service takes it, and keeps the order', async () => {
    const { devices, counters } = await start('http-async', { parts: 1 })
    service.nextStatuses.push(503, 429, 500)
    await service.push(devices[0]!.url!, 'sim-0', 'op-1', 'REBOOT_EQUIPMENT')
    const [, part, final] = await service.arrived('op-1', 3)
    expect([part?.response.resultCode, final?.response.resultCode]).toEqual([undefined, 'SUCCESSFUL'])
    expect(counters.refused + counters.undelivered).toBe(0)
  })

  test('does not insist when the service refuses', async () => {
    const { devices, counters } = await start('http-async', { parts: 0 })
    service.nextStatuses.push(404)
    await service.push(devices[0]!.url!, 'sim-0', 'op-1', 'REBOOT_EQUIPMENT')
    await expect.poll(() => counters.refused).toBe(1)
    expect(counters.finals).toBe(0)
  })

  test('waits for its turn where fewer connections may be open than devices have something to post', async () => {
    const { devices } = await start('http-async', { devices: 20, postConnections: 2 })
    await Promise.all(devices.map(({ id, url }) => service.push(url!, id, `op-${id}`, 'REBOOT_EQUIPMENT')))
    const finals = await service.finals(20)
    expect(new Set(finals.map(({ deviceId }) => deviceId))).toEqual(new Set(devices.map(({ id }) => id)))
  })
})

describe('a pull device', () => {
  test('asks, does what it is given without acknowledging, and posts parts and result', async () => {
    const { counters } = await start('pull', { parts: 1 })
    service.leave('sim-2', 'op-1', 'UPDATE', elements)
    const arrivals = await service.arrived('op-1', 2)
    expect(arrivals.map(({ way, apiKey, response }) => [way, apiKey, response.resultCode])).toEqual([
      ['http', 'key', undefined],
      ['http', 'key', 'SUCCESSFUL'],
    ])
    expect(counters).toMatchObject({ received: 1, executed: 1, acknowledgements: 0 })
  })

  test('takes a whole queue, one question after the other', async () => {
    const { counters } = await start('pull', { devices: 1, parts: 0 })
    for (let n = 0; n < 20; n++) service.leave('sim-0', `op-${n}`, 'REFRESH_INFO')
    await service.finals(20)
    expect(counters).toMatchObject({ received: 20, executed: 20 })
  })

  test('takes turns with the others when there are more of them than may ask at once', async () => {
    await start('pull', { devices: 4, pullConcurrency: 2, parts: 0 })
    for (let n = 0; n < 4; n++) service.leave(`sim-${n}`, `op-${n}`, 'REFRESH_INFO')
    const finals = await service.finals(4)
    expect(new Set(finals.map(({ deviceId }) => deviceId)).size).toBe(4)
  })
})

describe('an MQTT device', () => {
  test('acknowledges first, then sends its parts and the result, all on its own topic', async () => {
    const { counters } = await start('mqtt', { parts: 1 })
    await service.publish('sim-1', 'op-1', 'UPDATE', elements)
    const arrivals = await service.arrived('op-1', 3)
    expect(
      arrivals.map(({ way, deviceId, response }) => [way, deviceId, response.resultCode, response.steps.length]),
    ).toEqual([
      ['mqtt', 'sim-1', undefined, 0],
      ['mqtt', 'sim-1', undefined, 2],
      ['mqtt', 'sim-1', 'SUCCESSFUL', 3],
    ])
    await expect.poll(() => counters).toMatchObject({ connected: 3, acknowledgements: 1, parts: 1, finals: 1 })
  })

  test('refuses what it does not know in one message, acknowledgement and end in one', async () => {
    await start('mqtt')
    await service.publish('sim-0', 'op-1', 'MAKE_COFFEE')
    const [arrival] = await service.arrived('op-1', 1)
    expect(arrival?.response.resultCode).toBe('NOT_SUPPORTED')
    await fleet?.stop()
    expect(service.arrivals).toHaveLength(1)
  })

  test('comes back when its connection is cut, and delivers what it had to say', async () => {
    const { counters } = await start('mqtt', { parts: 0, latency: { shape: 'uniform', minMs: 300, maxMs: 300 } })
    await service.publish('sim-0', 'op-1', 'REBOOT_EQUIPMENT')
    await service.arrived('op-1', 1)
    service.cutMqtt()
    const [, final] = await service.arrived('op-1', 2)
    expect(final?.response.resultCode).toBe('SUCCESSFUL')
    await expect.poll(() => counters, { timeout: 10_000 }).toMatchObject({ connected: 3, reconnects: 3 })
  })
})

describe('a fleet that misbehaves', () => {
  test('fails the share of operations it was told to, at one step, with ERROR_PROCESSING', async () => {
    const { devices, counters } = await start('http-sync', { fail: 1 })
    const { response } = await service.push(devices[0]!.url!, 'sim-0', 'op-1', 'UPDATE', elements)
    expect(response.resultCode).toBe('ERROR_PROCESSING')
    expect(response.steps.at(-1)?.result).toBe('ERROR')
    expect(response.steps.filter(({ result }) => result === 'ERROR')).toHaveLength(1)
    expect(counters.failed).toBe(1)
  })

  test('does what failed anew when it is retried, and then may succeed; a success is never done again', async () => {
    const { devices, counters } = await start('http-sync', { fail: 0.5 })
    const push = async () =>
      (await service.push(devices[0]!.url!, 'sim-0', 'op-1', 'REBOOT_EQUIPMENT')).response.resultCode
    const results = [await push()]
    for (let n = 0; n < 30; n++) {
      service.launchAgain('op-1')
      results.push(await push())
    }
    const done = results.indexOf('SUCCESSFUL')
    expect(results).toEqual([...Array(done).fill('ERROR_PROCESSING'), ...Array(31 - done).fill('SUCCESSFUL')])
    expect(counters).toMatchObject({ failed: done, executed: done + 1, repeated: 31 - done - 1 })
  })

  test.each([200, 404])(
    'says again that it failed, without doing it again, when the same launch comes again after its answer was met with %i',
    async status => {
      const { counters } = await start('http-async', { fail: 1, parts: 0 })
      const push = () => service.push(fleet!.devices[0]!.url!, 'sim-0', 'op-1', 'REBOOT_EQUIPMENT')
      service.nextStatuses.push(status)
      await push()
      await expect.poll(() => counters.refused + counters.finals).toBe(1)
      await push()
      await expect.poll(() => counters.refused + counters.finals).toBe(2)
      expect(counters).toMatchObject({ executed: 1, repeated: 1 })
      service.launchAgain('op-1')
      await push()
      await expect.poll(() => counters.refused + counters.finals).toBe(3)
      expect(counters).toMatchObject({ executed: 2, repeated: 1 })
    },
  )

  test.each(['mqtt', 'pull', 'http-async', 'http-sync'] as const)(
    'sends %s results twice, having done the work once',
    async flow => {
      const { devices, counters } = await start(flow, { duplicate: 1, parts: 0 })
      if (flow === 'mqtt') await service.publish('sim-0', 'op-1', 'REBOOT_EQUIPMENT')
      else if (flow === 'pull') service.leave('sim-0', 'op-1', 'REBOOT_EQUIPMENT')
      else await service.push(devices[0]!.url!, 'sim-0', 'op-1', 'REBOOT_EQUIPMENT')
      const finals = await service.finals(2)
      expect(finals.map(({ response }) => response.resultCode)).toEqual(['SUCCESSFUL', 'SUCCESSFUL'])
      expect(counters).toMatchObject({ executed: 1, duplicated: 1 })
      expect(fleet?.operation('op-1')).toMatchObject({ deviceId: 'sim-0', receipts: 1, executions: 1 })
    },
  )

  test('answers a repeated request again, steps and all, without doing it again', async () => {
    const { counters } = await start('mqtt', { parts: 1 })
    await service.publish('sim-0', 'op-1', 'UPDATE', elements)
    await service.arrived('op-1', 3)
    await service.publish('sim-0', 'op-1', 'UPDATE', elements)
    const arrivals = await service.arrived('op-1', 6)
    const words = arrivals.map(({ response }) => `${response.resultCode} ${response.steps.map(({ name }) => name)}`)
    expect(words.slice(3)).toEqual(words.slice(0, 3))
    expect(counters).toMatchObject({ received: 2, repeated: 1, executed: 1, doubled: 0 })
  })

  test('keeps silent when told to, and speaks to a later repeat that it hears', async () => {
    const { counters } = await start('mqtt', {
      silent: 0.5,
      parts: 0,
      latency: { shape: 'uniform', minMs: 0, maxMs: 0 },
    })
    for (let sent = 1; sent === 1 || counters.silent === sent - 1; sent++) {
      await service.publish('sim-0', 'op-1', 'MAKE_COFFEE')
      await expect.poll(() => counters.received).toBe(sent)
    }
    await service.arrived('op-1', 1)
    await expect.poll(() => counters.received - counters.silent - counters.finals).toBe(0)
    expect(fleet?.operation('op-1')?.executions).toBe(1)
  })

  test('answers late, after the time it should have taken', async () => {
    await start('pull', { late: 1, lateByMs: 400, latency: { shape: 'uniform', minMs: 0, maxMs: 0 }, parts: 0 })
    service.leave('sim-0', 'op-1', 'REFRESH_INFO')
    await service.arrived('op-1', 1)
    await expect.poll(() => events.map(({ what }) => what)).toEqual(['received', 'executed', 'answered'])
    expect(events[2]!.at - events[0]!.at).toBeGreaterThanOrEqual(399)
  })

  test('notices when one operation is sent to two devices', async () => {
    const { devices, counters } = await start('http-sync')
    await service.push(devices[0]!.url!, 'sim-0', 'op-1', 'REBOOT_EQUIPMENT')
    await service.push(devices[1]!.url!, 'sim-1', 'op-1', 'REBOOT_EQUIPMENT')
    expect(counters).toMatchObject({ doubled: 1, repeated: 0 })
  })
})

describe('a fleet', () => {
  test('listens and names its devices before any of them is switched on', async () => {
    fleet = await openFleet({
      apiKey: 'key',
      url: service.url,
      mqtt: service.mqtt,
      devices: 5,
      flows: { mqtt: 1, 'http-sync': 1 },
    })
    expect(fleet.devices.map(({ id, flow, tags }) => [id, flow, tags])).toEqual([
      ['sim-0', 'mqtt', ['sim', 'sim-mqtt']],
      ['sim-1', 'http-sync', ['sim', 'sim-http-sync']],
      ['sim-2', 'mqtt', ['sim', 'sim-mqtt']],
      ['sim-3', 'http-sync', ['sim', 'sim-http-sync']],
      ['sim-4', 'mqtt', ['sim', 'sim-mqtt']],
    ])
    expect(fleet.devices[1]?.url).toBe(`${fleet.url}/devices/sim-1/operation/request`)
    const answer = await request(fleet.devices[1]!.url!, { method: 'POST', body: '{}' })
    await answer.body.dump()
    expect([answer.statusCode, fleet.counters.connected]).toEqual([404, 0])
    expect(await fleet.connect()).toBe(true)
    expect(fleet.counters.connected).toBe(3)
  })

  test('that the broker refuses says so after the time it was given', async () => {
    const refused = startFleet({
      apiKey: 'wrong',
      mqtt: service.mqtt,
      devices: 2,
      flows: { mqtt: 1 },
      readyWithinMs: 300,
    })
    await expect(refused).rejects.toThrow('0 of 2 are connected over MQTT')
  })

  test('stops while its devices still connect, with work under way, and twice', async () => {
    const opened = await openFleet({ apiKey: 'wrong', url: service.url, mqtt: service.mqtt, devices: 6 })
    const connecting = opened.connect()
    await opened.stop()
    await opened.stop()
    expect(await connecting).toBe(false)
    const { devices, counters, stop } = await start('http-async', {
      latency: { shape: 'uniform', minMs: 60_000, maxMs: 60_000 },
    })
    await service.push(devices[0]!.url!, 'sim-0', 'op-1', 'REBOOT_EQUIPMENT')
    await stop()
    expect(counters).toMatchObject({ executed: 1, finals: 0 })
  })

  test.each([
    [{ devices: 0 }, 'devices'],
    [{ fail: 1.5 }, 'fail'],
    [{ prefix: 'a/b' }, 'prefix'],
    [{ flows: {} }, 'flows'],
    [{ url: 'nowhere' }, 'url'],
    [{ pullWaitS: 61 }, 'pullWaitS'],
  ])('asked for %j is refused by the name of the option', async (options, name) => {
    await expect(openFleet({ apiKey: 'key', ...options })).rejects.toThrow(name)
  })
})
