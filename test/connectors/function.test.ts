import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { addressRules } from '../../src/connectors/address-guard.ts'
import { type FunctionConnectorParts, functionConnector } from '../../src/connectors/function.ts'
import { functionPool } from '../../src/connectors/function-pool.ts'
import { httpHosts } from '../../src/connectors/http-hosts.ts'
import type { Handed } from '../../src/connectors/mqtt.ts'
import type { SendReport } from '../../src/engine/connector.ts'
import { httpDevice, type Received, rawDevice } from './http-devices.ts'
import { bookReports, request } from './requests.ts'

const pool = functionPool()
afterAll(() => pool.stop())

function connector(
  source: string | undefined,
  hand: (payload: string) => Handed = () => 'sent',
  {
    run = pool.run,
    prepareMs = 60_000,
    namedLoopback = true,
  }: Partial<Pick<FunctionConnectorParts, 'run' | 'prepareMs'>> & { namedLoopback?: boolean } = {},
) {
  const hosts = httpHosts({ addresses: addressRules({ allowLoopback: true }) })
  const namedHosts = httpHosts({ addresses: addressRules({ allowLoopback: namedLoopback }) })
  const made = functionConnector({
    hosts,
    namedHosts,
    link: { capacity: () => 10, hand: async (_device, payload) => hand(payload.toString()) },
    run,
    prepareMs,
    sourceOf: async (organization, name) => (organization === 1 && name === 'meter' ? source : undefined),
  })
  onTestFinished(async () => {
    await made.stop(0)
    await hosts.stop(0)
  })
  return made
}

/** The reports on one operation of a device that is reached by the function `meter` with this source. */
async function reportsOf(source: string | undefined, count: number, device = {}, hand?: (payload: string) => Handed) {
  const reports = bookReports()
  const asked = request({ functionName: 'meter', ...device }, { entityId: 'sim-1' })
  reports.send(connector(source, hand), [asked])
  return { asked, reports: await reports.until(count, asked) }
}

describe('a function that gives a result', () => {
  test('ends the operation without a word to the device', async () => {
    const { asked, reports } = await reportsOf(
      `function request(operation, device) {
        return { result: { resultCode: 'SUCCESSFUL', resultDescription: [operation.name, operation.parameters.type, operation.entityId, device.id].join(' '), steps: [{ name: 'A', result: 'SUCCESSFUL' }] } }
      }`,
      1,
    )
    expect(reports).toMatchObject([
      {
        seen: 'answered',
        message: {
          operationId: asked.id,
          deviceId: 'pump-1',
          resultCode: 'SUCCESSFUL',
          resultDescription: 'REBOOT_EQUIPMENT HARDWARE sim-1 pump-1',
          steps: [{ name: 'A', result: 'SUCCESSFUL' }],
        },
      },
    ])
  })
})

