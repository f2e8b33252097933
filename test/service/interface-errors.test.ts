import { expect, test } from 'vitest'
import { openHouse } from './house.ts'

const { client } = await openHouse()

interface Refusal {
  errors: { code: string; message: string; context?: { name: string; value?: unknown }[] }[]
}

const JOBS = '/north/v80/operation/jobs'
const TASKS = '/north/v80/operation/tasks'
const TYPES = '/north/v80/operationTypes/provision/organizations/drover'
const DEVICES = '/north/v80/provision/organizations/drover/devices'

const target = { append: { entities: ['gauge-1'] } }
const request = (members: Record<string, unknown> = {}) => ({ name: 'REBOOT_EQUIPMENT', target, ...members })
const job = (members?: Record<string, unknown>) => ({ job: { request: request(members) } })
const schedule = (members: Record<string, unknown>) => job({ schedule: members })
const window = (start: string, stop: string) => schedule({ window: { weekly: [{ daily: { start, stop } }] } })
const every = { repeating: { period: { each: 1, unit: 'HOURS' } } }
const task = (members: Record<string, unknown> = {}, asked: Record<string, unknown> = {}) => ({
  task: { name: 'rounds', schedule: every, job: { request: request(asked) }, ...members },
})
const pattern = (members: Record<string, unknown>) => task({ schedule: { repeating: { pattern: members } } })
const type = (members: Record<string, unknown>) => ({
  name: 'PROBE',
  applicableTo: ['entity.device'],
  parameters: { type: 'object' },
  steps: [],
  ...members,
})

const provisioned = await client.call('POST', `${DEVICES}?flattened=true`, { 'provision.device.identifier': 'gauge-1' })
expect(provisioned.status).toBe(201)
expect((await client.call('POST', TASKS, task({ id: 'taken', active: false }))).status).toBe(201)
const closed = type({
  name: 'CLOSED',
  parameters: { type: 'object', properties: { level: { type: 'integer' } }, additionalProperties: false },
})
expect((await client.call('POST', TYPES, closed)).status).toBe(201)
const launched = await client.call<{ id: string }>('POST', JOBS, job())
expect(launched.status).toBe(201)
const ended = await client.call<{ id: string }>('POST', JOBS, job({ active: false }))
expect((await client.call('DELETE', `${JOBS}/${ended.body.id}`)).status).toBe(200)

/** Calls, and reads the refusal in its one shape. */
async function refused(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
  const answer = await client.call<Refusal>(method, path, body, headers)
  expect(answer.headers.get('content-type'), JSON.stringify(answer.body)).toMatch(/^application\/json/)
  const [error] = answer.body.errors
  return { status: answer.status, code: error!.code, fields: (error!.context ?? []).map(({ name }) => name), error }
}

const JOB = 'job.request'
const IN_TASK = 'task.job.request'

