import { expect, test } from 'vitest'
import type { OperationTypeBody } from '../../../src/contract/operation-type.ts'
import { openHouse } from '../house.ts'
import { asking, CATALOG, JOBS, on, TYPES, type } from './asking.ts'

const house = await openHouse()
const { call } = house
const { make, makeType, operation, pending, readJob, refusal, refuses, user } = asking(house)
await house.provision('d1')

const readType = async (name: string) => (await call<OperationTypeBody>('GET', `${TYPES}/${name}`)).body
const schema = {
  type: 'object',
  title: 'How to reboot',
  properties: {
    type: { type: 'string', title: 'Kind', enum: ['HARDWARE', 'SOFTWARE'], default: 'HARDWARE' },
    nested: { type: 'object', properties: { level: { type: 'integer', default: 3 } }, default: {} },
    list: { type: 'array', items: { type: 'string' } },
  },
  additionalProperties: false,
}
await makeType({ name: 'CLOSED', parameters: schema })
const asked = (parameters?: object) => ({
  ...on(['d1'], { active: false, ...(parameters && { parameters }) }),
  name: 'CLOSED',
})

test('A type has a name, a title, a description, kinds of entity, models, a schema, steps and profiles, and reads back so.', async () => {
  const whole = {
    name: 'WHOLE',
    title: 'The whole',
    description: 'All of it',
    applicableTo: ['entity.device', 'entity.asset'],
    models: ['A', { manufacturer: 'm', name: 'B', version: '2' }],
    parameters: schema,
    steps: [{ name: 'FIRST', title: 'First', description: 'at first' }],
    profiles: ['admin'],
  }
  expect((await call('POST', TYPES, whole)).status).toBe(201)
  expect(await readType('WHOLE')).toEqual(whole)
})

test('`applicableTo` says on which kinds of entity a type runs.', async () => {
  await makeType({ name: 'FOR_ASSETS', applicableTo: ['entity.asset'] })
  const refused = await refusal('POST', JOBS, { job: { request: { ...on(['d1']), name: 'FOR_ASSETS' } } })
  expect([refused.status, refused.code]).toEqual([400, '0x020002'])
})

test('`models` says on which models of device a type runs.', async () => {
  const tags = { 'provision.administration.tags': ['some-model'] }
  await house.provision('model-b', { 'provision.device.model': 'B', ...tags })
  await house.provision('model-c', { 'provision.device.model': 'C', ...tags })
  await house.provision('model-none', tags)
  await makeType({ name: 'FOR_B', models: ['B'] })
  const request = { name: 'FOR_B', active: false }
  const listed = ['model-b', 'model-c', 'model-none']
  const { report } = await make({ ...request, target: { append: { entities: listed } } })
  expect(report.target).toEqual({ notAllowed: ['model-c', 'model-none'] })
  const tagged = await make({ ...request, target: { append: { tags: ['some-model'] } } })
  await house.until(tagged.id, ({ entityId }) => entityId === 'model-b')
  expect((await readJob(tagged.id)).report.target).toEqual({ notAllowed: ['model-c', 'model-none'] })
})

test('`fromCatalog` says from which type of the catalog a type was cloned, and is not there for one from scratch.', async () => {
  expect((await readType('REBOOT_EQUIPMENT')).fromCatalog).toBe('REBOOT_EQUIPMENT')
  expect(await readType('CLOSED')).not.toHaveProperty('fromCatalog')
})

test('The catalog is read-only: nothing can be made, changed or removed there.', async () => {
  for (const [method, path] of [
    ['POST', CATALOG],
    ['PUT', `${CATALOG}/REBOOT_EQUIPMENT`],
    ['DELETE', `${CATALOG}/REBOOT_EQUIPMENT`],
  ] as const) {
    expect((await call(method, path, method === 'DELETE' ? undefined : type({}))).status).toBe(404)
  }
})

test('Only a type of the organization can be executed: one of the catalog that it has not cloned cannot.', async () => {
  expect((await call('DELETE', `${TYPES}/FACTORY_RESET`)).status).toBe(200)
  expect((await call('GET', `${CATALOG}/FACTORY_RESET`)).status).toBe(200)
  await refuses(JOBS, { job: { request: { ...on(['d1']), name: 'FACTORY_RESET' } } }, '0x020004', 'job.request.name')
})

test('Of a clone name, title and description can be changed.', async () => {
  const words = { name: 'DISCOVER_ALL', title: 'Find', description: 'Find what is there' }
  expect((await call('PUT', `${TYPES}/DISCOVER`, words)).status).toBe(200)
  expect(await readType('DISCOVER_ALL')).toMatchObject({ ...words, fromCatalog: 'DISCOVER' })
})

test('Schema, steps and applicability of a clone are fixed.', async () => {
  const path = `${TYPES}/REFRESH_INFO`
  await refuses(path, { parameters: { type: 'object', title: 'x' } }, '0x010003', 'parameters', 'PUT')
  await refuses(path, { steps: [{ name: 'X' }] }, '0x010003', 'steps', 'PUT')
  await refuses(path, { applicableTo: ['entity.asset'] }, '0x010003', 'applicableTo', 'PUT')
  await refuses(path, { models: ['X'] }, '0x010003', 'models', 'PUT')
})

