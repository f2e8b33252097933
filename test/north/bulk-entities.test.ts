import { request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, describe, expect, it } from 'vitest'
import { bulkRoutes } from '../../src/north/bulk-entities.ts'
import { entityRoutes } from '../../src/north/entities.ts'
import { testDatabase } from '../database.ts'
import { addOrganization, testEntities } from '../entity-rows.ts'
import { openEntityDoor } from './entity-door.ts'

const { database } = await testDatabase()
const entities = testEntities(database)
const acme = await addOrganization(database, 'acme')
const { ask, server } = openEntityDoor(acme, app => {
  entityRoutes(app, { database, entities })
  bulkRoutes(app, { entities, bulkBytesMax: 4_000_000, bulkRowsMax: 12_000 })
})
afterAll(() => server.close())

const path = '/north/v80/provision/organizations/acme/bulk/entities'

function bulk(action: string, payload: string, headers: Record<string, string> = {}) {
  return server.inject({
    method: 'POST',
    url: `${path}?action=${action}`,
    payload,
    headers: { 'content-type': 'application/json', ...headers },
  })
}

const list = (...entities: unknown[]) => JSON.stringify({ entities })
const device = (identifier: string, more: Record<string, unknown> = {}) => ({
  'provision.device.identifier': identifier,
  ...more,
})

describe('bulk provisioning in JSON', () => {
  it('answers each row on its own, in order', async () => {
    const answer = await bulk(
      'CREATE',
      list(device('j1'), { 'provision.asset.identifier': 'j2' }, device('j1'), { x: 1 }, 'no entity'),
    )
    expect(answer.statusCode).toBe(200)
    const location = '/north/v80/provision/organizations/acme/entities'
    expect(answer.json()).toEqual({
      total: 5,
      failed: 3,
      entities: [
        { identifier: 'j1', statusCode: 201, location: `${location}/j1`, apiKey: expect.any(String) },
        { identifier: 'j2', statusCode: 201, location: `${location}/j2` },
        { statusCode: 400, errors: [expect.objectContaining({ code: '0x010114' })] },
        { statusCode: 400, errors: [expect.objectContaining({ code: '0x010000' })] },
        { statusCode: 400, errors: [expect.objectContaining({ code: '0x010001' })] },
      ],
    })
    expect((await ask('GET', `${location}/j2`)).statusCode).toBe(200)
  })

  it('refuses a row with a number beyond the range of numbers, which would be kept as null, and names the field', async () => {
    const rows = [
      '"own": 1e400',
      '"own": { "a": [-1e400] }',
      '"provision.device.location": { "x": 1e999 }',
      '"own": 1e300',
    ]
    const entities = rows.map((row, at) => `{ "provision.device.identifier": "vast-${at}", ${row} }`)
    const answer = await bulk('CREATE', `{ "entities": [${entities}] }`)
    const refused = (name: string) => ({
      statusCode: 400,
      errors: [expect.objectContaining({ context: [{ name, value: 'is a number too large to keep' }] })],
    })
    expect(answer.json().entities).toEqual([
      refused('own'),
      refused('own.a'),
      refused('provision.device.location'),
      expect.objectContaining({ identifier: 'vast-3', statusCode: 201 }),
    ])
    const csv = 'provision.device.identifier;provision.device.location\nvast-4;"{""x"":1e400}"'
    expect((await bulk('CREATE', csv, { 'content-type': 'text/csv' })).json().entities).toEqual([
      refused('provision.device.location'),
    ])
  })

  it('takes both forms, and does the other actions as well', async () => {
    await bulk('CREATE', list({ provision: { device: { identifier: 'f1', name: 'one' } } }, device('f2')))
    const patched = await bulk('PATCH', list(device('f1', { 'provision.device.description': 'd' }), device('f9')))
    expect(patched.json().entities.map((row: { statusCode: number }) => row.statusCode)).toEqual([200, 404])
    expect((await ask('GET', '/devices/f1')).json()).toMatchObject({
      provision: { device: { name: { _current: { value: 'one' } }, description: { _current: { value: 'd' } } } },
    })
    await bulk('UPDATE', list(device('f1')))
    expect((await ask('GET', '/devices/f1')).json().provision.device).not.toHaveProperty('name')
    const deleted = await bulk('DELETE', list(device('f1'), { 'provision.administration.identifier': 'f2' }))
    expect(deleted.json()).toMatchObject({ total: 2, failed: 0 })
    expect((await ask('GET', '/devices/f2')).statusCode).toBe(404)
  })

  it('provisions ten thousand devices in seconds', async () => {
    const started = performance.now()
    const answer = await bulk('CREATE', list(...Array.from({ length: 10_000 }, (_, at) => device(`ten-${at}`))))
    expect(answer.json()).toMatchObject({ total: 10_000, failed: 0 })
    expect(performance.now() - started).toBeLessThan(20_000)
  })

  it('keeps what was done before a fault of the body, and says so', async () => {
    const answer = await bulk('CREATE', list(device('b1'), device('b2')).slice(0, -2))
    expect(answer.statusCode).toBe(400)
    expect(answer.json()).toMatchObject({
      total: 1,
      entities: [{ identifier: 'b1', statusCode: 201 }],
      errors: [{ code: '0x010202', context: [{ value: 'the body breaks off' }] }],
    })
    expect((await ask('GET', '/devices/b1')).statusCode).toBe(200)
  })

  it('is refused as any other request where nothing was done', async () => {
    const faults: [string, string, Record<string, string>, number, string][] = [
      ['CREATE', '{"entities":', {}, 400, '0x010202'],
      ['CREATE', '{}', {}, 400, '0x010000'],
      ['REMOVE', list(), {}, 400, '0x010001'],
      ['CREATE', list(), { 'content-type': 'application/xml' }, 415, '0x010201'],
    ]
    for (const [action, payload, headers, status, code] of faults) {
      const answer = await bulk(action, payload, headers)
      expect([answer.statusCode, answer.json().errors[0].code]).toEqual([status, code])
    }
  })

  it('is bounded in bytes and in rows, whole over a real connection', async () => {
    await server.listen({ host: '127.0.0.1', port: 0 })
    const { port } = server.server.address() as AddressInfo
    const answer = await new Promise<{ status: number; text: string }>((resolve, reject) => {
      const call = request(
        {
          host: '127.0.0.1',
          port,
          path: `${path}?action=PATCH`,
          method: 'POST',
          headers: { 'content-type': 'application/json' },
        },
        async response => {
          let text = ''
          for await (const chunk of response) text += chunk
          resolve({ status: response.statusCode!, text })
        },
      )
      call.on('error', reject)
      call.write('{"entities":[')
      for (let at = 0; at < 50; at++) call.write(`${JSON.stringify(device('none', { x: 'x'.repeat(100_000) }))},`)
      call.end(`${JSON.stringify(device('none'))}]}`)
    })
    expect(answer.status).toBe(413)
    expect(JSON.parse(answer.text).errors[0].code).toBe('0x010200')
    const rows = await bulk('PATCH', list(...Array.from({ length: 12_001 }, () => 1)))
    expect([rows.statusCode, rows.json().total]).toEqual([413, 12_000])
  })
})

