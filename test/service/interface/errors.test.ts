import { expect, test } from 'vitest'
import { DEVICES, openHouse } from '../house.ts'
import { asking, JOBS, LOGIN, TASKS, TYPES, USERS } from './asking.ts'

const house = await openHouse()
const { client } = house
const { operations, refusal, refuses } = asking(house)

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

const anyJob = `${JOBS}/${launched.body.id}`
const change = (members: Record<string, unknown>) => ({ job: { request: members } })
const JOB = 'job.request'
const IN_TASK = 'task.job.request'

/** Neither door opens to these headers. */
async function shutOut(headers: Record<string, string>): Promise<void> {
  for (const path of [`${JOBS}/x`, '/south/v80/devices/gauge-1/operation/pending']) {
    expect(await refusal('GET', path, undefined, headers)).toMatchObject({ status: 401, code: '0x04' })
  }
}

test('A profile in `profiles` that is not one of the allowed names is 400 with the detail of the error.', async () => {
  const told = await refusal('POST', TYPES, type({ profiles: ['admin', 'wizard'] }))
  expect([told.status, told.fields]).toEqual([400, ['profiles']])
  expect(told.message).toContain('wizard')
})

test('`viewer` in `profiles` is 400.', () => refuses(TYPES, type({ profiles: ['viewer'] }), '0x010001', 'profiles'))

test('Parameters that violate the schema of their type are refused before any device is reached.', async () => {
  const before = await client.call('POST', '/north/v80/search/entities/devices/operations', {})
  await refuses(JOBS, job({ parameters: { type: 'GENTLE' } }), '0x020003', `${JOB}.parameters.type`)
  await refuses(JOBS, job({ name: 'CLOSED', parameters: { depth: 1 } }), '0x020003', `${JOB}.parameters.depth`)
  const after = await client.call('POST', '/north/v80/search/entities/devices/operations', {})
  expect(after.body).toEqual(before.body)
})

test('A window whose period is no whole number of hours is refused.', () =>
  refuses(JOBS, window('09:00:00Z', '15:30:00Z'), '0x010001', `${JOB}.schedule.window.weekly[0].daily.stop`))

test('A target that mixes entities, tags and filters is invalid.', () =>
  refuses(
    JOBS,
    job({ target: { append: { entities: ['gauge-1'], tags: ['t'], filter: {} } } }),
    '0x010001',
    `${JOB}.target.append`,
  ))

test('The `id` of a task that exists already is invalid.', () =>
  refuses(TASKS, task({ id: 'taken' }), '0x010114', 'task.id'))

test('A job modified after it started, or while `active` is true, is not permitted.', async () => {
  expect(await refusal('PUT', anyJob, change({ userNotes: 'n' }))).toMatchObject({ status: 400, code: '0x020010' })
  const scheduled = await client.call<{ id: string }>(
    'POST',
    JOBS,
    job({ schedule: { start: { delayed: 3_600_000 } } }),
  )
  const told = await refusal('PUT', `${JOBS}/${scheduled.body.id}`, change({ userNotes: 'n' }))
  expect(told).toMatchObject({ status: 400, message: 'Job state transition error.' })
})

test('`timeout` plus `ackTimeout` not greater than 40 seconds is invalid.', () =>
  refuses(
    JOBS,
    job({ operationParameters: { timeout: 30_000, ackTimeout: 10_000 } }),
    '0x010001',
    `${JOB}.operationParameters.timeout`,
  ))

test('A failure of one entity is a result of its operation, and no HTTP error.', async () => {
  const answer = await client.call<{ id: string; report: object }>(
    'POST',
    JOBS,
    job({ active: false, target: { append: { entities: ['gauge-1', 'nobody'] } } }),
  )
  expect([answer.status, answer.body.report]).toEqual([
    201,
    expect.objectContaining({ target: { notProvisioned: ['nobody'] } }),
  ])
  expect(await operations(answer.body.id)).toHaveLength(1)
})

test('Every refusal has one shape: a list of errors, each with a code, a message and the fields at fault.', async () => {
  const { body } = await client.call('POST', JOBS, job({ priority: 1 }))
  expect(body).toEqual({
    errors: [
      {
        code: '0x010003',
        message: 'Forbidden field.',
        context: [expect.objectContaining({ name: `${JOB}.priority` })],
      },
    ],
  })
})

test('A target that mixes entities and a tag is refused with 400, the code and the field.', () =>
  refuses(
    JOBS,
    job({ target: { append: { entities: ['gauge-1'], tags: ['t'] } } }),
    '0x010001',
    `${JOB}.target.append`,
  ))

