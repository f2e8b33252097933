/** Devices and callbacks over HTTPS: whose certificate nobody vouches for is not spoken to, and whose the operator trusts is. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, expect, test } from 'vitest'
import { CERTIFICATE, CERTIFICATE_KEY } from '../certificate.ts'
import { listen } from '../connectors/http-devices.ts'
import { notes } from '../south/parts.ts'
import { isFinal, openHouse, response } from './house.ts'

const folder = await mkdtemp(path.join(tmpdir(), 'drover-https-'))
afterAll(() => rm(folder, { recursive: true }))
const file = path.join(folder, 'trusted.pem')
await writeFile(file, CERTIFICATE)

const allowed = { DROVER_CALLBACK_ALLOW_HTTPS: 'true' }
const [wary, trusting] = await Promise.all([openHouse(allowed), openHouse({ ...allowed, DROVER_HTTPS_CA_FILE: file })])

test.for([
  [false, 'TIMEOUT_CANCELLED', 'ERROR_TIMEOUT', /SELF_SIGNED_CERT/],
  [true, 'FINISHED', 'SUCCESSFUL', /^done$/],
] as const)(
  'a device that signs for itself, trusted %j, ends as %s',
  async ([trusted, status, result, description]) => {
    const house = trusted ? trusting : wary
    const asked: string[] = []
    const server = createServer({ cert: CERTIFICATE, key: CERTIFICATE_KEY }, async (incoming, reply) => {
      const { id } = JSON.parse(await text(incoming)).operation.request
      asked.push(id)
      const said = { resultCode: 'SUCCESSFUL', resultDescription: 'done' }
      reply.writeHead(201).end(JSON.stringify(response(id, said)))
    })
    const url = (await listen(server)).replace('http:', 'https:')
    await house.provision('signs-for-itself', { 'provision.device.operation.url': url })
    const operation = await house.until(await house.start('signs-for-itself'), isFinal)
    expect(operation).toMatchObject({ status, result, description: expect.stringMatching(description) })
    expect(asked).toEqual(trusted ? [operation.operationId] : [])
  },
)

test('a receiver of callbacks that signs for itself is told where it is trusted, and is tried again where it is not', async () => {
  const heard = notes<string>()
  const server = createServer({ cert: CERTIFICATE, key: CERTIFICATE_KEY }, async (incoming, reply) => {
    heard.add(JSON.parse(await text(incoming)).job.id)
    reply.end()
  })
  const callback = (await listen(server)).replace('http:', 'https:')
  const run = async (house: typeof wary) => {
    await house.provision('without-url')
    const id = await house.start('without-url', { callback, active: true })
    return id
  }
  const [refused, told] = [await run(wary), await run(trusting)]
  const attempted = async () => {
    const { body } = await wary.call<{ deliveries: { lastError?: string }[] } | undefined>(
      'GET',
      `/north/v80/deliveries?job=${refused}`,
    )
    return body?.deliveries[0]?.lastError
  }
  await expect.poll(attempted, { timeout: 45_000 }).toMatch(/certificate/)
  await heard.until(1)
  expect(heard.all).toEqual([told])
})
