/** The server itself, before any door is hung in it. */
import { type AddressInfo, connect } from 'node:net'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import Type from 'typebox'
import { afterEach, describe, expect, test } from 'vitest'
import { DroverError } from '../../src/domain/errors.ts'
import { createServer, type ServerOptions } from '../../src/server/server.ts'
import { asked } from '../../src/store/asking.ts'
import { silentLog } from '../database.ts'

const servers: { close(): Promise<unknown> }[] = []
afterEach(async () => {
  await Promise.all(servers.splice(0).map(server => server.close()))
})

function serve(options: Partial<ServerOptions> = {}) {
  const server = createServer({ log: silentLog, bodyBytesMax: 1_000, ...options })
  servers.push(server)
  const Thing = Type.Object(
    {
      name: Type.String(),
      size: Type.Optional(Type.Integer({ minimum: 0 })),
      kind: Type.Optional(Type.Enum(['A', 'B'])),
      list: Type.Optional(Type.Array(Type.Object({ at: Type.Number() }, { additionalProperties: false }))),
      either: Type.Optional(Type.Union([Type.String(), Type.Object({ deep: Type.Number() })])),
      password: Type.Optional(Type.Integer()),
    },
    { additionalProperties: false },
  )
  server.post('/things', { schema: { body: Thing } }, async request => request.body)
  server.post('/anything', async request => ({ body: request.body }))
  server.delete('/things/:id', async request => request.params)
  server.get('/things/:id', async request => request.params)
  server.get(
    '/query',
    { schema: { querystring: Type.Object({ size: Type.Integer(), deep: Type.Boolean() }) } },
    async request => request.query,
  )
  server.get('/refuses', async () => {
    throw new DroverError('tooMany', [{ name: 'email' }], undefined, 1_500)
  })
  server.get('/fails', async () => {
    throw new Error('connection to 10.0.0.3 with password hunter2 failed')
  })
  return server
}

async function listening(server: ReturnType<typeof serve>): Promise<number> {
  await server.listen({ host: '127.0.0.1', port: 0 })
  return (server.server.address() as AddressInfo).port
}

const post = (url: string, payload: string | Buffer, type = 'application/json') =>
  ({ method: 'POST', url, payload, headers: { 'content-type': type } }) as const

async function refused(payload: unknown) {
  const answer = await serve().inject(post('/things', JSON.stringify(payload)))
  return { status: answer.statusCode, error: answer.json().errors[0] }
}

describe('a body', () => {
  test('that is larger than allowed is 413', async () => {
    const answer = await serve().inject(post('/things', JSON.stringify({ name: 'x'.repeat(1_000) })))
    expect(answer.statusCode).toBe(413)
    expect(answer.headers['content-type']).toMatch(/^application\/json/)
    expect(answer.json()).toEqual({
      errors: [{ code: '0x010200', message: 'The body is larger than allowed.', context: [{ name: 'body' }] }],
    })
  })

  test.each(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'nonsense'])(
    'of type %s is 415',
    async type => {
      const answer = await serve().inject(post('/things', '{"name":"a"}', type))
      expect(answer.statusCode).toBe(415)
      expect(answer.json().errors[0].code).toBe('0x010201')
    },
  )

  test('that is compressed is 415', async () => {
    const request = post('/things', '{"name":"a"}')
    const answer = await serve().inject({ ...request, headers: { ...request.headers, 'content-encoding': 'gzip' } })
    expect(answer.statusCode).toBe(415)
  })

  test.each([
    ['that is no JSON', '{"name":'],
    ['nested too deep', `{"name":${'['.repeat(300)}${']'.repeat(300)}}`],
    ['that is not UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
    ['with a NUL in a text', '{"name":"a\\u0000"}'],
    ['with half a character', '{"name":"\\ud83d"}'],
    ['with a NUL in a name', '{"na\\u0000me":1}'],
  ])('%s is 400 and says why', async (_what, payload) => {
    const answer = await serve().inject(post('/things', payload))
    expect(answer.statusCode).toBe(400)
    expect(answer.json().errors[0]).toMatchObject({ code: '0x010202', context: [{ name: 'body' }] })
  })

  test.each(['{"__proto__":{"admin":true}}', '{"a":[{"\\u005f_proto__":1}]}'])(
    'cannot reach a prototype: %s',
    async payload => {
      const answer = await serve().inject(post('/anything', payload))
      expect(answer.statusCode).toBe(400)
      expect(answer.json().errors[0]).toMatchObject({ code: '0x010003', context: [{ name: '__proto__' }] })
    },
  )

  test.each([
    ['{"job":{"request":{"parameters":{"n":1e400}}}}', 'job.request.parameters.n'],
    ['{"filter":{"gt":{"provision.device.identifier":-1.5E+309}}}', 'filter.gt.provision.device.identifier'],
    [`{"list":[1,{"n":${'9'.repeat(310)}}]}`, 'list[1].n'],
    ['1e0999', 'body'],
  ])('with a number beyond the range of numbers is 400 and names it: %.40s', async (payload, name) => {
    const answer = await serve().inject(post('/anything', payload))
    expect(answer.statusCode).toBe(400)
    expect(answer.json().errors[0]).toMatchObject({ context: [{ name, value: 'is beyond the range of numbers' }] })
  })

  test('may hold every number within the range, however long it is written', async () => {
    const numbers = ['1.7976931348623157e308', '1e-400', '12345678901234567890', '9'.repeat(308), '"1e400"']
    const answer = await serve().inject(post('/anything', `[${numbers}]`))
    expect(answer.json()).toEqual({ body: JSON.parse(`[${numbers}]`) })
  })

  test('may hold any whole character, escaped or not', async () => {
    const answer = await serve().inject(post('/anything', '{"a":"\\ud83d\\ude00 😀 \\u005f"}'))
    expect(answer.json()).toEqual({ body: { a: '😀 😀 _' } })
  })

  test('that is missing where one is needed is a required field', async () => {
    const answer = await serve().inject({ method: 'POST', url: '/things' })
    expect(answer.statusCode).toBe(400)
    expect(answer.json().errors[0]).toMatchObject({ code: '0x010000', context: [{ name: 'body' }] })
  })

  test('may be empty where none is needed, whatever the content type says', async () => {
    const answer = await serve().inject({
      method: 'DELETE',
      url: '/things/a',
      headers: { 'content-type': 'application/json' },
    })
    expect(answer.statusCode).toBe(200)
  })

  test('is never coerced, a query string is', async () => {
    expect((await refused({ name: 'a', size: '3' })).error).toMatchObject({
      code: '0x010001',
      context: [{ name: 'size', value: '3' }],
    })
    const answer = await serve().inject('/query?size=3&deep=false')
    expect(answer.json()).toEqual({ size: 3, deep: false })
    expect((await serve().inject('/query?size=x&deep=false')).json().errors[0].context).toEqual([
      { name: 'size', value: 'x' },
    ])
  })
})

