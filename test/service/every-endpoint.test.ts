/**
 * What holds of every endpoint, asked of each that the OpenAPI document names: who may call it, that another organization's things
 * are not there, and that a body which cannot be taken is refused cleanly. A new endpoint is asked without a line here.
 */
import { describe, expect, test } from 'vitest'
import { PROFILES } from '../../src/domain/caller.ts'
import { openHouse } from './house.ts'
import { asking, LOGIN, on } from './interface/asking.ts'

interface Media {
  schema?: object
  example?: unknown
  examples?: Record<string, { value: unknown }>
}
interface Operation {
  security?: unknown[]
  requestBody?: { content: Record<string, Media> }
}
interface Endpoint {
  readonly name: string
  readonly method: string
  readonly path: string
  readonly operation: Operation
}

const house = await openHouse()
const { makeTask, refusal, user } = asking(house)
const { body: document } = await house.call<{ paths: Record<string, Record<string, Operation>> }>(
  'GET',
  '/openapi.json',
)
const endpoints: Endpoint[] = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([verb, operation]) => {
    const method = verb.toUpperCase()
    return { name: `${method} ${path}`, method, path, operation }
  }),
)
const ofClients = endpoints.filter(({ path }) => path.startsWith('/north/'))
const withBody = endpoints.filter(({ operation }) => operation.requestBody)

/** The address with these values for its parameters, and something that nobody has for the others. */
const address = (path: string, values: Record<string, string>) =>
  path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? 'none'))

/** A body as the document shows it. */
function example({ requestBody }: Operation): unknown {
  const media = Object.values(requestBody?.content ?? {})[0]
  return media?.example ?? Object.values(media?.examples ?? {})[0]?.value
}

/** Bodies that each is likely to take, so that it is not for them that a request is refused. */
const CHANGES: Readonly<Record<string, object>> = {
  '/north/v80/provision/users/{email}': { user: { name: 'N' } },
  '/north/v80/provision/organizations/{name}': { organization: { description: 'd' } },
}

