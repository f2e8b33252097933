import { describe, expect, test } from 'vitest'
import { readParameters } from '../../src/contract/device-parameters.ts'
import type { TaskView } from '../../src/contract/task.ts'
import { createTasks } from '../../src/engine/tasks.ts'
import { jobRoutes } from '../../src/north/jobs.ts'
import { searchRoutes } from '../../src/north/search.ts'
import { taskRoutes } from '../../src/north/tasks.ts'
import { compileEntityFilter } from '../../src/store/entity-filter.ts'
import { sql } from '../../src/store/statement.ts'
import { testDatabase } from '../database.ts'
import { createWorkbench, EPOCH } from '../engine/workbench.ts'
import { openDoor } from './door.ts'

const { database } = await testDatabase()
const workbench = await createWorkbench(database)
await workbench.provision(['d1', 'd2', 'd3'], { tags: ['all'] })
await database.query(sql`update operation_type set applicable_to = '{entity.device}'`)

const rules = {
  entitiesMax: 100,
  minOperationTimeoutMs: 40_000,
  readParameters,
  callbacks: { allowHttps: false, allowLoopback: false, allowLinkLocal: false },
}
const now = () => workbench.clock.now()
const applicability = { resourceTypes: ['entity.device'], models: [] }
const tasks = createTasks({
  compile: compileEntityFilter,
  database,
  now,
  nextNumber: workbench.nextNumber,
  findType: (_tx, _organization, name) =>
    Promise.resolve({ name, profiles: null, applicability, judgeParameters: own => ({ ...own }) }),
  onCommit: workbench.engine.wake,
})
const parts = { database, tasks, rules, now, jobs: workbench.jobs }
const door = openDoor(workbench.caller, app => {
  taskRoutes(app, parts)
  jobRoutes(app, parts)
  searchRoutes(app, parts)
})
const path = '/operation/tasks'
const request = {
  name: 'REBOOT_EQUIPMENT',
  target: { append: { entities: ['d1'] } },
  active: true,
  schedule: { stop: { delayed: 299_000 } },
}
const long = { stop: { delayed: 299_000 } }
const minutes = { repeating: { period: { each: 5, unit: 'MINUTES' } }, stop: { executions: 5 } }

async function create(task: object = {}): Promise<TaskView> {
  const answer = await door.ask('POST', path, { task: { schedule: minutes, job: { request }, ...task } })
  expect(answer.status).toBe(201)
  return answer.body.task as TaskView
}

describe('POST of a task', () => {
  test('answers 201 with its address and the task, and its next job is listed already', async () => {
    const answer = await door.ask('POST', path, {
      task: { name: 'n', description: 'd', schedule: minutes, job: { request } },
    })
    const task = answer.body.task as TaskView
    expect([answer.status, answer.headers.location]).toEqual([201, `${path}/${task.id}`])
    expect(task).toMatchObject({
      name: 'n',
      description: 'd',
      user: 'a@b.c',
      active: true,
      state: 'ACTIVE',
      status: 'ACTIVE',
      schedule: { ...minutes, start: { date: EPOCH.toISOString() } },
      job: { request: { name: 'REBOOT_EQUIPMENT', target: request.target } },
      report: { executions: 0, skipped: 0, nextDate: EPOCH.toISOString() },
    })
    expect((await door.ask('GET', String(answer.headers.location))).body).toEqual({ task })
    const { body } = await door.ask('GET', `${path}/${task.id}/jobs`)
    expect(body.page).toEqual({ number: 1, of: 1 })
    expect(body.jobs).toEqual(body.job)
    expect(body.jobs).toMatchObject([{ taskId: task.id, report: { summary: { status: 'SCHEDULED' } } }])
  })

  test('refuses an id that exists, an unknown member and an unknown query parameter', async () => {
    await create({ id: 'mine/1' })
    const again = await door.ask('POST', path, { task: { id: 'mine/1', schedule: minutes, job: { request } } })
    expect([again.status, again.body]).toMatchObject([
      400,
      { errors: [{ code: '0x010114', message: 'Entity duplicated.' }] },
    ])
    expect((await door.ask('GET', `${path}/mine%2F1`)).status).toBe(200)
    expect((await door.ask('POST', path, { task: { job: { request }, When: 1 } })).text).toContain('When')
    expect((await door.ask('POST', `${path}?When=1`, { task: { job: { request } } })).text).toContain('When')
  })

  test('is not for a viewer, and what is another organization’s is not there', async () => {
    const { id } = await create()
    const viewer = openDoor({ ...workbench.caller, profile: 'viewer' }, app => taskRoutes(app, parts))
    expect((await viewer.ask('POST', path, { task: { job: { request } } })).status).toBe(403)
    expect((await viewer.ask('PUT', `${path}/${id}`, { task: { active: false } })).status).toBe(403)
    expect((await viewer.ask('DELETE', `${path}/${id}`)).status).toBe(403)
    expect((await viewer.ask('GET', `${path}/${id}`)).status).toBe(200)
    const stranger = openDoor({ ...workbench.caller, organization: 4711 }, app => taskRoutes(app, parts))
    for (const below of ['', '/jobs', '/entities']) {
      expect((await stranger.ask('GET', `${path}/${id}${below}`)).status).toBe(404)
    }
    expect((await stranger.ask('DELETE', `${path}/${id}`)).status).toBe(404)
  })
})

