/**
 * What an existing client and an existing device were once recorded saying is served as it is. The recordings are no part of this
 * repository: where they do not lie beside it, there is nothing to replay, and this file is no part of the run (`vitest.config.ts`).
 */
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { createClient } from './client.ts'
import { ADMIN, openHouse } from './house.ts'
import { createJob, readOperations } from './jobs.ts'
import { recordings as folder } from './recordings.ts'

interface ClientLine {
  what: string
  method: string
  path: string
  headers: Record<string, string>
  body?: unknown
}
interface DeviceLine {
  from: 'service' | 'device'
  path: string
  body: { operation: { request?: Sent; response?: { id: string } } }
  answered?: { status: number; contentType: string; body: unknown }
}
interface Sent {
  id: string
  name: string
  deviceId: string
  timestamp: number
  parameters: unknown
}

async function recorded<Line>(name: string): Promise<Line[]> {
  const lines = await readFile(path.join(folder, name), 'utf8')
  return lines
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line))
}

describe('recordings', async () => {
  const clientLines = await recorded<ClientLine>('client-requests.jsonl')
  const deviceLines = await recorded<DeviceLine>('device-messages.jsonl')
  replay(clientLines, deviceLines)
})

/** The recording stands for a device that was there, was made, and was made with more: each is one of its own here. */
const ownNames = new Map<string, (line: ClientLine, index: number) => string>([
  [
    'd1',
    ({ what }, index) =>
      what === 'device create' ? `made-${index}` : what.startsWith('device complex') ? 'made-complex' : 'd1',
  ],
])

/** The status of the interface and its decisions for a request that is served. */
function expected({ method, path: asked, body }: ClientLine): number {
  const search = asked.includes('/search/') || asked.endsWith('/login')
  // A page past the end, and a subscription looked for before it is made.
  if (search && JSON.stringify(body).includes('"start":2')) return 204
  if (method === 'GET' && asked.includes('/subscriptions/')) return 404
  return method === 'POST' && !search ? 201 : 200
}

/** Every date of the recorded present, as far from now as it was from then. */
function shifted(json: string, byMs: number): string {
  return json.replace(/"20\d\d-\d\d-\d\dT[^"]+"/g, date =>
    JSON.stringify(
      new Date(Date.parse(JSON.parse(date)) + byMs)
        .toISOString()
        .replace('.000Z', '+00:00')
        .replace(/\.\d+Z$/, '+00:00'),
    ),
  )
}

