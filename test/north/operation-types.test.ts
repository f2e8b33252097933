/** Operation types: the catalog, clones, types from scratch, and how they are found. */
import { describe, expect, test } from 'vitest'
import { CATALOG } from '../../src/domain/catalog.ts'
import { createOperationTypes } from '../../src/engine/operation-types.ts'
import { operationTypeRoutes } from '../../src/north/operation-types.ts'
import { organizationRoutes } from '../../src/north/organizations.ts'
import { errorOf, openDoor } from './authenticated-door.ts'

const closing: { name: string }[] = []
let committed = 0
const door = await openDoor({
  nouns(app, parts) {
    organizationRoutes(app, parts)
    const operationTypes = createOperationTypes({
      database: parts.database,
      now: () => new Date(parts.clock.nowMs),
      drainType: async () => ({ operations: ['operation-0'], tasks: ['task-0'] }),
      closeType: async (_tx, _organization, name) => {
        closing.push({ name })
        return { operations: ['operation-1'], tasks: ['task-1'] }
      },
      onCommit: () => {
        committed += 1
      },
    })
    operationTypeRoutes(app, { operationTypes })
  },
})
const { call, root } = door
const path = '/operationTypes/provision/organizations/first'
const create = (body: object, key = root.key) => call(key, 'POST', path, body)
let made = 0
const name = () => {
  made += 1
  return `TYPE_${made}`
}
const scratch = (members: object = {}) => ({ name: name(), applicableTo: ['entity.device'], ...members })

describe('the catalog', () => {
  test('is a bare array of every type', async () => {
    const answer = await call(root.key, 'GET', '/operationTypes/catalog')
    expect(answer.status).toBe(200)
    expect(answer.json()).toEqual(JSON.parse(JSON.stringify(CATALOG)))
  })

  test('has each type by its name, and no other', async () => {
    expect((await call(root.key, 'GET', '/operationTypes/catalog/UPDATE')).json()).toMatchObject({ name: 'UPDATE' })
    expect((await call(root.key, 'GET', '/operationTypes/catalog/NOTHING')).status).toBe(404)
  })
})

describe('a clone', () => {
  test('is created with a location, takes everything from the catalog and says which type it came from', async () => {
    const body = { name: 'REBOOT OF OURS', title: 'T', description: 'D', fromCatalog: 'REBOOT_EQUIPMENT' }
    const answer = await create(body)
    expect(answer.status).toBe(201)
    expect(answer.headers.location).toBe(`/north/v80${path}/REBOOT%20OF%20OURS`)
    const source = JSON.parse(JSON.stringify(CATALOG.find(each => each.name === 'REBOOT_EQUIPMENT')))
    const read = await call(root.key, 'GET', `${path}/REBOOT%20OF%20OURS`)
    expect(read.json()).toEqual({ ...source, ...body })
    expect(answer.json()).toEqual(read.json())
  })

  test('keeps the words of the catalog where it brings none, and may narrow who runs it', async () => {
    const answer = await create({ name: name(), fromCatalog: 'FACTORY_RESET', profiles: ['admin', 'root'] })
    expect(answer.json()).toMatchObject({ title: 'Factory reset', profiles: ['admin', 'root'] })
  })

  test('changes its name, title and description', async () => {
    const { name: before } = (await create({ name: name(), fromCatalog: 'DISCOVER' })).json() as unknown as {
      name: string
    }
    const after = name()
    const changed = await call(root.key, 'PUT', `${path}/${before}`, { name: after, title: 'x', description: null })
    expect(changed.status).toBe(200)
    expect(changed.json()).toMatchObject({ name: after, title: 'x', fromCatalog: 'DISCOVER' })
    expect(changed.json()).not.toHaveProperty('description')
    expect((await call(root.key, 'GET', `${path}/${before}`)).status).toBe(404)
    expect((await call(root.key, 'GET', `${path}/${after}`)).json()).toEqual(changed.json())
  })

  test.each([
    ['parameters', { type: 'object' }],
    ['steps', []],
    ['applicableTo', ['entity.asset']],
    ['models', ['m']],
    ['profiles', ['admin']],
    ['fromCatalog', 'UPDATE'],
  ])('refuses another value of its %s', async (member, value) => {
    const created = (await create({ name: name(), fromCatalog: 'REBOOT_EQUIPMENT' })).json() as unknown as {
      name: string
    }
    const answer = await call(root.key, 'PUT', `${path}/${created.name}`, { [member]: value })
    expect(answer.status).toBe(400)
    expect(errorOf(answer)).toEqual({ code: '0x010003', message: 'Forbidden field.', context: [{ name: member }] })
  })

  test('that is read and put back unchanged stays as it is', async () => {
    const created = (await create({ name: name(), fromCatalog: 'REBOOT_EQUIPMENT' })).json() as unknown as {
      name: string
    }
    const answer = await call(root.key, 'PUT', `${path}/${created.name}`, created)
    expect(answer.json()).toEqual(created)
  })

  test('may not bring a schema of its own, nor come from a type that is not there', async () => {
    const own = await create({ name: name(), fromCatalog: 'DISCOVER', parameters: { type: 'object', title: 'x' } })
    expect(own.status).toBe(400)
    expect(errorOf(own)).toMatchObject({ code: '0x010003', context: [{ name: 'parameters' }] })
    const nowhere = await create({ name: name(), fromCatalog: 'NOTHING' })
    expect(nowhere.status).toBe(400)
    expect(errorOf(nowhere).context).toEqual([{ name: 'fromCatalog', value: 'NOTHING' }])
  })
})

