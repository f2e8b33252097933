import { describe, expect, it } from 'vitest'
import { entityRoutes } from '../../src/north/entities.ts'
import { testDatabase } from '../database.ts'
import { addOrganization, testEntities } from '../entity-rows.ts'
import { openEntityDoor } from './entity-door.ts'

const { database } = await testDatabase()
const entities = testEntities(database)
const acme = await addOrganization(database, 'acme')
const { ask } = openEntityDoor(acme, app => entityRoutes(app, { database, entities }))

const box = (value: unknown) => ({ _value: { _current: { value } } })
const device = (identifier: string, more: Record<string, unknown> = {}) => ({
  'provision.device.identifier': box(identifier),
  ...more,
})
const MODULES = 'provision.device.communicationModules[]'

describe('a device', () => {
  it('is created with its address and its key, once', async () => {
    const created = await ask('POST', '/devices?flattened=true', device('p1'))
    expect(created.statusCode).toBe(201)
    expect(created.body).toBe('')
    expect(created.headers).toMatchObject({
      location: '/north/v80/provision/organizations/acme/devices/p1',
      'x-apikey': expect.stringMatching(/^key-/),
      'access-control-expose-headers': expect.stringContaining('x-apikey'),
    })
    const again = await ask('POST', '/devices?flattened=true', device('p1'))
    expect([again.statusCode, again.json().errors[0].code]).toEqual([400, '0x010114'])
    const read = await ask('GET', '/devices/p1?flattened=true')
    expect(read.headers).not.toHaveProperty('x-apikey')
  })

  it('reads back in either form', async () => {
    await ask('POST', '/devices?flattened=true', device('r1', { 'provision.administration.channel': box('north') }))
    const flat = await ask('GET', '/devices/r1?flattened=true')
    expect(flat.json()).toEqual({
      'provision.administration.channel': box('north'),
      'provision.administration.identifier': box('r1'),
      'provision.administration.organization': box('acme'),
      'provision.device.identifier': box('r1'),
      resourceType: box('entity.device'),
    })
    const nested = await ask('GET', '/entities/r1')
    expect(nested.json()).toMatchObject({
      provision: { device: { identifier: { _current: { value: 'r1' } } } },
      resourceType: { _current: { value: 'entity.device' } },
    })
    await ask('DELETE', '/devices/r1')
    expect((await ask('POST', '/devices', nested.json())).statusCode).toBe(201)
    expect((await ask('GET', '/devices/r1?flattened=true')).json()).toEqual(flat.json())
  })

  it('is replaced, patched and deleted', async () => {
    await ask('POST', '/devices?flattened=true', device('c1', { 'provision.device.name': box('one') }))
    const put = await ask('PUT', '/devices/c1?flattened=true', { 'provision.device.description': box('two') })
    expect([put.statusCode, put.body]).toEqual([200, ''])
    expect((await ask('PATCH', '/devices/c1', { provision: { device: { name: 'three' } } })).statusCode).toBe(200)
    expect((await ask('GET', '/devices/c1?flattened=true')).json()).toMatchObject({
      'provision.device.name': box('three'),
      'provision.device.description': box('two'),
    })
    expect((await ask('DELETE', '/devices/c1')).statusCode).toBe(200)
    const gone = await ask('GET', '/devices/c1')
    expect([gone.statusCode, gone.json().errors[0].code]).toEqual([404, '0x010006'])
  })

  it('has any id that a path can carry, percent-encoded', async () => {
    const id = 'a/b ü+%'
    const created = await ask('POST', '/devices?flattened=true', device(id))
    expect(created.headers.location).toBe(`/north/v80/provision/organizations/acme/devices/${encodeURIComponent(id)}`)
    expect((await ask('GET', String(created.headers.location))).statusCode).toBe(200)
  })

  it('gets a new key, or none, and only a device does', async () => {
    await ask('POST', '/devices?flattened=true', device('k1'))
    await ask('POST', '/assets?flattened=true', { 'provision.asset.identifier': box('k2') })
    const renewed = await ask('POST', '/devices/k1/key')
    expect([renewed.statusCode, renewed.headers['x-apikey']]).toEqual([201, expect.stringMatching(/^key-/)])
    expect((await ask('DELETE', '/devices/k1/key')).statusCode).toBe(200)
    for (const id of ['k2', 'nobody']) {
      const refused = await ask('POST', `/devices/${id}/key`)
      expect([refused.statusCode, refused.json().errors[0].code]).toEqual([404, '0x010006'])
    }
  })
})

