import { createServer as createHttpsServer } from 'node:https'
import { createServer as createTcpServer } from 'node:net'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { addressRules } from '../../src/connectors/address-guard.ts'
import { httpConnector } from '../../src/connectors/http.ts'
import { type HttpHostsSettings, httpHosts } from '../../src/connectors/http-hosts.ts'
import type { SendReport } from '../../src/engine/connector.ts'
import { CERTIFICATE, CERTIFICATE_KEY } from '../certificate.ts'
import { httpDevice, listen, type Received, rawDevice, responseTo } from './http-devices.ts'
import { bookReports, request } from './requests.ts'

const addresses = addressRules({ allowLoopback: true })

function connector({ urlTemplate, ...settings }: Partial<HttpHostsSettings> & { urlTemplate?: string } = {}) {
  const made = httpConnector(httpHosts({ addresses, ...settings }), urlTemplate)
  onTestFinished(() => made.stop(0))
  return made
}

/** All reports of one request to a device at this URL. */
async function exchangeWith(url: string, count = 2, settings: Partial<HttpHostsSettings> = {}): Promise<SendReport[]> {
  const reports = bookReports()
  const asked = request({ url })
  reports.send(connector(settings), [asked])
  return reports.until(count, asked)
}

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

describe('a device that cannot be reached', () => {
  test('since nothing listens is unreachable', async () => {
    const [report] = await exchangeWith('http://127.0.0.1:1/operation', 1)
    expect(report).toEqual({ seen: 'unreachable', description: 'no connection to the device (ECONNREFUSED)' })
  })

  test('since it resets the connection before it answers is unreachable after sent', async () => {
    const url = await rawDevice(socket => socket.resetAndDestroy())
    const [first, second] = await exchangeWith(url)
    expect(first).toEqual({ seen: 'sent' })
    expect(second).toMatchObject({ seen: 'unreachable', description: expect.stringContaining('before it answered') })
  })

  test('since it does not complete the connection is unreachable in time, and nothing is sent once it does', async () => {
    const arrived: unknown[] = []
    const hello = Promise.withResolvers<void>()
    // A TLS handshake that nobody answers is a connection that is never complete.
    const url = await listen(
      createTcpServer(socket => {
        socket.on('data', data => arrived.push(data))
        socket.once('data', () => hello.resolve())
      }),
    )
    const reports = bookReports()
    const made = connector({ sendMs: 100 })
    const asked = request({ url: url.replace('http:', 'https:') })
    reports.send(made, [asked])
    expect(await reports.until(1)).toEqual([
      { seen: 'unreachable', description: 'the device did not accept a connection in time' },
    ])
    await hello.promise
    await made.stop(5000)
    expect(reports.all).toHaveLength(1)
    expect(arrived).toHaveLength(1)
  })

  test('since its certificate is not trusted is unreachable, until the operator trusts it', async () => {
    const server = createHttpsServer({ cert: CERTIFICATE, key: CERTIFICATE_KEY }, (_incoming, response) =>
      response.writeHead(201).end(),
    )
    const url = (await listen(server)).replace('http:', 'https:')
    const [report] = await exchangeWith(url, 1)
    expect(report).toEqual({ seen: 'unreachable', description: expect.stringContaining('DEPTH_ZERO_SELF_SIGNED_CERT') })
    const trusted = await exchangeWith(url, 2, { certificates: [CERTIFICATE] })
    expect(trusted.map(({ seen }) => seen)).toEqual(['sent', 'answered'])
  })

  test.for([
    ['http://169.254.169.254/latest/meta-data', 'a link-local address'],
    ['http://[::ffff:169.254.169.254]/', 'a link-local address'],
    ['http://2852039166/', 'a link-local address'],
    ['ftp://10.0.0.1/', 'neither http nor https'],
    ['not a url', 'is not a URL'],
    ['http://user:secret@10.0.0.1/', 'must not hold a user name'],
  ] as const)('since its URL is %s is unreachable, and nothing is sent', async ([url, words]) => {
    const [report] = await exchangeWith(url, 1)
    expect(report).toMatchObject({ seen: 'unreachable', description: expect.stringContaining(words) })
  })

  test('since its name stands for refused addresses only is unreachable', async () => {
    const closed = addressRules({ allowLoopback: false })
    const [report] = await exchangeWith('http://localhost:1/', 1, { addresses: closed })
    expect(report).toMatchObject({
      seen: 'unreachable',
      description: expect.stringContaining('a loopback address'),
    })
  })

  test('since it is provisioned with neither URL nor address is unreachable', async () => {
    const reports = bookReports()
    reports.send(connector(), [request()])
    expect(await reports.until(1)).toEqual([
      { seen: 'unreachable', description: 'the device has neither a URL nor an address' },
    ])
  })
})

