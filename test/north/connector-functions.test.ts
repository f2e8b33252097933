import { afterAll, describe, expect, test } from 'vitest'
import { functionPool } from '../../src/connectors/function-pool.ts'
import { type ConnectorFunctions, createConnectorFunctions } from '../../src/engine/connector-functions.ts'
import { connectorFunctionRoutes } from '../../src/north/connector-functions.ts'
import { errorOf, FIRST_ORGANIZATION, openDoor } from './authenticated-door.ts'

const pool = functionPool()
afterAll(() => pool.stop())

let connectorFunctions: ConnectorFunctions | undefined
const door = await openDoor({
  nouns(app, { database, clock }) {
    const time = { now: () => new Date(clock.nowMs), sleepUntil: () => Promise.resolve() }
    connectorFunctions ??= createConnectorFunctions({ database, clock: time, run: pool.run })
    connectorFunctionRoutes(app, { connectorFunctions })
  },
})
const advanced = await door.user('advanced')
const viewer = await door.user('viewer')
const path = `/connectorFunctions/provision/organizations/${FIRST_ORGANIZATION}`
const call = (...[method, where, body]: [Parameters<typeof door.call>[1], string, unknown?]) =>
  door.call(advanced.key, method, `${path}${where}`, body)

const SOURCE = 'function request(operation, device) { return { mqtt: { payload: operation.name + " " + device.id } } }'

describe('a connector function', () => {
  test('is written, read, listed and removed', async () => {
    expect((await call('GET', '')).status).toBe(204)
    const made = await call('POST', '', { name: 'meter', description: 'Meters', route: 'meter', source: SOURCE })
    expect([made.status, made.headers.location]).toEqual([201, `/north/v80${path}/meter`])
    const expected = { name: 'meter', description: 'Meters', route: 'meter', version: 1, source: SOURCE }
    expect(made.json()).toMatchObject(expected)
    expect((await call('GET', '/meter')).json()).toMatchObject(expected)
    expect((await call('GET', '')).json()).toMatchObject([expected])
    expect((await call('DELETE', '/meter')).status).toBe(200)
    expect((await call('GET', '/meter')).status).toBe(404)
    expect((await call('DELETE', '/meter')).status).toBe(404)
  })

  test('gets a version with each source, and an earlier one can run again', async () => {
    await call('POST', '', { name: 'versions', source: SOURCE })
    const second = `${SOURCE}\n// second`
    expect((await call('PUT', '/versions', { source: second })).json()).toMatchObject({ version: 2, source: second })
    expect((await call('PUT', '/versions', { source: second })).json()).toMatchObject({ version: 2 })
    expect((await call('PUT', '/versions', { description: 'words' })).json()).toMatchObject({
      version: 2,
      description: 'words',
    })
    expect((await call('GET', '/versions?version=1')).json()).toMatchObject({ version: 1, source: SOURCE })
    expect((await call('PUT', '/versions', { version: 1 })).json()).toMatchObject({ version: 1, source: SOURCE })
    expect((await call('GET', '/versions/versions')).json()).toMatchObject([
      { version: 2, source: second, user: advanced.email },
      { version: 1, source: SOURCE, user: advanced.email },
    ])
    expect((await call('PUT', '/versions', { source: `${SOURCE}//3` })).json()).toMatchObject({ version: 3 })
    expect((await call('PUT', '/versions', { version: 9 })).status).toBe(404)
    expect((await call('PUT', '/versions', { version: 1, source: SOURCE })).status).toBe(400)
    expect((await call('GET', '/versions?version=9')).status).toBe(404)
    // Beyond what a version can be: a refusal, no failure.
    expect((await call('GET', '/versions?version=9007199254740992')).status).toBe(400)
    expect((await call('PUT', '/versions', { description: null })).json()).not.toHaveProperty('description')
  })

  test.for([
    ['no script', { source: 'function request( {' }, 'source'],
    ['a script that throws', { source: 'throw 1' }, 'source'],
    ['a script that never ends', { source: 'for (;;);' }, 'source'],
    ['a script without either function', { source: 'const a = 1' }, 'source'],
    ['an empty source', { source: '' }, 'source'],
    ['a source too long', { source: `${SOURCE}//${'x'.repeat(65_536)}` }, 'source'],
    ['a name with a slash', { name: 'a/b' }, 'name'],
    ['no name', { name: undefined }, 'name'],
    ['a route that is taken by the interface', { route: 'operation' }, 'route'],
    ['a route with a slash', { route: 'a/b' }, 'route'],
    ['a member it does not know', { sauce: 'x' }, 'sauce'],
  ] as const)('with %s is refused, naming the field', async ([, members, field]) => {
    const answer = await call('POST', '', { name: 'refused', source: SOURCE, ...members })
    expect(answer.status).toBe(400)
    expect(errorOf(answer).context?.[0]?.name).toBe(field)
    expect((await call('GET', '/refused')).status).toBe(404)
  })

  test('keeps its name and its route to itself', async () => {
    await call('POST', '', { name: 'one', route: 'shared', source: SOURCE })
    const sameName = await call('POST', '', { name: 'one', source: SOURCE })
    expect([sameName.status, errorOf(sameName).code]).toEqual([400, '0x010114'])
    const sameRoute = await call('POST', '', { name: 'two', route: 'shared', source: SOURCE })
    expect(errorOf(sameRoute)).toMatchObject({ code: '0x010114', context: [{ name: 'route' }] })
    await call('POST', '', { name: 'two', route: 'other', source: SOURCE })
    expect(errorOf(await call('PUT', '/two', { route: 'shared' })).code).toBe('0x010114')
    expect((await call('PUT', '/one', { route: 'shared', description: 'again' })).status).toBe(200)
  })

  test('is read by everybody in the organization and written by those who may', async () => {
    await call('POST', '', { name: 'read-only', source: SOURCE })
    expect((await door.call(viewer.key, 'GET', `${path}/read-only`)).status).toBe(200)
    for (const [method, where, body] of [
      ['POST', '', { name: 'x', source: SOURCE }],
      ['PUT', '/read-only', { description: 'x' }],
      ['DELETE', '/read-only', undefined],
      ['POST', '/read-only/dryRun', { operation: {} }],
    ] as const) {
      expect((await door.call(viewer.key, method, `${path}${where}`, body)).status).toBe(403)
    }
  })

  test('is nobody else’s', async () => {
    await call('POST', '', { name: 'ours', source: SOURCE })
    const [{ organization }] = (
      await door.database.executeSql(
        `insert into organization (name, created_at) values ('neighbours', now()) returning organization`,
      )
    ).rows as [{ organization: number }]
    expect(await connectorFunctions!.list(organization)).toEqual([])
    await expect(connectorFunctions!.read(organization, 'ours')).rejects.toThrow('Not found')
    expect(await connectorFunctions!.sourceOf(organization, 'ours')).toBeUndefined()
  })
})

