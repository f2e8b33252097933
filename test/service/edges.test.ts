/** What an operator sets of the edges: proxies in front, pages of other origins, and how answers travel. */
import { expect, test } from 'vitest'
import { openHouse } from './house.ts'

const house = await openHouse({
  DROVER_TRUSTED_PROXIES: '127.0.0.0/8, ::1',
  DROVER_CORS_ORIGINS: 'https://console.example',
})
const { client } = house
const login = { email: 'nobody@drover.test', password: 'a wrong password' }

test('behind a trusted proxy the audit log names the client, and failed logins count against it alone', async () => {
  const from = (address: string) =>
    client.call('POST', '/north/v80/provision/users/login', login, { 'x-forwarded-for': address })
  const statuses: number[] = []
  // A slow machine is given further tries meanwhile.
  for (let i = 0; i < 40 && statuses.at(-1) !== 429; i += 1) statuses.push((await from('203.0.113.7')).status)
  expect([statuses[0], statuses.at(-1)]).toEqual([401, 429])
  const user = { email: 'known@drover.test', password: 'a good password', profile: 'viewer', domain: 'drover' }
  const headers = { 'x-forwarded-for': '198.51.100.1, 203.0.113.8', 'x-request-id': 'asked-by-a-proxy' }
  expect((await client.call('POST', '/north/v80/provision/users', { user }, headers)).status).toBe(201)
  const { body } = await client.call<{ audit: { requestId: string; address: string }[] }>('GET', '/north/v80/audit')
  expect(body.audit.find(({ requestId }) => requestId === 'asked-by-a-proxy')).toMatchObject({ address: '203.0.113.8' })
})

test('a page of a named origin reads answers and refusals, their request id among them', async () => {
  for (const [path, headers] of [
    ['/north/v80/operation/verify', {}],
    ['/north/v80/operation/verify', { 'x-apikey': 'wrong' }],
    ['/no/such/path', {}],
  ] as const) {
    const asked = { origin: 'https://console.example', 'x-request-id': 'from-a-page', ...headers }
    const answer = await client.call('GET', path, undefined, asked)
    expect(answer.headers.get('access-control-allow-origin')).toBe('https://console.example')
    expect(answer.headers.get('access-control-expose-headers')).toMatch(/location.*x-request-id.*retry-after/)
    expect(answer.headers.get('x-request-id')).toBe('from-a-page')
  }
})

test('a long answer is compressed, and one with a key is not', async () => {
  const long = await fetch(`${house.url}/openapi.json`, { headers: { 'accept-encoding': 'gzip' } })
  expect([long.headers.get('content-encoding'), long.headers.get('vary')]).toEqual(['gzip', 'origin, accept-encoding'])
  expect(((await long.json()) as { openapi: string }).openapi).toBe('3.1.0')
  const description = 'the same words again '.repeat(1_000)
  const user = {
    email: 'long@drover.test',
    password: 'a good password',
    profile: 'viewer',
    domain: 'drover',
    description,
  }
  const made = await client.call('POST', '/north/v80/provision/users', { user }, { 'accept-encoding': 'gzip' })
  expect(made.headers.get('content-encoding')).toBeNull()
})
