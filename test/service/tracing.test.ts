/** Traces, as a receiver of OpenTelemetry gets them over HTTP from two nodes. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { afterAll, expect, test } from 'vitest'
import { createCallbackReceiver } from '../callback-receiver.ts'
import { createTestDatabase } from '../database.ts'
import { openHouse, response } from './house.ts'

interface Span {
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly links?: readonly { traceId: string; spanId: string }[]
  readonly status?: { code?: number; message?: string }
  readonly attributes: readonly { key: string; value: { stringValue?: string; intValue?: number } }[]
}
interface Export {
  readonly resourceSpans: readonly { scopeSpans: readonly { spans: readonly Span[] }[] }[]
}

const received: Span[] = []
const receiver = createServer(async (request, reply) => {
  const body = (await json(request)) as Export
  if (request.url === '/v1/traces') {
    received.push(...body.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)))
  }
  reply.setHeader('content-type', 'application/json').end('{}')
})
await new Promise<void>(resolve => receiver.listen(0, '127.0.0.1', resolve))
afterAll(() => receiver.close())
const otlp = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`

const { url: databaseUrl, close } = await createTestDatabase()
afterAll(close)
const variables = { DATABASE_URL: databaseUrl, DROVER_OTLP_URL: otlp, DROVER_TRACE_OPERATIONS_MAX: '5' }
const house = await openHouse(variables)
const other = await openHouse(variables)

const attribute = ({ attributes }: Span, name: string) => attributes.find(({ key }) => key === name)?.value
const traceOf = (traceId: string) => received.filter(span => span.traceId === traceId)
const WAIT = { timeout: 45_000 }
let traces = 0
function traceparent(flags = '01') {
  traces += 1
  const traceId = traces.toString(16).padStart(32, 'c')
  return { traceId, headers: { traceparent: `00-${traceId}-00000000000000aa-${flags}` } }
}

/** Makes a job in a trace; answers its id. */
async function create(
  headers: Record<string, string>,
  entities: readonly string[],
  { active = true, callback = '' } = {},
): Promise<string> {
  const request = { name: 'REBOOT_EQUIPMENT', active, callback, target: { append: { entities } } }
  const made = await house.call<{ id: string }>('POST', '/north/v80/operation/jobs', { job: { request } }, headers)
  expect(made.status).toBe(201)
  return made.body.id
}

test("one trace holds the client's request, the launch, the sending, and the answer that another node took", async () => {
  const key = await house.provision('traced')
  const device = await house.overMqtt('traced', key)
  const { traceId, headers } = traceparent()
  const job = await create(headers, ['traced'])
  const [request] = await device.requests.until(1)
  await other.south('traced', key, 'operation/response', response(request!.id, { resultCode: 'SUCCESSFUL' }))
  await expect
    .poll(
      () =>
        traceOf(traceId)
          .map(({ name }) => name)
          .sort(),
      WAIT,
    )
    .toEqual(['POST /north/v80/operation/jobs', 'operation answer', 'operation launch', 'operation send'])

  const spans = new Map(traceOf(traceId).map(span => [span.name, span]))
  const post = spans.get('POST /north/v80/operation/jobs')!
  expect(post.parentSpanId).toBe('00000000000000aa')
  expect(attribute(post, 'http.response.status_code')?.intValue).toBe(201)
  expect(spans.get('operation launch')!.parentSpanId).toBe(post.spanId)
  expect(spans.get('operation send')!.parentSpanId).toBe(spans.get('operation launch')!.spanId)
  expect(spans.get('operation answer')!.parentSpanId).toBe(post.spanId)
  expect(attribute(spans.get('operation answer')!, 'drover.result')?.stringValue).toBe('SUCCESSFUL')
  for (const name of ['operation launch', 'operation send', 'operation answer']) {
    expect(attribute(spans.get(name)!, 'drover.job.id')?.stringValue).toBe(job)
    expect(attribute(spans.get(name)!, 'drover.operation.id')?.stringValue).toBe(request!.id)
  }
  const startOf = (name: string) => BigInt(spans.get(name)!.startTimeUnixNano)
  expect(startOf('operation launch') <= startOf('operation send')).toBe(true)
  expect(startOf('operation send') <= startOf('operation answer')).toBe(true)
})

test('a job goes on with the trace of the request that activated it, of a large one with some of its operations', async () => {
  const entities = Array.from({ length: 60 }, (_, i) => `asks-${i}`)
  const keys = new Map<string, string>()
  for (const entity of entities) {
    keys.set(entity, await house.provision(entity, { 'provision.device.operation.flow': 'pull' }))
  }
  const made = traceparent()
  const job = await create(made.headers, entities, { active: false })
  const activated = traceparent()
  const body = { job: { request: { active: true } } }
  await house.call('PUT', `/north/v80/operation/jobs/${job}`, body, activated.headers)
  for (const entity of entities) {
    await expect.poll(async () => (await house.south(entity, keys.get(entity)!, 'operation/pending')).status).toBe(200)
  }
  const sent = () => traceOf(activated.traceId).filter(({ name }) => name === 'operation send')
  await expect.poll(() => sent().length, WAIT).toBeGreaterThan(0)
  expect(sent().length).toBeLessThan(30)
  await expect.poll(() => traceOf(made.traceId).length, WAIT).toBeGreaterThan(0)
  expect(traceOf(made.traceId).map(({ name }) => name)).toEqual(['POST /north/v80/operation/jobs'])
})

