import { expect, test } from 'vitest'
import { openHouse } from '../house.ts'
import { asking, ENTITIES, FAR, JOBS, on } from './asking.ts'

const house = await openHouse()
const { cancel, make, makeType, operations, put, refuses, untilJob } = asking(house)
for (const id of ['d1', 'd2', 'd3']) await house.provision(id, { 'provision.administration.tags': ['meters', id] })
const asset = {
  resourceType: 'entity.asset',
  'provision.asset.identifier': 'a1',
  'provision.administration.tags': ['meters'],
}
expect((await house.call('POST', `${ENTITIES}?flattened=true`, asset)).status).toBe(201)
const kinds = ['entity.device', 'entity.asset', 'entity.commsModule', 'entity.subscription', 'entity.subscriber']
await makeType({ name: 'TOUCH', applicableTo: kinds })

const TARGET = 'job.request.target'
const IDLE = { name: 'REFRESH_INFO', active: false }
const asked = (target: object) => ({ job: { request: { ...IDLE, target } } })
const entityIds = async (id: string) => (await operations(id)).map(({ entityId }) => entityId).sort()

test('Entities and a tag in one target are refused.', () =>
  refuses(JOBS, asked({ append: { entities: ['d1'], tags: ['meters'] } }), '0x010001', `${TARGET}.append`))

test('Entities and a filter in one target are refused.', () =>
  refuses(JOBS, asked({ append: { entities: ['d1'], filter: {} } }), '0x010001', `${TARGET}.append`))

test('A tag and a filter in one target are refused.', () =>
  refuses(JOBS, asked({ append: { tags: ['meters'], filter: {} } }), '0x010001', `${TARGET}.append`))

test('A target that appends nothing is refused of a job that is to run.', () =>
  refuses(JOBS, { job: { request: { name: 'REFRESH_INFO', target: { append: {} } } } }, '0x020002', TARGET))

test('`entities` is a list of identifiers, and the same parameters go to each of them.', async () => {
  const { id } = await make(on(['d1', 'd2'], { active: false, parameters: { type: 'SOFTWARE' } }))
  const all = await operations(id)
  expect(all.map(({ entityId }) => entityId).sort()).toEqual(['d1', 'd2'])
  expect(all.map(({ parameters }) => parameters)).toEqual([{ type: 'SOFTWARE' }, { type: 'SOFTWARE' }])
})

test('`entities` holds 100 identifiers, and no more.', async () => {
  const listed = (count: number) => ['d1', ...Array.from({ length: count - 1 }, (_, i) => `none-${i}`)]
  expect((await house.call('POST', JOBS, asked({ append: { entities: listed(100) } }))).status).toBe(201)
  await refuses(JOBS, asked({ append: { entities: listed(101) } }), '0x010001', `${TARGET}.append.entities`)
})

test('`tags` holds one tag name only.', () =>
  refuses(JOBS, asked({ append: { tags: ['meters', 'd1'] } }), '0x010001', `${TARGET}.append.tags`))

test('A tag is resolved to the entities that carry it.', async () => {
  const { id } = await make({ ...IDLE, target: { append: { tags: ['meters'] } } })
  for (let found = 0; found < 3; found = (await operations(id)).length);
  expect(await entityIds(id)).toEqual(['d1', 'd2', 'd3'])
})

test('A job that is not active waits in IDLE when its tag is resolved.', async () => {
  const { id } = await make({ ...IDLE, target: { append: { tags: ['d2'] } } })
  await house.until(id, ({ entityId }) => entityId === 'd2')
  expect((await untilJob(id, 'IDLE')).report.summary.total).toBe(1)
})

test('An active job waits in SCHEDULED when its tag is resolved, until its start.', async () => {
  const schedule = { start: { date: FAR } }
  const { id } = await make({ name: 'REFRESH_INFO', active: true, schedule, target: { append: { tags: ['d2'] } } })
  await house.until(id, ({ entityId }) => entityId === 'd2')
  expect((await untilJob(id, 'SCHEDULED')).report.summary.total).toBe(1)
})

test('`filter` is an expression in the request, such as an equality clause keyed by a field name.', async () => {
  const filter = { eq: { 'provision.device.identifier': 'd3' } }
  const { id } = await make({ ...IDLE, target: { append: { filter } } })
  await house.until(id, () => true)
  expect(await entityIds(id)).toEqual(['d3'])
})

test('A stored filter cannot be named in place of one.', async () => {
  await refuses(JOBS, asked({ append: { filter: 'my-filter' } }), '0x010001', `${TARGET}.append.filter`)
  await refuses(JOBS, asked({ append: { filterId: 'my-filter' } }), '0x010003', `${TARGET}.append.filterId`)
})

test('`resourceType` in the query restricts a filter to one kind of entity.', async () => {
  const request = { name: 'TOUCH', active: false, target: { append: { filter: {} } } }
  const { id } = await make(request, '?resourceType=entity.asset')
  await house.until(id, () => true)
  expect(await entityIds(id)).toEqual(['a1'])
})

test('`resourceType` is one of device, asset, commsModule, subscription and subscriber, each behind entity.', async () => {
  for (const kind of kinds) {
    const request = { name: 'TOUCH', active: false, target: { append: { filter: {} } } }
    await make(request, `?resourceType=${kind}`)
  }
  await refuses(`${JOBS}?resourceType=entity.person`, asked({ append: { filter: {} } }), '0x010001', 'resourceType')
  await refuses(`${JOBS}?resourceType=device`, asked({ append: { filter: {} } }), '0x010001', 'resourceType')
})

test('The target of a job with a filter cannot be changed once it is created.', async () => {
  const { id } = await make({
    ...IDLE,
    target: { append: { filter: { eq: { 'provision.device.identifier': 'd1' } } } },
  })
  for (const target of [
    { append: { entities: ['d2'] } },
    { remove: { entities: ['d1'] } },
    { append: { filter: { eq: { 'provision.device.identifier': 'd2' } } } },
  ]) {
    expect((await put(id, { target })).status, JSON.stringify(target)).toBe(400)
  }
})

test('Another filter is a new job beside the old one, which is deactivated.', async () => {
  const target = (id: string) => ({ append: { filter: { eq: { 'provision.device.identifier': id } } } })
  const schedule = { start: { date: FAR } }
  const { id } = await make({ ...IDLE, active: true, schedule, target: target('d1') })
  const deactivated = await put(id, { active: false })
  expect([deactivated.status, deactivated.body.report.summary.status]).toEqual([200, 'IDLE'])
  const second = await make({ ...IDLE, target: target('d2') })
  await house.until(second.id, () => true)
  expect(await entityIds(second.id)).toEqual(['d2'])
  expect((await cancel(id)).status).toBe(200)
})