describe('a violation of a schema names the field', () => {
  test('every unknown member', async () => {
    expect(await refused({ name: 'a', nmae: 1, Strategy: 2 })).toEqual({
      status: 400,
      error: { code: '0x010003', message: 'Forbidden field.', context: [{ name: 'nmae' }, { name: 'Strategy' }] },
    })
    expect((await refused({ name: 'a', list: [{ at: 1 }, { at: 1, to: 2 }] })).error.context).toEqual([
      { name: 'list[1].to' },
    ])
  })

  test('a missing one', async () => {
    expect(await refused({ size: 1 })).toEqual({
      status: 400,
      error: { code: '0x010000', message: 'Required field.', context: [{ name: 'name' }] },
    })
  })

  test('one with a wrong value, and what would be right', async () => {
    expect(await refused({ name: 'a', kind: 'C' })).toEqual({
      status: 400,
      error: {
        code: '0x010001',
        message: 'Invalid field: kind must be one of A, B.',
        context: [{ name: 'kind', value: 'C' }],
      },
    })
  })

  test('the member that was meant where there is a choice', async () => {
    expect((await refused({ name: 'a', either: { deep: 'x' } })).error.context).toEqual([
      { name: 'either.deep', value: 'x' },
    ])
  })

  test('but never repeats a password', async () => {
    expect((await refused({ name: 'a', password: 'hunter2' })).error.context).toEqual([{ name: 'password' }])
  })
})

