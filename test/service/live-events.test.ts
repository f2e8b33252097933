import { afterAll, expect, onTestFinished, test } from 'vitest'
import type { JobEvent, OperationEvent, SecondsEvent } from '../../src/contract/live-events.ts'
import { createTestDatabase } from '../database.ts'
import { type EventReader, readEvents, type SeenEvent } from './event-stream.ts'
import { bringUpFleet } from './fleet.ts'
import { openHouse } from './house.ts'
import { countersOf, createJob, readJob, readOperations, updateRequest } from './jobs.ts'

const DEVICES = 300
const LONG_MS = 120_000

const { url: databaseUrl, close } = await createTestDatabase()
afterAll(close)
const house = await openHouse({ DATABASE_URL: databaseUrl, DROVER_LIVE_STREAMS_PER_ORGANIZATION_MAX: '8' })
const other = await openHouse({ DATABASE_URL: databaseUrl, DROVER_ROLES: 'north,south' })
const { client } = house

const ofJob = (id: string, query = '') => `/north/v80/operation/jobs/${id}/events${query}`
const ORGANIZATION = '/north/v80/operation/events'

async function follow(path: string, headers: Record<string, string> = {}, node = house): Promise<EventReader> {
  const reader = await readEvents(`${node.url}${path}`, { 'x-apikey': house.apiKey, ...headers })
  onTestFinished(() => reader.breakOff())
  return reader
}

const jobOf = ({ data }: SeenEvent) => data as unknown as JobEvent
const operationOf = ({ data }: SeenEvent) => data as unknown as OperationEvent
const jobsIn = ({ events }: EventReader) => events.filter(({ event }) => event === 'job').map(jobOf)
const isJob = (id: string, status: string) => (seen: SeenEvent) =>
  seen.event === 'job' && jobOf(seen).jobId === id && jobOf(seen).summary.status === status

/** What is over stays so, and revisions only grow: of each job in the order in which it was told. */
function expectForward(told: readonly JobEvent[]): void {
  const before = new Map<string, JobEvent>()
  for (const event of told) {
    const last = before.get(event.jobId)
    before.set(event.jobId, event)
    if (!last) continue
    expect(event.revision).toBeGreaterThan(last.revision)
    expect(event.summary.finished.total).toBeGreaterThanOrEqual(last.summary.finished.total)
    expect(event.summary.finished.successful).toBeGreaterThanOrEqual(last.summary.finished.successful)
    expect(event.summary.total).toBeGreaterThanOrEqual(last.summary.total)
  }
}

/** What each event counts as ended is what has ended since the one before. */
function expectCounted([first, ...rest]: readonly JobEvent[]): void {
  let over = first!.summary.finished.total
  expect(first!.ended).toBe(0)
  for (const { ended, summary } of rest) {
    over += ended
    expect(summary.finished.total).toBe(over)
  }
}

let devices = 0
async function idleJob(request: Record<string, unknown> = {}): Promise<string> {
  devices += 1
  await house.provision(`idle-${devices}`, { 'provision.device.operation.flow': 'pull' })
  return await house.start(`idle-${devices}`, { active: false, ...request })
}

async function put(id: string, request: Record<string, unknown>): Promise<void> {
  const { status, body } = await client.call('PUT', `/north/v80/operation/jobs/${id}`, { job: { request } })
  expect(status, JSON.stringify(body)).toBe(200)
}