describe('a dry run', () => {
  test('shows what would be sent for a sample operation', async () => {
    await call('POST', '', { name: 'dry', source: SOURCE })
    const answer = await call('POST', '/dry/dryRun', { operation: { id: 'op', name: 'REBOOT' }, device: { id: 'd1' } })
    expect(answer.status).toBe(200)
    expect(answer.json()).toEqual({
      ok: true,
      value: { mqtt: { payload: 'REBOOT d1' } },
      sends: { way: 'mqtt', payload: 'REBOOT d1' },
      log: [],
    })
  })

  test('shows what would be taken from a sample message, by a source that is not stored', async () => {
    const source = `function response(message) {
      console.log('read', message.json)
      return { id: message.json.ref, resultCode: 'SUCCESSFUL' }
    }`
    const answer = await call('POST', '/not-yet/dryRun', { source, message: { body: '{"ref":"op-1"}' } })
    expect(answer.json()).toEqual({
      ok: true,
      value: { id: 'op-1', resultCode: 'SUCCESSFUL' },
      responses: [{ operation: { response: { id: 'op-1', resultCode: 'SUCCESSFUL' } } }],
      log: ['read {"ref":"op-1"}'],
    })
  })

  test('tries an earlier version', async () => {
    await call('POST', '', { name: 'dry-versions', source: SOURCE })
    await call('PUT', '/dry-versions', { source: 'function request() { return { mqtt: { payload: "new" } } }' })
    const tried = async (version?: number) =>
      (await call('POST', '/dry-versions/dryRun', { operation: { name: 'A' }, device: { id: 'd' }, version })).json()
    expect(await tried()).toMatchObject({ value: { mqtt: { payload: 'new' } } })
    expect(await tried(1)).toMatchObject({ value: { mqtt: { payload: 'A d' } } })
  })

  test.for([
    ['threw', 'function request() { throw new Error("no") }', 'Error: no'],
    ['time', 'function request() { for (;;); }', 'too long'],
    ['unusable', 'function request() { return { http: { method: "TRACE" } } }', 'http.method'],
    ['missing', 'function response() {}', 'does not define'],
  ])('tells the fault: %s', async ([fault, source, words]) => {
    const answer = await call('POST', '/x/dryRun', { source, operation: {} })
    expect(answer.status).toBe(200)
    expect(answer.json()).toMatchObject({ ok: false, fault, description: expect.stringContaining(words!) })
  })

  test('needs one sample', async () => {
    expect((await call('POST', '/x/dryRun', { source: SOURCE })).status).toBe(400)
    expect((await call('POST', '/x/dryRun', { source: SOURCE, operation: {}, message: {} })).status).toBe(400)
    expect((await call('POST', '/nowhere/dryRun', { operation: {} })).status).toBe(404)
  })
})