test('A type from scratch defines all of it.', async () => {
  const change = {
    applicableTo: ['entity.asset'],
    steps: [{ name: 'X' }],
    models: ['M'],
    parameters: { type: 'object' },
  }
  await makeType({ name: 'SCRATCH' })
  expect((await call('PUT', `${TYPES}/SCRATCH`, change)).status).toBe(200)
  expect(await readType('SCRATCH')).toMatchObject(change)
})

test('`profiles` lists who may execute a type.', async () => {
  await makeType({ name: 'FOR_ADMINS', profiles: ['admin'] })
  const request = { job: { request: { ...on(['d1'], { active: false }), name: 'FOR_ADMINS' } } }
  const advanced = await refusal('POST', JOBS, request, await user('advanced@drover.test', 'advanced'))
  expect(advanced.status).toBe(403)
  expect((await call('POST', JOBS, request, await user('admin-2@drover.test', 'admin'))).status).toBe(201)
})

test('`profiles` may be advanced, admin_domain, super_admin_domain, admin and root.', async () => {
  const profiles = ['advanced', 'admin_domain', 'super_admin_domain', 'admin', 'root']
  await makeType({ name: 'FOR_ALL', profiles })
  expect((await readType('FOR_ALL')).profiles).toEqual(profiles)
})

test('Without `profiles` every profile but viewer may execute a type.', async () => {
  const request = { job: { request: asked() } }
  for (const profile of ['advanced', 'admin_domain', 'super_admin_domain', 'admin', 'root']) {
    const headers = await user(`any-${profile}@drover.test`, profile)
    expect([profile, (await call('POST', JOBS, request, headers)).status]).toEqual([profile, 201])
  }
})

test('A viewer never may execute a type.', async () => {
  const headers = await user('eyes@drover.test', 'viewer')
  expect((await refusal('POST', JOBS, { job: { request: asked() } }, headers)).status).toBe(403)
})

test('A schema may use enumerations, nested objects, arrays, defaults and titles.', async () => {
  expect((await readType('CLOSED')).parameters).toEqual(schema)
  const { request } = await make(asked({ type: 'SOFTWARE', nested: { level: 5 }, list: ['a', 'b'] }))
  expect(request.parameters).toEqual({ type: 'SOFTWARE', nested: { level: 5 }, list: ['a', 'b'] })
  for (const [parameters, field] of [
    [{ nested: { level: 'high' } }, 'nested.level'],
    [{ list: [1] }, 'list[0]'],
  ] as const) {
    await refuses(JOBS, { job: { request: asked(parameters) } }, '0x020003', `job.request.parameters.${field}`)
  }
})

test('With `additionalProperties` false an unknown parameter is refused.', () =>
  refuses(JOBS, { job: { request: asked({ depth: 1 }) } }, '0x020003', 'job.request.parameters.depth'))

test('Without `additionalProperties` false an unknown parameter is not refused.', async () => {
  await makeType({ name: 'OPEN', parameters: { type: 'object' } })
  const { request } = await make({ ...on(['d1'], { active: false, parameters: { any: 1 } }), name: 'OPEN' })
  expect(request.parameters).toEqual({ any: 1 })
})

test('A value outside an enumeration is refused before any device is contacted.', async () => {
  const before = await call<{ page: object } | undefined>('POST', '/north/v80/search/entities/devices/operations', {})
  await refuses(
    JOBS,
    { job: { request: on(['d1'], { parameters: { type: 'GENTLE' } }) } },
    '0x020003',
    'job.request.parameters.type',
  )
  const after = await call<{ page: object } | undefined>('POST', '/north/v80/search/entities/devices/operations', {})
  expect(after.body?.page).toEqual(before.body?.page)
})

test('A parameter that is left out takes its default.', async () => {
  expect((await make(asked({}))).request.parameters).toMatchObject({ type: 'HARDWARE' })
  expect((await make(asked())).request.parameters).toMatchObject({ type: 'HARDWARE' })
})

test('Each parameter travels to the device as a named, typed value inside the operation request.', async () => {
  const key = await house.provision('typed')
  const parameters = { text: 't', count: 2, flag: true, list: [1, 'a'], tree: { leaf: 1 } }
  const { id } = await make({ ...on(['typed'], { parameters }), name: 'OPEN' })
  await house.until(id, ({ status }) => status === 'WAITING_FOR_CONNECTION')
  const request = (await pending('typed', key))!
  expect(request.parameters.toSorted((a, b) => a.name.localeCompare(b.name))).toEqual([
    { name: 'count', type: 'number', value: { number: 2 } },
    { name: 'flag', type: 'boolean', value: { boolean: true } },
    { name: 'list', type: 'array', value: { array: [1, 'a'] } },
    { name: 'text', type: 'string', value: { string: 't' } },
    { name: 'tree', type: 'object', value: { object: { leaf: 1 } } },
  ])
  expect((await operation(id)).parameters).toEqual(parameters)
})
