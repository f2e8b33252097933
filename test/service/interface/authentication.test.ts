import { decodeJwt, decodeProtectedHeader } from 'jose'
import { expect, test } from 'vitest'
import { ADMIN, openHouse } from '../house.ts'
import { asking, JOBS, job, LOGIN, on, TYPES, type } from './asking.ts'
import { shownBy } from './shown-by.ts'

const house = await openHouse()
const closed = await openHouse({ DROVER_NORTH_API_KEYS: 'false' })
const { call } = house
const { make, makeType, refusal, user } = asking(house)
const key = await house.provision('d1')
const SEARCH = '/north/v80/search/jobs'
const PENDING = '/south/v80/devices/d1/operation/pending'
const anonymous = { 'x-apikey': '' }
const { body: login } = await call<{ user: { jwt: string } }>('POST', LOGIN, { email: ADMIN, password: house.password })
const { jwt } = login.user

test('A JWT lets a client in, and so does an API key.', async () => {
  expect((await call('POST', SEARCH, {}, { authorization: `Bearer ${jwt}` })).status).toBe(204)
  expect((await call('POST', SEARCH, {}, { 'x-apikey': house.apiKey })).status).toBe(204)
})

test('Without either nobody is let in, at both doors.', async () => {
  expect((await refusal('POST', SEARCH, {}, anonymous)).status).toBe(401)
  expect((await refusal('GET', PENDING, undefined, anonymous)).status).toBe(401)
})

test('A JWT has three parts, with claims that say who, where and how long.', () => {
  expect(jwt.split('.')).toHaveLength(3)
  const claims = decodeJwt(jwt)
  expect(claims).toMatchObject({ sub: ADMIN, org: 'drover', profile: 'root', jti: expect.any(String) })
  expect(claims.exp! - claims.iat!).toBe(8 * 3_600)
})

test('A JWT is signed with a shared secret (HS256).', () => {
  expect(decodeProtectedHeader(jwt).alg).toBe('HS256')
})

shownBy(
  'A JWT may be signed with an RSA or ECDSA key pair instead.',
  'test/engine/tokens.test.ts',
  'signs with it, and reads its own',
)

test('A JWT whose signature does not fit lets nobody in.', async () => {
  const [header, payload] = jwt.split('.')
  const forged = `${header}.${payload}.${'A'.repeat(43)}`
  expect((await refusal('POST', SEARCH, {}, { authorization: `Bearer ${forged}` })).status).toBe(401)
})

test('A JWT is sent in the `Authorization` header as Bearer.', async () => {
  expect((await call('POST', SEARCH, {}, { authorization: `Bearer ${jwt}` })).status).toBe(204)
  expect((await refusal('POST', SEARCH, {}, { authorization: jwt })).status).toBe(401)
})

test('A wrong password obtains no JWT.', async () => {
  expect((await refusal('POST', LOGIN, { email: ADMIN, password: 'not the password' }, anonymous)).code).toBe('0x04')
})

test('An API key is sent in the header `X-ApiKey`.', async () => {
  expect((await call('GET', PENDING, undefined, { 'x-apikey': key })).status).toBe(204)
  expect((await refusal('GET', PENDING, undefined, { 'x-apikey': 'not-a-key' })).status).toBe(401)
})

test('An API key in the query is taken at the device interface.', async () => {
  expect((await call('GET', `${PENDING}?X-ApiKey=${key}`, undefined, anonymous)).status).toBe(204)
})

test('An API key in the query is taken at no other interface.', async () => {
  expect((await refusal('POST', `${SEARCH}?X-ApiKey=${house.apiKey}`, {}, anonymous)).status).toBe(401)
})

test('API keys can be switched off at every interface but that of devices.', async () => {
  const { call: ask } = closed
  expect((await ask('POST', SEARCH, {})).status).toBe(401)
  const body = { email: ADMIN, password: closed.password }
  const { user: admin } = (await ask<{ user: { jwt: string } }>('POST', LOGIN, body)).body
  const headers = { authorization: `Bearer ${admin.jwt}` }
  expect((await ask('POST', SEARCH, {}, headers)).status).toBe(204)
  const device = { 'provision.device.identifier': 'd1' }
  const path = '/north/v80/provision/organizations/drover/devices?flattened=true'
  const made = await ask('POST', path, device, headers)
  expect(made.status).toBe(201)
  expect((await ask('GET', PENDING, undefined, { 'x-apikey': made.headers.get('x-apikey')! })).status).toBe(204)
})

test('A viewer reads and searches operation types, and does nothing else to them.', async () => {
  const headers = await user('eyes@drover.test', 'viewer')
  expect((await call('GET', `${TYPES}/UPDATE`, undefined, headers)).status).toBe(200)
  expect((await call('POST', '/north/v80/search/operationTypes', {}, headers)).status).toBe(200)
  expect((await refusal('POST', TYPES, type({}), headers)).status).toBe(403)
  expect((await refusal('PUT', `${TYPES}/UPDATE`, { title: 't' }, headers)).status).toBe(403)
  expect((await refusal('DELETE', `${TYPES}/UPDATE`, undefined, headers)).status).toBe(403)
})

test('Every profile but viewer executes operations.', async () => {
  const body = job(on(['d1'], { active: false }))
  for (const profile of ['advanced', 'admin_domain', 'super_admin_domain', 'admin', 'root']) {
    const headers = await user(`an-${profile}@drover.test`, profile)
    expect([profile, (await call('POST', JOBS, body, headers)).status]).toEqual([profile, 201])
  }
  expect((await refusal('POST', JOBS, body, await user('viewer@drover.test', 'viewer'))).status).toBe(403)
})

test('A type that lists profiles is executed by those only.', async () => {
  await makeType({ name: 'FOR_ROOT', profiles: ['root'] })
  const body = job({ ...on(['d1'], { active: false }), name: 'FOR_ROOT' })
  expect((await refusal('POST', JOBS, body, await user('other@drover.test', 'admin'))).status).toBe(403)
  expect((await make({ ...on(['d1'], { active: false }), name: 'FOR_ROOT' })).id).not.toBe('')
})
