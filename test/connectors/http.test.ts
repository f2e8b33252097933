import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import type { DeviceMessage } from '../../src/engine/connector.ts'
import { connector, exchangeWith } from './http-connector.ts'
import { httpDevice, type Received, rawDevice, responseTo } from './http-devices.ts'
import { bookReports, request } from './requests.ts'

describe('a request to a device', () => {
  test('does not leave where the process stood still until its time to be sent was over', async () => {
    let arrived = 0
    const url = await httpDevice((_, response) => {
      arrived += 1
      response.writeHead(201).end()
    })
    const asked = request({ url })
    const reports = bookReports()
    const sending = connector({ sendMs: 50 })
    await new Promise<void>(resolve => {
      setTimeout(async () => {
        reports.send(sending, [asked])
        // The connection is under way; it is made while nothing else goes on.
        for (let turn = 0; turn < 100; turn += 1) await Promise.resolve()
        const from = performance.now()
        while (performance.now() - from < 200);
        resolve()
      })
    })
    expect(await reports.until(1, asked)).toMatchObject([{ seen: 'unreachable' }])
    expect(arrived).toBe(0)
  })

  test('is posted with the key of the device and the parameters named and typed', async () => {
    const received = Promise.withResolvers<Received>()
    const url = await httpDevice((seen, response) => {
      received.resolve(seen)
      response.writeHead(201).end()
    })
    const asked = request({ url })
    const reports = bookReports()
    reports.send(connector(), [asked])
    const { method, path, headers, body } = await received.promise
    expect([method, path, headers['x-apikey'], headers['content-type']]).toEqual([
      'POST',
      '/operation/requests',
      'key-of-pump-1',
      'application/json',
    ])
    expect(JSON.parse(body)).toEqual({
      operation: {
        request: {
          timestamp: Date.UTC(2026, 2, 1, 12),
          deviceId: 'pump-1',
          name: 'REBOOT_EQUIPMENT',
          parameters: [{ name: 'type', type: 'string', value: { string: 'HARDWARE' } }],
          id: asked.id,
        },
      },
    })
    await reports.until(2, asked)
  })

  test('names the entity beside the device that carries it, in a plain object where the device wants one', async () => {
    const received = Promise.withResolvers<Received>()
    const url = await httpDevice((seen, response) => {
      received.resolve(seen)
      response.writeHead(201).end()
    })
    const reports = bookReports()
    reports.send(connector(), [request({ url, parametersAs: 'object' }, { entityId: 'sim-9' })])
    const told = JSON.parse((await received.promise).body).operation.request
    expect(told).toMatchObject({ deviceId: 'pump-1', entityId: 'sim-9', parameters: { type: 'HARDWARE' } })
    await reports.until(2)
  })

  test('is reported sent, then answered with the result and the steps of the same exchange', async () => {
    const url = await httpDevice((received, response) => {
      response.writeHead(201, { 'content-type': 'text/html; charset=utf-8' })
      response.end(
        responseTo(received, {
          timestamp: 1_700_000_000_000,
          resultCode: 'SUCCESSFUL',
          resultDescription: 'done',
          steps: [{ name: 'REBOOT', timestamp: 1_700_000_000_001, result: 'SUCCESSFUL' }],
        }),
      )
    })
    const [first, second] = await exchangeWith(url)
    expect(first).toEqual({ seen: 'sent' })
    expect(second).toMatchObject({
      seen: 'answered',
      message: {
        organization: 1,
        deviceId: 'pump-1',
        resultCode: 'SUCCESSFUL',
        resultDescription: 'done',
        timestamp: 1_700_000_000_000,
        steps: [{ name: 'REBOOT', timestamp: 1_700_000_000_001, result: 'SUCCESSFUL' }],
      },
    })
  })
})

