import { beforeAll, describe, expect, it } from 'vitest'
import { createClock } from '../../src/engine/clock.ts'
import { createCollection } from '../../src/engine/collection.ts'
import { createDatastreams } from '../../src/engine/datastreams.ts'
import { dataModelRoutes } from '../../src/north/data-models.ts'
import { searchEntityRoutes } from '../../src/north/search-entities.ts'
import { compileEntityFilter } from '../../src/store/entity-filter.ts'
import { sql } from '../../src/store/statement.ts'
import { testDatabase } from '../database.ts'
import { addEntity, addOrganization, testEntities } from '../entity-rows.ts'
import { openEntityDoor } from './entity-door.ts'

const { database } = await testDatabase()
const entities = testEntities(database)
const acme = await addOrganization(database, 'acme')
const other = await addOrganization(database, 'other')
const { ask, server } = openEntityDoor(acme, app => {
  searchEntityRoutes(app, { database })
  dataModelRoutes(app, { database })
})
const MODULES = 'provision.device.communicationModules[]'
const NOW = Date.UTC(2031, 0, 1)

beforeAll(async () => {
  const add = (body: Record<string, unknown>, owner = acme) => addEntity(database, entities, owner, body)
  const d1 = await add({
    'provision.device.identifier': 'd1',
    'provision.administration.channel': 'north',
    'provision.administration.tags': ['roof', 'beta'],
    'provision.device.model': { manufacturer: 'm', name: 'n' },
    'provision.device.location': { position: { type: 'Point', coordinates: [2, 41] } },
    [`${MODULES}.subscription.identifier`]: ['s1', 's2'],
    'site.floor': 3,
  })
  const d2 = await add({
    'provision.device.identifier': 'd2',
    'provision.administration.channel': 'south',
    'provision.administration.tags': ['roof'],
    'provision.device.model': 'n',
    'site.floor': '3',
  })
  await add({ 'provision.device.identifier': 'd3', 'site.rooms[].name': ['hall', 'attic'] })
  await add({ 'provision.asset.identifier': 'a1', 'provision.administration.channel': 'north' })
  await add({ [`${MODULES}.subscription.identifier`]: 's1', [`${MODULES}.subscription.address`]: '10.0.0.1' })
  await add({ 'provision.device.identifier': 'd1', 'provision.device.name': 'stranger', secret: 1 }, other)
  const datastreams = createDatastreams(database)
  const collection = createCollection({ database, clock: createClock(() => NOW), datastreams })
  const iot = (device: typeof d1, values: Record<string, unknown>) =>
    collection.iot(
      { organization: acme.organization, ...device },
      { datastreams: Object.entries(values).map(([id, value]) => ({ id, datapoints: [{ value }] })) },
    )
  await iot(d1, { temp: 21.5, 'lower room': 18, door: 'open', 'subscription.collected.cellInfo': 'cell-1' })
  await iot(d2, { temp: 19, 'site.floor': 9 })
})

/** The identifiers of what a filter finds, in order. */
async function found(filter: unknown, path = '/search/entities'): Promise<string[]> {
  const answer = await ask('POST', `/north/v80${path}?flattened=true`, { filter })
  if (answer.statusCode === 204) return []
  expect(answer.statusCode, answer.body).toBe(200)
  const { page: _, ...named } = answer.json()
  const [rows] = Object.values(named) as Record<string, { _value: { _current: { value: string } } }>[][]
  return rows!.map(row => row['provision.administration.identifier']!._value._current.value).sort()
}

