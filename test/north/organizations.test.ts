/** Organizations: made and removed by root alone, and never seen from another. */
import { expect, test } from 'vitest'
import { CATALOG } from '../../src/domain/catalog.ts'
import { organizationRoutes } from '../../src/north/organizations.ts'
import { userRoutes } from '../../src/north/users.ts'
import { listOperationTypes } from '../../src/store/operation-types.ts'
import { readOrganization } from '../../src/store/organizations.ts'
import { errorOf, openDoor } from './authenticated-door.ts'

const door = await openDoor({
  nouns(app, parts) {
    userRoutes(app, parts)
    organizationRoutes(app, parts)
  },
})
const { call, root, database } = door
const path = '/provision/organizations'

test('an organization is created with a location, read, changed member by member, and removed', async () => {
  const organization = {
    name: 'agua & sol',
    description: 'd',
    countryCode: 'ES',
    langCode: 'en',
    timezone: 'UTC',
    plan: 7,
  }
  const created = await call(root.key, 'POST', path, { organization })
  expect(created.status).toBe(201)
  expect(created.headers.location).toBe(`/north/v80${path}/agua%20%26%20sol`)
  expect((await call(root.key, 'GET', `${path}/agua%20%26%20sol`)).json()).toEqual({ organization })
  const changed = await call(root.key, 'PUT', `${path}/agua%20%26%20sol`, {
    organization: { plan: null, description: 'e' },
  })
  const { plan: _, ...rest } = organization
  expect(changed.json()).toEqual({ organization: { ...rest, description: 'e' } })
  expect((await call(root.key, 'DELETE', `${path}/agua%20%26%20sol`)).status).toBe(200)
  expect((await call(root.key, 'GET', `${path}/agua%20%26%20sol`)).status).toBe(404)
})

test('an organization starts with its own clone of every type of the catalog', async () => {
  await call(root.key, 'POST', path, { organization: { name: 'fresh' } })
  const { organization } = (await readOrganization(database, 'fresh'))!
  const types = await listOperationTypes(database, organization)
  expect(types.map(({ name, fromCatalog }) => [name, fromCatalog])).toEqual(
    CATALOG.map(({ name }) => [name, name]).toSorted(),
  )
})

test('removing an organization closes what runs in it first, and its users are out', async () => {
  await call(root.key, 'POST', path, { organization: { name: 'doomed' } })
  const { organization } = (await readOrganization(database, 'doomed'))!
  const { key, email } = await door.user('admin', 'doomed')
  expect((await call(key, 'GET', `${path}/doomed`)).status).toBe(200)
  expect((await call(root.key, 'DELETE', `${path}/doomed`)).status).toBe(200)
  expect(door.closed).toContain(organization)
  expect((await call(key, 'GET', `${path}/doomed`)).status).toBe(401)
  expect((await call(root.key, 'GET', `/provision/users/${email}`)).status).toBe(404)
})

test('a name that is taken is refused as a duplicate', async () => {
  const answer = await call(root.key, 'POST', path, { organization: { name: 'first' } })
  expect(answer.status).toBe(400)
  expect(errorOf(answer)).toMatchObject({ code: '0x010114', context: [{ name: 'organization.name', value: 'first' }] })
})

test.each([
  ['name', undefined, '0x010000', 'organization.name'],
  ['name', '', '0x010001', 'organization.name'],
  ['name', 'a/b', '0x010001', 'organization.name'],
  ['name', ' padded', '0x010001', 'organization.name'],
  ['name', 'x'.repeat(101), '0x010001', 'organization.name'],
  ['timezone', 3, '0x010001', 'organization.timezone'],
])('an organization with a bad %s (%s) is refused, and the field named', async (member, value, code, field) => {
  const answer = await call(root.key, 'POST', path, { organization: { name: 'fine', [member]: value } })
  expect(answer.status).toBe(400)
  expect(errorOf(answer)).toMatchObject({ code, context: [{ name: field }] })
})

test('its own users read it and no other, and only root makes, changes and removes one', async () => {
  await call(root.key, 'POST', path, { organization: { name: 'neighbour' } })
  const { key } = await door.user('admin')
  expect((await call(key, 'GET', `${path}/first`)).status).toBe(200)
  expect((await call(key, 'POST', path, { organization: { name: 'mine' } })).status).toBe(403)
  expect((await call(key, 'PUT', `${path}/first`, { organization: { description: 'x' } })).status).toBe(403)
  expect((await call(key, 'DELETE', `${path}/first`)).status).toBe(403)
  for (const method of ['GET', 'PUT', 'DELETE'] as const) {
    const body = method === 'PUT' ? { organization: { description: 'x' } } : undefined
    const foreign = await call(key, method, `${path}/neighbour`, body)
    const unknown = await call(key, method, `${path}/nowhere`, body)
    expect([foreign.status, unknown.status]).toEqual([404, 404])
    expect(errorOf(foreign).code).toBe('0x010015')
  }
})

test('root cannot remove the organization it belongs to', async () => {
  const answer = await call(root.key, 'DELETE', `${path}/first`)
  expect(answer.status).toBe(400)
  expect((await call(root.key, 'GET', `${path}/first`)).status).toBe(200)
})
