/** A running service calls no address that may not be called, whoever names it and however, and says so to who named it. */
import { afterAll, expect, test } from 'vitest'
import { createCallbackReceiver } from '../callback-receiver.ts'
import { nameServer } from '../name-server.ts'
import { isFinal, openHouse } from './house.ts'
import { asking, FAR, JOBS, job, on, TASKS, task } from './interface/asking.ts'

const URL_ID = 'provision.device.operation.url'
const ADDRESSES: Record<string, string> = {
  'metadata.test': '169.254.169.254',
  'plant.test': '127.0.7.7',
  'inside.test': '127.0.0.1',
}
const names = await nameServer(name => (name in ADDRESSES ? [ADDRESSES[name]!] : undefined), afterAll)
const house = await openHouse({
  DROVER_CALLBACK_ALLOW_LOOPBACK: 'false',
  DROVER_NAME_SERVERS: names.address,
  DROVER_DEVICE_HOSTS_REFUSED: '127.0.7.0/24,Office.test',
})
const { make, makeTask, put, refuses, refusal } = asking(house)
await house.provision('pump')

test.for([
  ['http://169.254.169.254/latest/meta-data', /a link-local address/],
  ['http://[::ffff:a9fe:a9fe]/', /a link-local address/],
  ['http://100.100.100.200/', /a metadata address/],
  ['http://metadata.test/', /metadata\.test is 169\.254\.169\.254, a link-local address/],
  ['http://127.0.7.9:1/', /refused by configuration/],
  ['http://plant.test:1/', /plant\.test is 127\.0\.7\.7, refused by configuration/],
  ['http://office.test:1/', /refused by configuration/],
] as const)('a device at %s is not called, and its operation says why', async ([url, why], { task: { id } }) => {
  const device = `at-${id}`
  await house.provision(device, { [URL_ID]: url })
  const operation = await house.until(await house.start(device), isFinal)
  expect(operation).toMatchObject({ status: 'TIMEOUT_CANCELLED', result: 'ERROR_TIMEOUT' })
  expect(operation.description).toMatch(why)
})

test.for([
  ['http://127.0.0.1:1/', /a loopback address/],
  ['http://inside.test:1/', /inside\.test is 127\.0\.0\.1, a loopback address/],
  ['http://metadata.test/', /a link-local address/],
  ['http://office.test:1/', /refused by configuration/],
] as const)(
  '%s is not called where a connector function names it, though devices may be on loopback',
  async ([url, why], { task: { id } }) => {
    const functions = '/north/v80/connectorFunctions/provision/organizations/drover'
    const source = `const request = () => ({ http: { url: '${url}', body: '' } })`
    expect((await house.call('POST', functions, { name: `to-${id}`, source })).status).toBe(201)
    const device = `by-${id}`
    await house.provision(device, { 'provision.device.operation.flow': `function:to-${id}` })
    expect((await house.until(await house.start(device), isFinal)).description).toMatch(why)
  },
)

test.for([
  'http://127.0.0.1:1/',
  'http://localhost:1/',
  'http://[::1]/',
  'http://169.254.169.254/',
  'http://192.0.0.192/',
])('the callback %s is refused where a job is made or changed, and where a task is', async callback => {
  await refuses(JOBS, job(on(['pump'], { callback })), '0x010001', 'job.request.callback')
  const { id } = await make(on(['pump'], { active: false }))
  const changed = await refusal('PUT', `${JOBS}/${id}`, job({ callback }))
  expect([changed.status, changed.code, changed.fields]).toEqual([400, '0x010001', ['job.request.callback']])
  expect((await refusal('POST', TASKS, task(on(['pump'], { callback })))).status).toBe(400)
})

test('a callback by a name that stands for such an address is made, and never delivered there', async () => {
  const receiver = await createCallbackReceiver()
  const callback = receiver.url.replace('127.0.0.1', 'inside.test')
  const { id } = await make(on(['pump'], { callback, schedule: { start: { date: FAR } } }))
  expect((await put(id, { active: false })).status).toBe(200)
  expect((await put(id, { callback: `${callback}/changed` })).status).toBe(200)
  await house.call('DELETE', `${JOBS}/${id}`)
  const told = async () => {
    const path = `/north/v80/deliveries?job=${id}`
    const { body } = await house.call<{ deliveries: { state: string; lastError?: string }[] } | undefined>('GET', path)
    return body?.deliveries.map(({ state, lastError }) => [state, lastError])
  }
  const error = 'the address is not allowed: inside.test is 127.0.0.1, a loopback address'
  await expect.poll(told, { timeout: 45_000 }).toEqual([['OPEN', error]])
  expect(receiver.heard).toEqual([])
  expect((await makeTask(on(['pump'], { callback }), { active: false })).id).not.toBe('')
})
