/** Devices behind a Mosquitto of the operator: those that call, those that collect, those whose id is not theirs alone, and those it refuses. */
import { writeFile } from 'node:fs/promises'
import { connectAsync } from 'mqtt'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { provisioningOf } from '../../src/simulator/devices.ts'
import { createMosquitto, mosquittoProgram } from '../south/mosquitto.ts'
import { notes } from '../south/parts.ts'
import { isFinal, openHouse, response } from './house.ts'

const LONG_MS = 240_000
const REFUSED = 2_500
const TAKEN = 20
const successful = { resultCode: 'SUCCESSFUL' }

describe.skipIf(mosquittoProgram === undefined)('behind a Mosquitto of the operator', async () => {
  if (mosquittoProgram === undefined) return
  const broker = await createMosquitto(mosquittoProgram, async folder => {
    const write = ['calls', 'collects', 'twin', ...Array.from({ length: TAKEN }, (_, k) => `taken-${k}`)]
    const rules = [
      'topic read #',
      ...['response', 'iot', 'dmm', 'operationOnDemand'].map(kind => `topic write odm/${kind}/+`),
    ]
    await writeFile(`${folder}/acl`, [...rules, ...write.map(id => `topic write odm/request/${id}`)].join('\n'))
    return ['allow_anonymous true', `acl_file ${folder}/acl`]
  })
  afterAll(() => broker.remove())
  await broker.start()
  const house = await openHouse({ DROVER_MQTT_URL: broker.url })

  async function device(id: string) {
    const client = await connectAsync(broker.url, { clientId: `device-${id}` })
    onTestFinished(() => client.endAsync(true))
    const requests = notes<string>()
    client.on('message', (_topic, payload) => requests.add(JSON.parse(payload.toString()).operation.request.id))
    await client.subscribeAsync(`odm/request/${id}`, { qos: 1 })
    const say = (kind: string, message: object) =>
      client.publishAsync(`odm/${kind}/${id}`, JSON.stringify(message), { qos: 1 })
    return { requests, say }
  }

  test('a device that calls is sent what waits for it, again at each call until it acknowledges, and answers once', async () => {
    await house.provision('calls')
    const job = await house.start('calls')
    await house.until(job, ({ status }) => status === 'WAITING_FOR_CONNECTION')
    const { requests, say } = await device('calls')
    await say('operationOnDemand', {})
    const [id] = await requests.until(1)
    await house.until(job, ({ status }) => status === 'WAITING_FOR_ACK')
    await say('operationOnDemand', {})
    expect(await requests.until(2)).toEqual([id, id])
    await say('response', response(id!, successful))
    expect(await house.until(job, isFinal)).toMatchObject({ status: 'FINISHED', attempts: { current: 1 } })
  })

  test('what a device collects is kept, in both forms', async () => {
    await house.provision('collects')
    const { say } = await device('collects')
    await say('iot', { datastreams: [{ id: 'pressure', datapoints: [{ value: 3 }] }] })
    await say('dmm', { event: { device: { hardware: 'H7' } } })
    const filter = { and: [{ eq: { pressure: 3 } }, { eq: { 'device.hardware': 'H7' } }] }
    const found = async () => (await house.call('POST', '/north/v80/search/entities', { filter })).status
    await expect.poll(found, { timeout: 45_000 }).toBe(200)
  })

  test('a device does not get the requests of another organization that has made a device of its id', async () => {
    await house.provision('twin', { 'provision.device.operation.flow': 'mqtt' })
    const { requests, say } = await device('twin')
    const first = await house.start('twin')
    await say('response', response((await requests.until(1))[0]!, successful))
    await house.until(first, isFinal)
    const organization = { organization: { name: 'neighbours' } }
    expect((await house.call('POST', '/north/v80/provision/organizations', organization)).status).toBe(201)
    const email = 'admin@neighbours.test'
    const made = await house.call('POST', '/north/v80/provision/users', {
      user: { email, password: 'a good password', profile: 'admin', domain: 'neighbours' },
    })
    expect(made.status, JSON.stringify(made.body)).toBe(201)
    const login = { email, password: 'a good password' }
    const { body } = await house.call<{ user: { apiKey: string } }>('POST', '/north/v80/provision/users/login', login)
    const key = { 'x-apikey': body.user.apiKey }
    const values = { 'provision.device.identifier': 'twin', 'provision.device.operation.flow': 'mqtt' }
    const path = '/north/v80/provision/organizations/neighbours/devices?flattened=true'
    expect((await house.call('POST', path, values, key)).status).toBe(201)
    const request = { name: 'FACTORY_RESET', active: true, target: { append: { entities: ['twin'] } } }
    const { body: job } = await house.call<{ id: string }>(
      'POST',
      '/north/v80/operation/jobs',
      { job: { request } },
      key,
    )
    const theirs = async () => {
      const listed = `/north/v80/operation/jobs/${job.id}/operations`
      return (await house.call<{ operations: object[] }>('GET', listed, undefined, key)).body?.operations?.[0]
    }
    await expect
      .poll(theirs, { timeout: 45_000 })
      .toMatchObject({ status: 'TIMEOUT_CANCELLED', description: expect.stringContaining('another organization') })
    expect(requests.all).toHaveLength(1)
  })

  test(
    `a job whose ${REFUSED} requests are all refused holds up no other`,
    async () => {
      const BULK = '/north/v80/provision/organizations/drover/bulk/entities?action=CREATE&flattened=true'
      const fleet = (prefix: string, count: number) =>
        Array.from({ length: count }, (_, k) =>
          provisioningOf({ id: `${prefix}-${k}`, flow: 'mqtt', tags: [prefix] }, 'drover'),
        )
      const entities = [...fleet('refused', REFUSED), ...fleet('taken', TAKEN)]
      expect((await house.call('POST', BULK, { entities })).status).toBe(200)
      const start = (tag: string) =>
        house.start(tag, { target: { append: { tags: [tag] } }, operationParameters: { timeout: LONG_MS } })
      const summary = async (job: string) => {
        const { body } = await house.call<{ report: { summary: Record<string, unknown> } }>(
          'GET',
          `/north/v80/operation/jobs/${job}`,
        )
        return body.report.summary
      }
      const refused = await start('refused')
      await expect.poll(() => summary(refused), { timeout: LONG_MS }).toMatchObject({ status: 'IN_PROGRESS' })
      const devices = await Promise.all(Array.from({ length: TAKEN }, (_, k) => device(`taken-${k}`)))
      const taken = await start('taken')
      await Promise.all(
        devices.map(async ({ requests, say }) => say('response', response((await requests.until(1))[0]!, successful))),
      )
      await expect.poll(() => summary(taken), { timeout: LONG_MS }).toMatchObject({ status: 'FINISHED' })
      expect(await summary(refused)).toMatchObject({ total: REFUSED, inProgress: { total: REFUSED, started: 0 } })
      expect((await house.call('DELETE', `/north/v80/operation/jobs/${refused}`)).status).toBe(200)
      await expect
        .poll(() => summary(refused), { timeout: LONG_MS })
        .toMatchObject({ status: 'CANCELLED', finished: { cancelled: { byUser: REFUSED } } })
      expect((await house.call('GET', '/north/v80/operation/verify')).body).toMatchObject({ differences: [] })
    },
    LONG_MS,
  )
})