describe('an answer 2xx', () => {
  const acknowledged = { seen: 'answered', message: { organization: 1, deviceId: 'pump-1', steps: [] } }

  test.for([
    ['without a body', ''],
    ['with a page', '<!doctype html><h1>OK</h1>'],
    ['with JSON of another kind', '{"ok":true}'],
    ['with JSON that ends too early', '{"operation":{"response":{"resultCode":"SUCC'],
    ['with a response whose steps are no list', '{"operation":{"response":{"resultCode":"SUCCESSFUL","steps":7}}}'],
    ['with a response about another operation', '{"operation":{"response":{"id":"else","resultCode":"SUCCESSFUL"}}}'],
    ['with brackets a thousand deep', '['.repeat(1000)],
  ] as const)('%s is an acknowledgement', async ([, body]) => {
    const url = await httpDevice((_received, response) => response.writeHead(200).end(body))
    const [, answered] = await exchangeWith(url)
    expect(answered).toMatchObject(acknowledged)
    expect(answered).not.toHaveProperty('message.resultCode')
  })

  test.for([
    ['', undefined],
    [' \n', undefined],
    ['OK', undefined],
    ['{"operation":', 'not JSON'],
    ['{"operation":{"response":{"resultCode":"SUCCESSFUL","steps":7}}}', 'operation.response.steps must be a list'],
    ['{"operation":{"response":{"id":"else","resultCode":"SUCCESSFUL"}}}', 'it is about another operation'],
  ] as const)('with %j says what keeps it from being more than an acknowledgement', async ([body, reason]) => {
    const url = await httpDevice((_received, response) => response.writeHead(200).end(body))
    const [, answered] = await exchangeWith(url)
    const description = reason && `the device's answer was taken as an acknowledgement: ${reason}`
    expect((answered as { message: DeviceMessage }).message.resultDescription).toBe(description)
  })

  test('is asked for as it is', async () => {
    const encodings: unknown[] = []
    const url = await httpDevice((received, response) => {
      encodings.push(received.headers['accept-encoding'])
      response.writeHead(201).end()
    })
    await exchangeWith(url)
    expect(encodings).toEqual(['identity'])
  })

  test.for([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['deflate', deflateRawSync],
    ['br', brotliCompressSync],
  ] as const)('packed as %s all the same is unpacked', async ([encoding, pack]) => {
    const url = await httpDevice((received, response) => {
      response.writeHead(201, { 'content-encoding': encoding })
      response.end(pack(responseTo(received, { resultCode: 'SUCCESSFUL' })))
    })
    const [, answered] = await exchangeWith(url)
    expect(answered).toHaveProperty('message.resultCode', 'SUCCESSFUL')
  })

  test.for([
    ['gzip', gzipSync(' '.repeat(50_000_000)), 'its body is longer than 307200 bytes when unpacked'],
    ['br', brotliCompressSync(' '.repeat(50_000_000)), 'its body is longer than 307200 bytes when unpacked'],
    ['gzip', Buffer.from('not packed'), 'its body is not gzip'],
    ['rot13', Buffer.from('{}'), 'its content-encoding rot13 is not known'],
  ] as const)('packed as %s that cannot be unpacked within the limit is an acknowledgement', async parts => {
    const [encoding, body, reason] = parts
    const url = await httpDevice((_received, response) => {
      response.writeHead(201, { 'content-encoding': encoding }).end(body)
    })
    const [, answered] = await exchangeWith(url)
    expect(answered).toMatchObject(acknowledged)
    expect(answered).toHaveProperty('message.resultDescription', expect.stringContaining(reason))
  })

  test('that names no operation id is about the operation of the exchange', async () => {
    const url = await httpDevice((_received, response) =>
      response.end('{"operation":{"response":{"resultCode":"ERROR_PROCESSING"}}}'),
    )
    const [, answered] = await exchangeWith(url)
    expect(answered).toHaveProperty('message.resultCode', 'ERROR_PROCESSING')
  })

  test('with a body beyond the limit is an acknowledgement, and the connection is closed', async () => {
    const closed = Promise.withResolvers<void>()
    const url = await httpDevice((_received, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.on('close', closed.resolve)
      response.on('error', () => {})
      const endless = () => {
        while (!response.destroyed && response.write('"'.padEnd(16_384, 'x')));
        response.once('drain', endless)
      }
      endless()
    })
    const [, answered] = await exchangeWith(url)
    expect(answered).toMatchObject(acknowledged)
    expect(answered).toHaveProperty('message.resultDescription', expect.stringContaining('longer than 307200 bytes'))
    await closed.promise
  })

  test('whose body comes byte by byte is an acknowledgement after the time limit of the body', async () => {
    const url = await rawDevice(socket => {
      socket.write('HTTP/1.1 201 Created\r\ncontent-length: 100000\r\n\r\n')
      const drip = setInterval(() => socket.write('x'), 5)
      socket.on('close', () => clearInterval(drip))
    })
    const [, answered] = await exchangeWith(url, 2, { bodyMs: 60 })
    expect(answered).toMatchObject(acknowledged)
  })

  test('that breaks off in its body is an acknowledgement', async () => {
    const url = await rawDevice(socket => {
      socket.write('HTTP/1.1 201 Created\r\ncontent-length: 100\r\n\r\n{"operation"', () => socket.resetAndDestroy())
    })
    const [, answered] = await exchangeWith(url)
    expect(answered).toMatchObject(acknowledged)
  })
})