describe('a function that gives an HTTP request', () => {
  const source = `
    function request(operation) {
      return { http: { method: 'PUT', headers: { 'X-Command': 'reboot' }, body: { id: operation.id, cmd: operation.name } } }
    }
    function response(message, device) {
      if (message.json.state === 'busy') return []
      return [
        { steps: [{ name: 'ACCEPTED', result: 'SUCCESSFUL' }] },
        { operation: { response: { id: message.operationId, resultCode: message.json.ok ? 'SUCCESSFUL' : 'ERROR_PROCESSING', resultDescription: message.status + ' ' + device.id } } },
        { id: 'another operation', resultCode: 'CANCELLED' },
      ]
    }`

  test('has it sent to the device with its key, and reads what comes back', async () => {
    const received: Received[] = []
    const url = await httpDevice((seen, response) => {
      received.push(seen)
      response.writeHead(202, { 'content-type': 'text/plain' }).end('{"ok":true}')
    })
    const { asked, reports } = await reportsOf(source, 2, { url })
    expect(received).toMatchObject([
      {
        method: 'PUT',
        headers: { 'x-command': 'reboot', 'x-apikey': 'key-of-pump-1', 'content-type': 'application/json' },
      },
    ])
    expect(JSON.parse(received[0]!.body)).toEqual({ id: asked.id, cmd: 'REBOOT_EQUIPMENT' })
    expect(reports).toMatchObject([
      { seen: 'sent' },
      {
        seen: 'answered',
        message: {
          operationId: asked.id,
          resultCode: 'SUCCESSFUL',
          resultDescription: '202 pump-1',
          steps: [{ name: 'ACCEPTED', result: 'SUCCESSFUL' }],
        },
      },
    ])
  })

  test('takes the answer for an acknowledgement where the function makes no responses of it', async () => {
    const url = await httpDevice((_seen, response) => response.writeHead(200).end('{"state":"busy"}'))
    const { reports } = await reportsOf(source, 2, { url })
    expect(reports[1]).toMatchObject({ seen: 'answered', message: { steps: [] } })
    expect(reports[1]).not.toHaveProperty('message.resultCode')
    expect(reports[1]).not.toHaveProperty('message.resultDescription')
  })

  test.for([
    ['throws', 'throw new Error("no meter")', 'connector function meter: Error: no meter'],
    ['gives no object', 'return 7', 'connector function meter: what it gives: [0] must be an object'],
    ['gives a step without a name', 'return { steps: [{}] }', 'what it gives: [0].steps[0].name must be a text'],
  ])(
    'where the function %s, takes the answer for an acknowledgement that tells why and what was said',
    async ([, code, words]) => {
      const url = await httpDevice((_seen, response) => response.writeHead(200).end('not\u0000JSON'))
      const failing = `const request = () => ({ http: { body: 'x' } }); function response() { ${code} }`
      const { reports } = await reportsOf(failing, 2, { url })
      expect(reports[1]).toMatchObject({
        seen: 'answered',
        message: {
          steps: [],
          resultDescription: expect.stringContaining(words!),
          raw: 'not\uFFFDJSON',
          saysMore: true,
        },
      })
      expect(reports[1]).not.toHaveProperty('message.resultCode')
    },
  )

  test('leaves an answer to be read as any device’s where it reads none', async () => {
    const url = await httpDevice((_seen, response) =>
      response.end('{"operation":{"response":{"resultCode":"SUCCESSFUL"}}}'),
    )
    const { reports } = await reportsOf('const request = () => ({ http: { body: "x" } })', 2, { url })
    expect(reports[1]).toHaveProperty('message.resultCode', 'SUCCESSFUL')
  })

  test('keeps the key of the device from every address that the function names', async () => {
    const received: Received[] = []
    const url = await httpDevice((seen, response) => {
      received.push(seen)
      response.end()
    })
    await reportsOf(`const request = () => ({ http: { url: ${JSON.stringify(url)}, body: 'x' } })`, 2)
    expect(received[0]?.headers).not.toHaveProperty('x-apikey')
  })

  test.for(['127.0.0.1', 'localhost', '[::ffff:127.0.0.1]'])(
    'is not sent to this host itself where only devices may be there: %s',
    async host => {
      const received: Received[] = []
      const url = await httpDevice((seen, response) => {
        received.push(seen)
        response.end()
      })
      const { port } = new URL(url)
      const asked = request({ functionName: 'meter', url })
      const reports = bookReports()
      const naming = `const request = () => ({ http: { url: 'http://${host}:${port}/', body: '' } })`
      reports.send(connector(naming, undefined, { namedLoopback: false }), [asked])
      expect(await reports.until(1, asked)).toMatchObject([
        { seen: 'unreachable', description: expect.stringContaining('a loopback address') },
      ])
      expect(received).toEqual([])
      const plain = `const request = () => ({ http: { body: '' } })`
      const again = bookReports()
      again.send(connector(plain, undefined, { namedLoopback: false }), [asked])
      expect(await again.until(1, asked)).toMatchObject([{ seen: 'sent' }])
    },
  )

  test('is held to the addresses that may be called', async () => {
    const { reports } = await reportsOf(
      `const request = () => ({ http: { url: 'http://169.254.169.254/', body: '' } })`,
      1,
    )
    expect(reports).toMatchObject([{ seen: 'unreachable', description: expect.stringContaining('link-local') }])
  })

  test('hears of devices that fail as every other connector', async () => {
    const failing = await httpDevice((_seen, response) => response.writeHead(503).end())
    const closing = await rawDevice(socket => socket.resetAndDestroy())
    expect((await reportsOf(source, 2, { url: failing })).reports[1]).toHaveProperty('seen', 'deviceFailed')
    expect((await reportsOf(source, 2, { url: closing })).reports[1]).toHaveProperty('seen', 'unreachable')
  })
})