test('A target that mixes entities and a filter is refused with 400, the code and the field.', () =>
  refuses(JOBS, job({ target: { append: { entities: ['gauge-1'], filter: {} } } }), '0x010001', `${JOB}.target.append`))

test('A target that mixes a tag and a filter is refused with 400, the code and the field.', () =>
  refuses(JOBS, job({ target: { append: { tags: ['t'] }, filter: {} } }), '0x010001', `${JOB}.target`))

test('Two tags in one target is refused with 400, the code and the field.', () =>
  refuses(JOBS, job({ target: { append: { tags: ['t', 'u'] } } }), '0x010001', `${JOB}.target.append.tags`))

test('More entities in one array than the limit is refused with 400, the code and the field.', () =>
  refuses(
    JOBS,
    job({ target: { append: { entities: Array.from({ length: 101 }, (_, i) => `gauge-${i}`) } } }),
    '0x010001',
    `${JOB}.target.append.entities`,
  ))

test('A filter on a field that nothing has is refused with 400, the code and the field.', () =>
  refuses(JOBS, job({ target: { append: { filter: { eq: { 'no.such.field': 1 } } } } }), '0x050014', 'no.such.field'))

test('A target without one entity that exists is refused with 400, the code and the field.', () =>
  refuses(JOBS, job({ target: { append: { entities: ['nobody'] } } }), '0x020002', `${JOB}.target`))

test('An active job without a target is refused with 400, the code and the field.', () =>
  refuses(JOBS, { job: { request: { name: 'REBOOT_EQUIPMENT' } } }, '0x010000', `${JOB}.target`))

test('A job without a name is refused with 400, the code and the field.', () =>
  refuses(JOBS, { job: { request: { target } } }, '0x010000', `${JOB}.name`))

test('An operation type that the organization does not have is refused with 400, the code and the field.', () =>
  refuses(JOBS, job({ name: 'DANCE' }), '0x020004', `${JOB}.name`))

test('An UPDATE without its bundle is refused with 400, the code and the field.', () =>
  refuses(
    JOBS,
    job({ name: 'UPDATE', parameters: { bundleName: 'b' } }),
    '0x020006',
    `${JOB}.parameters.deploymentElements`,
  ))

test('A spread above 100 is refused with 400, the code and the field.', () =>
  refuses(JOBS, schedule({ scattering: { maxSpread: 101 } }), '0x010001', `${JOB}.schedule.scattering.maxSpread`))

test('A dispersion factor above 100 is refused with 400, the code and the field.', () =>
  refuses(
    JOBS,
    schedule({ scattering: { maxSpread: 10, strategy: { field: 'subscription.collected.cellInfo', factor: 101 } } }),
    '0x010001',
    `${JOB}.schedule.scattering.strategy.factor`,
  ))

test('A strategy on a field that is not supported is refused with 400, the code and the field.', () =>
  refuses(
    JOBS,
    schedule({ scattering: { maxSpread: 10, strategy: { field: 'provision.device.name' } } }),
    '0x010001',
    `${JOB}.schedule.scattering.strategy.field`,
  ))

test('A misspelt strategy, which must not run unscattered is refused with 400, the code and the field.', () =>
  refuses(
    JOBS,
    schedule({ scattering: { maxSpread: 10, Strategy: {} } }),
    '0x010003',
    `${JOB}.schedule.scattering.Strategy`,
  ))

test('A stop before the start is refused with 400, the code and the field.', () =>
  refuses(
    JOBS,
    schedule({ start: { date: '2100-01-02T00:00:00Z' }, stop: { date: '2100-01-01T00:00:00Z' } }),
    '0x010001',
    `${JOB}.schedule.stop`,
  ))

test('A result to retry on that is none is refused with 400, the code and the field.', () =>
  refuses(
    JOBS,
    job({ operationParameters: { retryResultList: ['TIRED'] } }),
    '0x010001',
    `${JOB}.operationParameters.retryResultList[0]`,
  ))

test('A callback over HTTPS is refused with 400, the code and the field.', () =>
  refuses(JOBS, job({ callback: 'https://client.example/fleet' }), '0x010001', `${JOB}.callback`))

test('A callback that is no address is refused with 400, the code and the field.', () =>
  refuses(JOBS, job({ callback: 'somewhere' }), '0x010001', `${JOB}.callback`))

test('A member that a job does not have is refused with 400, the code and the field.', () =>
  refuses(JOBS, job({ priority: 1 }), '0x010003', `${JOB}.priority`))

test('A query parameter that creation does not have is refused with 400, the code and the field.', () =>
  refuses(`${JOBS}?resourcetype=entity.device`, job(), '0x010003', 'resourcetype'))

