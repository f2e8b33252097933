import { describe, expect, test } from 'vitest'
import type { JobView } from '../../src/contract/job.ts'
import { readRequestParameters } from '../../src/contract/request-parameters.ts'
import { jobRoutes } from '../../src/north/jobs.ts'
import { operationRoutes } from '../../src/north/operations.ts'
import { testDatabase } from '../database.ts'
import { createWorkbench, EPOCH } from '../engine/workbench.ts'
import { openDoor } from './door.ts'

const { database } = await testDatabase()
const workbench = await createWorkbench(database)
await workbench.provision(
  Array.from({ length: 25 }, (_, index) => `d${index}`),
  { tags: ['all'] },
)

const rules = {
  entitiesMax: 100,
  minOperationTimeoutMs: 40_000,
  readParameters: readRequestParameters,
  callbacks: { allowHttps: false, allowLoopback: false, allowLinkLocal: false },
}
const door = openDoor(workbench.caller, app => {
  jobRoutes(app, { database, jobs: workbench.jobs, rules })
  operationRoutes(app, { database })
})
const jobsPath = '/operation/jobs'
const body = (request: unknown) => ({ job: { request } })
const reboot = (request: object = {}) =>
  body({ name: 'REBOOT_EQUIPMENT', target: { append: { entities: ['d0'] } }, active: true, ...request })

/** Creates a job and answers it as read. */
async function create(request: object): Promise<JobView> {
  const answer = await door.ask('POST', jobsPath, reboot(request))
  expect(answer.status).toBe(201)
  return answer.body as unknown as JobView
}

describe('POST of a job', () => {
  test('refuses what a typed list of parameters would drop, naming it', async () => {
    const typed = { name: 'b', type: 'boolean', value: { boolean: true } }
    const own = [{ id: 'd0', parameters: [{ ...typed, value: { boolean: 'x' } }] }]
    const answers = [
      await door.ask('POST', jobsPath, reboot({ parameters: [{ ...typed, q: 1 }] })),
      await door.ask('POST', jobsPath, reboot({ target: { append: { entitiesWithParameters: own } } })),
    ]
    expect(answers).toMatchObject([
      { status: 400, body: { errors: [{ code: '0x010003', context: [{ name: 'job.request.parameters[0].q' }] }] } },
      {
        status: 400,
        body: {
          errors: [
            { context: [{ name: 'job.request.target.append.entitiesWithParameters[0].parameters[0].value.boolean' }] },
          ],
        },
      },
    ])
  })

  test('answers 201 with the job itself and its address, normalised', async () => {
    const answer = await door.ask(
      'POST',
      jobsPath,
      reboot({ userNotes: 'n', schedule: { stop: { delayed: '43200' } } }),
    )
    expect(answer.status).toBe(201)
    expect(answer.headers.location).toBe(`${jobsPath}/${answer.body.id}`)
    expect(answer.body).toEqual({
      id: answer.body.id,
      request: {
        name: 'REBOOT_EQUIPMENT',
        parameters: {},
        target: { append: { entities: ['d0'] } },
        active: true,
        schedule: { stop: { delayed: 43_200 } },
        operationParameters: { ackTimeout: 0, timeout: 60_000, retries: 0, retriesDelay: 0, retryResultList: [] },
        notify: false,
        callback: '',
        userNotes: 'n',
        user: 'a@b.c',
      },
      report: {
        execution: { activatedDate: EPOCH.toISOString(), startedDate: EPOCH.toISOString(), finishedDate: '' },
        summary: expect.objectContaining({ status: 'IN_PROGRESS', total: 1 }),
      },
    })
    expect((await door.ask('GET', String(answer.headers.location))).body).toEqual(answer.body)
  })

  test('tells what of the target it does not cover', async () => {
    const job = await create({ target: { append: { entities: ['d0', 'd0', 'nobody'] } } })
    expect(job.report.target).toEqual({ notProvisioned: ['nobody'], duplicated: ['d0'] })
    expect(job.report.summary.total).toBe(1)
  })

  test('warns where the job can wait for ever', async () => {
    expect((await create({})).report.warnings).toEqual([{ code: 'waits-forever' }])
    expect((await create({ schedule: { stop: { delayed: 1_000 } } })).report).not.toHaveProperty('warnings')
  })

  test('warns no more once a change has given the job a stop', async () => {
    const { id, report } = await create({ active: false })
    expect(report.warnings).toEqual([{ code: 'waits-forever' }])
    const changed = await door.ask('PUT', `${jobsPath}/${id}`, body({ schedule: { stop: { delayed: 1_000 } } }))
    expect(changed.body.report).not.toHaveProperty('warnings')
    expect((await door.ask('GET', `${jobsPath}/${id}`)).body).toEqual(changed.body)
  })

  test('refuses a stop before the start as it refuses any field', async () => {
    const schedule = { start: { date: '2100-01-02T00:00:00Z' }, stop: { date: '2100-01-01T00:00:00Z' } }
    const answer = await door.ask('POST', jobsPath, reboot({ schedule }))
    expect([answer.status, answer.body]).toMatchObject([
      400,
      {
        errors: [
          {
            code: '0x010001',
            message: expect.stringMatching(/^Invalid field: job.request.schedule.stop must lie after the start/),
            context: [{ name: 'job.request.schedule.stop', value: expect.stringMatching(/^must lie after the start/) }],
          },
        ],
      },
    ])
  })

  test('refuses a target of which nothing is usable', async () => {
    const answer = await door.ask('POST', jobsPath, reboot({ target: { append: { entities: ['nobody'] } } }))
    expect([answer.status, answer.body]).toMatchObject([400, { errors: [{ code: '0x020002' }] }])
  })

  test('refuses an unknown member and an unknown query parameter by name', async () => {
    for (const [url, request] of [
      [jobsPath, { Strategy: 1 }],
      [`${jobsPath}?Strategy=1`, {}],
    ] as const) {
      const answer = await door.ask('POST', url, reboot(request))
      expect(answer.status).toBe(400)
      expect(answer.text).toContain('0x010003')
      expect(answer.text).toContain('Strategy')
    }
  })

  test('under one Idempotency-Key makes one job, and refuses the key for another request', async () => {
    const key = { 'idempotency-key': 'k1' }
    const first = await door.ask('POST', jobsPath, reboot({ active: false }), key)
    const again = await door.ask('POST', jobsPath, reboot({ active: false }), key)
    expect([again.status, again.body.id]).toEqual([201, first.body.id])
    await door.ask('PUT', `${jobsPath}/${first.body.id}`, body({ userNotes: 'changed' }))
    const later = await door.ask('POST', jobsPath, reboot({ active: false }), key)
    expect(later).toMatchObject({ status: 201, body: { id: first.body.id, request: { userNotes: 'changed' } } })
    expect((await door.ask('POST', jobsPath, reboot({ active: false, notify: true }), key)).status).toBe(400)
  })

  test('is not for a viewer', async () => {
    const viewer = openDoor({ ...workbench.caller, profile: 'viewer' }, app =>
      jobRoutes(app, { database, jobs: workbench.jobs, rules }),
    )
    const job = await create({ active: false })
    expect((await viewer.ask('POST', jobsPath, reboot())).status).toBe(403)
    expect((await viewer.ask('PUT', `${jobsPath}/${job.id}`, body({ active: true }))).status).toBe(403)
    expect((await viewer.ask('DELETE', `${jobsPath}/${job.id}`)).status).toBe(403)
    expect((await viewer.ask('GET', `${jobsPath}/${job.id}`)).status).toBe(200)
  })
})