describe('time and room', () => {
  test('a silent device is left when the exchange is over, and nothing more is reported', async () => {
    const left = Promise.withResolvers<void>()
    const url = await rawDevice(socket => socket.on('close', () => left.resolve()))
    const reports = bookReports()
    const made = connector()
    reports.send(made, [request({ url }, { exchangeMs: 40 })])
    await left.promise
    expect(reports.of(request())).toEqual([])
    expect(reports.all.map(({ report }) => report)).toEqual([{ seen: 'sent' }])
    await made.stop(1000)
    expect(made.capacity()).toBe(0)
  })

  test('a device that sends its headers byte by byte is left when the exchange is over', async () => {
    const left = Promise.withResolvers<void>()
    const url = await rawDevice(socket => {
      const [first = '', ...rest] = `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(10_000)}`
      socket.write(first)
      const drip = setInterval(() => socket.write(rest.shift() ?? ''), 5)
      socket.on('close', () => {
        clearInterval(drip)
        left.resolve()
      })
    })
    const reports = bookReports()
    reports.send(connector(), [request({ url }, { exchangeMs: 60 })])
    await left.promise
    expect(reports.all.map(({ report }) => report)).toEqual([{ seen: 'sent' }])
  })

  test('a slow host fills its own share and leaves room for every other', async () => {
    const slow = await rawDevice(() => {})
    const quick = await httpDevice((_received, response) => response.writeHead(201).end())
    const made = connector({ exchangesMax: 60, exchangesPerHostMax: 4, waitingPerHostMax: 10, waitMs: 60_000 })
    const reports = bookReports()
    reports.send(
      made,
      Array.from({ length: 100 }, () => request({ url: slow })),
    )
    await reports.until(4 + 86)
    expect(made.capacity()).toBe(60 - 14)
    expect(reports.all.filter(({ report }) => report.seen === 'notSent').length).toBe(86)
    const others = Array.from({ length: 50 }, () => request({ url: quick, deviceId: 'quick' }))
    for (const other of others) {
      reports.send(made, [other])
      await reports.until(2, other)
    }
    expect(others.flatMap(other => reports.of(other).map(({ seen }) => seen)).sort()).toEqual([
      ...Array(50).fill('answered'),
      ...Array(50).fill('sent'),
    ])
    expect(reports.all.length).toBe(90 + 100)
  })

  test('a request that waited too long for its host is never sent', async () => {
    const arrived: string[] = []
    const release: (() => void)[] = []
    const firstArrived = Promise.withResolvers<void>()
    const second = Promise.withResolvers<void>()
    const url = await httpDevice((received, response) => {
      arrived.push(JSON.parse(received.body).operation.request.id)
      if (arrived.length === 1) {
        release.push(() => response.writeHead(201).end())
        firstArrived.resolve()
      } else {
        response.writeHead(201).end()
        second.resolve()
      }
    })
    const now = vi.spyOn(performance, 'now').mockReturnValue(10_000)
    onTestFinished(() => now.mockRestore())
    const made = connector({ exchangesPerHostMax: 1, waitMs: 1000 })
    const reports = bookReports()
    const [held, stale, fresh] = [request({ url }), request({ url }), request({ url })]
    reports.send(made, [held, stale])
    await firstArrived.promise
    now.mockReturnValue(11_001)
    release[0]?.()
    await reports.until(2, held)
    reports.send(made, [fresh])
    await second.promise
    expect(arrived).toEqual([held.id, fresh.id])
    expect(reports.of(stale)).toEqual([{ seen: 'notSent' }])
  })

  test('a request that waits is given up in time though its host never has room again', async () => {
    const url = await rawDevice(() => {})
    const made = connector({ exchangesPerHostMax: 1, waitMs: 30 })
    const reports = bookReports()
    const [held, waiting] = [request({ url }), request({ url })]
    reports.send(made, [held, waiting])
    expect(await reports.until(1, waiting)).toEqual([{ seen: 'notSent' }])
    expect(reports.of(held).map(({ seen }) => seen)).toEqual(['sent'])
  })

  test('the connection is kept and used again', async () => {
    const ports = new Set<unknown>()
    const url = await httpDevice((received, response) => {
      ports.add(received.port)
      response.writeHead(201).end()
    })
    const made = connector()
    const reports = bookReports()
    for (const asked of Array.from({ length: 10 }, () => request({ url }))) {
      reports.send(made, [asked])
      await reports.until(2, asked)
    }
    // The answer is told before its connection is free again, so that a second one may be opened beside it.
    expect(ports.size).toBeLessThanOrEqual(2)
  })

  test('stop waits for what is under way, takes nothing more, and reports nothing after it', async () => {
    const held: (() => void)[] = []
    const arrived = Promise.withResolvers<void>()
    const url = await httpDevice((_received, response) => {
      held.push(() => response.writeHead(201).end())
      arrived.resolve()
    })
    const made = connector()
    const reports = bookReports()
    const asked = request({ url })
    reports.send(made, [asked])
    await arrived.promise
    const stopped = made.stop(10_000)
    reports.send(made, [request({ url })])
    held[0]?.()
    await stopped
    expect(reports.all.map(({ id, report }) => [id === asked.id, report.seen])).toEqual([
      [true, 'sent'],
      [false, 'notSent'],
      [true, 'answered'],
    ])

    const silent = await rawDevice(() => {})
    const hasty = connector()
    const quiet = bookReports()
    quiet.send(hasty, [request({ url: silent })])
    await quiet.until(1)
    await hasty.stop(10)
    expect(quiet.all.map(({ report }) => report.seen)).toEqual(['sent'])
  })

  test('two thousand requests, half of them to hosts that are gone, are all told within the bounds', async () => {
    let [open, most] = [0, 0]
    const url = await httpDevice((_received, response) => {
      open += 1
      most = Math.max(most, open)
      setImmediate(() => {
        open -= 1
        response.writeHead(201).end()
      })
    })
    const { port } = new URL(url)
    const hosts = Array.from({ length: 2000 }, (_, k) => `http://127.0.${1 + (k >> 8)}.${1 + (k & 127)}:${port}/`)
    // Only 127.0.0.1 is listened on: the many hosts refuse, the one answers, and all are told.
    const made = connector({ exchangesMax: 200, exchangesPerHostMax: 64 })
    const reports = bookReports()
    const asked = hosts.map((other, k) => request({ url: k % 2 === 0 ? url : other }, { exchangeMs: 20_000 }))
    for (let k = 0; k < asked.length; k += 100) {
      const batch = asked.slice(k, k + 100)
      reports.send(made, batch)
      await Promise.all(batch.map(one => reports.until(1, one)))
    }
    expect(most).toBeLessThanOrEqual(64)
    expect(asked.every(one => reports.of(one).length > 0)).toBe(true)
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
