import { createHmac } from 'node:crypto'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { addressRules } from '../../src/connectors/address-guard.ts'
import { type CallbackOptions, createCallbackConnector } from '../../src/connectors/callback.ts'
import type { DeliveryMessage } from '../../src/engine/connector.ts'
import { createCallbackReceiver } from '../callback-receiver.ts'
import { CERTIFICATE, CERTIFICATE_KEY } from '../certificate.ts'
import { listen } from './http-devices.ts'

function connector(options: Partial<CallbackOptions> = {}) {
  const made = createCallbackConnector({
    rules: addressRules({ allowLoopback: true }),
    allowHttps: false,
    names: { jobStarted: 'jobStarted', jobFinished: 'done' },
    secret: null,
    ...options,
  })
  onTestFinished(() => made.close())
  return made
}

const message = (receiver: string, more: Partial<DeliveryMessage> = {}): DeliveryMessage => ({
  id: '00000000-0000-8000-8000-000000000001',
  organization: 1,
  job: 1n,
  event: 'jobStarted',
  receiver,
  body: '{"job":{"id":"1"}}',
  at: new Date('2026-03-01T12:00:00.700Z'),
  ...more,
})

const never = new AbortController().signal

describe('a callback', () => {
  test('is a POST of JSON to the address with the name of the notification behind it, and names its delivery', async () => {
    const receiver = await createCallbackReceiver()
    const { send } = connector()
    expect(await send(message(`${receiver.url}/jobs/?k=1`), never)).toEqual({ taken: true, status: 200 })
    expect(await send(message(receiver.url, { event: 'jobFinished' }), never)).toEqual({ taken: true, status: 200 })
    const [first, second] = receiver.heard
    expect(first).toMatchObject({ method: 'POST', path: '/jobs/jobStarted?k=1', body: '{"job":{"id":"1"}}' })
    expect(first?.headers).toMatchObject({
      'content-type': 'application/json',
      'webhook-id': '00000000-0000-8000-8000-000000000001',
      'webhook-timestamp': '1772366400',
    })
    expect(first?.headers).not.toHaveProperty('webhook-signature')
    expect(second?.path).toBe('/done')
  })

  test.each([
    ['a plain secret of enough length', Buffer.from('a plain secret of enough length')],
    [`whsec_${Buffer.from('key').toString('base64')}`, Buffer.from('key')],
  ])('is signed after Standard Webhooks with %s', async (secret, key) => {
    const receiver = await createCallbackReceiver()
    await connector({ secret }).send(message(receiver.url), never)
    const { headers, body } = (await receiver.hears(1))[0]!
    const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
    expect(headers['webhook-signature']).toBe(`v1,${createHmac('sha256', key).update(signed).digest('base64')}`)
  })

  test.each([200, 201, 202, 204, 299])('is taken with %i', async status => {
    const receiver = await createCallbackReceiver()
    receiver.answer(response => response.writeHead(status).end(status === 204 ? undefined : 'thanks'))
    expect(await connector().send(message(receiver.url), never)).toEqual({ taken: true, status })
  })

  test.each([301, 302, 307, 400, 404, 429, 500, 503])(
    'is refused with %i, and no redirect is followed',
    async status => {
      const receiver = await createCallbackReceiver()
      receiver.answer(response => response.writeHead(status, { location: `${receiver.url}/elsewhere` }).end())
      const outcome = await connector().send(message(receiver.url), never)
      expect(outcome).toMatchObject({ taken: false, status, error: expect.stringContaining(String(status)) })
      expect(receiver.heard).toHaveLength(1)
    },
  )

  test('is taken as soon as the status says so, however long and slow the body', async () => {
    const receiver = await createCallbackReceiver()
    receiver.answer(response => {
      const pour = () => response.write(Buffer.alloc(32_768), pour)
      pour()
    })
    expect(await connector().send(message(receiver.url), never)).toEqual({ taken: true, status: 200 })
    receiver.answer(response => void response.writeHead(200).write('.'))
    expect(await connector().send(message(receiver.url), never)).toEqual({ taken: true, status: 200 })
  })

  test('that nobody answers is refused in time, and at once when the service stops', async () => {
    const receiver = await createCallbackReceiver()
    receiver.answer(() => {})
    const late = await connector({ attemptMs: 50 }).send(message(receiver.url), never)
    expect(late).toEqual({ taken: false, error: 'the receiver did not answer in time' })
    const stopping = new AbortController()
    const stopped = connector().send(message(receiver.url), stopping.signal)
    await receiver.hears(2)
    stopping.abort()
    expect(await stopped).toEqual({ taken: false, error: 'the service stopped before the receiver answered' })
  })

  test('whose receiver is not there, or speaks no HTTP, is refused with the reason', async () => {
    const babbler = createServer(socket => void socket.resume().end('good day\r\n\r\n'))
    await new Promise<void>(resolve => babbler.listen(0, '127.0.0.1', resolve))
    const { port } = babbler.address() as AddressInfo
    const { send } = connector()
    expect(await send(message(`http://127.0.0.1:${port}`), never)).toMatchObject({ taken: false })
    await new Promise(resolve => babbler.close(resolve))
    expect(await send(message(`http://127.0.0.1:${port}`), never)).toMatchObject({
      taken: false,
      error: expect.stringContaining('ECONNREFUSED'),
    })
  })

  test('never reaches an address that is not allowed, be it written out or behind a name', async () => {
    const receiver = await createCallbackReceiver()
    const { send } = connector({ rules: addressRules({ allowLoopback: false }) })
    const { port } = new URL(receiver.url)
    for (const host of ['127.0.0.1', '2130706433', '[::ffff:127.0.0.1]', 'localhost']) {
      expect(await send(message(`http://${host}:${port}`), never)).toEqual({
        taken: false,
        error: expect.stringMatching(/^the address is not allowed: .*loopback/),
      })
    }
    expect(receiver.heard).toEqual([])
  })

  test('over HTTPS, where that is allowed, goes to a receiver only whose certificate is trusted', async () => {
    const heard: (string | undefined)[] = []
    const server = createHttpsServer({ cert: CERTIFICATE, key: CERTIFICATE_KEY }, (incoming, response) => {
      heard.push(incoming.url)
      response.end()
    })
    const receiver = (await listen(server, '0.0.0.0')).replace('http:', 'https:')
    expect(await connector({ allowHttps: true }).send(message(receiver), never)).toEqual({
      taken: false,
      error: expect.stringContaining('self-signed certificate'),
    })
    expect(heard).toEqual([])
    const trusting = connector({ allowHttps: true, certificates: [CERTIFICATE] })
    expect(await trusting.send(message(receiver), never)).toEqual({ taken: true, status: 200 })
    // A good certificate of another host is none of this one.
    const other = receiver.replace('127.0.0.1', '127.0.0.2')
    expect(await trusting.send(message(other), never)).toMatchObject({
      taken: false,
      error: expect.stringContaining('altnames'),
    })
    expect(heard).toEqual(['/operation/requests/jobStarted'])
  })

  test('goes over HTTP alone, whatever was allowed when the job was made', async () => {
    expect(await connector().send(message('https://127.0.0.1:1'), never)).toEqual({
      taken: false,
      error: 'only the HTTP scheme is supported',
    })
  })
})