describe('a job of an id', () => {
  test('that nobody has, or another organization has, is 404', async () => {
    const { id } = await create({ active: false })
    expect((await door.ask('GET', `${jobsPath}/0000000000000001`)).status).toBe(404)
    expect((await door.ask('GET', `${jobsPath}/what`)).status).toBe(404)
    const stranger = openDoor({ ...workbench.caller, organization: 4711 }, app => {
      jobRoutes(app, { database, jobs: workbench.jobs, rules })
      operationRoutes(app, { database })
    })
    expect((await stranger.ask('GET', `${jobsPath}/${id}`)).status).toBe(404)
    expect((await stranger.ask('PUT', `${jobsPath}/${id}`, body({ active: true }))).status).toBe(404)
    expect((await stranger.ask('DELETE', `${jobsPath}/${id}`)).status).toBe(404)
    expect((await stranger.ask('GET', `${jobsPath}/${id}/operations`)).status).toBe(404)
  })

  test('is built in batches, activated, paused, resumed and cancelled', async () => {
    const { id } = await create({ active: false, target: {} })
    const put = async (request: object) => {
      const answer = await door.ask('PUT', `${jobsPath}/${id}`, body(request))
      expect(answer.status).toBe(200)
      return (answer.body as unknown as JobView).report.summary
    }
    expect(await put({ target: { append: { entities: ['d1', 'd2', 'd3'] } } })).toMatchObject({
      status: 'IDLE',
      total: 3,
    })
    expect(await put({ target: { remove: { entities: ['d3'] } } })).toMatchObject({ total: 2 })
    expect(await put({ active: true })).toMatchObject({ status: 'IN_PROGRESS' })
    expect(await put({ active: false })).toMatchObject({ status: 'PAUSED' })
    expect((await door.ask('PUT', `${jobsPath}/${id}`, body({ active: true, notify: true }))).status).toBe(400)
    expect(await put({ active: true })).toMatchObject({ status: 'IN_PROGRESS' })
    const gone = await door.ask('DELETE', `${jobsPath}/${id}`)
    expect([gone.status, gone.body]).toMatchObject([200, { report: { summary: { status: 'CANCELLED' } } }])
    const refused = await door.ask('PUT', `${jobsPath}/${id}`, body({ active: true }))
    expect(refused.body).toMatchObject({ errors: [{ message: 'Job state transition error.' }] })
  })
})