describe('an answer', () => {
  test('to a path that nobody serves is 404 in the same shape', async () => {
    const answer = await serve().inject('/nowhere?X-ApiKey=secret')
    expect(answer.statusCode).toBe(404)
    expect(answer.json()).toEqual({
      errors: [{ code: '0x010005', message: 'Not found.', context: [{ name: 'path', value: '/nowhere' }] }],
    })
    expect((await serve().inject({ method: 'PATCH', url: '/things' })).statusCode).toBe(404)
  })

  test('to an accident of ours tells no detail', async () => {
    const answer = await serve().inject('/fails')
    expect(answer.statusCode).toBe(500)
    expect(answer.headers['content-type']).toMatch(/^application\/json/)
    expect(answer.body).not.toMatch(/hunter2|10\.0/)
    expect(answer.json().errors[0].code).toBe('0x01')
  })

  test('says when to come again, in whole seconds', async () => {
    const answer = await serve().inject('/refuses')
    expect(answer.statusCode).toBe(429)
    expect(answer.headers['retry-after']).toBe('2')
  })

  test('sends those that it turns away together home for different times, where the refusal says none', async () => {
    const server = serve()
    const away = asked(Promise.reject(new Error('the connection is cut')))
    await away.catch(() => {})
    server.get('/busy', () => Promise.reject(new DroverError('tooMany')))
    server.get('/away', () => away)
    for (const [url, status, least] of [
      ['/busy', 429, 1],
      ['/away', 503, 2],
    ] as const) {
      const told: number[] = []
      for (let k = 0; k < 60; k += 1) {
        const answer = await server.inject(url)
        expect(answer.statusCode).toBe(status)
        told.push(Number(answer.headers['retry-after']))
      }
      expect(Math.min(...told)).toBeGreaterThanOrEqual(least)
      expect(Math.max(...told)).toBeLessThanOrEqual(least + 5)
      expect(new Set(told).size).toBeGreaterThan(2)
    }
  })

  test('carries the request id that the client gave, or one of ours', async () => {
    const server = serve()
    const given = await server.inject({ url: '/things/a', headers: { 'x-request-id': 'abc-1' } })
    expect(given.headers['x-request-id']).toBe('abc-1')
    const hostile = await server.inject({ url: '/things/a', headers: { 'x-request-id': 'a b\tc' } })
    expect(hostile.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/)
  })

  test('exposes its location to pages of other origins, and only to the configured ones', async () => {
    const server = serve({ origins: ['https://console.example'] })
    const ours = await server.inject({ url: '/things/a', headers: { origin: 'https://console.example' } })
    expect(ours.headers['access-control-allow-origin']).toBe('https://console.example')
    expect(ours.headers['access-control-expose-headers']).toContain('location')
    const other = await server.inject({ url: '/things/a', headers: { origin: 'https://evil.example' } })
    expect(other.headers['access-control-allow-origin']).toBeUndefined()
    const preflight = await server.inject({
      method: 'OPTIONS',
      url: '/things/a',
      headers: {
        origin: 'https://console.example',
        'access-control-request-method': 'PUT',
        'access-control-request-headers': 'authorization',
      },
    })
    expect(preflight.statusCode).toBe(204)
    expect(preflight.headers['access-control-allow-headers']).toBe('authorization')
  })
})

describe('a long answer', () => {
  const text = JSON.stringify({ text: 'the same words again and again '.repeat(1_000) })
  function withLong(options: Partial<ServerOptions> = {}) {
    const server = serve({ compress: true, ...options })
    const json = { schema: {} }
    server.get('/long', json, async (_request, reply) => reply.type('application/json').send(text))
    server.get('/short', json, async () => ({ text: 'short' }))
    server.get('/secret', { config: { holdsSecret: true } }, async (_request, reply) =>
      reply.type('application/json').send(text),
    )
    server.get('/rows', json, async (_request, reply) =>
      reply.type('text/csv').send(Readable.from([text.slice(0, 10_000), text.slice(10_000)])),
    )
    server.get('/broken', json, async (_request, reply) =>
      reply.type('text/csv').send(
        Readable.from(
          (async function* () {
            yield text
            throw new Error('the database went away')
          })(),
        ),
      ),
    )
    server.get('/events', json, async (_request, reply) =>
      reply.type('text/event-stream').send(Readable.from([`data: ${text}\n\n`])),
    )
    return server
  }
  const ask = (server: ReturnType<typeof serve>, url: string, accepted = 'gzip, br') =>
    server.inject({ url, headers: { 'accept-encoding': accepted } })

  test.each([
    ['br', 'gzip, deflate, br', brotliDecompressSync],
    ['gzip', 'gzip', gunzipSync],
    ['gzip', 'br;q=0.1, gzip;q=0.9', gunzipSync],
    ['br', '*', brotliDecompressSync],
  ])('is compressed as %s for a client that says %s, whole or in rows', async (encoding, accepted, decompress) => {
    const server = withLong()
    for (const url of ['/long', '/rows']) {
      const answer = await ask(server, url, accepted)
      expect(answer.headers['content-encoding']).toBe(encoding)
      expect(answer.headers.vary).toBe('accept-encoding')
      expect(decompress(answer.rawPayload).toString()).toBe(text)
      expect(answer.rawPayload.length).toBeLessThan(text.length / 10)
    }
  })

  test.each(['identity', 'br;q=0, gzip;q=0', '', 'zstd'])('is sent as it is to one that says "%s"', async accepted => {
    const answer = await ask(withLong(), '/long', accepted)
    expect([answer.headers['content-encoding'], answer.headers.vary]).toEqual([undefined, 'accept-encoding'])
    expect(answer.body).toBe(text)
  })

  test('that is short, endless or holds a secret is sent as it is, and every one where that is configured', async () => {
    for (const url of ['/short', '/events', '/secret']) {
      expect((await ask(withLong(), url)).headers['content-encoding'], url).toBeUndefined()
    }
    expect((await ask(withLong({ compress: false }), '/long')).headers['content-encoding']).toBeUndefined()
  })

  test('of rows that break off is no whole file', async () => {
    const answer = await ask(withLong(), '/broken').catch(() => undefined)
    expect(answer?.statusCode ?? 500).toBe(500)
  })
})