describe('a type from scratch', () => {
  test('is read back as it was made', async () => {
    const body = {
      name: name(),
      title: 'T',
      description: 'D',
      applicableTo: ['entity.device', 'entity.subscription'],
      models: ['plain', { manufacturer: 'm', name: 'n', version: '1' }],
      parameters: { type: 'object', properties: { a: { type: 'string', default: 'x' } }, additionalProperties: false },
      steps: [{ name: 'S', title: 's', description: 'd', response: 'r' }],
      profiles: ['admin'],
    }
    expect((await create(body)).status).toBe(201)
    expect((await call(root.key, 'GET', `${path}/${body.name}`)).json()).toEqual(body)
  })

  test('changes in everything but whence it came', async () => {
    const body = scratch({ profiles: ['admin'] })
    await create(body)
    const change = {
      applicableTo: ['entity.asset'],
      models: ['m'],
      parameters: { type: 'object', title: 'new' },
      steps: [{ name: 'S' }],
      profiles: null,
    }
    const changed = await call(root.key, 'PUT', `${path}/${body.name}`, change)
    const { profiles: _, ...rest } = change
    expect(changed.json()).toEqual({ name: body.name, ...rest })
    const cloned = await call(root.key, 'PUT', `${path}/${body.name}`, { fromCatalog: 'UPDATE' })
    expect(errorOf(cloned)).toMatchObject({ code: '0x010003', context: [{ name: 'fromCatalog' }] })
  })

  test('may be no more than a name', async () => {
    const body = { name: name() }
    expect((await create(body)).json()).toEqual({
      ...body,
      applicableTo: ['entity.device'],
      models: [],
      parameters: { type: 'object' },
      steps: [],
    })
  })

  test('takes its schema also within a member named schema', async () => {
    const answer = await create(scratch({ parameters: { schema: { type: 'object', title: 'inner' } } }))
    expect(answer.json()).toMatchObject({ parameters: { type: 'object', title: 'inner' } })
  })

  test.each([
    ['name', undefined, '0x010000', 'name'],
    ['name', 'x'.repeat(51), '0x010001', 'name'],
    ['name', '', '0x010001', 'name'],
    ['name', 'a/b', '0x010001', 'name'],
    ['applicableTo', [], '0x010001', 'applicableTo'],
    ['applicableTo', ['entity.moon'], '0x010001', 'applicableTo[0]'],
    ['models', [{ manufacturer: 'm' }], '0x010000', 'models[0].name'],
    ['parameters', { type: 'string' }, '0x010001', 'parameters.type'],
    ['parameters', 'none', '0x010001', 'parameters'],
    ['parameters', { type: 'object', properties: 7 }, '0x010001', 'parameters'],
    ['steps', [{ title: 'x' }], '0x010000', 'steps[0].name'],
    ['steps', [{ name: 'a', nmae: 'b' }], '0x010003', 'steps[0].nmae'],
    ['steps', [{ name: 'a' }, { name: 'a' }], '0x010001', 'steps'],
    ['Profiles', ['admin'], '0x010003', 'Profiles'],
  ])('with a bad %s (%s) is refused, and the field named', async (member, value, code, field) => {
    const answer = await create(scratch({ [member]: value }))
    expect(answer.status).toBe(400)
    expect(errorOf(answer)).toMatchObject({ code, context: [{ name: field }] })
  })

  test.each([['viewer'], ['emperor'], ['ADMIN']])('that lists the profile %s is refused', async profile => {
    const answer = await create(scratch({ profiles: ['admin', profile] }))
    expect(answer.status).toBe(400)
    expect(errorOf(answer)).toMatchObject({ code: '0x010001', context: [{ name: 'profiles', value: [profile] }] })
  })

  test('whose name is taken is a duplicate, at creation and in a change', async () => {
    const [one, other] = [scratch(), scratch()]
    await create(one)
    await create(other)
    const again = await create(one)
    expect(again.status).toBe(400)
    expect(errorOf(again)).toMatchObject({ code: '0x010114', message: 'Entity duplicated.' })
    const renamed = await call(root.key, 'PUT', `${path}/${one.name}`, { name: other.name })
    expect(renamed.status).toBe(400)
    expect(errorOf(renamed).code).toBe('0x010114')
  })
})

