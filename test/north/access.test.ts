/** Who is let in at the door for clients, and how far. */
import { describe, expect, test } from 'vitest'
import { organizationRoutes } from '../../src/north/organizations.ts'
import { userRoutes } from '../../src/north/users.ts'
import { errorOf, openDoor } from './authenticated-door.ts'

const door = await openDoor({
  nouns(app, parts) {
    userRoutes(app, parts)
    organizationRoutes(app, parts)
    app.get('/things', async request => request.caller)
    app.post('/things', async request => request.caller)
    app.post('/search/things', async request => request.caller)
    app.get('/provision/organizations/:organization/things', async request => request.caller)
  },
})
const { server, call, root, clock } = door

const login = (body: unknown, address = '192.0.2.1') =>
  server.inject({
    method: 'POST',
    url: '/north/v80/provision/users/login',
    payload: body as object,
    remoteAddress: address,
  })

describe('a login', () => {
  test('answers with the user, a token and the API key', async () => {
    const answer = await login({ email: root.email, password: root.password, '2FaCode': null })
    expect(answer.statusCode).toBe(200)
    const { user } = answer.json()
    expect(user).toMatchObject({
      email: root.email,
      apiKey: root.key,
      profile: 'root',
      domain: 'first',
      workgroup: 'first',
      '2FaType': 'NONE',
    })
    const claims = JSON.parse(Buffer.from(user.jwt.split('.')[1], 'base64url').toString())
    expect(claims).toEqual({
      sub: root.email,
      org: 'first',
      profile: 'root',
      iat: expect.any(Number),
      exp: claims.iat + 8 * 3600,
      jti: expect.any(String),
    })
    const headers = { authorization: `Bearer ${user.jwt}` }
    expect((await server.inject({ url: '/north/v80/things', headers })).json()).toMatchObject({ email: root.email })
  })

  test('takes the email in any case', async () => {
    const answer = await login({ email: root.email.toUpperCase(), password: root.password })
    expect(answer.json().user.email).toBe(root.email)
  })

  test.each([
    ['a wrong password', { email: root.email, password: 'wrong' }],
    ['an unknown user', { email: 'nobody@example.com', password: 'wrong' }],
  ])('with %s is 401 and says no more', async (_what, body) => {
    const answer = await login(body)
    expect(answer.statusCode).toBe(401)
    expect(answer.json()).toEqual({ errors: [{ code: '0x04', message: 'Unauthorized.' }] })
  })

  test('without a password names the field', async () => {
    const answer = await login({ email: root.email })
    expect(answer.statusCode).toBe(400)
    expect(answer.json().errors[0]).toMatchObject({ code: '0x010000', context: [{ name: 'password' }] })
  })

  test('is refused for a while after too many failures of an account, from whatever address', async () => {
    const { email, password } = await door.user('advanced')
    for (let i = 0; i < 10; i++) {
      expect((await login({ email, password: 'wrong' }, `198.51.100.${i}`)).statusCode).toBe(401)
    }
    const refused = await login({ email, password }, '198.51.100.99')
    expect(refused.statusCode).toBe(429)
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
    clock.nowMs += Number(refused.headers['retry-after']) * 1000
    expect((await login({ email, password }, '198.51.100.99')).statusCode).toBe(200)
  })

  test('is refused for a while after too many failures from one address, for whatever account', async () => {
    const failures = Array.from({ length: 50 }, (_, i) =>
      login({ email: `n${i}@example.com`, password: 'x' }, '203.0.113.7'),
    )
    expect((await Promise.all(failures)).map(answer => answer.statusCode)).toEqual(failures.map(() => 401))
    const credentials = { email: root.email, password: root.password }
    expect((await login(credentials, '203.0.113.7')).statusCode).toBe(429)
    expect((await login(credentials, '203.0.113.8')).statusCode).toBe(200)
  })

  test('that succeeds costs no try', async () => {
    const { email, password } = await door.user('viewer')
    for (let i = 0; i < 12; i++) expect((await login({ email, password }, '192.0.2.50')).statusCode).toBe(200)
  })
})

