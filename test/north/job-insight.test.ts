import { expect, test } from 'vitest'
import { jobId, operationId } from '../../src/domain/identity.ts'
import { jobInsightRoutes } from '../../src/north/job-insight.ts'
import { operationRoutes } from '../../src/north/operations.ts'
import { searchRoutes } from '../../src/north/search.ts'
import { searchEntityRoutes } from '../../src/north/search-entities.ts'
import { readOperationPage } from '../../src/store/operation-reading.ts'
import { testDatabase } from '../database.ts'
import { createWorkbench, EPOCH, jobRequest } from '../engine/workbench.ts'
import { openDoor } from './door.ts'

const { database } = await testDatabase()
const bench = await createWorkbench(database)
const door = openDoor(bench.caller, app => {
  jobInsightRoutes(app, { database, now: () => bench.clock.now() })
  operationRoutes(app, { database })
  searchRoutes(app, { database })
  searchEntityRoutes(app, { database })
})
await bench.provision(['good', 'bad-1', 'bad-2', 'silent'])
bench.device = ({ id, device }, report) => {
  const message = { ...device, operationId: id }
  if (device.deviceId === 'silent') return report({ seen: 'sent' })
  if (device.deviceId === 'good') {
    return report({ seen: 'answered', message: { ...message, resultCode: 'SUCCESSFUL', steps: [] } })
  }
  report({
    seen: 'answered',
    message: {
      ...message,
      resultCode: 'ERROR_PROCESSING',
      resultDescription: 'no space left',
      steps: [
        { name: 'DOWNLOAD', result: 'SUCCESSFUL' },
        { name: 'INSTALL', result: 'ERROR', description: 'disk full' },
      ],
    },
  })
}
const target = { append: { entities: ['good', 'bad-1', 'bad-2', 'silent'] } }
const { job } = await bench.jobs.create(bench.caller, jobRequest({ target }))
await bench.settle()
await bench.advance(5_000)
const path = `/operation/jobs/${jobId(job)}`

test('failures are grouped by result, step and what was said of them', async () => {
  const { body } = await door.ask('GET', `${path}/failures`)
  expect(body).toEqual({
    date: bench.clock.now().toISOString(),
    failures: [
      {
        status: 'FINISHED',
        result: 'ERROR_PROCESSING',
        step: 'INSTALL',
        stepDescription: 'disk full',
        description: 'no space left',
        counter: 'error',
        count: 2,
      },
    ],
    more: false,
  })
})

test('the groups of failures come as CSV', async () => {
  const { status, text } = await door.ask('GET', `${path}/failures`, undefined, { accept: 'text/csv' })
  expect(status).toBe(200)
  expect(text).toBe(
    'count;status;result;step;stepDescription;description;counter\n2;FINISHED;ERROR_PROCESSING;INSTALL;disk full;no space left;error\n',
  )
})

test('progress tells the plan beside what was launched and ended, and when the end is expected', async () => {
  const { body } = await door.ask('GET', `${path}/progress`)
  expect(body).toMatchObject({ total: 4 })
  const points = body.points as { date: string; planned: number; launched: number; ended: number; successful: number }[]
  expect(points[0]?.date).toBe(EPOCH.toISOString())
  const known = points.filter(point => point.launched !== null)
  expect(known.at(-1)).toMatchObject({ planned: 4, launched: 4, ended: 3, successful: 1 })
  expect(Date.parse(String(body.expectedEndDate))).toBeGreaterThan(EPOCH.getTime())
  expect(body).toMatchObject({ held: [], lastLaunchDate: EPOCH.toISOString() })
})

test('the messages of an operation are told as they came', async () => {
  const operations = await readOperationPage(database, job, { skip: 0 }, 10)
  const bad = operations.find(each => each.identifier === 'bad-1')!
  const { status, body } = await door.ask('GET', `${path}/operations/${operationId(bad)}/messages`)
  expect(status).toBe(200)
  expect(body).toMatchObject({ messages: expect.any(Array), filed: [] })
  expect((await door.ask('GET', `${path}/operations/nonsense/messages`)).status).toBe(404)
})

test('entities are found by the jobs in which they had no success', async () => {
  const filter = { eq: { 'operations.unsuccessfulIn': jobId(job) } }
  const { body } = await door.ask('POST', '/search/entities/summary', { filter })
  expect(body).toMatchObject({ summary: { count: 2 } })
  const none = { eq: { 'operations.unsuccessfulIn': 'nonsense' } }
  expect((await door.ask('POST', '/search/entities/summary', { filter: none })).body).toMatchObject({
    summary: { count: 0 },
  })
})