test('A resource type that is none is refused with 400, the code and the field.', () =>
  refuses(`${JOBS}?resourceType=entity.person`, job(), '0x010001', 'resourceType'))

test('A task with a period and a pattern is refused with 400, the code and the field.', () =>
  refuses(
    TASKS,
    task({ schedule: { repeating: { period: { each: 1, unit: 'HOURS' }, pattern: { time: '02:00:00Z' } } } }),
    '0x010001',
    'task.schedule.repeating',
  ))

test('A task on day 32 is refused with 400, the code and the field.', () =>
  refuses(
    TASKS,
    pattern({ time: '02:00:00Z', monthly: { day: 32, months: ['JAN'] } }),
    '0x010001',
    'task.schedule.repeating.pattern.monthly.day',
  ))

test('A task on day 0 is refused with 400, the code and the field.', () =>
  refuses(
    TASKS,
    pattern({ time: '02:00:00Z', yearly: { day: 0, months: ['JAN'] } }),
    '0x010001',
    'task.schedule.repeating.pattern.yearly.day',
  ))

test('A weekly task without a day is refused with 400, the code and the field.', () =>
  refuses(
    TASKS,
    pattern({ time: '02:00:00Z', weekly: { days: [] } }),
    '0x010001',
    'task.schedule.repeating.pattern.weekly.days',
  ))

test('An exact date in the job of a task is refused with 400, the code and the field.', () =>
  refuses(
    TASKS,
    task({}, { schedule: { start: { date: '2100-01-01T00:00:00Z' } } }),
    '0x010001',
    `${IN_TASK}.schedule.start.date`,
  ))

test('A job of a task that may last longer than its period is refused with 400, the code and the field.', () =>
  refuses(
    TASKS,
    task({}, { schedule: { stop: { delayed: 3_600_000 } } }),
    '0x010001',
    `${IN_TASK}.schedule.stop.delayed`,
  ))

test('A mixed target in the job of a task is refused with 400, the code and the field.', () =>
  refuses(
    TASKS,
    task({}, { target: { append: { entities: ['gauge-1'], tags: ['t'] } } }),
    '0x010001',
    `${IN_TASK}.target.append`,
  ))

test('Parameters of a type that are no JSON Schema is refused with 400, the code and the field.', () =>
  refuses(TYPES, type({ parameters: { type: 'object', properties: 7 } }), '0x010001', 'parameters'))

test('A clone of a type that the catalog does not have is refused with 400, the code and the field.', () =>
  refuses(TYPES, { name: 'PROBE', fromCatalog: 'DANCE' }, '0x010001', 'fromCatalog'))

test('A device that exists already is refused with 400, the code and the field.', () =>
  refuses(
    `${DEVICES}?flattened=true`,
    { 'provision.device.identifier': 'gauge-1' },
    '0x010114',
    'provision.device.identifier',
  ))

test('A search on a field that nothing has is refused with 400, the code and the field.', () =>
  refuses('/north/v80/search/jobs', { filter: { eq: { 'jobs.mood': 1 } } }, '0x050014', 'jobs.mood'))

test('A search for more rows than a page holds is refused with 400, the code and the field.', () =>
  refuses('/north/v80/search/jobs', { limit: { start: 1, size: 2001 } }, '0x010001', 'limit.size'))

test('A change of a started job beside active is refused with 400 and the words of a transition.', async () => {
  expect(await refusal('PUT', anyJob, change({ userNotes: 'n' }))).toMatchObject({
    status: 400,
    code: '0x020010',
    message: 'Job state transition error.',
  })
})

test('A change of a started job together with active is refused with 400 and the words of a transition.', async () => {
  expect(await refusal('PUT', anyJob, change({ active: false, notify: true }))).toMatchObject({
    status: 400,
    code: '0x020010',
    message: 'Job state transition error.',
  })
})

test('A change of a field that PUT may not change is refused with 400, the code and the field.', () =>
  refuses(anyJob, change({ name: 'REFRESH_INFO' }), '0x010003', `${JOB}.name`, 'PUT'))

test('The activation of an ended job is refused with 400 and the words of a transition.', async () => {
  expect(await refusal('PUT', `${JOBS}/${ended.body.id}`, change({ active: true }))).toMatchObject({
    status: 400,
    code: '0x020010',
    message: 'Job state transition error.',
  })
})

test('The cancelling of an ended job is refused with 400 and the words of a transition.', async () => {
  expect(await refusal('DELETE', `${JOBS}/${ended.body.id}`, undefined)).toMatchObject({
    status: 400,
    code: '0x020010',
    message: 'Job state transition error.',
  })
})

