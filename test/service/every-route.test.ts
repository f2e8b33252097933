/** What holds for every route of the client interface, asked of each that the service itself describes: a new one cannot be forgotten. */
import { expect, test } from 'vitest'
import { openHouse } from './house.ts'

const house = await openHouse()
const { client } = house

interface Route {
  readonly method: string
  readonly path: string
  readonly isOpen: boolean
}

const { paths } = (await (await fetch(`${house.url}/openapi.json`)).json()) as {
  paths: Record<string, Record<string, { security?: unknown[] }>>
}
const routes: Route[] = Object.entries(paths)
  .filter(([path]) => path.startsWith('/north/'))
  .flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, { security }]) => ({
      method: method.toUpperCase(),
      path,
      isOpen: security?.length === 0,
    })),
  )

const keyOf = async (email: string, profile: string, organization: string) => {
  const user = { email, password: 'a good password', profile, domain: organization }
  expect((await client.call('POST', '/north/v80/provision/users', { user })).status).toBe(201)
  const { body } = await client.call<{ user: { apiKey: string } }>('GET', `/north/v80/provision/users/${email}`)
  return body.user.apiKey
}
await client.call('POST', '/north/v80/provision/organizations', { organization: { name: 'neighbours' } })
const viewer = await keyOf('viewer@drover.test', 'viewer', 'drover')
const neighbour = await keyOf('admin@neighbours.test', 'admin', 'neighbours')

/** One of everything, in the first organization. */
await house.provision('mine', { 'provision.device.operation.flow': 'pull' })
const job = await house.start('mine')
const made = await client.call<{ task: { id: string } }>('POST', '/north/v80/operation/tasks', {
  task: {
    active: false,
    job: { request: { name: 'REFRESH_INFO', target: { append: { entities: ['mine'] } } } },
  },
})
const source = 'function request() { return {} }'
const functions = '/north/v80/connectorFunctions/provision/organizations/drover'
await client.call('POST', functions, { name: 'mine', source })
const operation = (await house.operationOf(job))!.operationId

const REAL: Readonly<Record<string, string>> = {
  organization: 'drover',
  organizationName: 'drover',
  jobId: job,
  operationId: operation,
  taskId: made.body.task.id,
  email: 'viewer@drover.test',
  name: 'REBOOT_EQUIPMENT',
  operationName: 'REBOOT_EQUIPMENT',
  identifier: 'mine',
  functionName: 'mine',
  deviceId: 'mine',
  id: 'mine',
  deliveryId: '00000000-0000-4000-8000-000000000000',
}
/** What belongs to no organization. */
const EVERYBODYS = ['/operationTypes/catalog', '/resources/schemaTypes/']
const isEverybodys = ({ path }: Route) => EVERYBODYS.some(each => path.includes(each))

function addressOf(path: string): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const real = path.startsWith('/north/v80/provision/organizations/') && name === 'name' ? 'drover' : REAL[name]
    if (real === undefined) throw new Error(`what stands for {${name}} in ${path}?`)
    return encodeURIComponent(real)
  })
}

const changes = (method: string) => method !== 'GET'
const isSearch = (path: string) => /\/search(\/|$)/.test(path)
/** Bodies that are well-formed, so that it is not for them that a request is refused. */
const BODIES: readonly [RegExp, unknown][] = [
  [/\/operation\/jobs\/\{/, { job: { request: { active: true } } }],
  [/\/operation\/tasks\/\{/, { task: { active: false } }],
  [/\/provision\/users\/\{/, { user: { name: 'New' } }],
  [/\/provision\/organizations\/\{[^/]*$/, { organization: { description: 'New' } }],
  [/\/operationTypes\/provision\/.*\{.*\{/, { title: 'New' }],
]
const bodyOf = (method: string, path: string) =>
  method === 'GET' || method === 'DELETE' ? undefined : (BODIES.find(([fits]) => fits.test(path))?.[1] ?? {})
const ask = (method: string, path: string, headers: Record<string, string>) =>
  client.call<unknown>(method, addressOf(path), bodyOf(method, path), headers)

test('there are routes of every kind', () => {
  expect(routes.length).toBeGreaterThan(60)
  expect(routes.filter(({ isOpen }) => isOpen).map(({ path }) => path)).toEqual(['/north/v80/provision/users/login'])
})

test('every one is closed to who brings no credentials, or wrong ones', async () => {
  for (const { method, path } of routes.filter(({ isOpen }) => !isOpen)) {
    for (const headers of [{ 'x-apikey': '' }, { 'x-apikey': 'wrong' }, { authorization: 'Bearer wrong' }]) {
      const { status, body } = await ask(method, path, headers)
      expect([method, path, status, body]).toEqual([
        method,
        path,
        401,
        { errors: [{ code: '0x04', message: 'Unauthorized.' }] },
      ])
    }
  }
})

test('every one that changes something is closed to a viewer, but for its own password', async () => {
  for (const { method, path, isOpen } of routes) {
    if (isOpen || !changes(method) || isSearch(path) || path === '/north/v80/provision/users/{email}') continue
    const { status } = await ask(method, path, { 'x-apikey': viewer })
    // What only asks may be asked by POST, too.
    expect([method, path, status === 403 || path.endsWith('/plan')]).toEqual([method, path, true])
  }
})

test('every id of another organization leads nowhere, and every listing shows nothing of it', async () => {
  for (const route of routes) {
    const { method, path, isOpen } = route
    if (isOpen || path.includes('/events') || isEverybodys(route)) continue
    const { status, body } = await ask(method, path, { 'x-apikey': neighbour })
    const text = JSON.stringify(body ?? '')
    expect([method, path, path.includes('{') ? status : status < 500]).toEqual([
      method,
      path,
      path.includes('{') ? 404 : true,
    ])
    expect([method, path, text.includes(job), text.includes('"mine"')]).toEqual([method, path, false, false])
  }
})

test('nothing of it is gone or changed afterwards', async () => {
  const still = (path: string) => client.call('GET', `/north/v80${path}`)
  expect((await still(`/operation/jobs/${job}`)).status).toBe(200)
  expect((await still(`/operation/tasks/${made.body.task.id}`)).status).toBe(200)
  expect((await still('/provision/users/viewer@drover.test')).status).toBe(200)
  expect((await still('/provision/organizations/drover/devices/mine')).status).toBe(200)
  expect((await client.call('GET', `${functions}/mine`)).status).toBe(200)
})