test.each<[string, string, unknown, string, string]>([
  [
    'a window that lasts no whole number of hours',
    JOBS,
    window('09:00:00Z', '15:30:00Z'),
    '0x010001',
    `${JOB}.schedule.window.weekly[0].daily.stop`,
  ],
  [
    'a target that mixes entities and a tag',
    JOBS,
    job({ target: { append: { entities: ['gauge-1'], tags: ['t'] } } }),
    '0x010001',
    `${JOB}.target.append`,
  ],
  [
    'a target that mixes entities and a filter',
    JOBS,
    job({ target: { append: { entities: ['gauge-1'], filter: {} } } }),
    '0x010001',
    `${JOB}.target.append`,
  ],
  [
    'a target that mixes a tag and a filter',
    JOBS,
    job({ target: { append: { tags: ['t'] }, filter: {} } }),
    '0x010001',
    `${JOB}.target`,
  ],
  [
    'two tags in one target',
    JOBS,
    job({ target: { append: { tags: ['t', 'u'] } } }),
    '0x010001',
    `${JOB}.target.append.tags`,
  ],
  [
    'more entities in one array than the limit',
    JOBS,
    job({ target: { append: { entities: Array.from({ length: 101 }, (_, i) => `gauge-${i}`) } } }),
    '0x010001',
    `${JOB}.target.append.entities`,
  ],
  [
    'a filter on a field that nothing has',
    JOBS,
    job({ target: { append: { filter: { eq: { 'no.such.field': 1 } } } } }),
    '0x050014',
    'no.such.field',
  ],
  [
    'a target without one entity that exists',
    JOBS,
    job({ target: { append: { entities: ['nobody'] } } }),
    '0x020002',
    `${JOB}.target`,
  ],
  [
    'an active job without a target',
    JOBS,
    { job: { request: { name: 'REBOOT_EQUIPMENT' } } },
    '0x010000',
    `${JOB}.target`,
  ],
  ['a job without a name', JOBS, { job: { request: { target } } }, '0x010000', `${JOB}.name`],
  ['an operation type that the organization does not have', JOBS, job({ name: 'DANCE' }), '0x020004', `${JOB}.name`],
  [
    'a parameter outside its enumeration',
    JOBS,
    job({ parameters: { type: 'GENTLE' } }),
    '0x020003',
    `${JOB}.parameters.type`,
  ],
  [
    'a parameter that the type forbids as unknown',
    JOBS,
    job({ name: 'CLOSED', parameters: { depth: 1 } }),
    '0x020003',
    `${JOB}.parameters.depth`,
  ],
  [
    'an UPDATE without its bundle',
    JOBS,
    job({ name: 'UPDATE', parameters: { bundleName: 'b' } }),
    '0x020006',
    `${JOB}.parameters.deploymentElements`,
  ],
  [
    'a timeout and ackTimeout of 40 seconds together',
    JOBS,
    job({ operationParameters: { timeout: 30_000, ackTimeout: 10_000 } }),
    '0x010001',
    `${JOB}.operationParameters.timeout`,
  ],
  [
    'a spread above 100',
    JOBS,
    schedule({ scattering: { maxSpread: 101 } }),
    '0x010001',
    `${JOB}.schedule.scattering.maxSpread`,
  ],
  [
    'a dispersion factor above 100',
    JOBS,
    schedule({ scattering: { maxSpread: 10, strategy: { field: 'subscription.collected.cellInfo', factor: 101 } } }),
    '0x010001',
    `${JOB}.schedule.scattering.strategy.factor`,
  ],
  [
    'a strategy on a field that is not supported',
    JOBS,
    schedule({ scattering: { maxSpread: 10, strategy: { field: 'provision.device.name' } } }),
    '0x010001',
    `${JOB}.schedule.scattering.strategy.field`,
  ],
  [
    'a misspelt strategy, which must not run unscattered',
    JOBS,
    schedule({ scattering: { maxSpread: 10, Strategy: {} } }),
    '0x010003',
    `${JOB}.schedule.scattering.Strategy`,
  ],
  [
    'a stop before the start',
    JOBS,
    schedule({ start: { date: '2100-01-02T00:00:00Z' }, stop: { date: '2100-01-01T00:00:00Z' } }),
    '0x010001',
    `${JOB}.schedule.stop`,
  ],
  [
    'a result to retry on that is none',
    JOBS,
    job({ operationParameters: { retryResultList: ['TIRED'] } }),
    '0x010001',
    `${JOB}.operationParameters.retryResultList[0]`,
  ],
  ['a callback over HTTPS', JOBS, job({ callback: 'https://client.example/fleet' }), '0x010001', `${JOB}.callback`],
  ['a callback that is no address', JOBS, job({ callback: 'somewhere' }), '0x010001', `${JOB}.callback`],
  ['a member that a job does not have', JOBS, job({ priority: 1 }), '0x010003', `${JOB}.priority`],
  [
    'a query parameter that creation does not have',
    `${JOBS}?resourcetype=entity.device`,
    job(),
    '0x010003',
    'resourcetype',
  ],
  ['a resource type that is none', `${JOBS}?resourceType=entity.person`, job(), '0x010001', 'resourceType'],
  ['a task id that exists already', TASKS, task({ id: 'taken' }), '0x010114', 'task.id'],
  [
    'a task with a period and a pattern',
    TASKS,
    task({ schedule: { repeating: { period: { each: 1, unit: 'HOURS' }, pattern: { time: '02:00:00Z' } } } }),
    '0x010001',
    'task.schedule.repeating',
  ],
  [
    'a task on day 32',
    TASKS,
    pattern({ time: '02:00:00Z', monthly: { day: 32, months: ['JAN'] } }),
    '0x010001',
    'task.schedule.repeating.pattern.monthly.day',
  ],
  [
    'a task on day 0',
    TASKS,
    pattern({ time: '02:00:00Z', yearly: { day: 0, months: ['JAN'] } }),
    '0x010001',
    'task.schedule.repeating.pattern.yearly.day',
  ],
  [
    'a weekly task without a day',
    TASKS,
    pattern({ time: '02:00:00Z', weekly: { days: [] } }),
    '0x010001',
    'task.schedule.repeating.pattern.weekly.days',
  ],
  [
    'an exact date in the job of a task',
    TASKS,
    task({}, { schedule: { start: { date: '2100-01-01T00:00:00Z' } } }),
    '0x010001',
    `${IN_TASK}.schedule.start.date`,
  ],
  [
    'a job of a task that may last longer than its period',
    TASKS,
    task({}, { schedule: { stop: { delayed: 3_600_000 } } }),
    '0x010001',
    `${IN_TASK}.schedule.stop.delayed`,
  ],
  [
    'a mixed target in the job of a task',
    TASKS,
    task({}, { target: { append: { entities: ['gauge-1'], tags: ['t'] } } }),
    '0x010001',
    `${IN_TASK}.target.append`,
  ],
  ['a profile that no type may name', TYPES, type({ profiles: ['admin', 'wizard'] }), '0x010001', 'profiles'],
  ['the viewer among the profiles of a type', TYPES, type({ profiles: ['viewer'] }), '0x010001', 'profiles'],
  [
    'parameters of a type that are no JSON Schema',
    TYPES,
    type({ parameters: { type: 'object', properties: 7 } }),
    '0x010001',
    'parameters',
  ],
  [
    'a clone of a type that the catalog does not have',
    TYPES,
    { name: 'PROBE', fromCatalog: 'DANCE' },
    '0x010001',
    'fromCatalog',
  ],
  [
    'a device that exists already',
    `${DEVICES}?flattened=true`,
    { 'provision.device.identifier': 'gauge-1' },
    '0x010114',
    'provision.device.identifier',
  ],
  [
    'a search on a field that nothing has',
    '/north/v80/search/jobs',
    { filter: { eq: { 'jobs.mood': 1 } } },
    '0x050014',
    'jobs.mood',
  ],
  [
    'a search for more rows than a page holds',
    '/north/v80/search/jobs',
    { limit: { start: 1, size: 2001 } },
    '0x010001',
    'limit.size',
  ],
])('refuses %s with 400, the code and the field', async (_, path, body, code, field) => {
  const { fields, error, ...answer } = await refused('POST', path, body)
  expect({ ...answer, error }).toEqual({ status: 400, code, error })
  expect(fields, JSON.stringify(error)).toContain(field)
})

