import { expect, test } from 'vitest'
import type { OperationTypeBody } from '../../../src/contract/operation-type.ts'
import { openHouse } from '../house.ts'
import { asking, CATALOG, TYPES, type } from './asking.ts'

const house = await openHouse()
const { call } = house
const { makeType, refuses } = asking(house)
await makeType({ name: 'PROBE_A', models: ['A'], profiles: ['admin'], description: 'about a' })
await makeType({ name: 'PROBE_B', models: ['B'], applicableTo: ['entity.asset'] })

async function found(filter: object): Promise<string[]> {
  const { status, body } = await call<OperationTypeBody[] | undefined>('POST', '/north/v80/search/operationTypes', {
    filter,
  })
  expect([200, 204]).toContain(status)
  return (body ?? []).map(({ name }) => name).sort()
}

test('GET of the catalog lists it.', async () => {
  const { status, body } = await call<OperationTypeBody[]>('GET', CATALOG)
  expect([status, Array.isArray(body), body.length > 10]).toEqual([200, true, true])
})

test('GET of a type of the organization answers it by its name.', async () => {
  const { status, body } = await call<OperationTypeBody>('GET', `${TYPES}/PROBE_A`)
  expect([status, body]).toEqual([200, expect.objectContaining({ name: 'PROBE_A', description: 'about a' })])
})

test('One type of the catalog is read by its name.', async () => {
  const { status, body } = await call<OperationTypeBody>('GET', `${CATALOG}/UPDATE`)
  expect([status, body.name]).toEqual([200, 'UPDATE'])
})

test('A type is cloned from the catalog, and the answer has a location with its URL.', async () => {
  const body = { name: 'REBOOT_AT_NIGHT', title: 'At night', fromCatalog: 'REBOOT_EQUIPMENT' }
  const made = await call('POST', TYPES, body)
  expect([made.status, made.headers.get('location')]).toEqual([201, `${TYPES}/REBOOT_AT_NIGHT`])
  expect((await call('GET', made.headers.get('location')!)).body).toMatchObject(body)
})

test('A type is made from scratch, and the answer has a location with its URL.', async () => {
  const made = await call('POST', TYPES, type({ name: 'FROM SCRATCH' }))
  expect(made.status).toBe(201)
  expect((await call<OperationTypeBody>('GET', made.headers.get('location')!)).body.name).toBe('FROM SCRATCH')
})

test('A type is updated.', async () => {
  await makeType({ name: 'TO_CHANGE' })
  expect((await call('PUT', `${TYPES}/TO_CHANGE`, { title: 'Changed' })).status).toBe(200)
  expect((await call<OperationTypeBody>('GET', `${TYPES}/TO_CHANGE`)).body.title).toBe('Changed')
})

test('A type is deleted.', async () => {
  await makeType({ name: 'TO_GO' })
  expect((await call('DELETE', `${TYPES}/TO_GO`)).status).toBe(200)
  expect((await call('GET', `${TYPES}/TO_GO`)).status).toBe(404)
})

test('The types of the organization are a collection of their own.', async () => {
  const { status, body } = await call<OperationTypeBody[]>('GET', TYPES)
  expect([status, body.map(({ name }) => name)]).toEqual([200, expect.arrayContaining(['PROBE_A', 'REBOOT_EQUIPMENT'])])
})

test('A search without a filter finds every type of the organization.', async () => {
  expect(await found({})).toEqual(expect.arrayContaining(['PROBE_A', 'PROBE_B', 'UPDATE']))
})

test('A search filters by `name`.', async () => {
  expect(await found({ eq: { name: 'PROBE_A' } })).toEqual(['PROBE_A'])
})

test('A search filters by `applicableTo`.', async () => {
  expect(await found({ eq: { applicableTo: 'entity.asset' } })).toEqual(['PROBE_B'])
})

test('A search filters by `models`.', async () => {
  expect(await found({ eq: { models: 'B' } })).toEqual(['PROBE_B'])
})

test('A search filters by `fromCatalog`.', async () => {
  expect(await found({ eq: { fromCatalog: 'DISCOVER' } })).toEqual(['DISCOVER'])
})

test('A search filters by `profile`.', async () => {
  const forAdmins = await found({ eq: { profile: 'admin' } })
  expect(forAdmins).toContain('PROBE_A')
  expect(await found({ eq: { profile: 'advanced' } })).not.toContain('PROBE_A')
})

test('A search filters by any other field of a type.', async () => {
  expect(await found({ eq: { description: 'about a' } })).toEqual(['PROBE_A'])
})

test('A clone accepts only `name`, `description` and `title` in an update.', async () => {
  const path = `${TYPES}/REFRESH_PRESENCE`
  expect((await call('PUT', path, { title: 't', description: 'd' })).status).toBe(200)
  for (const [member, value] of [
    ['parameters', { type: 'object', title: 'other' }],
    ['steps', [{ name: 'OTHER' }]],
    ['models', ['M']],
    ['profiles', ['admin']],
  ] as const) {
    await refuses(path, { [member]: value }, '0x010003', member, 'PUT')
  }
})
