import { createServer as createHttpsServer } from 'node:https'
import { createServer as createTcpServer } from 'node:net'
import { describe, expect, test } from 'vitest'
import { addressRules } from '../../src/connectors/address-guard.ts'
import { CERTIFICATE, CERTIFICATE_KEY } from '../certificate.ts'
import { connector, exchangeWith } from './http-connector.ts'
import { listen, rawDevice } from './http-devices.ts'
import { bookReports, request } from './requests.ts'

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
