import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { expect, test } from 'vitest'
import { httpDevice } from '../connectors/http-devices.ts'
import { notes } from '../south/parts.ts'
import { isFinal, openHouse } from './house.ts'

const house = await openHouse()
const functions = '/north/v80/connectorFunctions/provision/organizations/drover'

/** The function that the reference shows. */
async function shown(): Promise<string> {
  const page = await readFile(path.resolve(import.meta.dirname, '../../docs/reference/connector-functions.md'), 'utf8')
  return /```js\n(.*?)```/s.exec(page)![1]!
}

async function write(name: string, members: Record<string, unknown>): Promise<void> {
  const answer = await house.call('POST', functions, { name, ...members })
  if (answer.status !== 201) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`)
}

test('a device with a language of its own over HTTP is asked and understood, and reports to its own route', async () => {
  await write('meter', {
    route: 'meter-says',
    source: await shown(),
  })
  const asked = notes<string>()
  const keys = notes<unknown>()
  const url = await httpDevice((received, response) => {
    asked.add(received.body)
    keys.add(received.headers['x-apikey'])
    response.writeHead(200, { 'content-type': 'text/plain' }).end('OK')
  })
  const key = await house.provision('meter-1', {
    'provision.device.operation.url': url,
    'provision.device.operation.flow': 'function:meter',
  })
  const job = await house.start('meter-1')
  const { operationId } = await house.until(job, ({ status }) => status === 'IN_PROGRESS')
  expect(asked.all).toEqual([`CMD=REBOOT_EQUIPMENT;REF=${operationId}`])
  expect(keys.all).toEqual([key])
  const said = await fetch(`${house.url}/south/v80/devices/meter-1/meter-says`, {
    method: 'POST',
    headers: { 'x-apikey': key, 'content-type': 'text/plain' },
    body: `REF=${operationId};STATE=done`,
  })
  expect(said.status).toBe(200)
  expect(await house.operationOf(job)).toMatchObject({
    status: 'FINISHED',
    result: 'SUCCESSFUL',
    steps: [{ name: 'METER' }],
  })
})

test('a device with a language of its own over MQTT is asked and understood', async () => {
  await write('valve', {
    source: `
      const request = operation => ({ mqtt: { payload: 'TURN ' + operation.id } })
      const response = message => ({ id: message.body.slice(5), resultCode: 'SUCCESSFUL' })`,
  })
  const key = await house.provision('valve-1', { 'provision.device.operation.flow': 'function:valve' })
  const { client } = await house.overMqtt('valve-1', key, { subscribe: false })
  client.removeAllListeners('message')
  const asked = notes<string>()
  client.on('message', (_topic, payload) => asked.add(payload.toString()))
  await client.subscribeAsync('odm/request/valve-1', { qos: 1 })
  const job = await house.start('valve-1')
  const [line] = await asked.until(1)
  const { operationId } = (await house.operationOf(job))!
  expect(line).toBe(`TURN ${operationId}`)
  await client.publishAsync('odm/response/valve-1', `DONE ${operationId}`, { qos: 1 })
  expect(await house.operationOf(job)).toMatchObject({ status: 'FINISHED', result: 'SUCCESSFUL' })
})

test('a device with a language of its own whose connection broke before it answered is asked again when it is back', async () => {
  const key = await house.provision('valve-2', { 'provision.device.operation.flow': 'function:valve' })
  const connect = async () => {
    const { client } = await house.overMqtt('valve-2', key, { subscribe: false })
    client.removeAllListeners('message')
    const asked = notes<string>()
    client.on('message', (_topic, payload) => asked.add(payload.toString()))
    await client.subscribeAsync('odm/request/valve-2', { qos: 1 })
    return { client, asked }
  }
  const first = await connect()
  const job = await house.start('valve-2')
  const [line] = await first.asked.until(1)
  await house.until(job, ({ status }) => status === 'WAITING_FOR_ACK')
  first.client.end(true)
  const second = await connect()
  expect(await second.asked.until(1)).toEqual([line])
  await second.client.publishAsync('odm/response/valve-2', `DONE ${line!.slice(5)}`, { qos: 1 })
  expect(await house.operationOf(job)).toMatchObject({ status: 'FINISHED', attempts: { current: 1 } })
})

test('a function that fails ends the operation with its name and the reason, and stops nothing else', async () => {
  await write('hostile', { source: 'function request() { for (;;); }' })
  await write('simple', { source: 'const request = () => ({ result: { resultCode: "SUCCESSFUL" } })' })
  await house.provision('hostile-1', { 'provision.device.operation.flow': 'function:hostile' })
  await house.provision('simple-1', { 'provision.device.operation.flow': 'function:simple' })
  await house.provision('missing-1', { 'provision.device.operation.flow': 'function:nowhere' })
  const jobs = [await house.start('hostile-1'), await house.start('simple-1'), await house.start('missing-1')]
  const [hostile, simple, missing] = await Promise.all(jobs.map(job => house.until(job, isFinal)))
  expect(hostile).toMatchObject({
    result: 'ERROR_PROCESSING',
    description: expect.stringContaining('connector function hostile: it ran for too long'),
  })
  expect(simple).toMatchObject({ status: 'FINISHED', result: 'SUCCESSFUL' })
  expect(missing).toMatchObject({ result: 'NOT_SUPPORTED' })
})

test('what a function gives that no database can hold ends the operation all the same', async () => {
  await write('nul', {
    source: 'const request = () => ({ result: { resultCode: "SUCCESSFUL", resultDescription: "a\\u0000b" } })',
  })
  await write('loud', { source: 'function request() { throw "😀".repeat(3000) }' })
  await house.provision('nul-1', { 'provision.device.operation.flow': 'function:nul' })
  await house.provision('loud-1', { 'provision.device.operation.flow': 'function:loud' })
  const retried = { operationParameters: { timeout: 60_000, retries: 1, retriesDelay: 0 } }
  const jobs = [await house.start('nul-1'), await house.start('loud-1', retried)]
  const [nul, loud] = await Promise.all(jobs.map(job => house.until(job, isFinal)))
  expect(nul).toMatchObject({ result: 'SUCCESSFUL', description: 'a\uFFFDb' })
  expect(loud).toMatchObject({
    result: 'ERROR_PROCESSING',
    description: expect.stringContaining('connector function loud: '),
    attempts: { current: 2 },
  })
})

test('a function that cannot read the answer of its device leaves it an acknowledgement that says so', async () => {
  await write('deaf', {
    source: 'const request = () => ({ http: { body: "?" } }); function response() { throw new Error("what?") }',
  })
  const url = await httpDevice((_received, response) => response.writeHead(200).end('GRMPF'))
  await house.provision('deaf-1', {
    'provision.device.operation.url': url,
    'provision.device.operation.flow': 'function:deaf',
  })
  const job = await house.start('deaf-1')
  const { operationId, description } = await house.until(job, ({ status }) => status === 'IN_PROGRESS')
  expect(description).toContain('connector function deaf: Error: what?')
  const { body } = await house.call('GET', `/north/v80/operation/jobs/${job}/operations/${operationId}/messages`)
  expect(body).toMatchObject({ messages: [{ raw: 'GRMPF' }] })
})

test('a changed function is used within seconds', async () => {
  await write('changing', { source: 'const request = () => ({ result: { resultCode: "ERROR_PROCESSING" } })' })
  await house.provision('changing-1', { 'provision.device.operation.flow': 'function:changing' })
  const result = async () => (await house.until(await house.start('changing-1'), isFinal)).result
  expect(await result()).toBe('ERROR_PROCESSING')
  await house.call('PUT', `${functions}/changing`, {
    source: 'const request = () => ({ result: { resultCode: "SUCCESSFUL" } })',
  })
  expect(await result()).toBe('SUCCESSFUL')
})
