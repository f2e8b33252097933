/**
 * Twenty thousand requests out of the OpenAPI document, valid and mangled, against a running service: it never fails, and what it
 * accepted is there. DROVER_FUZZ_SEED and DROVER_FUZZ_REQUESTS replay and lengthen a run.
 */
import { type Dispatcher, Pool } from 'undici'
import { afterAll, expect, test } from 'vitest'
import { isFinal, openHouse, response } from '../house.ts'
import { asking, on, TASKS, task } from '../interface/asking.ts'
import { type Document, type FuzzRequest, fuzzRequests } from './requests.ts'
import { DEVICES_OF_THE_RUN, wordsFor } from './words.ts'

const COUNT = Number(process.env.DROVER_FUZZ_REQUESTS ?? 20_000)
const SEED = Number(process.env.DROVER_FUZZ_SEED ?? Math.floor(Math.random() * 2 ** 31))
const AT_ONCE = 16
const ANSWER_MS = 60_000
const RUN_MS = 900_000

const house = await openHouse({ DROVER_DATABASE_CONNECTIONS_MAX: '20' })
const { make, makeType, operations, pending, user } = asking(house)
const pool = new Pool(house.url, { connections: AT_ONCE, headersTimeout: ANSWER_MS, bodyTimeout: ANSWER_MS })
afterAll(() => pool.destroy())

/** What a run works on: an organization beside its own, devices, jobs, tasks, a type, users of several profiles. */
async function prepare() {
  const organization = { name: 'beside', countryCode: 'ES', langCode: 'en', timezone: 'Europe/Madrid' }
  await house.call('POST', '/north/v80/provision/organizations', { organization })
  const keys = new Map<string, string>()
  for (const id of DEVICES_OF_THE_RUN) {
    keys.set(id, await house.provision(id, { 'provision.administration.tags': ['tag'] }))
  }
  const jobs = await Promise.all(
    Array.from({ length: 12 }, (_, i) =>
      make(on(DEVICES_OF_THE_RUN, { active: i % 2 === 0, ...(i % 3 === 0 && { name: 'REFRESH_INFO' }) })),
    ),
  )
  for (const id of ['t1', 't2']) await house.call('POST', TASKS, task(on(['f1']), { id, active: false }))
  const listed = (await Promise.all(jobs.slice(0, 3).map(({ id }) => operations(id)))).flat()
  return {
    jobs: jobs.map(({ id }) => id),
    operations: listed.map(({ operationId }) => operationId),
    callers: {
      root: { 'x-apikey': house.apiKey },
      advanced: await user('advanced@drover.test', 'advanced'),
      viewer: await user('viewer@drover.test', 'viewer'),
      device: { 'x-apikey': keys.get('f1')! },
      nobody: {},
    } as Readonly<Record<string, Record<string, string>>>,
  }
}

interface Answered {
  readonly status: number
  readonly headers: Dispatcher.ResponseData['headers']
  readonly text: string
}

async function send(
  request: Pick<FuzzRequest, 'method' | 'path'> & Partial<FuzzRequest>,
  headers: object,
): Promise<Answered> {
  const { method, path, body = null } = request
  const answer = await pool.request({
    method: method as Dispatcher.HttpMethod,
    path,
    headers: { ...request.headers, ...headers } as Record<string, string>,
    body,
  })
  // A stream of events has no end.
  if (String(answer.headers['content-type']).startsWith('text/event-stream')) {
    answer.body.on('error', () => {})
    answer.body.destroy()
    return { status: answer.statusCode, headers: answer.headers, text: '' }
  }
  return { status: answer.statusCode, headers: answer.headers, text: await answer.body.text() }
}

const shown = (request: FuzzRequest) =>
  `${request.who}: ${request.method} ${request.path.slice(0, 300)} ${String(request.body ?? '').slice(0, 2_000)}`