describe('removing a type', () => {
  test('tells what was ended and cancelled with it', async () => {
    const body = scratch()
    await create(body)
    const before = committed
    const answer = await call(root.key, 'DELETE', `${path}/${body.name}`)
    expect(answer.status).toBe(200)
    expect(answer.json()).toEqual({ operations: ['operation-0', 'operation-1'], tasks: ['task-0', 'task-1'] })
    expect(closing).toContainEqual({ name: body.name })
    expect(committed).toBe(before + 1)
    expect((await call(root.key, 'GET', `${path}/${body.name}`)).status).toBe(404)
    expect((await call(root.key, 'DELETE', `${path}/${body.name}`)).status).toBe(404)
  })
})

describe('who may', () => {
  test('a viewer reads and searches, and makes, changes and removes nothing', async () => {
    const { key } = await door.user('viewer')
    expect((await call(key, 'GET', '/operationTypes/catalog')).status).toBe(200)
    expect((await call(key, 'GET', `${path}/UPDATE`)).status).toBe(200)
    expect((await call(key, 'POST', '/operationTypes/search', {})).status).toBe(200)
    expect((await create(scratch(), key)).status).toBe(403)
    expect((await call(key, 'PUT', `${path}/UPDATE`, { title: 'x' })).status).toBe(403)
    expect((await call(key, 'DELETE', `${path}/UPDATE`)).status).toBe(403)
  })

  test('advanced makes them', async () => {
    const { key } = await door.user('advanced')
    expect((await create(scratch(), key)).status).toBe(201)
  })

  test('another organization’s types are not seen', async () => {
    await call(root.key, 'POST', '/provision/organizations', { organization: { name: 'elsewhere' } })
    const body = scratch()
    await create(body)
    const { key } = await door.user('admin', 'elsewhere')
    expect((await call(key, 'GET', `${path}/${body.name}`)).status).toBe(404)
    const own = '/operationTypes/provision/organizations/elsewhere'
    expect((await call(key, 'GET', `${own}/${body.name}`)).status).toBe(404)
    expect((await call(key, 'GET', own)).json()).toHaveLength(CATALOG.length)
  })
})