const anyJob = `${JOBS}/${launched.body.id}`
const change = (members: Record<string, unknown>) => ({ job: { request: members } })

test.each<[string, string, string, unknown, string, string | null]>([
  ['a change of a started job beside active', 'PUT', anyJob, change({ userNotes: 'n' }), '0x020010', null],
  [
    'a change of a started job together with active',
    'PUT',
    anyJob,
    change({ active: false, notify: true }),
    '0x020010',
    null,
  ],
  [
    'a change of a field that PUT may not change',
    'PUT',
    anyJob,
    change({ name: 'REFRESH_INFO' }),
    '0x010003',
    `${JOB}.name`,
  ],
  ['the activation of an ended job', 'PUT', `${JOBS}/${ended.body.id}`, change({ active: true }), '0x020010', null],
  ['the cancelling of an ended job', 'DELETE', `${JOBS}/${ended.body.id}`, undefined, '0x020010', null],
  [
    'a change of the schema of a clone',
    'PUT',
    `${TYPES}/REBOOT_EQUIPMENT`,
    { parameters: { type: 'object' } },
    '0x010003',
    'parameters',
  ],
])('refuses %s with 400 and the code', async (_, method, path, body, code, field) => {
  const { fields, error, ...answer } = await refused(method, path, body)
  expect({ ...answer, error }).toEqual({ status: 400, code, error })
  if (field === null) expect(error?.message).toBe('Job state transition error.')
  else expect(fields, JSON.stringify(error)).toContain(field)
})

test('refuses to activate a job without a target, naming it', async () => {
  const { body } = await client.call<{ id: string }>('POST', JOBS, {
    job: { request: { name: 'REFRESH_INFO', active: false } },
  })
  expect(await refused('PUT', `${JOBS}/${body.id}`, change({ active: true }))).toMatchObject({
    status: 400,
    code: '0x020002',
    fields: [`${JOB}.target`],
  })
})

test.each<[string, string]>([
  ['a job', `${JOBS}/no-such-job`],
  ['an operation of a job', `${anyJob}/operations/no-such-operation`],
  ['a task', `${TASKS}/no-such-task`],
  ['an operation type', `${TYPES}/DANCE`],
  ['a catalog type', '/north/v80/operationTypes/catalog/DANCE'],
  ['a device', `${DEVICES}/nobody`],
  ['an organization that the caller may not see', '/north/v80/provision/organizations/elsewhere'],
  ['an address that nobody serves', '/north/v80/operation/dreams'],
])('answers 404 for %s that is not there', async (_, path) => {
  expect((await refused('GET', path)).status).toBe(404)
})