describe('behind a proxy', () => {
  const addressOf = async (options: Partial<ServerOptions>, remoteAddress: string) => {
    const server = serve(options)
    server.get('/address', async request => ({ address: request.ip }))
    const headers = { 'x-forwarded-for': '203.0.113.9, 198.51.100.7' }
    return (await server.inject({ url: '/address', headers, remoteAddress })).json().address
  }

  test('that is trusted, a request comes from where it says, and from where it came else', async () => {
    const trustedProxies = ['10.0.0.0/8', '2001:db8::1']
    expect(await addressOf({ trustedProxies }, '10.1.2.3')).toBe('198.51.100.7')
    expect(await addressOf({ trustedProxies }, '192.0.2.1')).toBe('192.0.2.1')
    expect(await addressOf({ trustedProxies: ['10.0.0.0/8', '198.51.100.7'] }, '10.1.2.3')).toBe('203.0.113.9')
    expect(await addressOf({}, '10.1.2.3')).toBe('10.1.2.3')
  })
})

describe('a path', () => {
  test('is read percent-decoded, segment by segment', async () => {
    const answer = await serve().inject('/things/a%2Fb%20c%C3%A9%3F')
    expect(answer.json()).toEqual({ id: 'a/b cé?' })
  })

  test.each(['/things/%zz', '/things/%ff', '/things/a%00b', '/query?size=%00'])('%s is 400', async url => {
    const answer = await serve().inject(url)
    expect(answer.statusCode).toBe(400)
    expect(answer.json().errors[0].code).toBe('0x010202')
  })

  test('longer than any id leads nowhere', async () => {
    expect((await serve().inject(`/things/${'x'.repeat(1_000)}`)).statusCode).toBe(200)
    expect((await serve().inject(`/things/${'x'.repeat(3_000)}`)).statusCode).toBe(404)
  })
})

describe('health', () => {
  test('is live and ready once the service can take work', async () => {
    let isReady = false
    const server = serve({ ready: () => (isReady ? Promise.resolve() : Promise.reject(new Error('no database'))) })
    expect((await server.inject('/health/live')).statusCode).toBe(200)
    const early = await server.inject('/health/ready')
    expect(early.statusCode).toBe(503)
    expect(early.json().errors[0]).toMatchObject({
      code: '0x010205',
      context: [{ name: 'reason', value: 'it cannot be asked' }],
    })
    isReady = true
    expect((await server.inject('/health/ready')).statusCode).toBe(200)
  })

  test('a service that is stopping finishes what is in hand and answers 503 to the rest', async () => {
    const server = serve()
    let finish = () => {}
    const asked = new Promise<void>(resolve => {
      server.get('/slow', async () => {
        resolve()
        await new Promise<void>(done => {
          finish = done
        })
        return { done: true }
      })
    })
    const port = await listening(server)
    const slow = fetch(`http://127.0.0.1:${port}/slow`)
    await asked
    const kept = connect(port, '127.0.0.1').setEncoding('utf8')
    const received: string[] = []
    const health = new Promise(resolve => kept.on('data', piece => resolve(received.push(String(piece)))))
    const cut = new Promise(resolve => kept.on('close', resolve))
    // The kept connection has a request of its own in hand, so that it is not idle when the server closes.
    kept.write('GET /health/live HTTP/1.1\r\nhost: x\r\n\r\nGET /things/a HTTP/1.1\r\nhost: x\r\nx-part: ')
    await health
    const closing = server.close()
    kept.write('1\r\n\r\n')
    await cut
    expect(received.join('')).toMatch(/HTTP\/1.1 503.*0x010204/s)
    finish()
    expect(await (await slow).json()).toEqual({ done: true })
    await closing
  })

  test('a request that does not end is cut after the time to drain', async () => {
    const server = serve({ drainMs: 50 })
    const asked = new Promise<void>(resolve => {
      server.get('/endless', () => {
        resolve()
        return new Promise(() => {})
      })
    })
    const endless = fetch(`http://127.0.0.1:${await listening(server)}/endless`).catch(() => 'cut')
    await asked
    await server.close()
    expect(await endless).toBe('cut')
  })

  test('what is no HTTP is answered and cut', async () => {
    const server = serve()
    const socket = connect(await listening(server), '127.0.0.1')
    socket.write('what is this\r\n\r\n')
    const answer = await text(socket)
    expect(answer).toContain('HTTP/1.1 400')
    expect(answer).toContain('"0x010202"')
  })
})