describe('a search', () => {
  const search = async (body: object, at = '/search/operationTypes') => {
    const answer = await call(root.key, 'POST', at, body)
    const found = answer.status === 200 ? (answer.json() as unknown as { name: string }[]) : []
    return { answer, names: found.map(each => each.name) }
  }

  test('without a filter answers with the organization’s types as a bare array, at both addresses', async () => {
    const { answer, names } = await search({ filter: {} })
    expect(answer.status).toBe(200)
    expect(names).toEqual(expect.arrayContaining(CATALOG.map(each => each.name)))
    expect((await search({ filter: {} }, '/operationTypes/search')).names).toEqual(names)
    expect((await search({})).names).toEqual(names)
  })

  test.each([
    ['name', 'UPDATE', 'UPDATE'],
    ['applicableTo', 'entity.subscriber', 'SIM_REPLACEMENT'],
    ['fromCatalog', 'UPDATE', 'UPDATE'],
    ['title', 'Factory reset', 'FACTORY_RESET'],
    ['steps[].name', 'BEGINUPDATE', 'UPDATE'],
    ['parameters.properties.admsts.type', 'string', 'ADMINISTRATIVE_STATUS_CHANGE'],
  ])('by %s finds what has it', async (field, value, found) => {
    expect((await search({ filter: { eq: { [field]: value } } })).names).toContain(found)
    expect((await search({ filter: { eq: { [field]: `not ${value}` } } })).answer.status).toBe(204)
  })

  test('by whether it was cloned finds what was, or what was not', async () => {
    const body = scratch()
    await create(body)
    const cloned = (await search({ filter: { eq: { fromCatalog: true } } })).names
    expect(cloned).toEqual(expect.arrayContaining(CATALOG.map(each => each.name)))
    expect(cloned).not.toContain(body.name)
    const own = (await search({ filter: { eq: { fromCatalog: false } } })).names
    expect(own).toContain(body.name)
    expect((await search({ filter: { neq: { fromCatalog: 'true' } } })).names).toEqual(own)
    expect(own.filter(name => cloned.includes(name))).toEqual([])
  })

  test('by models finds plain names and parts of what tells a model apart', async () => {
    const body = scratch({ models: ['searched plain', { manufacturer: 'searched maker', name: 'searched name' }] })
    await create(body)
    for (const filter of [
      { models: 'searched plain' },
      { models: 'searched name' },
      { 'models.manufacturer': 'searched maker' },
    ]) {
      expect((await search({ filter: { eq: filter } })).names).toEqual([body.name])
    }
  })

  test('by profile finds what that profile may run', async () => {
    const body = scratch({ profiles: ['root'] })
    await create(body)
    expect((await search({ filter: { eq: { profile: 'root' } } })).names).toEqual(
      expect.arrayContaining([body.name, 'UPDATE']),
    )
    const advanced = (await search({ filter: { eq: { profile: 'advanced' } } })).names
    expect(advanced).toContain('UPDATE')
    expect(advanced).not.toContain(body.name)
    expect((await search({ filter: { eq: { profile: 'viewer' } } })).answer.status).toBe(204)
  })

  test('combines, sorts, pages and selects', async () => {
    const filter = { and: [{ like: { name: '^POWER_' } }, { not: { eq: { name: 'NOTHING' } } }] }
    const sort = { parameters: [{ name: 'name', type: 'DESCENDING' }] }
    expect((await search({ filter, sort })).names).toEqual(['POWER_ON_EQUIPMENT', 'POWER_OFF_EQUIPMENT'])
    expect((await search({ filter, sort, limit: { start: 2, size: 1 } })).names).toEqual(['POWER_OFF_EQUIPMENT'])
    expect((await search({ filter, limit: { start: 9, size: 1 } })).answer.status).toBe(204)
    const select = [{ name: 'name', fields: [{ field: 'name', alias: 'called' }] }]
    const selected = await search({ filter: { eq: { name: 'UPDATE' } }, select })
    expect(selected.answer.status).toBe(200)
  })

  test('with one alias for two columns is refused, and the alias named', async () => {
    const select = ['name', 'title'].map(name => ({ name, fields: [{ alias: 'x' }] }))
    expect(errorOf((await search({ select })).answer)).toMatchObject({ code: '0x010001', context: [{ name: 'x' }] })
  })

  test.each([
    ['an unknown field', { filter: { eq: { colour: 1 } } }, '0x050014', 'colour'],
    ['an unknown member', { filtre: {} }, '0x010003', 'filtre'],
    ['a pattern that is none', { filter: { like: { name: '(' } } }, '0x050010', 'filter.like.name'],
  ])('with %s is refused, and the place named', async (_what, body, code, place) => {
    const { answer } = await search(body)
    expect(answer.status).toBe(400)
    expect(errorOf(answer)).toMatchObject({ code, context: [{ name: place }] })
  })
})