describe('a task', () => {
  test('is changed for what comes: its schedule as a whole, its words, its template, its activity', async () => {
    const { id } = await create({ name: 'n' })
    const put = async (task: object) => {
      const answer = await door.ask('PUT', `${path}/${id}`, { task })
      expect(answer.status).toBe(200)
      return answer.body.task as TaskView
    }
    const [job] = (await door.ask('GET', `${path}/${id}/jobs`)).body.jobs as { id: string }[]
    const start = { date: '2031-01-01T00:00:00.000Z' }
    const later = { start, stop: { executions: 3 }, repeating: { period: { each: 2, unit: 'HOURS' } } }
    expect(await put({ schedule: later })).toMatchObject({ schedule: later, report: { nextDate: start.date } })
    expect((await door.ask('GET', `${path}/${id}/jobs`)).body.jobs).toMatchObject([{ id: job?.id }])
    expect(await put({ active: false })).toMatchObject({ state: 'INACTIVE', name: 'n' })
    const grown = await put({ job: { request: { target: { append: { entities: ['d2'] } } } } })
    expect(grown.job.request.target).toEqual({ append: { entities: ['d1', 'd2'] } })
    expect(await put({ active: true, description: 'x' })).toMatchObject({ state: 'ACTIVE', description: 'x' })
  })

  test('is given another kind of entity by the query of a PUT, and keeps the one it has without', async () => {
    const filter = { filter: {} }
    const { id } = await create({ job: { request: { ...request, target: filter } } })
    const put = async (query: string, task: object) => {
      const answer = await door.ask('PUT', `${path}/${id}${query}`, { task })
      return [answer.status, (answer.body.task as TaskView | undefined)?.job.request]
    }
    expect(await put('?resourceType=entity.asset', { job: { request: { target: filter } } })).toMatchObject([
      200,
      { resourceType: 'entity.asset' },
    ])
    expect(await put('', { job: { request: { userNotes: 'x' } } })).toMatchObject([
      200,
      { resourceType: 'entity.asset' },
    ])
    expect(await put('?resourceType=entity.device', { name: 'y' })).toMatchObject([
      200,
      { resourceType: 'entity.device' },
    ])
    expect(await put('?resourceType=entity.unknown', {})).toEqual([400, undefined])
    expect(await put('?foo=1', {})).toEqual([400, undefined])
  })

  test('is cancelled, and its waiting job goes as if never made', async () => {
    const { id } = await create({ schedule: { ...minutes, start: { date: '2031-01-01T00:00:00Z' } } })
    const [job] = (await door.ask('GET', `${path}/${id}/jobs`)).body.jobs as { id: string }[]
    const gone = await door.ask('DELETE', `${path}/${id}`)
    expect([gone.status, gone.body]).toMatchObject([200, { task: { state: 'CANCELLED' } }])
    expect((await door.ask('GET', `/operation/jobs/${job?.id}`)).status).toBe(404)
    expect((await door.ask('GET', `${path}/${id}/jobs`)).status).toBe(204)
    expect((await door.ask('PUT', `${path}/${id}`, { task: { active: true } })).status).toBe(400)
  })

  test('tells what its target resolves to now, under both addresses', async () => {
    const page = { number: 1, of: 1 }
    const device = (id: string) => ({ id, resourceType: 'entity.device' })
    const listed = await create({
      job: { request: { ...request, target: { append: { entities: ['d2', 'nobody', 'd1'] } } } },
    })
    for (const under of [path, '/tasks']) {
      expect((await door.ask('GET', `${under}/${listed.id}/entities`)).body).toEqual({
        page,
        entities: [device('d1'), device('d2')],
      })
    }
    const tagged = await create({ job: { request: { ...request, target: { append: { tags: ['all'] } } } } })
    expect((await door.ask('GET', `${path}/${tagged.id}/entities?start=2&size=2`)).body).toEqual({
      page: { number: 2, of: 2 },
      entities: [device('d3')],
    })
    const filtered = await create({
      job: { request: { ...request, target: { filter: { eq: { resourceType: 'entity.device' } } } } },
    })
    expect((await door.ask('GET', `${path}/${filtered.id}/entities`)).body.entities).toHaveLength(3)
    const none = await create({ job: { request: { ...request, target: { append: { tags: ['none'] } } } } })
    expect((await door.ask('GET', `${path}/${none.id}/entities`)).status).toBe(204)
  })
})

