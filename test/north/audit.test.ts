/** The audit log: who did what, when, from where, and how it ended. */
import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import { auditRoutes } from '../../src/north/audit.ts'
import { organizationRoutes } from '../../src/north/organizations.ts'
import { userRoutes } from '../../src/north/users.ts'
import { forgetAudit } from '../../src/store/audit.ts'
import { errorOf, openDoor } from './authenticated-door.ts'

const held = { entered: Promise.withResolvers<void>(), gone: Promise.withResolvers<void>() }

const door = await openDoor({
  nouns(app, parts) {
    userRoutes(app, parts)
    organizationRoutes(app, parts)
    auditRoutes(app, parts)
    app.post('/things', async () => ({}))
    app.post('/search/things', async () => ({}))
    app.get('/things', async () => ({}))
    app.post('/held', async request => {
      request.raw.socket.once('close', held.gone.resolve)
      held.entered.resolve()
      await held.gone.promise
      return {}
    })
    app.post('/away', async () => {
      // The connection is lost in the middle of the request, and with it the line that it would leave.
      throw await door.database.executeSql('select pg_terminate_backend(pg_backend_pid())').catch(error => error)
    })
  },
})
const { call, root, server, database, clock } = door

interface Line {
  date: string
  user?: string
  method: string
  path: string
  address: string
  status: number
  errorCode?: string
  requestId: string
}

async function linesOf(user: string, key = root.key): Promise<Line[]> {
  const answer = await call(key, 'GET', `/audit?user=${encodeURIComponent(user)}&size=100`)
  return answer.status === 204 ? [] : (answer.json() as unknown as { audit: Line[] }).audit
}

describe('a line is left', () => {
  test('for every request that changes something, with who, what, when, from where and its result', async () => {
    const { key, email } = await door.user('advanced')
    const headers = { 'x-request-id': 'request-7' }
    await call(key, 'POST', '/things?secret=1', {}, headers)
    expect(await linesOf(email)).toEqual([
      {
        date: new Date(clock.nowMs).toISOString(),
        user: email,
        method: 'POST',
        path: '/north/v80/things',
        address: '127.0.0.1',
        status: 200,
        requestId: 'request-7',
      },
    ])
  })

  test('for one that was refused, with the code', async () => {
    const { key, email } = await door.user('viewer')
    await call(key, 'POST', '/things', {})
    await call(key, 'DELETE', `/provision/users/${root.email}`)
    await call(key, 'PUT', `/provision/users/${email}`, { user: { name: 7 } })
    expect((await linesOf(email)).map(({ method, status, errorCode }) => [method, status, errorCode])).toEqual([
      ['PUT', 400, '0x010001'],
      ['DELETE', 403, '0x05'],
      ['POST', 403, '0x05'],
    ])
  })

  test('for every login, those that fail too, in the organization of the user it names', async () => {
    const { email, password } = await door.user('advanced')
    await call('', 'POST', '/provision/users/login', { email, password })
    await call('', 'POST', '/provision/users/login', { email, password: 'hunter2-wrong' })
    const lines = await linesOf(email)
    expect(lines.map(({ status, errorCode }) => [status, errorCode])).toEqual([
      [401, '0x04'],
      [200, undefined],
    ])
    const { rows } = await database.executeSql('select audit::text as line from audit')
    expect(JSON.stringify(rows)).not.toMatch(/hunter2|a good password/)
  })

  test('but none for reading and searching, and none for whom nobody knows', async () => {
    const { key, email } = await door.user('advanced')
    await call(key, 'GET', '/things')
    await call(key, 'POST', '/search/things', {})
    expect(await linesOf(email)).toEqual([])
    const before = await database.executeSql('select count(*) from audit')
    expect((await call('no-such-key-at-all', 'POST', '/things', {})).status).toBe(401)
    expect(await database.executeSql('select count(*) from audit')).toEqual(before)
  })

  test('in order and each for itself when many come at once', async () => {
    const { key, email } = await door.user('advanced')
    await Promise.all(Array.from({ length: 50 }, () => call(key, 'POST', '/things', {})))
    const lines = await linesOf(email)
    expect(lines).toHaveLength(50)
    expect(new Set(lines.map(({ requestId }) => requestId)).size).toBe(50)
  })
})

