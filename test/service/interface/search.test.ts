import { expect, test } from 'vitest'
import type { JobView } from '../../../src/contract/job.ts'
import type { OperationView } from '../../../src/contract/operation.ts'
import { openHouse } from '../house.ts'
import { asking, on } from './asking.ts'

const house = await openHouse()
const { cancel, make, refusal } = asking(house)
const SEARCH = '/north/v80/search'
for (const id of ['d1', 'd2', 'd3']) await house.provision(id)

const first = await make(on(['d1', 'd2'], { active: false, userNotes: 'first' }))
const second = await make(on(['d3'], { active: false, userNotes: 'second' }))
await cancel(second.id)

const post = <Body>(path: string, body: object, headers?: Record<string, string>) =>
  house.call<Body>('POST', `${SEARCH}${path}`, body, headers)
const jobIds = ({ body }: { body: { jobs: JobView[] } }) => body.jobs.map(({ id }) => id)

test('POST /search/jobs finds jobs, each as its GET shows it.', async () => {
  const { status, body } = await post<{ page: object; jobs: JobView[] }>('/jobs', {})
  expect([status, body.page]).toEqual([200, expect.objectContaining({ number: 1, of: 1 })])
  expect(body.jobs.find(({ id }) => id === first.id)).toEqual(
    (await house.call('GET', `/north/v80/operation/jobs/${first.id}`)).body,
  )
})

test('POST /search/jobs/summary counts them.', async () => {
  const { status, body } = await post<{ summary: object }>('/jobs/summary', {})
  expect([status, body.summary]).toEqual([200, expect.objectContaining({ count: 2 })])
})

test('POST /search/entities/devices/operations finds the operations of devices.', async () => {
  const { status, body } = await post<{ operations: OperationView[] }>('/entities/devices/operations', {})
  expect([status, body.operations.map(({ entityId }) => entityId).sort()]).toEqual([200, ['d1', 'd2']])
})

test('POST /search/entities/operations/history finds the operations that have ended.', async () => {
  const { status, body } = await post<{ operations: OperationView[] }>('/entities/operations/history', {})
  expect([status, body.operations.map(({ entityId, status: ended }) => `${entityId} ${ended}`)]).toEqual([
    200,
    ['d3 CANCELLED'],
  ])
})

test('A search filters.', async () => {
  expect(jobIds(await post('/jobs', { filter: { eq: { 'jobs.request.userNotes': 'second' } } }))).toEqual([second.id])
})

test('A search sorts, either way.', async () => {
  const sort = (type: string) => ({ sort: { parameters: [{ name: 'jobs.request.userNotes', type }] } })
  expect(jobIds(await post('/jobs', sort('ASCENDING')))).toEqual([first.id, second.id])
  expect(jobIds(await post('/jobs', sort('DESCENDING')))).toEqual([second.id, first.id])
})

test('A search selects fields.', async () => {
  const select = [{ name: 'jobs', fields: [{ field: 'request.userNotes', alias: 'notes' }] }]
  const { status, body } = await post<{ jobs: object[] }>('/jobs', { select, filter: { eq: { 'jobs.id': first.id } } })
  expect(status, JSON.stringify(body)).toBe(200)
  expect(JSON.stringify(body.jobs[0])).toContain('first')
  expect(JSON.stringify(body.jobs[0])).not.toContain('REBOOT_EQUIPMENT')
})

test('A summary counts by the fields of a group.', async () => {
  const group = { parameters: [{ name: 'jobs.report.summary.status' }] }
  const { body } = await post<{ summary: { summaryGroup: object[] } }>('/jobs/summary', { group })
  expect(JSON.stringify(body.summary)).toContain('CANCELLED')
  expect(body.summary.summaryGroup).toHaveLength(1)
})

test('Results are JSON where the client does not say.', async () => {
  const { headers } = await post('/jobs', {})
  expect(headers.get('content-type')).toMatch(/^application\/json/)
})

test('Results are CSV where the header `Accept` asks for it.', async () => {
  for (const accept of ['text/plain', 'text/csv']) {
    const { headers, body } = await post<string>('/jobs', {}, { accept })
    expect(headers.get('content-type')).toMatch(new RegExp(`^${accept}`))
    expect(body.trim().split('\n')).toHaveLength(3)
  }
})

test('Equivalent searches exist for subscribers and subscriptions.', async () => {
  for (const kind of ['subscribers', 'subscriptions']) {
    expect([kind, (await post(`/entities/${kind}/operations`, {})).status]).toEqual([kind, 204])
  }
})

test('A search that finds nothing is 204 without a body.', async () => {
  const { status, body } = await post('/jobs', { filter: { eq: { 'jobs.id': 'none' } } })
  expect([status, body]).toEqual([204, undefined])
})

test('A filter on a field that nothing has is refused, and named.', async () => {
  const told = await refusal('POST', `${SEARCH}/jobs`, { filter: { eq: { 'jobs.mood': 1 } } })
  expect([told.status, told.code, told.message, told.fields]).toEqual([
    400,
    '0x050014',
    'Field in filter unknown',
    ['jobs.mood'],
  ])
})
