/**
 * Devices on the embedded broker that behave badly, each kind on one service, all at the same time: each ends as it must, what it says
 * amiss is counted, and a well-behaved one beside them is served.
 */
import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { isFinal, openHouse, response } from './house.ts'

const house = await openHouse({ DROVER_MIN_OPERATION_TIMEOUT_MS: '0' })
const done = { resultCode: 'SUCCESSFUL' }
const LONG_MS = 45_000

async function refusals(reason: string): Promise<number> {
  const page = await (await fetch(`${house.url}/metrics`)).text()
  const line = page.split('\n').find(each => each.startsWith(`drover_device_refusals_total{reason="${reason}"}`))
  return Number(line?.split(' ').at(-1))
}

/** A device on the broker with an operation, and what it says on its response topic. */
async function asked(id: string, operationParameters: object = { timeout: LONG_MS }) {
  const key = await house.provision(id)
  const { client, requests } = await house.overMqtt(id, key)
  const job = await house.start(id, { operationParameters })
  const [request] = await requests.until(1)
  const publish = (topic: string, payload: string | Buffer) => client.publishAsync(topic, payload, { qos: 1 })
  return {
    job,
    id: request!.id,
    client,
    publish,
    say: (members: object) =>
      publish(`odm/response/${id}`, JSON.stringify(response(request!.id, members as Record<string, unknown>))),
    ended: () => house.until(job, isFinal),
  }
}

test('one that takes its request and stays silent is timed out', async () => {
  const { ended } = await asked('silent', { ackTimeout: 1_000, timeout: LONG_MS })
  expect(await ended()).toMatchObject({ status: 'TIMEOUT_CANCELLED', result: 'ERROR_TIMEOUT' })
})

test('one that talks nonsense first is heard when it talks sense', async () => {
  const device = await asked('babbling')
  const before = await refusals('unreadable-message')
  const nonsense = ['', '{', '[]', '{"operation":{"response":{"id":7}}}', randomBytes(2_000), '['.repeat(50_000)]
  for (const payload of nonsense) await device.publish('odm/response/babbling', payload)
  for (const kind of ['iot', 'dmm']) await device.publish(`odm/${kind}/babbling`, '{"datastreams":7}')
  expect(await refusals('unreadable-message')).toBe(before + nonsense.length + 2)
  await device.say(done)
  expect(await device.ended()).toMatchObject({ status: 'FINISHED', result: 'SUCCESSFUL' })
})

test('one that answers for another, or for what nobody asked, changes nothing for anybody', async () => {
  const victim = await asked('victim')
  const thief = await asked('thief')
  const [unknown, foreign] = [await refusals('unknown-operation'), await refusals('foreign-topic')]
  const stolen = JSON.stringify(response(victim.id, done))
  await thief.publish('odm/response/thief', stolen)
  await thief.publish('odm/response/thief', JSON.stringify(response('nobody-asked', done)))
  await thief.publish('odm/response/victim', stolen)
  await thief.publish('odm/request/victim', stolen)
  expect([await refusals('unknown-operation'), await refusals('foreign-topic')]).toEqual([unknown + 2, foreign + 2])
  expect(isFinal((await house.operationOf(victim.job))!)).toBe(false)
  await victim.say(done)
  expect(await victim.ended()).toMatchObject({ result: 'SUCCESSFUL' })
  await thief.say({ resultCode: 'ERROR_PROCESSING' })
  expect(await thief.ended()).toMatchObject({ status: 'FINISHED', result: 'ERROR_PROCESSING' })
})

test('one that goes on after its end, repeats itself, or lives in another century has the end that it said first', async () => {
  const { say, ended } = await asked('chatty')
  const step = (name: string, timestamp: number) => ({ steps: [{ name, timestamp, result: 'SUCCESSFUL' }] })
  await say(step('A', 4_102_444_800_000))
  await say({ ...step('B', -1), timestamp: 'yesterday' })
  await say({ ...done, resultDescription: 'first' })
  await say({ ...done, resultDescription: 'second' })
  await say({ resultCode: 'ERROR_PROCESSING' })
  await say(step('C', 0))
  const operation = await ended()
  expect(operation).toMatchObject({ status: 'FINISHED', result: 'SUCCESSFUL', description: 'first' })
  expect(operation.steps.map(({ name }) => name)).toEqual(['A', 'B'])
})

test('one that sends a packet without end is cut off, and served when it comes back', async () => {
  const device = await asked('endless')
  const left = new Promise<void>(resolve => device.client.once('close', () => resolve()))
  device.publish('odm/iot/endless', Buffer.alloc(1_000_000, ' ')).catch(() => {})
  await left
  const { body } = await house.call('GET', `/north/v80/operation/jobs/${device.job}`)
  expect(body).toMatchObject({ report: { summary: { total: 1, inProgress: { total: 1 } } } })
  const key = (await house.call('POST', '/north/v80/provision/organizations/drover/devices/endless/key')).headers.get(
    'x-apikey',
  )!
  const back = await house.overMqtt('endless', key)
  expect((await back.requests.until(1))[0]?.id).toBe(device.id)
  await back.client.publishAsync('odm/response/endless', JSON.stringify(response(device.id, done)), { qos: 1 })
  expect(await device.ended()).toMatchObject({ status: 'FINISHED', attempts: { current: 1 } })
})