describe('an answer that is no 2xx', () => {
  test.for([
    [500, 'deviceFailed', 'the device answered 500 Internal Server Error'],
    [503, 'deviceFailed', 'the device answered 503 Service Unavailable'],
    [408, 'deviceFailed', 'the device answered 408 Request Timeout'],
    [429, 'deviceFailed', 'the device answered 429 Too Many Requests'],
    [400, 'deviceRefused', 'the device answered 400 Bad Request'],
    [404, 'deviceRefused', 'the device answered 404 Not Found'],
    [302, 'deviceRefused', 'the device answered 302 Found; redirects are not followed'],
  ] as const)('%i is reported as %s', async ([status, seen, description]) => {
    let asked = 0
    const url = await httpDevice((_received, response) => {
      asked += 1
      response.writeHead(status, { location: '/elsewhere', 'content-type': 'text/html' }).end('<h1>page</h1>')
    })
    expect(await exchangeWith(url)).toEqual([{ seen: 'sent' }, { seen, description }])
    expect(asked).toBe(1)
  })

  test('is reported with its headers, however long its body goes on', async () => {
    const closed = Promise.withResolvers<void>()
    const url = await rawDevice(socket => {
      socket.on('close', () => closed.resolve())
      socket.write('HTTP/1.1 500 Oops\r\ntransfer-encoding: chunked\r\n\r\n')
    })
    expect((await exchangeWith(url, 2, { bodyMs: 50 }))[1]).toHaveProperty('seen', 'deviceFailed')
    await closed.promise
  })

  test('bytes that are not HTTP are a failure of the device', async () => {
    const url = await rawDevice(socket => socket.write('SSH-2.0-OpenSSH_9.2\r\n\r\n'))
    expect((await exchangeWith(url))[1]).toHaveProperty('seen', 'deviceFailed')
  })

  test('headers without end are a failure of the device', async () => {
    const url = await rawDevice(socket => socket.write(`HTTP/1.1 200 OK\r\n${'x: 1\r\n'.repeat(20_000)}`))
    expect((await exchangeWith(url))[1]).toHaveProperty('seen', 'deviceFailed')
  })
})

test('a device with an address alone is reached by the template, and no address can change where', async () => {
  const paths: (string | undefined)[] = []
  const url = await httpDevice((received, response) => {
    paths.push(received.path)
    response.writeHead(201).end()
  })
  const { port } = new URL(url)
  const made = connector({ urlTemplate: `http://{address}:${port}/devices/{id}/request` })
  const reports = bookReports()
  const good = request({ address: '127.0.0.1', deviceId: 'a/b ?#' })
  reports.send(made, [good])
  await reports.until(2, good)
  expect(paths).toEqual(['/devices/a%2Fb%20%3F%23/request'])
  for (const address of ['127.0.0.1:9/x?', 'user@127.0.0.1', '127.0.0.1/..', '']) {
    const bad = request({ address })
    reports.send(made, [bad])
    expect(await reports.until(1, bad)).toMatchObject([{ seen: 'unreachable' }])
  }
})