test(
  `${COUNT} requests, valid and mangled, are never answered 5xx, and leave the counters and what was accepted intact`,
  async () => {
    process.stdout.write(`fuzz: DROVER_FUZZ_SEED=${SEED} DROVER_FUZZ_REQUESTS=${COUNT}\n`)
    const { callers, jobs, operations: known } = await prepare()
    const { body: document } = await house.call<Document>('GET', '/openapi.json')
    const requests = fuzzRequests(document, wordsFor, COUNT, SEED)
    const statuses = new Map<number, number>()
    const faults: string[] = []
    /** addresses that a request was sent to that may have changed or removed what lies there */
    const touched: string[] = []

    /** A request that names jobs and operations by number, with the ids that they have in this run. */
    function inThisRun(request: FuzzRequest): FuzzRequest {
      const named = (text: string) =>
        text
          .replace(/\bjob-(\d+)/g, (_, n) => jobs[Number(n) % jobs.length]!)
          .replace(/\boperation-(\d+)/g, (_, n) => known[Number(n) % known.length]!)
      const { path, body } = request
      return { ...request, path: named(path), body: typeof body === 'string' ? named(body) : body }
    }

    async function ask(asked: FuzzRequest): Promise<void> {
      const request = inThisRun(asked)
      if (request.method === 'DELETE' || request.method === 'PUT') touched.push(request.path.split('?')[0]!)
      const answer = await send(request, callers[request.who] ?? {}).catch((error: unknown) => {
        faults.push(`${String(error)} ← ${shown(request)}`)
      })
      if (!answer) return
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
      if (answer.status < 300 && !request.statuses.includes(answer.status)) {
        faults.push(`${answer.status} is not in the document ← ${shown(request)}`)
      }
      if (answer.status >= 500) faults.push(`${answer.status} ${answer.text} ← ${shown(request)}`)
      if (answer.status >= 400 && !/^\{"errors":\[\{"code":"0x/.test(answer.text) && request.method !== 'HEAD') {
        faults.push(`a refusal of another shape: ${answer.status} ${answer.text.slice(0, 300)} ← ${shown(request)}`)
      }
      const { location } = answer.headers
      if (answer.status !== 201 || typeof location !== 'string') return
      const read = await send({ method: 'GET', path: location }, callers.root!)
      const gone = touched.some(each => location.startsWith(each) || each.startsWith(location))
      if (/\/operation\/jobs\//.test(location)) jobs.push(location.split('/').at(-1)!)
      if (read.status !== 200 && !gone) faults.push(`${read.status} for ${location}, made by ${shown(request)}`)
    }

    const queue = requests.values()
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        for (const request of queue) await ask(request)
      }),
    )

    process.stdout.write(`fuzz: ${JSON.stringify(Object.fromEntries([...statuses].sort(([a], [b]) => a - b)))}\n`)
    expect(faults.slice(0, 20), `${faults.length} faults; DROVER_FUZZ_SEED=${SEED} replays them`).toEqual([])
    // Chance that never gets through the door tests only the door.
    expect((statuses.get(200) ?? 0) + (statuses.get(201) ?? 0)).toBeGreaterThan(COUNT / 10)
    expect(statuses.get(400) ?? 0).toBeGreaterThan(COUNT / 10)

    const verified = await house.call<{ differences: object[] }>('GET', '/north/v80/operation/verify?size=1000')
    expect([verified.status, verified.body.differences]).toEqual([200, []])
    expect((await house.call('GET', '/health/ready')).status).toBe(200)
    const key = await house.provision('after')
    await makeType({ name: 'AFTER' })
    const { id } = await make({ ...on(['after']), name: 'AFTER' })
    await house.until(id, ({ status }) => status === 'WAITING_FOR_CONNECTION')
    const request = (await pending('after', key))!
    await house.south('after', key, 'operation/response', response(request.id, { resultCode: 'SUCCESSFUL' }))
    expect(await house.until(id, isFinal)).toMatchObject({ status: 'FINISHED', result: 'SUCCESSFUL' })
  },
  RUN_MS,
)