function replay(clientLines: ClientLine[], deviceLines: DeviceLine[]): void {
  describe('of a client', async () => {
    const { client, password, url } = await openHouse({ DROVER_ORGANIZATION: 'org' })
    const anonymous = createClient(url, '')
    const tagged = Array.from({ length: 30 }, (_, i) => (i < 2 ? `d${i + 1}` : `more-${i}`))
    const served: [string, ClientLine, number][] = clientLines.map((line, index) => [
      `${index + 1}: ${line.what}`,
      line,
      index,
    ])
    const firstDate = /"(20\d\d-\d\d-\d\dT[^"]+)"/.exec(
      JSON.stringify(clientLines.filter(({ what }) => what.startsWith('task'))),
    )![1]!
    const byMs = Date.now() + 300_000 - Date.parse(firstDate)
    let [jwt, job, openJob, task] = ['', '', '', '']

    beforeAll(async () => {
      const entities = tagged.map(id => ({
        resourceType: 'entity.device',
        'provision.device.identifier': id,
        'provision.administration.channel': 'default_channel',
        'provision.administration.tags': ['t1'],
      }))
      const bulk = '/north/v80/provision/organizations/org/bulk/entities?action=CREATE&flattened=true'
      expect((await client.call('POST', bulk, { entities })).status).toBe(200)
      const login = await client.call<{ user: { jwt: string } }>('POST', '/north/v80/provision/users/login', {
        email: ADMIN,
        password,
      })
      jwt = login.body.user.jwt
      const request = { name: 'REFRESH_INFO', target: { append: { tags: ['t1'] } } }
      openJob = (await createJob(client, { ...request, active: true })).id
      job = (await createJob(client, { ...request, name: 'DISCOVER', active: false })).id
      const resolved = async () => {
        for (const each of [job, openJob]) expect(await readOperations(client, each)).toHaveLength(tagged.length)
      }
      await vi.waitFor(resolved, { timeout: 20_000, interval: 50 })
      const made = await client.call<{ id: string }>('POST', '/north/v80/operation/tasks', {
        task: {
          schedule: { repeating: { period: { each: 1, unit: 'DAYS' } } },
          job: { request: { name: 'REFRESH_INFO', target: { append: { entities: ['d1'] } } } },
        },
      })
      task = made.headers.get('location')!.split('/').at(-1)!
    })

    /** A line with the ids, names and instants of this service in place of the recorded ones. */
    function here(line: ClientLine, index: number): ClientLine {
      const device = ownNames.get('d1')!(line, index)
      const open = line.path.includes('/entities/devices/operations')
      const json = shifted(JSON.stringify({ path: line.path, body: line.body }), byMs)
        .replaceAll(/(?<=["/])d1(?=["/?])/g, device)
        .replaceAll(/(?<=["/])J1(?=["/])/g, open ? openJob : job)
        .replaceAll(/(?<=["/])T1(?=["/])/g, task)
        .replace('"fromCatalog":"X"', '"fromCatalog":"DISCOVER"')
        .replace('"a@b.c"', JSON.stringify(ADMIN))
        .replace('"pw"', JSON.stringify(password))
      const headers = Object.fromEntries(
        Object.entries(line.headers).map(([name, value]) => [
          name,
          value.replace('J.W.T', jwt).replace('APIKEY', client.apiKey),
        ]),
      )
      return { ...line, ...JSON.parse(json), headers }
    }

    test.each(served)('serves line %s', async (_, line, index) => {
      const { method, path: asked, body, headers } = here(line, index)
      const answer = await anonymous.call<unknown>(method, asked, body, headers)
      expect(answer.status, `${method} ${asked} ${JSON.stringify(answer.body)}`).toBe(expected(line))
      if (answer.status === 201 && !asked.includes('/collect/')) {
        expect(answer.headers.get('location')).toMatch(/\/[^/]+$/)
      }
      if (headers.accept === 'text/plain') expect(answer.headers.get('content-type')).toMatch(/^text\/plain/)
    })
  })

  describe('of a device', async () => {
    const { client } = await openHouse()

    test('its answers to what it was asked, its parts and its end are taken for what they are', async () => {
      const asked = new Map<string, Sent>()
      const device = await openDevice(deviceLines, request => asked.set(request.name, request))
      const requests = deviceLines.flatMap(line => (line.from === 'service' ? [line.body.operation.request!] : []))
      const id = requests[0]!.deviceId
      const boxes = {
        'provision.device.identifier': id,
        'provision.device.operation.flow': 'http',
        'provision.device.operation.url': `${device.url}${deviceLines[0]!.path}`,
      }
      const provisioned = await client.call(
        'POST',
        '/north/v80/provision/organizations/drover/devices?flattened=true',
        boxes,
      )
      expect(provisioned.status).toBe(201)

      const results: Record<string, string[]> = {}
      for (const request of requests) {
        const job = await createJob(client, {
          name: request.name,
          parameters: request.parameters,
          target: { append: { entities: [id] } },
        })
        const [operation] = await readOperations(client, job.id)
        await expect.poll(() => asked.has(request.name), { timeout: 20_000 }).toBe(true)
        expect(asked.get(request.name)).toEqual({
          ...request,
          id: operation!.operationId,
          timestamp: expect.any(Number),
        })
        const said = deviceLines.filter(
          ({ from, body }) => from === 'device' && body.operation.response?.id === request.id,
        )
        for (const { path: to, body } of said) {
          const own = JSON.parse(JSON.stringify(body).replaceAll(request.id, operation!.operationId))
          expect((await client.call('POST', to, own)).status).toBe(200)
        }
        const ended = async () => (await readOperations(client, job.id))[0]!
        await expect.poll(async () => (await ended()).execution.finishedDate, { timeout: 20_000 }).not.toBe('')
        const { status, result, steps } = await ended()
        results[request.name] = [status, result, ...steps.map(step => `${step.name} ${step.result}`)]
      }
      const names = (lines: DeviceLine[]) =>
        [...JSON.stringify(lines).matchAll(/"steps":\[\{"name":"(\w+)"/g)].map(([, name]) => `${name} SUCCESSFUL`)
      expect(Object.values(results)).toEqual([
        ['FINISHED', 'SUCCESSFUL', ...names(deviceLines)],
        ['FINISHED', 'ERROR_PROCESSING'],
        ['FINISHED', 'NOT_SUPPORTED'],
      ])
    }, 60_000)
  })
}

/** An HTTP device that answers each request as the recorded one did. */
async function openDevice(lines: DeviceLine[], onRequest: (request: Sent) => void): Promise<{ url: string }> {
  const server = createServer((request, response) => {
    void text(request).then(body => {
      const sent = (JSON.parse(body) as DeviceLine['body']).operation.request!
      const line = lines.find(each => each.body.operation.request?.name === sent.name)!
      const { status, contentType, body: answer } = line.answered!
      const said = typeof answer === 'string' ? answer : JSON.stringify(answer)
      response
        .writeHead(status, { 'content-type': contentType })
        .end(said.replaceAll(line.body.operation.request!.id, sent.id))
      onRequest(sent)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}