describe('a caller', () => {
  test('is known by its API key', async () => {
    expect((await call(root.key, 'GET', '/things')).json()).toMatchObject({ email: root.email, profile: 'root' })
  })

  test('finds every path under /v80 too, as the same route', async () => {
    const answer = await server.inject({ url: '/v80/things', headers: { 'x-apikey': root.key } })
    expect(answer.json()).toMatchObject({ email: root.email })
  })

  test.each([
    ['no credentials', '/north/v80/things', {}],
    ['an unknown key', '/north/v80/things', { 'x-apikey': 'nobody-has-this-key' }],
    ['a key in the query string', `/north/v80/things?X-ApiKey=${root.key}`, {}],
    ['a token that is none', '/north/v80/things', { authorization: 'Bearer a.b.c' }],
    ['a good key beside a bad token', '/north/v80/things', { authorization: 'Bearer a.b.c', 'x-apikey': root.key }],
    ['another scheme', '/north/v80/things', { authorization: `Basic ${Buffer.from('a:b').toString('base64')}` }],
    ['an empty key', '/north/v80/things', { 'x-apikey': '' }],
  ])('with %s is 401', async (_what, url, headers: Record<string, string>) => {
    const answer = await server.inject({ url, headers })
    expect(answer.statusCode).toBe(401)
    expect(answer.json()).toEqual({ errors: [{ code: '0x04', message: 'Unauthorized.' }] })
  })

  test('with a token signed by nobody is 401', async () => {
    const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const claims = { sub: root.email, org: 'first', profile: 'root', exp: Math.floor(clock.nowMs / 1000) + 1000 }
    const headers = { authorization: `Bearer ${part({ alg: 'none' })}.${part(claims)}.` }
    expect((await server.inject({ url: '/north/v80/things', headers })).statusCode).toBe(401)
  })

  test('is out when its token has run out', async () => {
    const { email, password } = await door.user('advanced')
    const headers = { authorization: `Bearer ${(await login({ email, password })).json().user.jwt}` }
    clock.nowMs += 8 * 3_600_000 - 2_000
    expect((await server.inject({ url: '/north/v80/things', headers })).statusCode).toBe(200)
    clock.nowMs += 3_000
    expect((await server.inject({ url: '/north/v80/things', headers })).statusCode).toBe(401)
  })

  test('is out when its user is removed', async () => {
    const { email, password, key } = await door.user('advanced')
    const headers = { authorization: `Bearer ${(await login({ email, password })).json().user.jwt}` }
    expect((await server.inject({ url: '/north/v80/things', headers })).statusCode).toBe(200)
    expect((await call(root.key, 'DELETE', `/provision/users/${email}`)).status).toBe(200)
    expect((await server.inject({ url: '/north/v80/things', headers })).statusCode).toBe(401)
    expect((await call(key, 'GET', '/things')).status).toBe(401)
  })

  test('is out when its password is another, and made again under its email it does not come in by the old token', async () => {
    const { email, password } = await door.user('advanced')
    const withToken = async (secret: string) => ({
      authorization: `Bearer ${(await login({ email, password: secret })).json().user.jwt}`,
    })
    const asks = async (headers: Record<string, string>) =>
      (await server.inject({ url: '/north/v80/things', headers })).statusCode
    const [before, other] = [await withToken(password), await withToken(password)]
    expect([await asks(before), await asks(other)]).toEqual([200, 200])
    const user = { password: 'another good password' }
    const changed = await server.inject({
      method: 'PUT',
      url: `/north/v80/provision/users/${email}`,
      headers: { ...before, 'x-apipass': password },
      payload: { user },
    })
    expect(changed.statusCode).toBe(200)
    expect([await asks(before), await asks(other)]).toEqual([401, 401])
    const after = await withToken(user.password)
    expect(await asks(after)).toBe(200)

    await call(root.key, 'DELETE', `/provision/users/${email}`)
    const again = { email, password: user.password, profile: 'advanced', domain: 'first' }
    expect((await call(root.key, 'POST', '/provision/users', { user: again })).status).toBe(201)
    expect(await asks(after)).toBe(401)
    expect(await asks(await withToken(user.password))).toBe(200)
  })

  test('that is a viewer reads and searches only', async () => {
    const { key } = await door.user('viewer')
    expect((await call(key, 'GET', '/things')).status).toBe(200)
    expect((await call(key, 'POST', '/search/things', {})).status).toBe(200)
    const refused = await call(key, 'POST', '/things', {})
    expect(refused.status).toBe(403)
    expect(errorOf(refused).code).toBe('0x05')
  })

  test('acts in its own organization, root in the one that the path names, and learns of no other', async () => {
    await call(root.key, 'POST', '/provision/organizations', { organization: { name: 'acting place' } })
    const { key } = await door.user('admin')
    const path = (name: string) => `/provision/organizations/${encodeURIComponent(name)}/things`
    expect((await call(key, 'GET', path('first'))).json()).toMatchObject({ organizationName: 'first' })
    expect((await call(root.key, 'GET', path('acting place'))).json()).toMatchObject({
      organizationName: 'acting place',
    })
    const foreign = await call(key, 'GET', path('acting place'))
    const unknown = await call(key, 'GET', path('nowhere'))
    expect([foreign.status, unknown.status]).toEqual([404, 404])
    expect(errorOf(foreign)).toMatchObject({ code: '0x010015', message: 'Organization not exists.' })
    expect((await call(root.key, 'GET', path('nowhere'))).status).toBe(404)
  })
})