describe('bulk provisioning in CSV', () => {
  const csv = { 'content-type': 'text/csv' }

  it('takes ids in the first line and an entity in each further one', async () => {
    const answer = await bulk(
      'CREATE',
      [
        '\uFEFFresourceType;provision.device.identifier;provision.administration.tags;provision.device.communicationModules[].identifier;provision.device.communicationModules[].identifier;provision.device.location',
        'entity.device;c1;"roof,beta";lte;wifi;"{""position"":1}"',
        'entity.device;c2;"[""a,b""]";;;',
        '',
        'entity.device;c3;;;;;too much',
        'entity.car;c4',
      ].join('\r\n'),
      csv,
    )
    expect(answer.json()).toMatchObject({ total: 4, failed: 2 })
    expect((await ask('GET', '/devices/c1?flattened=true')).json()).toMatchObject({
      'provision.administration.tags': { _value: { _current: { value: ['roof', 'beta'] } } },
      'provision.device.communicationModules[].identifier': [
        { _index: { value: 'lte' }, _value: { _current: { value: 'lte' } } },
        { _index: { value: 'wifi' }, _value: { _current: { value: 'wifi' } } },
      ],
      'provision.device.location': { _value: { _current: { value: { position: 1 } } } },
    })
    expect((await ask('GET', '/devices/c2?flattened=true')).json()).toMatchObject({
      'provision.administration.tags': { _value: { _current: { value: ['a,b'] } } },
    })
  })

  it('answers as CSV where that is accepted', async () => {
    const answer = await bulk('CREATE', 'provision.device.identifier,provision.device.name\nv1,"x;y"\nv1,\n', {
      'content-type': 'text/plain',
      accept: 'text/plain',
    })
    expect(answer.headers['content-type']).toMatch(/^text\/plain/)
    expect(answer.body).toBe(
      [
        'statusCode;location;errors',
        '201;/north/v80/provision/organizations/acme/entities/v1;',
        '400;;0x010114 Entity duplicated. provision.device.identifier',
        '',
      ].join('\n'),
    )
  })

  it('refuses what is no CSV', async () => {
    for (const body of ['', 'provision.device.identifier\n"a'])
      expect((await bulk('CREATE', body, csv)).json().errors[0].code).toBe('0x010202')
  })

  it('takes ten thousand rows', async () => {
    const rows = Array.from({ length: 10_000 }, (_, at) => `csv-${at};name ${at}`)
    const answer = await bulk('CREATE', ['provision.device.identifier;provision.device.name', ...rows].join('\n'), csv)
    expect(answer.json()).toMatchObject({ total: 10_000, failed: 0 })
  })
})