test('what a client does not want recorded is not', async () => {
  const key = await house.provision('untraced', { 'provision.device.operation.flow': 'pull' })
  const { traceId, headers } = traceparent('00')
  await create(headers, ['untraced'])
  await expect.poll(async () => (await house.south('untraced', key, 'operation/pending')).status).toBe(200)
  const marker = traceparent()
  await house.call('GET', '/north/v80/operation/verify', undefined, marker.headers)
  await expect.poll(() => traceOf(marker.traceId).length, WAIT).toBe(1)
  expect(traceOf(traceId)).toEqual([])
})

/** Does what a device that asks for work is given. */
async function doWork(device: string, key: string): Promise<void> {
  let id = ''
  await expect
    .poll(async () => {
      const asked = await house.south<{ operation: { request: { id: string } } }>(device, key, 'operation/pending')
      if (asked.status === 200) ({ id } = asked.body.operation.request)
      return asked.status
    }, WAIT)
    .toBe(200)
  await house.south(device, key, 'operation/response', response(id, { resultCode: 'SUCCESSFUL' }))
}

const deliveriesIn = (traceId: string) => traceOf(traceId).filter(({ name }) => name === 'delivery')

test('the trace of a job shows each attempt to tell its callback, those that failed as failed', async () => {
  const receiver = await createCallbackReceiver()
  receiver.answer((answer, { path }) => answer.writeHead(path.endsWith('jobFinished') ? 503 : 204).end())
  const key = await house.provision('told', { 'provision.device.operation.flow': 'pull' })
  const { traceId, headers } = traceparent()
  const job = await create(headers, ['told'], { callback: receiver.url })
  await doWork('told', key)
  await expect.poll(() => deliveriesIn(traceId).length, WAIT).toBeGreaterThanOrEqual(2)

  const [started, finished] = deliveriesIn(traceId).sort((a, b) =>
    BigInt(a.startTimeUnixNano) < BigInt(b.startTimeUnixNano) ? -1 : 1,
  )
  const postOf = () => traceOf(traceId).find(({ name }) => name === 'POST /north/v80/operation/jobs')
  await expect.poll(postOf, WAIT).toBeDefined()
  const post = postOf()!
  const told = [
    [started!, 'jobStarted', 204, undefined],
    [finished!, 'jobFinished', 503, 2],
  ] as const
  for (const [span, event, status, code] of told) {
    expect(span.parentSpanId).toBe(post.spanId)
    expect(span.status?.code || undefined).toBe(code)
    expect(attribute(span, 'drover.job.id')?.stringValue).toBe(job)
    expect(attribute(span, 'drover.delivery.event')?.stringValue).toBe(event)
    expect(attribute(span, 'drover.delivery.channel')?.stringValue).toBe('callback')
    expect(attribute(span, 'drover.delivery.status')?.intValue).toBe(status)
  }
})

test('each run of a task has a trace of its own, linked to that of the request that made the task', async () => {
  const receiver = await createCallbackReceiver()
  const key = await house.provision('run', { 'provision.device.operation.flow': 'pull' })
  const { traceId, headers } = traceparent()
  const request = { name: 'REBOOT_EQUIPMENT', callback: receiver.url, target: { append: { entities: ['run'] } } }
  const schedule = { repeating: { period: { each: 2, unit: 'SECONDS' } }, stop: { executions: 2 } }
  const task = { active: true, schedule, job: { request } }
  const made = await house.call<{ task: { id: string } }>('POST', '/north/v80/operation/tasks', { task }, headers)
  expect(made.status).toBe(201)
  const runs = () => received.filter(({ links }) => links?.some(link => link.traceId === traceId))
  await doWork('run', key)
  await doWork('run', key)
  await expect.poll(() => runs().length, WAIT).toBe(2)
  await expect.poll(() => runs().map(run => deliveriesIn(run.traceId).length), WAIT).toEqual([2, 2])

  await expect.poll(() => traceOf(traceId).map(({ name }) => name), WAIT).toEqual(['POST /north/v80/operation/tasks'])
  const post = traceOf(traceId)
  expect(new Set(runs().map(run => run.traceId)).size).toBe(2)
  for (const run of runs()) {
    expect(run.name).toBe('task run')
    expect(run.parentSpanId || undefined).toBeUndefined()
    expect(run.links).toMatchObject([{ traceId, spanId: post[0]!.spanId }])
    expect(attribute(run, 'drover.task.id')?.stringValue).toBe(made.body.task.id)
    // Each node sends what it saw when it likes.
    await expect
      .poll(() => new Set(traceOf(run.traceId).map(({ name }) => name)), WAIT)
      .toEqual(new Set(['task run', 'operation launch', 'operation send', 'operation answer', 'delivery']))
    const caused = traceOf(run.traceId).filter(span => span !== run)
    const parents = caused.filter(({ name }) => name !== 'operation send').map(span => span.parentSpanId)
    expect(new Set(parents)).toEqual(new Set([run.spanId]))
    const job = attribute(run, 'drover.job.id')?.stringValue
    expect(caused.every(span => attribute(span, 'drover.job.id')?.stringValue === job)).toBe(true)
  }
})