describe('the log', () => {
  test('is read by who manages users, in its own organization only', async () => {
    await call(root.key, 'POST', '/provision/organizations', { organization: { name: 'elsewhere' } })
    const there = await door.user('admin', 'elsewhere')
    const here = await door.user('advanced')
    await call(here.key, 'POST', '/things', {})
    expect((await call(here.key, 'GET', '/audit')).status).toBe(403)
    expect(await linesOf(here.email, there.key)).toEqual([])
    expect(await linesOf(here.email)).toHaveLength(1)
  })

  test('is paged, newest first, and bounded by time', async () => {
    const { key, email } = await door.user('advanced')
    const dates: string[] = []
    for (let i = 0; i < 5; i++) {
      clock.nowMs += 60_000
      dates.unshift(new Date(clock.nowMs).toISOString())
      await call(key, 'POST', '/things', {})
    }
    const read = async (query: string) =>
      (await call(root.key, 'GET', `/audit?user=${email}&${query}`)).json() as unknown as {
        page: object
        audit: Line[]
      }
    const second = await read('start=2&size=2')
    expect(second.page).toEqual({ number: 2, of: 3 })
    expect(second.audit.map(({ date }) => date)).toEqual(dates.slice(2, 4))
    const between = await read(`from=${dates[3]}&to=${dates[1]}`)
    expect(between.audit.map(({ date }) => date)).toEqual(dates.slice(2, 4))
    expect((await call(root.key, 'GET', `/audit?user=${email}&start=9`)).status).toBe(204)
    const refused = await call(root.key, 'GET', '/audit?from=yesterday')
    expect(refused.status).toBe(400)
    expect(errorOf(refused).context).toMatchObject([{ name: 'from' }])
  })

  test.each(['text/plain', 'text/csv'])('is exported as %s', async accept => {
    const { key, email } = await door.user('advanced')
    await call(key, 'POST', '/things', {}, { 'x-request-id': '=1+1' })
    const answer = await call(root.key, 'GET', `/audit?user=${email}`, undefined, { accept })
    expect(answer.headers['content-type']).toBe(`${accept}; charset=utf-8`)
    expect(answer.headers['content-disposition']).toBe('attachment; filename=result.csv')
    expect(answer.body.split('\n')).toEqual([
      'date;user;method;path;address;status;errorCode;requestId',
      `${new Date(clock.nowMs).toISOString()};${email};POST;/north/v80/things;127.0.0.1;200;;'=1+1`,
      '',
    ])
  })

  test('forgets what is old', async () => {
    const { key, email } = await door.user('advanced')
    await call(key, 'POST', '/things', {})
    await forgetAudit(database, new Date(clock.nowMs))
    expect(await linesOf(email)).toHaveLength(1)
    await forgetAudit(database, new Date(clock.nowMs + 1))
    expect(await linesOf(email)).toEqual([])
  })
})

test('a request whose line cannot be kept is not acknowledged', async () => {
  const { key } = await door.user('advanced')
  await database.executeSql('alter table audit rename to audit_away')
  try {
    const answer = await server.inject({
      method: 'POST',
      url: '/north/v80/things',
      headers: { 'x-apikey': key },
      payload: {},
    })
    expect(answer.statusCode).toBe(500)
    expect(answer.json().errors[0].code).toBe('0x01')
  } finally {
    await database.executeSql('alter table audit_away rename to audit')
  }
})

test('a request that fails with the database is answered as every refusal, though its line cannot be written', async () => {
  const { key } = await door.user('advanced')
  await database.executeSql('alter table audit rename to audit_away')
  const answer = await call(key, 'POST', '/away', {})
  await database.executeSql('alter table audit_away rename to audit')
  expect([answer.status, errorOf(answer)]).toMatchObject([503, { code: '0x010206' }])
})

test('a client that has hung up before its answer leaves its line, and costs no other request its own', async () => {
  const { key, email } = await door.user('advanced')
  await server.listen({ host: '127.0.0.1', port: 0 })
  const client = connect((server.server.address() as AddressInfo).port, '127.0.0.1')
  await once(client, 'connect')
  client.write(`POST /north/v80/held HTTP/1.1\r\nHost: here\r\nX-ApiKey: ${key}\r\nContent-Length: 0\r\n\r\n`)
  await held.entered.promise
  client.resetAndDestroy()
  await held.gone.promise
  // Gathered with the line of the other.
  expect((await call(key, 'POST', '/things', {})).status).toBe(200)
  await expect
    .poll(async () => (await linesOf(email)).map(({ path }) => path).sort())
    .toEqual(['/north/v80/held', '/north/v80/things'])
  expect((await linesOf(email)).map(({ address }) => address)).toEqual(['127.0.0.1', '127.0.0.1'])
})