test('A change of the schema of a clone is refused with 400, the code and the field.', () =>
  refuses(`${TYPES}/REBOOT_EQUIPMENT`, { parameters: { type: 'object' } }, '0x010003', 'parameters', 'PUT'))

test('The activation of a job without a target is 400 and names the target.', async () => {
  const { body } = await client.call<{ id: string }>('POST', JOBS, {
    job: { request: { name: 'REFRESH_INFO', active: false } },
  })
  expect(await refusal('PUT', `${JOBS}/${body.id}`, change({ active: true }))).toMatchObject({
    status: 400,
    code: '0x020002',
    fields: [`${JOB}.target`],
  })
})

test('A job is 404.', async () => expect((await refusal('GET', `${JOBS}/no-such-job`)).status).toBe(404))

test('An operation of a job is 404.', async () =>
  expect((await refusal('GET', `${anyJob}/operations/no-such-operation`)).status).toBe(404))

test('A task is 404.', async () => expect((await refusal('GET', `${TASKS}/no-such-task`)).status).toBe(404))

test('An operation type is 404.', async () => expect((await refusal('GET', `${TYPES}/DANCE`)).status).toBe(404))

test('A catalog type is 404.', async () =>
  expect((await refusal('GET', '/north/v80/operationTypes/catalog/DANCE')).status).toBe(404))

test('A device is 404.', async () => expect((await refusal('GET', `${DEVICES}/nobody`)).status).toBe(404))

test('An organization that the caller may not see is 404.', async () =>
  expect((await refusal('GET', '/north/v80/provision/organizations/elsewhere')).status).toBe(404))

test('An address that nobody serves is 404.', async () =>
  expect((await refusal('GET', '/north/v80/operation/dreams')).status).toBe(404))

test('No credentials is 401 at both doors.', () => shutOut({ 'x-apikey': '' }))

test('A key of nobody is 401 at both doors.', () => shutOut({ 'x-apikey': 'a-key-that-opens-no-door' }))

test('A token that is none is 401 at both doors.', () => shutOut({ authorization: 'Bearer a.b.c' }))

test('An API key in the query is 401 at the door for clients.', async () => {
  const key = `X-ApiKey=${client.apiKey}`
  const anonymous = { 'x-apikey': '' }
  const south = await client.call('GET', `/south/v80/devices/gauge-1/operation/pending?${key}`, undefined, anonymous)
  expect(south.status).toBe(200)
  expect((await refusal('GET', `${anyJob}?${key}`, undefined, anonymous)).status).toBe(401)
})

test('A wrong password is 401 and the known code.', async () => {
  const body = { email: 'admin@drover.test', password: 'wrong' }
  expect(await refusal('POST', LOGIN, body)).toMatchObject({ status: 401, code: '0x04' })
})

test('What a profile does not permit is 403.', async () => {
  const user = { email: 'eyes@drover.test', password: 'only-looking', name: 'E', surname: 'S', profile: 'viewer' }
  expect((await client.call('POST', USERS, { user })).status).toBe(201)
  const { email, password } = user
  const login = await client.call<{ user: { jwt: string } }>('POST', LOGIN, {
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
    ['POST', USERS, { user: { ...user, email: 'more@drover.test' } }],
  ]
  for (const [method, path, body] of forbidden) {
    const { status } = await refusal(method, path, body, headers)
    expect([method, path, status]).toEqual([method, path, 403])
  }
})

test('A body above 300 KB is 413.', async () => {
  const padded = (bytes: number) => {
    const text = JSON.stringify(job({ active: false, userNotes: '' }))
    return `${' '.repeat(bytes - text.length)}${text}`
  }
  expect((await client.call('POST', JOBS, padded(307_200))).status).toBe(201)
  expect(await refusal('POST', JOBS, padded(307_201))).toMatchObject({ status: 413, fields: ['body'] })
})

test('A body that is not JSON is 415, one that cannot be read is 400.', async () => {
  expect(await refusal('POST', JOBS, '<job/>', { 'content-type': 'application/xml' })).toMatchObject({
    status: 415,
    fields: ['content-type'],
  })
  expect((await refusal('POST', JOBS, '{"job":')).status).toBe(400)
})

test('An empty search and a page past the end are 204 without a body.', async () => {
  const search = await client.call('POST', '/north/v80/search/jobs', { filter: { eq: { 'jobs.id': 'x' } } })
  const listing = await client.call('GET', `${anyJob}/operations?start=9&size=10`)
  expect([search.status, search.body, listing.status, listing.body]).toEqual([204, undefined, 204, undefined])
})