describe('a filter of entities', () => {
  const cases: [filter: Record<string, unknown>, identifiers: string[]][] = [
    [{}, ['a1', 'd1', 'd2', 'd3', 's1']],
    [{ eq: { 'provision.device.identifier': 'd1' } }, ['d1']],
    [{ eq: { 'provision.device.identifier': 'a1' } }, []],
    [{ eq: { entityId: 'a1' } }, ['a1']],
    [{ in: { 'provision.administration.identifier': ['d2', 's1', 'x'] } }, ['d2', 's1']],
    [{ eq: { resourceType: 'entity.asset' } }, ['a1']],
    [{ eq: { 'provision.administration.tags': 'beta' } }, ['d1']],
    [{ eq: { tag: 'roof' } }, ['d1', 'd2']],
    [{ neq: { tag: 'roof' } }, ['a1', 'd3', 's1']],
    [{ like: { 'provision.administration.tags': '^be' } }, ['d1']],
    [{ exists: { tag: true } }, ['d1', 'd2']],
    [{ eq: { 'provision.administration.channel': 'north' } }, ['a1', 'd1']],
    [{ like: { 'provision.device.identifier': '^d[23]' } }, ['d2', 'd3']],
    [{ exists: { 'provision.device.identifier': true } }, ['d1', 'd2', 'd3']],
    [{ exists: { 'provision.administration.channel': false } }, ['d3', 's1']],
    [{ eq: { [`${MODULES}.subscription.identifier`]: 's2' } }, ['d1']],
    [{ eq: { [`${MODULES}.subscription.identifier`]: 's1' } }, ['d1', 's1']],
    [{ like: { [`${MODULES}.subscription.identifier`]: '2$' } }, ['d1']],
    [{ exists: { [`${MODULES}.subscription.identifier`]: true } }, ['d1', 's1']],
    [{ eq: { 'provision.device.model': 'n' } }, ['d1', 'd2']],
    [{ eq: { 'site.floor': 3 } }, ['d1']],
    [{ eq: { 'site.floor': '3' } }, ['d1', 'd2']],
    [{ eq: { 'site.rooms[].name': 'attic' } }, ['d3']],
    [{ gt: { temp: 20 } }, ['d1']],
    [{ gte: { temp: 19 } }, ['d1', 'd2']],
    [{ eq: { door: 'open' } }, ['d1']],
    [{ eq: { 'subscription.collected.cellInfo': 'cell-1' } }, ['d1', 's1']],
    [{ and: [{ eq: { tag: 'roof' } }, { not: { eq: { temp: 19 } } }] }, ['d1']],
    [
      {
        within: {
          'provision.device.location': {
            type: 'Polygon',
            coordinates: [
              [
                [1, 40],
                [3, 40],
                [3, 42],
                [1, 42],
                [1, 40],
              ],
            ],
          },
        },
      },
      ['d1'],
    ],
  ]
  it.each(cases)('finds by %j', async (filter, identifiers) => {
    expect(await found(filter)).toEqual(identifiers)
    const condition = await compileEntityFilter(database, acme.organization, filter)
    const selected = await database.query<{ identifier: string }>(
      sql`select e.identifier from entity e where e.organization = ${acme.organization} and ${condition}`,
    )
    expect(selected.map(({ identifier }) => identifier).sort()).toEqual(identifiers)
  })

  it('knows ids that its organization uses, and no other', async () => {
    for (const field of ['secret', 'tempo', 'provision.device.nonsense', '']) {
      const refused = await ask('POST', '/north/v80/search/entities', { filter: { eq: { [field]: 1 } } })
      expect(refused.json().errors).toMatchObject([{ code: '0x050014', context: [{ name: field }] }])
      const unknown = compileEntityFilter(database, acme.organization, { eq: { [field]: 1 } })
      await expect(unknown).rejects.toMatchObject({ entry: { code: '0x050014' } })
    }
  })

  it('never runs what a client writes into the name of a field', async () => {
    const name = `x' or 1=1; drop table entity; --`
    expect((await ask('POST', '/north/v80/search/entities', { filter: { eq: { [name]: 1 } } })).statusCode).toBe(400)
    await addEntity(database, entities, other, { 'provision.device.identifier': 'odd', [name]: 1 })
    const condition = await compileEntityFilter(database, other.organization, { eq: { [name]: 1 } })
    const odd = await database.query(sql`select e.identifier from entity e where ${condition}`)
    expect(odd).toEqual([{ identifier: 'odd' }])
  })
})