test('a job is followed from where it stands, through every change of its status, on any node', async () => {
  const id = await idleJob()
  const readers = [await follow(ofJob(id)), await follow(ofJob(id), {}, other)]
  for (const { headers } of readers) {
    expect(headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    expect(headers.get('cache-control')).toBe('no-store, no-transform')
  }
  for (const reader of readers) await reader.until(isJob(id, 'IDLE'))
  await put(id, { active: true })
  for (const reader of readers) await reader.until(isJob(id, 'IN_PROGRESS'))
  await put(id, { active: false })
  for (const reader of readers) await reader.until(isJob(id, 'PAUSED'))
  await put(id, { active: true })
  await client.call('DELETE', `/north/v80/operation/jobs/${id}`)
  for (const reader of readers) {
    const last = await reader.until(isJob(id, 'CANCELLED'))
    expect(jobOf(last).summary).toMatchObject({ total: 1, finished: { cancelled: { byUser: 1 } } })
    expect(reader.events[0]).toMatchObject({ event: 'seconds', data: { seconds: [] } })
    expectForward(jobsIn(reader))
  }
})

test('the operations of a job are told as they stand, and each time they stand otherwise', async () => {
  const id = await idleJob()
  const reader = await follow(ofJob(id))
  await reader.until(seen => seen.event === 'operation' && operationOf(seen).status === 'PENDING')
  await put(id, { active: true })
  await reader.until(seen => seen.event === 'operation' && operationOf(seen).status === 'WAITING_FOR_CONNECTION')
  await client.call('DELETE', `/north/v80/operation/jobs/${id}`)
  const last = await reader.until(seen => seen.event === 'operation' && operationOf(seen).status === 'CANCELLED')
  const [listed] = await readOperations(client, id)
  const { operationId, entityId, resourceType, status, result, steps } = listed!
  expect(last.data).toMatchObject({ operationId, jobId: id, entityId, resourceType, status, result, steps })

  const without = await follow(ofJob(id, '?operations=false'))
  await without.until(isJob(id, 'CANCELLED'))
  const page = await follow(ofJob(id, '?start=2'))
  await page.until(isJob(id, 'CANCELLED'))
  await reader.until(isJob(id, 'CANCELLED'))
  expect([...without.events, ...page.events].filter(({ event }) => event === 'operation')).toEqual([])
})

test(
  'figures never run backwards under load on two nodes, for whoever reads on or comes again, and end where the job ends',
  async () => {
    const fleet = await bringUpFleet(house, {
      devices: DEVICES,
      flows: { 'http-sync': 2, 'http-async': 1 },
      latency: { shape: 'uniform', minMs: 10, maxMs: 2_000 },
    })
    onTestFinished(() => fleet.stop())
    const organization = await follow(ORGANIZATION)
    const { id } = await createJob(client, updateRequest('sim'))
    const path = ofJob(id, '?operations=false')
    const readers = [await follow(path), await follow(path, {}, other)]

    // One who loses its stream all the time, and goes on at the other node.
    const wanderer: JobEvent[] = []
    const isOver = () => wanderer.at(-1)?.summary.status === 'FINISHED'
    let lastId: string | undefined
    let first = true
    for (let node = house; !isOver(); node = node === house ? other : house) {
      const reader = await follow(path, lastId === undefined ? {} : { 'last-event-id': lastId }, node)
      await reader.until(seen => seen.event === 'job')
      reader.breakOff()
      await reader.ended
      expect(reader.events.some(({ event }) => event === 'seconds')).toBe(first)
      first = false
      wanderer.push(...jobsIn(reader))
      lastId = reader.lastId()
    }
    expectForward(wanderer)
    expectCounted(wanderer)

    const job = await readJob(client, id)
    for (const reader of [...readers, organization]) {
      const last = await reader.until(isJob(id, 'FINISHED'))
      expectForward(jobsIn(reader))
      expect(jobOf(last).summary).toEqual(job.report.summary)
      const ended = jobsIn(reader).filter(({ jobId }) => jobId === id)
      if (reader !== organization) expectCounted(ended)
      expect(ended.length).toBeGreaterThan(2)
    }
    expect(countersOf(job).finished.successful).toBe(DEVICES)
    await organization.until(seen => seen.event === 'operation' && operationOf(seen).jobId === id)

    // Whoever comes later still sees how it went.
    const late = await follow(path)
    const { seconds } = (await late.until(({ event }) => event === 'seconds')).data as unknown as SecondsEvent
    expect(seconds.reduce((sum, { ended }) => sum + ended, 0)).toBe(DEVICES)
    expect(seconds.reduce((sum, { successful }) => sum + successful, 0)).toBe(DEVICES)
  },
  LONG_MS,
)

test('an organization is followed from its open jobs, and gone on from where its stream broke off', async () => {
  const [kept, cancelled] = [await idleJob(), await idleJob()]
  const reader = await follow(ORGANIZATION)
  await reader.until(isJob(kept, 'IDLE'))
  await reader.until(isJob(cancelled, 'IDLE'))
  reader.breakOff()
  await reader.ended
  await client.call('DELETE', `/north/v80/operation/jobs/${cancelled}`)
  const made = await idleJob()
  const again = await follow(ORGANIZATION, { 'last-event-id': reader.lastId()! }, other)
  await again.until(isJob(cancelled, 'CANCELLED'))
  await again.until(isJob(made, 'IDLE'))
  expect(again.events.filter(({ event }) => event === 'seconds')).toEqual([])
  expect(jobsIn(again).some(({ jobId }) => jobId === kept)).toBe(false)
})

test('an id that no stream gave begins anew', async () => {
  const id = await idleJob()
  for (const [path, unknown] of [
    [ofJob(id), '999999'],
    [ofJob(id), 'nonsense'],
    [ORGANIZATION, '999999999999999999@0'],
    [ORGANIZATION, '1@1'],
    [ORGANIZATION, '18446744073709551616@1'],
  ] as const) {
    const reader = await follow(path, { 'last-event-id': unknown })
    expect(reader.status).toBe(200)
    await reader.until(isJob(id, 'IDLE'))
    expect(reader.events[0]!.event).toBe('seconds')
    reader.breakOff()
    await reader.ended
  }
})

test('streams are for who is let in, of its own organization only, and viewers may read them', async () => {
  const id = await idleJob()
  await client.call('POST', '/north/v80/provision/organizations', { organization: { name: 'neighbours' } })
  const keyOf = async (email: string, profile: string, organization: string) => {
    const user = { email, password: 'a good password', profile, domain: organization }
    expect((await client.call('POST', '/north/v80/provision/users', { user })).status).toBe(201)
    const answer = await client.call<{ user: { apiKey: string } }>('GET', `/north/v80/provision/users/${email}`)
    return answer.body.user.apiKey
  }
  const viewer = await keyOf('viewer@drover.test', 'viewer', 'drover')
  const neighbour = await keyOf('admin@neighbours.test', 'admin', 'neighbours')

  expect((await follow(ofJob(id), { 'x-apikey': 'nobody' })).status).toBe(401)
  expect((await follow(ofJob(id), { 'x-apikey': neighbour })).status).toBe(404)
  expect((await follow(ofJob('0000000000000001'), {})).status).toBe(404)
  const named = '/north/v80/operation/organizations/drover/events'
  expect((await follow(named, { 'x-apikey': neighbour })).status).toBe(404)
  for (const path of [ofJob(id), ORGANIZATION, named]) {
    const reader = await follow(path, { 'x-apikey': viewer })
    await reader.until(isJob(id, 'IDLE'))
    reader.breakOff()
    await reader.ended
  }
  const quiet = await follow(ORGANIZATION, { 'x-apikey': neighbour })
  await quiet.until(({ event }) => event === 'seconds')
  expect(jobsIn(quiet)).toEqual([])
  expect((await follow(ofJob(id, '?size=201'))).status).toBe(400)
  expect((await follow(ofJob(id, '?start=1000&size=200'))).status).toBe(400)
})

test('an organization has so many streams and no more, until one ends', async () => {
  const readers: EventReader[] = []
  for (let i = 0; i < 8; i += 1) readers.push(await follow(ORGANIZATION))
  expect(readers.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 200))
  const refused = await follow(ORGANIZATION)
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '5'])
  readers[0]!.breakOff()
  await expect.poll(async () => (await follow(ORGANIZATION)).status, { timeout: 20_000 }).toBe(200)
})