describe('a function that gives an MQTT payload', () => {
  test.for(['sent', 'away', 'notSent'] as const)('has it handed to the device: %s', async seen => {
    const handed: string[] = []
    const hand = (payload: string) => {
      handed.push(payload)
      return seen
    }
    const { reports } = await reportsOf(`const request = o => ({ mqtt: { payload: { c: o.name } } })`, 1, {}, hand)
    expect(reports).toEqual([seen === 'notSent' ? { seen } : { seen, over: 'mqtt' }])
    expect(handed).toEqual(['{"c":"REBOOT_EQUIPMENT"}'])
  })
})

describe('a function that fails', () => {
  test.for([
    ['throws', 'function request() { throw new Error("no") }', 'Error: no'],
    ['never ends', 'function request() { for (;;); }', 'too long'],
    ['is not there', 'function other() {}', 'does not define'],
    ['gives nothing', 'function request() {}', 'must be an object'],
    ['gives two ways', 'const request = () => ({ mqtt: { payload: "" }, result: {} })', 'exactly one'],
    ['names no URL', 'const request = () => ({ http: { url: "nonsense" } })', 'http.url must be'],
    ['names another way in its URL', 'const request = () => ({ http: { url: "ftp://a/b" } })', 'http.url must be'],
    [
      'gives a name too long',
      'const request = () => ({ result: { steps: [{ name: "x".repeat(256) }] } })',
      'result.steps[0].name must',
    ],
    ['gives no payload', 'const request = () => ({ mqtt: {} })', 'mqtt.payload'],
    ['names a method that is none', 'const request = () => ({ http: { method: "TRACE" } })', 'http.method'],
    [
      'sets a header of the connection',
      'const request = () => ({ http: { headers: { Host: "x" } } })',
      'http.headers.Host',
    ],
    ['smuggles a header', 'const request = () => ({ http: { headers: { a: "b\\r\\nc: d" } } })', 'http.headers.a'],
  ])('since it %s fails the operation with its name and the reason', async ([, source, words]) => {
    const { reports } = await reportsOf(source, 1)
    expect(reports).toMatchObject([{ seen: 'deviceFailed' }])
    const { description } = reports[0] as SendReport & { description: string }
    expect(description).toContain('connector function meter')
    expect(description).toContain(words)
  })

  test('since nobody has written it refuses the operation', async () => {
    const { reports } = await reportsOf(undefined, 1)
    expect(reports).toEqual([{ seen: 'deviceRefused', description: 'there is no connector function meter' }])
  })
})

describe('a function that takes its time', () => {
  const asItIs: FunctionConnectorParts['run'] = (organization, call) => pool.run(organization, call)

  test.for([
    [
      'an HTTP request',
      (url: string) => `const request = () => ({ http: { url: ${JSON.stringify(url)}, body: 'late' } })`,
    ],
    ['a payload', () => `const request = () => ({ mqtt: { payload: 'late' } })`],
  ] as const)('has %s given back that comes later than it may be sent', async ([, sourceFor]) => {
    const seen: string[] = []
    const url = await httpDevice(({ body }, response) => {
      seen.push(body)
      response.writeHead(200).end()
    })
    const hand = (payload: string): Handed => {
      seen.push(payload)
      return 'sent'
    }
    const report = async (prepareMs: number) => {
      const reports = bookReports()
      const asked = request({ functionName: 'meter' })
      reports.send(connector(sourceFor(url), hand, { run: asItIs, prepareMs }), [asked])
      return (await reports.until(1, asked))[0]!.seen
    }
    expect(await report(0)).toBe('notSent')
    expect(await report(60_000)).toBe('sent')
    await expect.poll(() => seen, { timeout: 45_000 }).toEqual(['late'])
  })

  test('is not begun where its turn comes too late', async () => {
    const reports = bookReports()
    const begins: (number | undefined)[] = []
    const run: FunctionConnectorParts['run'] = async (_organization, _call, beginMs) => {
      begins.push(beginMs)
      return { ok: false, fault: 'busy', description: 'its turn came too late', log: [] }
    }
    const asked = request({ functionName: 'meter' })
    reports.send(connector('const request = () => ({ result: {} })', undefined, { run, prepareMs: 5_000 }), [asked])
    expect(await reports.until(1, asked)).toEqual([{ seen: 'notSent' }])
    expect(begins).toEqual([expect.any(Number)])
    expect(begins[0]).toBeLessThanOrEqual(5_000)
  })
})