describe('every kind', () => {
  const kinds: [word: string, body: Record<string, unknown>, resourceType: string][] = [
    ['assets', { 'provision.asset.identifier': box('v1') }, 'entity.asset'],
    ['subscriptions', { [`${MODULES}.subscription.identifier`]: box('v2') }, 'entity.subscription'],
    ['subscribers', { [`${MODULES}.subscriber.identifier`]: box('v3') }, 'entity.subscriber'],
    ['communicationsModules', { [`${MODULES}.identifier`]: box('v4') }, 'entity.commsModule'],
    ['entities', { resourceType: box('entity.asset'), 'provision.asset.identifier': box('v5') }, 'entity.asset'],
  ]
  it.each(kinds)('is provisioned under its word: %s', async (word, body, resourceType) => {
    const created = await ask('POST', `/${word}?flattened=true`, body)
    expect(created.statusCode).toBe(201)
    expect(created.headers).not.toHaveProperty('x-apikey')
    const location = String(created.headers.location)
    expect((await ask('GET', `${location}?flattened=true`)).json()).toMatchObject({
      ...body,
      resourceType: box(resourceType),
    })
    const elsewhere = await ask('GET', `/devices/${location.split('/').at(-1)}`)
    expect(elsewhere.statusCode).toBe(404)
    expect((await ask('DELETE', location)).statusCode).toBe(200)
  })

  it('is found by a device built after it', async () => {
    expect((await ask('GET', '/subscriptions/sub1')).statusCode).toBe(404)
    await ask('POST', '/subscriptions?flattened=true', {
      [`${MODULES}.subscription.identifier`]: box('sub1'),
      'provision.administration.serviceGroup': box('emptyServiceGroup'),
    })
    await ask(
      'POST',
      '/devices?flattened=true',
      device('b1', { [`${MODULES}.identifier`]: [{ _index: { value: 'cm1' }, ...box('cm1') }] }),
    )
    const body = device('b1', {
      [`${MODULES}.identifier`]: [{ _index: { value: 'cm1' }, ...box('cm1') }],
      [`${MODULES}.subscription.identifier`]: [{ _index: { value: 'cm1' }, ...box('sub1') }],
    })
    expect((await ask('PUT', '/devices/b1?flattened=true', body)).statusCode).toBe(200)
    expect((await ask('GET', '/devices/b1?flattened=true')).json()).toMatchObject(body)
  })
})

describe('a refusal', () => {
  it('is 404 for another organization, and names it', async () => {
    const refused = await ask('GET', '/north/v80/provision/organizations/other/devices/p1')
    expect([refused.statusCode, refused.json().errors[0].code]).toEqual([404, '0x010015'])
  })

  const faults: [string, string, unknown, string, string][] = [
    ['a missing identifier', '/devices', {}, '0x010000', 'provision.device.identifier'],
    [
      'another kind',
      '/devices?flattened=true',
      device('x', { resourceType: 'entity.asset' }),
      '0x010001',
      'resourceType',
    ],
    [
      'another organization',
      '/devices',
      { provision: { device: { identifier: 'x' }, administration: { organization: 'o' } } },
      '0x010001',
      'provision.administration.organization',
    ],
    ['a list as body', '/devices', [], '0x010001', 'body'],
    ['a flag that is neither', '/devices?flattened=maybe', {}, '0x010001', 'flattened'],
  ]
  it.each(faults)('names the field: %s', async (_, path, body, code, name) => {
    const refused = await ask('POST', path, body)
    expect(refused.statusCode).toBe(400)
    expect(refused.json().errors[0]).toMatchObject({ code, context: [{ name }] })
  })

  it('is 404 for changing what is not there', async () => {
    for (const method of ['PUT', 'PATCH', 'DELETE'] as const) {
      const refused = await ask(method, '/devices/nobody', method === 'DELETE' ? undefined : {})
      expect([refused.statusCode, refused.json().errors[0].code]).toEqual([404, '0x010006'])
    }
  })
})