describe('a job with a filter for a target', () => {
  test('keeps it, and says so in the words that clients know', async () => {
    const { id } = await create({ active: false, target: { append: { filter: {} } } })
    const answer = await door.ask('PUT', `${jobsPath}/${id}`, body({ target: { append: { entities: ['d0'] } } }))
    expect([answer.status, answer.body]).toEqual([
      400,
      {
        errors: [
          {
            code: '0x010003',
            message: 'Forbidden field.',
            context: [{ name: 'job.request.target', value: 'is a filter, which cannot be changed' }],
          },
        ],
      },
    ])
  })
})

describe('the operations of a job', () => {
  test('are paged by number and by cursor, open and ended ones in one order', async () => {
    const entities = Array.from({ length: 25 }, (_, index) => `d${index}`)
    const { id } = await create({ active: false, target: { append: { entities } } })
    const list = async (query: string) => {
      const answer = await door.ask('GET', `${jobsPath}/${id}/operations${query}`)
      const { page, operations } = answer.body as { page: { cursor?: string }; operations: { entityId: string }[] }
      return { status: answer.status, page, ids: operations?.map(each => each.entityId) }
    }
    const first = await list('')
    expect(first).toMatchObject({ status: 200, page: { number: 1, of: 3 } })
    expect(await list('?start=0')).toEqual(first)
    expect(await list('?start=1')).toEqual(first)
    const [second, third] = [await list('?start=2&size=10'), await list('?start=3&size=10')]
    expect(new Set([...first.ids, ...second.ids, ...third.ids])).toEqual(new Set(entities))
    expect(third.page).not.toHaveProperty('cursor')
    expect((await list(`?cursor=${first.page.cursor}`)).ids).toEqual(second.ids)
    expect((await list('?start=4')).status).toBe(204)
    expect((await list('?size=1001')).status).toBe(400)
    expect((await list('?size=25')).ids).toEqual([...first.ids, ...second.ids, ...third.ids])
    await door.ask('DELETE', `${jobsPath}/${id}`)
    expect((await list('?size=25')).ids).toEqual([...first.ids, ...second.ids, ...third.ids])
  })

  test('come in pages longer than what is read at once', async () => {
    const many = Array.from({ length: 250 }, (_, index) => `m${index}`)
    await workbench.provision(many, { tags: ['many'] })
    const { id } = await create({ target: { append: { tags: ['many'] } } })
    await workbench.settle()
    const whole = await door.ask('GET', `${jobsPath}/${id}/operations?size=1000`)
    const { page, operations } = whole.body as { page: object; operations: { entityId: string }[] }
    expect(page).toEqual({ number: 1, of: 1 })
    expect(new Set(operations.map(each => each.entityId))).toEqual(new Set(many))
    const second = await door.ask('GET', `${jobsPath}/${id}/operations?size=200&start=2`)
    expect(second.body.operations).toEqual(operations.slice(200))
    const first = await door.ask('GET', `${jobsPath}/${id}/operations?size=200`)
    expect(first.body.operations).toEqual(operations.slice(0, 200))
    expect(first.body.page).toMatchObject({ number: 1, of: 2, cursor: expect.any(String) })
  })

  test('read one by one as in the page, with their own parameters', async () => {
    const target = {
      append: { entitiesWithParameters: [{ id: 'd5', parameters: { type: 'SOFTWARE' } }], entities: ['d6'] },
    }
    const job = await create({ active: false, target, parameters: { type: 'HARDWARE' }, userNotes: 'n' })
    const { body: page } = await door.ask('GET', `${jobsPath}/${job.id}/operations`)
    const operations = page.operations as Record<string, unknown>[]
    expect(operations.find(each => each.entityId === 'd6')).toEqual({
      operationId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      jobId: job.id,
      entityId: 'd6',
      resourceType: 'entity.device',
      name: 'REBOOT_EQUIPMENT',
      parameters: { type: 'HARDWARE' },
      attempts: { total: 1, current: 0 },
      notify: false,
      execution: { activatedDate: '', startedDate: '', finishedDate: '' },
      user: 'a@b.c',
      status: 'PENDING',
      result: 'OPERATION_PENDING',
      description: '',
      date: EPOCH.toISOString(),
      userNotes: 'n',
      steps: [],
    })
    expect(operations.find(each => each.entityId === 'd5')).toMatchObject({ parameters: { type: 'SOFTWARE' } })
    for (const operation of operations) {
      const one = await door.ask('GET', `${jobsPath}/${job.id}/operations/${operation.operationId}`)
      expect(one.body).toEqual(operation)
    }
    const other = await create({ active: false })
    expect((await door.ask('GET', `${jobsPath}/${other.id}/operations/${operations[0]?.operationId}`)).status).toBe(404)
    expect((await door.ask('GET', `${jobsPath}/${job.id}/operations/what`)).status).toBe(404)
  })
})