describe('a search of entities', () => {
  it('answers rows in the shape of their GET, with what was collected', async () => {
    const filter = { eq: { entityId: 'd1' } }
    const flat = await ask('POST', '/north/v80/search/devices?flattened=true', { filter })
    expect(flat.json()).toMatchObject({
      page: { number: 1, of: 1 },
      devices: [
        {
          resourceType: { _value: { _current: { value: 'entity.device' } } },
          temp: { _value: { _current: { value: 21.5, at: '2031-01-01T00:00:00.000Z' } } },
          'site.floor': { _value: { _current: { value: 3 } } },
        },
      ],
    })
    const nested = await ask('POST', '/north/v80/search/entities', { filter })
    expect(nested.json().entities[0]).toMatchObject({
      provision: { device: { identifier: { _current: { value: 'd1' } } } },
      temp: { _current: { value: 21.5 } },
    })
  })

  it('is of one kind under the word of the kind', async () => {
    expect(await found({}, '/search/entities/devices')).toEqual(['d1', 'd2', 'd3'])
    expect(await found({}, '/search/entities/assets')).toEqual(['a1'])
    expect(await found({}, '/search/entities/subscriptions')).toEqual(['s1'])
    expect((await ask('POST', '/north/v80/search/entities/subscribers', {})).statusCode).toBe(204)
  })

  it('sorts, selects and pages', async () => {
    const body = {
      filter: { exists: { temp: true } },
      sort: { parameters: [{ name: 'temp', type: 'ASCENDING' }] },
      select: [
        { name: 'provision.device.identifier', fields: [{ field: 'value', alias: 'id' }] },
        { name: 'temp' },
        { name: 'provision.administration.tags' },
      ],
    }
    expect((await ask('POST', '/north/v80/search/devices', body)).json().devices).toEqual([
      { id: 'd2', temp: 19, provision: { administration: { tags: ['roof'] } } },
      { id: 'd1', temp: 21.5, provision: { administration: { tags: ['roof', 'beta'] } } },
    ])
    const first = (await ask('POST', '/north/v80/search/entities', { limit: { size: 2 } })).json()
    expect([first.page.of, first.entities.length]).toEqual([3, 2])
    const next = await ask('POST', '/north/v80/search/entities', {
      limit: { size: 2, cursor: first.page.cursor ?? first.cursor },
    })
    expect(next.json().entities[0].provision.device.identifier._current.value).toBe('d3')
  })

  it('counts by value', async () => {
    const summary = await ask('POST', '/north/v80/search/entities/summary', {
      filter: { and: [{ exists: { 'provision.device.identifier': true } }] },
      limit: { size: 1000, start: 1 },
      group: { parameters: [{ name: 'provision.administration.channel' }] },
    })
    expect(summary.json()).toEqual({
      summary: {
        count: 3,
        summaryGroup: [
          {
            'provision.administration.channel': {
              count: 2,
              list: [
                { name: 'north', count: 1 },
                { name: 'south', count: 1 },
              ],
            },
          },
        ],
      },
    })
    expect((await ask('POST', '/north/v80/search/devices/summary', {})).json().summary.resourceType.list).toEqual([
      { name: 'entity.device', count: 3 },
    ])
  })

  it('answers as CSV, with what was collected under ids that clients made up', async () => {
    const answer = await server.inject({
      method: 'POST',
      url: '/north/v80/search/devices',
      headers: { accept: 'text/plain', 'content-type': 'application/json' },
      payload: { filter: { eq: { entityId: 'd1' } } },
    })
    const [header, row] = answer.body.split('\n').map(line => line.split(';'))
    const cell = (id: string) => row![header!.indexOf(id)]
    expect([cell('provision.device.identifier'), cell('temp'), cell('site.floor')]).toEqual(['d1', '21.5', '3'])
    expect(cell('lower room')).toBe('18')
    expect(header).not.toContain('provision.asset.identifier')
  })

  it('finds by what it is usually asked for without reading every entity', async () => {
    await database.query(sql`
      insert into entity (partition, entity, organization, identifier, resource_type, document, created_at, updated_at)
      select n % 256, n, ${other.organization}, 'many-' || n, 'entity.device',
             jsonb_build_object('provision.device.serialNumber', 'sn-' || n), now(), now() from generate_series(1, 20000) n`)
    await database.query(sql`analyze entity`)
    for (const filter of [
      { eq: { 'provision.device.identifier': 'many-7' } },
      { in: { entityId: ['many-7', 'many-8'] } },
      { eq: { tag: 'roof' } },
      { eq: { 'provision.device.serialNumber': 'sn-7' } },
      { eq: { [`${MODULES}.subscription.identifier`]: 's1' } },
    ]) {
      const condition = await compileEntityFilter(database, other.organization, filter)
      const plan = await database.query<Record<string, string>>(
        sql`explain select from entity e where e.organization = ${other.organization} and ${condition}`,
      )
      expect(plan.map(row => row['QUERY PLAN']).join('\n')).not.toContain('Seq Scan')
    }
  })
})

describe('the data model', () => {
  it('names every id that can be provisioned of a kind, as a device builder asks for it', async () => {
    const answer = await ask('POST', '/north/v80/search/datamodels', {
      filter: {
        and: [
          { like: { 'datamodels.categories.datastreams.identifier': 'provision' } },
          { eq: { 'datamodels.organizationName': 'acme' } },
          { eq: { 'datamodels.allowedResourceTypes': 'entity.device' } },
        ],
      },
      limit: { size: 1000, start: 1 },
    })
    const { page, datamodels } = answer.json()
    expect([page, datamodels.length]).toEqual([{ number: 1, of: 1 }, 1])
    expect(datamodels[0]).toMatchObject({ identifier: 'entity.device', organizationName: 'acme' })
    const streams = datamodels[0].categories.flatMap((each: { datastreams: unknown[] }) => each.datastreams)
    expect(streams).toContainEqual({
      identifier: 'provision.device.identifier',
      name: 'identifier',
      calculated: false,
      schema: { type: 'string' },
    })
    const ids = streams.map((each: { identifier: string }) => each.identifier)
    for (const id of [
      'provision.administration.tags',
      'provision.device.operation.flow',
      `${MODULES}.subscription.address`,
    ])
      expect(ids).toContain(id)
    expect(ids).not.toContain('provision.asset.name')
  })

  it('is found with `[]` in the names as well, and not where nothing fits', async () => {
    const body = (value: string) => ({ filter: { eq: { 'datamodels.categories[].datastreams[].identifier': value } } })
    const answer = await ask('POST', '/north/v80/search/datamodels', body('provision.asset.name'))
    expect(answer.json().datamodels.map((each: { identifier: string }) => each.identifier)).toEqual(['entity.asset'])
    expect((await ask('POST', '/north/v80/search/datamodels', body('nothing'))).statusCode).toBe(204)
  })

  it('has its basic types beside it', async () => {
    const answer = await ask('GET', '/north/v80/resources/schemaTypes/og_basic_types')
    expect(answer.json()).toMatchObject({ definitions: { string: { type: 'string' } } })
  })
})