test.each<[string, Record<string, string>]>([
  ['no credentials', { 'x-apikey': '' }],
  ['a key of nobody', { 'x-apikey': 'a-key-that-opens-no-door' }],
  ['a token that is none', { authorization: 'Bearer a.b.c' }],
])('answers 401 to %s, at both doors', async (_, headers) => {
  expect(await refused('GET', `${JOBS}/x`, undefined, headers)).toMatchObject({ status: 401, code: '0x04' })
  const south = '/south/v80/devices/gauge-1/operation/pending'
  expect(await refused('GET', south, undefined, headers)).toMatchObject({ status: 401, code: '0x04' })
})

test('takes an API key in the query at the door for devices only', async () => {
  const key = `X-ApiKey=${client.apiKey}`
  const anonymous = { 'x-apikey': '' }
  const south = await client.call('GET', `/south/v80/devices/gauge-1/operation/pending?${key}`, undefined, anonymous)
  expect(south.status).toBe(200)
  expect((await refused('GET', `${anyJob}?${key}`, undefined, anonymous)).status).toBe(401)
})

test('refuses a wrong password with 401 and the known code', async () => {
  const body = { email: 'admin@drover.test', password: 'wrong' }
  expect(await refused('POST', '/north/v80/provision/users/login', body)).toMatchObject({ status: 401, code: '0x04' })
})

test('lets a viewer read and search, and refuses everything else with 403', async () => {
  const user = { email: 'eyes@drover.test', password: 'only-looking', name: 'E', surname: 'S', profile: 'viewer' }
  expect((await client.call('POST', '/north/v80/provision/users', { user })).status).toBe(201)
  const { email, password } = user
  const login = await client.call<{ user: { jwt: string } }>('POST', '/north/v80/provision/users/login', {
    email,
    password,
  })
  const headers = { authorization: `Bearer ${login.body.user.jwt}` }
  expect((await client.call('GET', anyJob, undefined, headers)).status).toBe(200)
  expect((await client.call('POST', '/north/v80/search/operationTypes', {}, headers)).status).toBe(200)
  const forbidden: [string, string, unknown][] = [
    ['POST', JOBS, job()],
    ['PUT', anyJob, change({ active: false })],
    ['DELETE', anyJob, undefined],
    ['POST', TASKS, task()],
    ['POST', TYPES, type({})],
    ['POST', `${DEVICES}?flattened=true`, { 'provision.device.identifier': 'gauge-2' }],
    ['POST', '/north/v80/provision/users', { user: { ...user, email: 'more@drover.test' } }],
  ]
  for (const [method, path, body] of forbidden) {
    const { status } = await refused(method, path, body, headers)
    expect([method, path, status]).toEqual([method, path, 403])
  }
})

test('refuses a body above 300 KB with 413 and takes one below', async () => {
  const padded = (bytes: number) => {
    const text = JSON.stringify(job({ active: false, userNotes: '' }))
    return `${' '.repeat(bytes - text.length)}${text}`
  }
  expect((await client.call('POST', JOBS, padded(307_200))).status).toBe(201)
  expect(await refused('POST', JOBS, padded(307_201))).toMatchObject({ status: 413, fields: ['body'] })
})

test('refuses a body that is not JSON with 415, and one that cannot be read with 400', async () => {
  expect(await refused('POST', JOBS, '<job/>', { 'content-type': 'application/xml' })).toMatchObject({
    status: 415,
    fields: ['content-type'],
  })
  expect((await refused('POST', JOBS, '{"job":')).status).toBe(400)
})

test('answers an empty search and a page past the end with 204 and no body', async () => {
  const search = await client.call('POST', '/north/v80/search/jobs', { filter: { eq: { 'jobs.id': 'x' } } })
  const listing = await client.call('GET', `${anyJob}/operations?start=9&size=10`)
  expect([search.status, search.body, listing.status, listing.body]).toEqual([204, undefined, 204, undefined])
})

test('reads back the defaults of the interface', async () => {
  const { body } = await client.call<{ request: object }>('POST', JOBS, job({ active: false }))
  expect(body.request).toMatchObject({
    notify: false,
    operationParameters: { timeout: 60_000, retries: 0 },
    parameters: { type: 'HARDWARE' },
  })
})