/** A stream of events has no end: its status is enough. */
async function statusOf(
  method: string,
  path: string,
  headers: Record<string, string>,
  body?: unknown,
): Promise<number> {
  const stop = new AbortController()
  const { status } = await fetch(`${house.url}${path}`, {
    method,
    headers: { ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    signal: stop.signal,
  })
  stop.abort()
  return status
}

describe('credentials', () => {
  const closed = ofClients.filter(({ operation }) => operation.security?.length !== 0)

  test('are asked for everywhere but at the login', () => {
    expect(closed.length).toBeGreaterThan(60)
    expect(ofClients.filter(each => !closed.includes(each)).map(({ path }) => path)).toEqual([LOGIN])
  })

  test('that are none, or wrong ones, are 401 everywhere', async () => {
    for (const { name, method, path, operation } of closed) {
      const asked = address(path, { organization: 'drover', name: 'drover' })
      for (const headers of [{ 'x-apikey': '' }, { 'x-apikey': 'wrong' }, { authorization: 'Bearer wrong' }]) {
        const { status, body } = await house.call(method, asked, operation.requestBody ? {} : undefined, {
          'x-apikey': '',
          ...headers,
        })
        expect([name, status, body]).toEqual([name, 401, { errors: [{ code: '0x04', message: 'Unauthorized.' }] }])
      }
    }
  })
})

describe('a profile', () => {
  const everybody = [...PROFILES]
  const allBut = (...without: string[]) => PROFILES.filter(profile => !without.includes(profile))
  const managers = allBut('viewer', 'advanced')

  /** Who may call, as the reference of access has it; the first row that fits an endpoint answers. */
  const RULES: readonly (readonly [endpoint: RegExp, profiles: readonly string[]])[] = [
    [/^POST .*\/users\/login$/, everybody],
    [/^(POST|DELETE) .*\/provision\/users/, managers],
    [/^PUT .*\/provision\/users\//, everybody],
    [/^(POST|PUT|DELETE) .*\/provision\/organizations(\/\{name\})?$/, ['root']],
    [/^GET .*\/(audit|operation\/verify)$/, managers],
    [/^GET /, everybody],
    [/^POST .*\/search(\/|$)/, everybody],
    [/^(POST|PUT|PATCH|DELETE) /, allBut('viewer')],
  ]

  test.each(PROFILES)('%s may call what it may, and is told 403 by everything else', async profile => {
    const headers = await user(`a-${profile}@drover.test`, profile)
    const wrong: string[] = []
    for (const { name, method, path, operation } of ofClients) {
      const [, may] = RULES.find(([endpoint]) => endpoint.test(name))!
      // Nobody has these ids and nothing takes this body: whoever is let in changes nothing.
      const asked = address(path, { organization: 'drover' })
      const body = path.endsWith('/organizations/{name}') ? { organization: { description: 'd' } } : {}
      const status = await statusOf(method, asked, headers, operation.requestBody ? body : undefined)
      const letIn = status !== 403 && (path.endsWith('/login') || status !== 401)
      // Of an organization that is not one's own one learns nothing.
      if (path.endsWith('/organizations/{name}') && status === 404) continue
      if (letIn !== may.includes(profile)) wrong.push(`${name}: ${status}`)
    }
    expect(wrong).toEqual([])
  })

  test('viewer is told 403 also of what is there, by everything that changes it but its own password', async () => {
    const viewer = await user('viewer@drover.test', 'viewer')
    await house.provision('seen')
    const real = {
      organization: 'drover',
      name: 'drover',
      email: 'viewer@drover.test',
      jobId: (await asking(house).make(on(['seen'], { active: false }))).id,
      taskId: (await makeTask(on(['seen']), { id: 'seen', active: false })).id,
      operationName: 'REBOOT_EQUIPMENT',
      identifier: 'seen',
      deviceId: 'seen',
    }
    const wrong: string[] = []
    for (const { name, method, path, operation } of ofClients) {
      const asks = method === 'GET' || path.endsWith('/plan') || /\/search(\/|$)/.test(path)
      if (asks || path === LOGIN || path.endsWith('/users/{email}')) continue
      const body = operation.requestBody ? (CHANGES[path] ?? example(operation)) : undefined
      const status = await statusOf(method, address(path, real), viewer, body)
      if (status !== 403) wrong.push(`${name}: ${status}`)
    }
    expect(wrong).toEqual([])
    for (const path of [
      `/operation/jobs/${real.jobId}`,
      '/operation/tasks/seen',
      '/provision/organizations/drover/devices/seen',
    ]) {
      expect([path, (await house.call('GET', `/north/v80${path}`)).status]).toEqual([path, 200])
    }
  })
})

describe('another organization', async () => {
  const organization = { name: 'beside', countryCode: 'ES', langCode: 'en', timezone: 'Europe/Madrid' }
  await house.call('POST', '/north/v80/provision/organizations', { organization })
  await house.provision('d1')
  const job = await asking(house).make(on(['d1'], { active: true }))
  const { operationId } = await house.until(job.id, ({ status }) => status === 'WAITING_FOR_CONNECTION')
  const task = await makeTask(on(['d1']), { id: 'theirs', active: false })
  await asking(house).makeType({ name: 'THEIRS' })
  await user('theirs@drover.test', 'advanced')
  const functions = '/north/v80/connectorFunctions/provision/organizations/drover'
  const source = 'const request = () => ({ result: "SUCCESSFUL" })'
  expect((await house.call('POST', functions, { name: 'theirs', source })).status).toBe(201)
  const foreigner = await user('foreigner@beside.test', 'admin', 'beside')
  const theirs = {
    organization: 'drover',
    name: 'drover',
    email: 'theirs@drover.test',
    jobId: job.id,
    operationId,
    taskId: task.id,
    operationName: 'THEIRS',
    functionName: 'theirs',
    identifier: 'd1',
    deviceId: 'd1',
  }
  const named = ofClients.filter(({ path }) => path.includes('{') && !path.includes('/catalog/'))

  const secrets = [job.id, operationId, '"theirs"', 'THEIRS', 'theirs@drover.test', '"d1"']

  test('its things are 404 at every endpoint that names one, which says nothing of them', async () => {
    expect(named.length).toBeGreaterThan(60)
    const seen: string[] = []
    for (const { name, method, path, operation } of named) {
      const body = operation.requestBody ? (CHANGES[path] ?? example(operation)) : undefined
      const asked = address(path, theirs)
      if (path.endsWith('/events')) {
        const status = await statusOf(method, asked, foreigner, body)
        if (status !== 404) seen.push(`${name}: ${status}`)
        continue
      }
      const { status, body: told } = await house.call(method, asked, body, { ...foreigner, 'x-apikey': '' })
      const text = JSON.stringify(told)
      // What was asked for may stand in the refusal.
      const saysNothing = secrets.every(
        secret => decodeURIComponent(asked).includes(secret.replaceAll('"', '')) || !text.includes(secret),
      )
      if (status !== 404 || !saysNothing) seen.push(`${name}: ${status} ${text}`)
    }
    expect(seen).toEqual([])
  })

  test('its things are as they were after all of that', async () => {
    for (const path of [
      `/north/v80/operation/jobs/${job.id}`,
      `/north/v80/operation/tasks/${task.id}`,
      '/north/v80/operationTypes/provision/organizations/drover/THEIRS',
      '/north/v80/provision/organizations/drover/devices/d1',
      '/north/v80/provision/users/theirs@drover.test',
      '/north/v80/provision/organizations/drover',
      `${functions}/theirs`,
    ]) {
      expect([path, (await house.call('GET', path)).status]).toEqual([path, 200])
    }
    expect((await house.operationOf(job.id))?.status).toBe('WAITING_FOR_CONNECTION')
  })

  test('its devices are 401 at the door for devices, to a user and to a device of another', async () => {
    const value = { 'provision.device.identifier': 'of-beside' }
    const path = '/north/v80/provision/organizations/beside/devices?flattened=true'
    const made = await house.call('POST', path, value, foreigner)
    expect(made.status).toBe(201)
    const key = made.headers.get('x-apikey')!
    for (const { name, method, path: south, operation } of endpoints.filter(each => each.path.startsWith('/south/'))) {
      const body = operation.requestBody ? {} : undefined
      expect([name, await statusOf(method, address(south, theirs), { 'x-apikey': key }, body)]).toEqual([name, 401])
    }
  })

  test('no listing, search or summary of one shows a row of the other', async () => {
    for (const { name, method, path, operation } of ofClients) {
      const lists = method === 'GET' ? !path.includes('{') : path.includes('/search')
      // The audit log of an organization has what its own users tried, addresses of other ones too.
      if (!lists || /catalog|schemaTypes|events$|audit$/.test(path)) continue
      const { status, body } = await house.call(method, path, operation.requestBody ? {} : undefined, {
        ...foreigner,
        'x-apikey': '',
      })
      expect([200, 204, 403], name).toContain(status)
      const text = JSON.stringify(body ?? '')
      for (const secret of secrets) {
        expect(text.includes(secret), `${name} shows ${secret}`).toBe(false)
      }
    }
  })

  test('a job, a tag and a filter of one reach no entity of the other', async () => {
    const ask = (target: object) =>
      house.call<{ id: string }>(
        'POST',
        '/north/v80/operation/jobs',
        { job: { request: { name: 'REBOOT_EQUIPMENT', active: false, target } } },
        { ...foreigner, 'x-apikey': '' },
      )
    expect((await ask({ append: { entities: ['d1'] } })).status).toBe(400)
    const { body } = await ask({ append: { filter: {} } })
    for (;;) {
      const read = await house.call<{ operations: { entityId: string }[] } | undefined>(
        'GET',
        `/north/v80/operation/jobs/${body.id}/operations`,
        undefined,
        { ...foreigner, 'x-apikey': '' },
      )
      if (!read.body) continue
      expect(read.body.operations.map(({ entityId }) => entityId)).toEqual(['of-beside'])
      break
    }
  })
})

describe('a body', () => {
  const key = { 'x-apikey': house.apiKey }
  const concrete = ({ path }: Endpoint) => address(path, { organization: 'drover', deviceId: 'd1' })
  /** Bulk reads its body as it comes, up to a limit of its own; the login knows no key. */
  const bounded = withBody.filter(({ path }) => !path.includes('/bulk/'))

  async function refusedWith(each: Endpoint, body: string | Uint8Array<ArrayBuffer>, type = 'application/json') {
    const query = each.path.includes('/bulk/') ? '?action=CREATE' : ''
    const answer = await fetch(`${house.url}${concrete(each)}${query}`, {
      method: each.method,
      headers: { ...(each.path === LOGIN ? {} : key), 'content-type': type },
      body,
    })
    const text = await answer.text()
    expect(text, each.name).toMatch(/^\{"errors":\[\{"code":"0x/)
    return answer.status
  }

  test('there are enough of them', () => expect(bounded.length).toBeGreaterThan(60))

  test('longer than the limit is 413 everywhere at the door for clients', async () => {
    for (const each of bounded.filter(({ path }) => path.startsWith('/north/'))) {
      expect([each.name, await refusedWith(each, `{"a":"${'x'.repeat(307_200)}"}`)]).toEqual([each.name, 413])
    }
  })

  test('that is null is a clean refusal wherever a body is needed', async () => {
    for (const each of bounded.filter(({ path }) => !path.includes('/search'))) {
      expect([each.name, await refusedWith(each, 'null')]).toEqual([each.name, 400])
    }
  })

  test.each([
    ['cut off in the middle', '{"job":{"request":'],
    ['that is no JSON', 'name=value'],
    ['deeper than anything means', `${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`],
    ['that is a list', '[]'],
    ['with a prototype for a member', '{"__proto__":{"admin":true}}'],
    ['with the character U+0000', '{"a":"\\u0000"}'],
  ] as const)('%s is 400 everywhere', async (_, body) => {
    for (const each of bounded) expect([each.name, await refusedWith(each, body)]).toEqual([each.name, 400])
  })

  test('in another encoding than UTF-8 is a clean refusal everywhere', async () => {
    const bytes = new Uint8Array([0x7b, 0x22, 0xe9, 0x22, 0x3a, 0x31, 0x7d])
    for (const each of bounded) expect([each.name, await refusedWith(each, bytes)]).toEqual([each.name, 400])
  })

  test('of another content type is 415 everywhere at the door for clients', async () => {
    for (const each of withBody.filter(({ path }) => path.startsWith('/north/'))) {
      expect([each.name, await refusedWith(each, '<job/>', 'application/xml')]).toEqual([each.name, 415])
    }
  })

  test('with an unknown member is refused by its name where bodies are exact', async () => {
    const exact = withBody.filter(({ path }) => /\/operation\/(jobs|tasks)|\/operationTypes\/|\/search\//.test(path))
    expect(exact.length).toBeGreaterThan(40)
    for (const each of exact) {
      const body = each.path.includes('/search')
        ? { surprise: 1 }
        : { ...(example(each.operation) as object), surprise: 1 }
      const told = await refusal(each.method, concrete(each), body)
      expect([each.name, told.status, told.code], told.message).toEqual([each.name, 400, '0x010003'])
      expect(told.fields, each.name).toContain('surprise')
    }
  })
})