describe('a search of tasks', () => {
  const find = async (filter: unknown) => {
    const answer = await door.ask('POST', '/search/tasks', { filter })
    return { status: answer.status, ids: ((answer.body.tasks ?? []) as TaskView[]).map(({ id }) => id) }
  }

  test('finds them by every kind of field, as their GET shows them', async () => {
    const hours = { repeating: { period: { each: 7, unit: 'HOURS' } } }
    await create({
      id: 's1',
      name: 'one',
      schedule: hours,
      job: { request: { ...request, parameters: { type: 'A' } } },
    })
    const weekly = { repeating: { pattern: { time: '02:30:00Z', weekly: { days: ['MON', 'FRI'] } } } }
    await create({ id: 's2', name: 'two', active: false, schedule: weekly, job: { request } })
    expect(
      (
        await find({
          eq: { 'tasks.schedule.repeating.period.each': 7, 'tasks.schedule.repeating.period.unit': 'HOURS' },
        })
      ).ids,
    ).toEqual(['s1'])
    expect((await find({ eq: { 'tasks.schedule.repeating.pattern.weekly.days': 'FRI' } })).ids).toEqual(['s2'])
    expect((await find({ eq: { 'tasks.state': 'INACTIVE' }, like: { taskName: '^t' } })).ids).toEqual(['s2'])
    expect((await find({ eq: { 'tasks.job.request.parameters.type': 'A' } })).ids).toEqual(['s1'])
    expect((await find({ in: { taskId: ['s1', 's2'], 'tasks.job.request.name': ['REBOOT_EQUIPMENT'] } })).ids).toEqual([
      's1',
      's2',
    ])
    expect((await find({ eq: { taskId: 'nobody' } })).status).toBe(204)
    const { body } = await door.ask('POST', '/search/tasks', { filter: { eq: { taskId: 's1' } } })
    expect((body.tasks as unknown[])[0]).toEqual((await door.ask('GET', `${path}/s1`)).body.task)
  })

  test.each<[string, string[], string[]]>([
    ['schedule.repeating.pattern', ['s2'], ['s1']],
    ['schedule.repeating.pattern.weekly', ['s2'], ['s1']],
    ['schedule.repeating.pattern.yearly', [], ['s1', 's2']],
    ['schedule.repeating.period', ['s1'], ['s2']],
    ['schedule.start', ['s1', 's2'], []],
    ['schedule.stop', [], ['s1', 's2']],
    ['job.request', ['s1', 's2'], []],
    ['job.request.target', ['s1', 's2'], []],
    ['job.request.operationParameters', ['s1', 's2'], []],
    ['job.request.schedule.scattering.strategy', [], ['s1', 's2']],
  ])('asks whether the object tasks.%s is there', async (path, there, missing) => {
    for (const [wanted, expected] of [
      [true, there],
      [false, missing],
    ] as const) {
      const { ids } = await find({ in: { taskId: ['s1', 's2'] }, exists: { [`tasks.${path}`]: wanted } })
      expect(ids).toEqual(expected)
    }
  })

  test('finds them by the window of their jobs, whose parts are no columns of CSV', async () => {
    const window = {
      weekly: [{ days: ['MON'], daily: { start: '09:00:00', stop: '15:00:00' } }],
      timezone: 'Europe/Madrid',
    }
    await create({ id: 's3', schedule: minutes, job: { request: { ...request, schedule: { window, ...long } } } })
    const at = 'tasks.job.request.schedule.window'
    for (const found of [
      { eq: { [`${at}.weekly[].days`]: 'MON' } },
      { eq: { [`${at}.weekly.days`]: 'MON' } },
      { like: { [`${at}.weekly[].daily.start`]: '^09' } },
      { eq: { [`${at}.timezone`]: 'Europe/Madrid' } },
      { exists: { [at]: true, [`${at}.weekly`]: true, [`${at}.weekly[].daily`]: true } },
    ]) {
      expect((await find(found)).ids).toEqual(['s3'])
    }
    expect((await find({ eq: { [`${at}.weekly[].days`]: 'TUE' } })).status).toBe(204)
    const csv = await door.ask('POST', '/search/tasks', {}, { accept: 'text/csv' })
    const columns = csv.text.split('\n')[0]!.split(';')
    expect(columns.filter(each => each.includes('window') || each === 'schedule')).toEqual([
      'job.request.schedule.window',
    ])
  })

  test('is summed up by state and name', async () => {
    const { body } = await door.ask('POST', '/search/tasks/summary', { filter: { in: { taskId: ['s1', 's2'] } } })
    expect(body).toMatchObject({
      summary: {
        count: 2,
        state: { count: 2 },
        name: {
          list: [
            { name: 'one', count: 1 },
            { name: 'two', count: 1 },
          ],
        },
      },
    })
  })

  test('is never of another organization', async () => {
    const stranger = openDoor({ ...workbench.caller, organization: 4711 }, app => searchRoutes(app, parts))
    expect((await stranger.ask('POST', '/search/tasks', {})).status).toBe(204)
  })
})
