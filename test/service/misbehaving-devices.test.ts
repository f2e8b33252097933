/**
 * Devices that are pushed to over HTTP and answer it badly, each kind a crowd of its own on one service, all at the same time. Each ends
 * as it must, and the devices beside them are served as if they were not there.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { OperationView } from '../../src/contract/operation.ts'
import { type Asked, drip, type Manners, politeListener, pour, rudeListener } from './doubles.ts'
import { bringUpFleet } from './fleet.ts'
import { openHouse } from './house.ts'
import { countersOf, createJob, jobEnded, readJob, readOperations, recount } from './jobs.ts'

const service = await openHouse({ DROVER_MIN_OPERATION_TIMEOUT_MS: '0' })
const { client } = service

const CROWD = 8
const ACK_TIMEOUT_MS = 16_000
const TIMEOUT_MS = 8_000
const ROUNDS = 3

const final = { resultCode: 'SUCCESSFUL', resultDescription: 'done' }
const said = ({ id, name }: Asked, members: object = final) =>
  JSON.stringify({ version: '8.0', operation: { response: { id, name, ...members } } })
const says =
  (body: (asked: Asked) => string | Buffer, type = 'application/json'): Manners =>
  (asked, response) =>
    void response.writeHead(201, { 'content-type': type }).end(body(asked))
const post = (deviceId: string, body: string) =>
  client.call('POST', `/south/v80/devices/${deviceId}/operation/response`, body)

/** How an operation must have ended: its words, and for how long it was waited on. */
type End = readonly [status: string, result: string, within: 'at once' | 'timeout' | 'ackTimeout']
const SUCCEEDED: End = ['FINISHED', 'SUCCESSFUL', 'at once']
const FAILED: End = ['FINISHED', 'ERROR_PROCESSING', 'at once']
const UNREACHABLE: End = ['TIMEOUT_CANCELLED', 'ERROR_TIMEOUT', 'at once']
/** What it said was an acknowledgement and no more. */
const NOT_ENDED: End = ['TIMEOUT_CANCELLED', 'ERROR_TIMEOUT', 'timeout']
const NOT_HEARD: End = ['TIMEOUT_CANCELLED', 'ERROR_TIMEOUT', 'ackTimeout']

/** The operation of a device that has done nothing. */
let bystanding = ''
const SILENT = 'take the connection and stay silent'

