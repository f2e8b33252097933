/** What becomes of an organization's things when it is removed while it is at work. Serves: Authentication (organizations). */
import { expect, test } from 'vitest'
import { openHouse } from './house.ts'

const house = await openHouse()
const ORGANIZATIONS = '/north/v80/provision/organizations'
const JOBS = '/north/v80/operation/jobs'
const TASKS = '/north/v80/operation/tasks'

/** Makes the organization; answers how its administrator calls. */
async function found(email: string) {
  expect((await house.call('POST', ORGANIZATIONS, { organization: { name: 'leaving' } })).status).toBe(201)
  const user = { email, password: 'a good password', profile: 'admin', domain: 'leaving' }
  expect((await house.call('POST', '/north/v80/provision/users', { user })).status).toBe(201)
  const { body } = await house.call<{ user: { apiKey: string } }>('GET', `/north/v80/provision/users/${email}`)
  return <Body>(method: string, path: string, asked?: unknown) =>
    house.call<Body>(method, path, asked, { 'x-apikey': body.user.apiKey })
}

const device = { 'provision.device.identifier': 'd1', 'provision.device.operation.flow': 'pull' }
const request = { name: 'REBOOT_EQUIPMENT', target: { append: { entities: ['d1'] } } }

test('an organization that is removed at work takes its jobs, tasks and devices with it, and one made under its name has none of them', async () => {
  const call = await found('admin@leaving.test')
  const provisioned = await call('POST', `${ORGANIZATIONS}/leaving/devices?flattened=true`, device)
  expect(provisioned.status).toBe(201)
  const key = provisioned.headers.get('x-apikey')!
  const made = await call<{ id: string }>('POST', JOBS, { job: { request: { ...request, active: true } } })
  expect(made.status).toBe(201)
  const schedule = { repeating: { period: { each: 1, unit: 'HOURS' } } }
  expect((await call('POST', TASKS, { task: { id: 'hourly', schedule, job: { request } } })).status).toBe(201)
  await expect
    .poll(async () => (await house.south('d1', key, 'operation/pending')).status, { timeout: 45_000 })
    .toBe(200)

  expect((await house.call('DELETE', `${ORGANIZATIONS}/leaving`)).status).toBe(200)
  expect((await house.call('GET', `${ORGANIZATIONS}/leaving`)).status).toBe(404)
  await expect.poll(async () => (await call('GET', `${JOBS}/${made.body.id}`)).status, { timeout: 45_000 }).toBe(401)
  await expect
    .poll(async () => (await house.south('d1', key, 'operation/pending')).status, { timeout: 45_000 })
    .toBe(401)

  const again = await found('other@leaving.test')
  expect((await again('GET', `${JOBS}/${made.body.id}`)).status).toBe(404)
  expect((await again('GET', `${TASKS}/hourly`)).status).toBe(404)
  expect((await again('GET', `${ORGANIZATIONS}/leaving/devices/d1`)).status).toBe(404)
  for (const what of ['jobs', 'tasks', 'devices', 'entities/operations', 'entities/operations/history']) {
    expect([what, (await again('POST', `/north/v80/search/${what}`, {})).status]).toEqual([what, 204])
  }
  const verified = await house.call<{ differences: unknown[] }>('GET', '/north/v80/operation/verify')
  expect(verified.body.differences).toEqual([])
})