test('ended operations are found by what they are counted as', async () => {
  const search = '/search/entities/operations/history/summary'
  const ask = (counter: string) => door.ask('POST', search, { filter: { eq: { 'operations.counter': counter } } })
  expect((await ask('error')).body).toMatchObject({ summary: { count: 2 } })
  expect((await ask('successful')).body).toMatchObject({ summary: { count: 1 } })
  expect((await ask('byUser')).body).toMatchObject({ summary: { count: 0 } })
})

test('ended operations are found by the last of their steps that ended in error, and by there being none', async () => {
  const search = '/search/entities/operations/history'
  const ask = async (filter: object) => {
    const { body } = await door.ask('POST', search, { filter: { and: [{ eq: { jobId: jobId(job) } }, filter] } })
    return (body.operations as { entityId: string }[]).map(each => each.entityId).toSorted()
  }
  expect(await ask({ eq: { 'operations.failedStep.name': 'INSTALL' } })).toEqual(['bad-1', 'bad-2'])
  expect(await ask({ eq: { 'operations.failedStep.description': 'disk full' } })).toEqual(['bad-1', 'bad-2'])
  expect(await ask({ exists: { 'operations.failedStep.name': false } })).toEqual(['good'])
})

test('all operations of a job come as CSV', async () => {
  const answer = await door.ask('GET', `${path}/operations`, undefined, { accept: 'text/csv' })
  const lines = answer.text.trim().split('\n')
  expect(lines[0]).toBe(
    'operationId;entityId;resourceType;status;result;description;attempts.current;attempts.total;execution.startedDate;execution.finishedDate;steps',
  )
  expect(lines).toHaveLength(5)
  expect(answer.text).toContain(';bad-1;entity.device;FINISHED;ERROR_PROCESSING;no space left;1;1;')
})

test('progress tells what holds the operations of a job that are not launched, and when the turn of the last one comes', async () => {
  const hourFrom = (hours: number) => `${String((EPOCH.getUTCHours() + hours) % 24).padStart(2, '0')}:00:00Z`
  const made = await bench.jobs.create(
    bench.caller,
    jobRequest({ target, schedule: { window: { weekly: [{ daily: { start: hourFrom(2), stop: hourFrom(3) } }] } } }),
  )
  await bench.settle()
  const held = async () => {
    const { body } = await door.ask('GET', `/operation/jobs/${jobId(made.job)}/progress`)
    return { gates: (body.held as { gate: string; liftsAt: string | null }[]) ?? [], last: body.lastLaunchDate }
  }
  const opens = new Date(Math.floor(EPOCH.getTime() / 3_600_000) * 3_600_000 + 2 * 3_600_000).toISOString()
  expect(await held()).toMatchObject({ gates: [{ gate: 'windowClosed', liftsAt: opens }], last: opens })
  await bench.jobs.cancel(bench.caller, made.job)
  await bench.settle()
  expect((await held()).gates).toEqual([])
})

test('the curve of a paused job ends at the present, and no turn lies ahead until it is resumed', async () => {
  const schedule = { stop: { delayed: 172_800_000 }, scattering: { maxSpread: 100 } }
  const { job: paused } = await bench.jobs.create(bench.caller, jobRequest({ target, schedule }))
  await bench.settle()
  const progress = async () => (await door.ask('GET', `/operation/jobs/${jobId(paused)}/progress`)).body
  const lastPoint = async () => {
    const { points } = (await progress()) as { points: { date: string }[] }
    return Date.parse(points.at(-1)!.date) - bench.clock.now().getTime()
  }
  expect(await lastPoint()).toBeGreaterThan(3_600_000)
  const pausedDate = bench.clock.now().toISOString()
  await bench.jobs.change(bench.caller, paused, { active: false })
  await bench.advance(60_000)
  expect(await lastPoint()).toBe(0)
  // What is said once more does not begin anew.
  await bench.jobs.change(bench.caller, paused, { active: false })
  const fields = { jobStatus: 'PAUSED', pausedDate }
  expect(await progress()).toMatchObject({ lastLaunchDate: null, held: [{ gate: 'paused', fields }] })
  await bench.jobs.change(bench.caller, paused, { active: true })
  expect(await lastPoint()).toBeGreaterThan(3_600_000)
})