const kinds: readonly (readonly [what: string, listener: () => Promise<string>, end: End])[] = [
  [SILENT, () => rudeListener(() => {}), NOT_HEARD],
  [
    'send their headers byte by byte',
    () => rudeListener(socket => drip(socket, `HTTP/1.1 201 Created\r\nx: ${'x'.repeat(1_000)}`, 50)),
    NOT_HEARD,
  ],
  [
    'send headers without end',
    () =>
      rudeListener(socket => {
        socket.write('HTTP/1.1 201 Created\r\n')
        pour(socket, 'x-more: of it\r\n'.repeat(500))
      }),
    FAILED,
  ],
  [
    'promise to go on without end',
    () => rudeListener(socket => drip(socket, Array<string>(1_000).fill('HTTP/1.1 102 Processing\r\n\r\n'), 20)),
    NOT_HEARD,
  ],
  [
    'send their body byte by byte',
    () =>
      rudeListener(socket => {
        socket.write('HTTP/1.1 201 Created\r\ncontent-length: 1000\r\n\r\n')
        drip(socket, '{'.padEnd(1_000), 50)
      }),
    NOT_HEARD,
  ],
  [
    'send a body without end',
    () => politeListener((_, response) => pour(response.writeHead(201), ' '.repeat(16_384))),
    NOT_ENDED,
  ],
  [
    'break off in the middle of the body',
    () => rudeListener(socket => void socket.end('HTTP/1.1 201 Created\r\ncontent-length: 1000\r\n\r\n{"operation":{')),
    NOT_ENDED,
  ],
  ['close the connection without a word', () => rudeListener(socket => socket.destroy()), UNREACHABLE],
  ['do not speak HTTP', () => rudeListener(socket => void socket.end('220 smtp.example ESMTP\r\n')), FAILED],
  ['say with the wrong content type what is right', () => politeListener(says(said, 'image/png')), SUCCEEDED],
  ['answer JSON that is none', () => politeListener(says(asked => said(asked).slice(0, -1))), NOT_ENDED],
  ['answer a page', () => politeListener(says(() => '<!doctype html><h1>It works!</h1>', 'text/html')), NOT_ENDED],
  ['answer bytes that are no text', () => politeListener(says(() => Buffer.alloc(2_000, 0xff))), NOT_ENDED],
  [
    'answer five megabytes of JSON',
    () => politeListener(says(asked => said(asked, { ...final, variableList: 'x'.repeat(5_000_000) }))),
    NOT_ENDED,
  ],
  [
    'answer JSON nested ten thousand deep',
    () =>
      politeListener(
        says(asked =>
          said(asked, { ...final, variableList: 0 }).replace(':0', `:${'['.repeat(10_000)}${']'.repeat(10_000)}`),
        ),
      ),
    NOT_ENDED,
  ],
  [
    'answer a hundred thousand steps',
    () => politeListener(says(asked => said(asked, { ...final, steps: Array(100_000).fill({ name: 'A' }) }))),
    NOT_ENDED,
  ],
  [
    'answer for an operation that never was',
    () => politeListener(says(({ name }) => said({ id: 'nonsense', name, deviceId: '' }))),
    NOT_ENDED,
  ],
  [
    'answer with the operation of another device',
    () => politeListener(says(({ name }) => said({ id: bystanding, name, deviceId: '' }))),
    NOT_ENDED,
  ],
  [
    'end the operation before they acknowledge it',
    () =>
      politeListener(async (asked, response) => {
        const { status } = await post(asked.deviceId, said(asked))
        response.writeHead(status === 200 ? 201 : 500).end()
      }),
    SUCCEEDED,
  ],
  [
    'go on with parts and other ends after their end',
    () =>
      politeListener(async (asked, response) => {
        response.writeHead(201).end(said(asked))
        // Again, so that the end has been taken before the rest is posted.
        await post(asked.deviceId, said(asked))
        await post(asked.deviceId, said(asked, { steps: [{ name: 'AFTERWARDS', result: 'ERROR' }] }))
        await post(asked.deviceId, said(asked, { resultCode: 'ERROR_PROCESSING' }))
      }),
    SUCCEEDED,
  ],
  [
    'live seventy years in the past',
    () =>
      politeListener(
        says(asked =>
          said(asked, {
            ...final,
            timestamp: -1e12,
            steps: [{ name: 'A', timestamp: '1956-01-01T00:00:00Z', result: 'SUCCESSFUL' }],
          }),
        ),
      ),
    SUCCEEDED,
  ],
  [
    'live in the year 12000',
    () =>
      politeListener(
        says(asked =>
          said(asked, { ...final, timestamp: 316_516_118_400_000, steps: [{ name: 'A', result: 'SUCCESSFUL' }] }),
        ),
      ),
    SUCCEEDED,
  ],
  [
    'end with a word of their own',
    () => politeListener(says(asked => said(asked, { resultCode: 'FIN\u0000E' }))),
    ['FINISHED', 'UNKNOWN_RESULT', 'at once'],
  ],
]

describe('a crowd of devices that', () => {
  const jobs = new Map<string, string>()
  const crowds = kinds.map((_, kind) => Array.from({ length: CROWD }, (_, n) => `kind-${kind}-${n}`))
  let bystander = ''
  let openMeanwhile = 0

  beforeAll(async () => {
    const neighbours = await bringUpFleet(service, {
      devices: 40,
      prefix: 'neighbour',
      latency: { shape: 'uniform', minMs: 0, maxMs: 0 },
    })
    afterAll(() => neighbours.stop())
    const urls = await Promise.all(kinds.map(([, listener]) => listener()))
    await provision([...crowds.flatMap((ids, kind) => ids.map(id => ({ id, url: urls[kind]! }))), { id: 'bystander' }])
    bystander = (await createJob(client, request({ entities: ['bystander'] }, 600_000))).id
    bystanding = (await readOperations(client, bystander))[0]!.operationId
    await Promise.all(
      kinds.map(async ([what], kind) => {
        jobs.set(what, (await createJob(client, request({ entities: crowds[kind]! }))).id)
      }),
    )
    for (let round = 0; round < ROUNDS; round += 1) await serveNeighbours()
    openMeanwhile = (await readJob(client, jobs.get(SILENT)!)).report.summary.inProgress.total
  })

  test.for(kinds)('%s', async ([what, , [status, result, within]]) => {
    const job = jobs.get(what)!
    const operations = await ended(job)
    expect(operations).toHaveLength(CROWD)
    const ends = operations.map(each => [each.status, each.result, waitedFor(each)].join(', '))
    expect(new Set(ends)).toEqual(new Set([[status, result, within].join(', ')]))
    expect(countersOf(await readJob(client, job))).toEqual(recount(operations))
  })

  test('misbehaves leaves its well-behaved neighbours served in time', () => {
    // All rounds were over before the silent ones had run out of time: nobody waited for those.
    expect(openMeanwhile).toBe(CROWD)
  })

  test('answers with the operation of another device changes nothing there', async () => {
    await ended(jobs.get('answer with the operation of another device')!)
    const [operation] = await readOperations(client, bystander)
    expect(operation).toMatchObject({ operationId: bystanding, status: 'WAITING_FOR_CONNECTION', steps: [] })
  })

  test('goes on after its end leaves the steps and the result of its end', async () => {
    const operations = await ended(jobs.get('go on with parts and other ends after their end')!)
    expect(operations.map(({ steps }) => steps)).toEqual(Array(CROWD).fill([]))
  })

  test('lives in another time does not bend the dates of its operations', async () => {
    for (const what of ['live seventy years in the past', 'live in the year 12000']) {
      for (const { execution, steps } of await ended(jobs.get(what)!)) {
        const dates = [execution.startedDate, execution.finishedDate, steps[0]!.timestamp!].map(date =>
          Date.parse(date),
        )
        expect(dates.filter(date => !(Math.abs(date - Date.now()) < 600_000))).toEqual([])
      }
    }
  })
})

const since = ({ execution }: OperationView) => Date.parse(execution.finishedDate) - Date.parse(execution.startedDate)

function waitedFor(operation: OperationView): End[2] {
  if (since(operation) >= ACK_TIMEOUT_MS) return 'ackTimeout'
  return since(operation) >= TIMEOUT_MS ? 'timeout' : 'at once'
}

function request(append: object, ackTimeout = ACK_TIMEOUT_MS): Record<string, unknown> {
  return {
    name: 'REBOOT_EQUIPMENT',
    active: true,
    target: { append },
    operationParameters: { ackTimeout, timeout: TIMEOUT_MS },
  }
}

async function provision(devices: readonly { id: string; url?: string }[]): Promise<void> {
  const entities = devices.map(({ id, url }) => ({
    resourceType: 'entity.device',
    'provision.device.identifier': id,
    'provision.administration.channel': 'default_channel',
    ...(url === undefined ? { 'provision.device.operation.flow': 'pull' } : { 'provision.device.operation.url': url }),
  }))
  const bulk = '/north/v80/provision/organizations/drover/bulk/entities?action=CREATE&flattened=true'
  expect((await client.call('POST', bulk, { entities })).status).toBe(200)
}

/** One operation on every neighbour, all to success. */
async function serveNeighbours(): Promise<void> {
  const operations = await ended((await createJob(client, request({ tags: ['neighbour'] }))).id)
  expect(operations.map(({ result }) => result)).toEqual(Array(40).fill('SUCCESSFUL'))
}

async function ended(job: string): Promise<OperationView[]> {
  await jobEnded(client, job)
  return await readOperations(client, job)
}
