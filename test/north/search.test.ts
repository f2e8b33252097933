import { beforeAll, describe, expect, test } from 'vitest'
import { searchRoutes } from '../../src/north/search.ts'
import { sql } from '../../src/store/statement.ts'
import { createTestDatabase, testDatabase } from '../database.ts'
import { createWorkbench, EPOCH, jobRequest } from '../engine/workbench.ts'
import { openDoor } from './door.ts'

const { database } = await testDatabase()
const workbench = await createWorkbench(database)
const door = openDoor(workbench.caller, app => searchRoutes(app, { database }))

interface Found {
  status: number
  page: { number: number; of: number; cursor?: string }
  rows: Record<string, unknown>[]
}

/** A search and what it found. */
async function search(path: string, body: unknown = {}): Promise<Found> {
  const { status, body: answer } = await door.ask('POST', path, body)
  expect([200, 204]).toContain(status)
  const rows = Object.entries(answer).find(([name]) => name !== 'page')?.[1] ?? []
  return { status, page: answer.page as Found['page'], rows: rows as Found['rows'] }
}

const HISTORY = '/search/entities/operations/history'
const OPEN = '/search/entities/devices/operations'
const ids = { ended: '', open: '', paused: '' }

beforeAll(async () => {
  await workbench.provision(['d1', 'd2', 'd3', 'd4', 'd5'], { tags: ['all'] })
  await workbench.provision(['x1'], { tags: ['other'] })
  workbench.device = ({ id, device }, report) => {
    report({
      seen: 'answered',
      message: {
        ...device,
        operationId: id,
        resultCode: device.deviceId === 'd3' ? 'ERROR_PROCESSING' : 'SUCCESSFUL',
        resultDescription: '=cmd()',
        steps: [{ name: 'CHECK', result: 'SUCCESSFUL', description: 'a;b "c"\nd' }],
      },
    })
  }
  const create = async (request: Parameters<typeof jobRequest>[0]) => {
    const { job } = await workbench.jobs.create(workbench.caller, jobRequest(request))
    await workbench.settle()
    return job.toString(16).padStart(16, '0')
  }
  ids.ended = await create({
    target: { append: { entities: ['d1', 'd2', 'd3'] } },
    parameters: { type: 'HARDWARE', count: 3 },
    userNotes: '-5 apples',
  })
  workbench.device = (_, report) => report({ seen: 'sent' })
  ids.open = await create({ target: { append: { entities: ['d1', 'd2', 'd3', 'd4'] } }, userNotes: '-5' })
  ids.paused = await create({ name: 'REFRESH', target: { append: { entities: ['x1'] } }, active: false })
})

describe('a search of jobs', () => {
  test('finds all of the organization, in the order in which they were made, as their GET shows them', async () => {
    const { rows, page } = await search('/search/jobs')
    expect(rows.map(row => row.id)).toEqual([ids.ended, ids.open, ids.paused])
    expect(page).toEqual({ number: 1, of: 1 })
    expect(rows[0]).toMatchObject({ request: { user: 'a@b.c' }, report: { summary: { total: 3 } } })
  })

  test.each<[string, unknown, ('ended' | 'open' | 'paused')[]]>([
    ['by id', { eq: { 'jobs.id': 'ID:ended' } }, ['ended']],
    ['by an id that is none', { eq: { jobId: 'what' } }, []],
    ['by name', { and: [{ eq: { 'jobs.request.name': 'REFRESH' } }] }, ['paused']],
    ['by status', { in: { jobStatus: ['IDLE', 'NO_STATUS'] } }, ['paused']],
    ['by a flat name', { like: { operationName: '^REB' } }, ['ended', 'open']],
    ['by a counter', { eq: { 'jobs.report.summary.finished.error': 1 } }, ['ended']],
    ['by a counter with a flat name', { gte: { jobInProgressTotal: '1' } }, ['open', 'paused']],
    ['by a counter of cancels', { gt: { 'jobs.report.summary.finished.cancelled.byTimeout': 0 } }, []],
    ['by a date', { gte: { jobActivatedDate: EPOCH.toISOString() } }, ['ended', 'open']],
    ['by a date that is missing', { exists: { 'jobs.report.execution.finishedDate': false } }, ['open', 'paused']],
    ['by a parameter', { eq: { 'jobs.request.parameters.type': 'HARDWARE' } }, ['ended']],
    ['by a numeric parameter', { gt: { 'jobs.request.parameters.count': 2 } }, ['ended']],
    ['by an entity of the target', { eq: { 'jobs.request.target.append.entities[]': 'd4' } }, ['open']],
    [
      'by a retry result',
      { eq: { 'jobs.request.operationParameters.retryResultList': 'ERROR_TIMEOUT' } },
      ['ended', 'open', 'paused'],
    ],
    ['by a date that reads as empty', { eq: { 'jobs.report.execution.finishedDate': '' } }, ['open', 'paused']],
    ['by notes that are there', { neq: { jobUserNotes: '' } }, ['ended', 'open']],
    ['by notes that are not, or are certain ones', { in: { jobUserNotes: ['', '-5'] } }, ['open', 'paused']],
    ['by a callback that reads as empty', { eq: { jobCallback: '' } }, ['ended', 'open', 'paused']],
    ['by a callback that is there', { neq: { jobCallback: '' } }, []],
    ['by an object of the request', { exists: { 'jobs.request.schedule.scattering': true } }, []],
    ['by what is not', { not: { eq: { jobUserNotes: '-5' } } }, ['ended', 'paused']],
  ])('%s', async (_, filter, expected) => {
    const asked = JSON.parse(JSON.stringify(filter).replace(/ID:(\w+)/, (_match, name: keyof typeof ids) => ids[name]))
    const { rows, status } = await search('/search/jobs', { filter: asked })
    expect(rows.map(row => row.id)).toEqual(expected.map(name => ids[name]))
    expect(status).toBe(expected.length > 0 ? 200 : 204)
  })

  test('is sorted, and paged by number', async () => {
    const sort = { parameters: [{ name: 'jobs.id', type: 'DESCENDING' }] }
    const page = (start: number) => search('/search/jobs', { sort, limit: { start, size: 2 } })
    expect((await page(1)).rows.map(row => row.id)).toEqual([ids.paused, ids.open])
    expect((await page(2)).rows.map(row => row.id)).toEqual([ids.ended])
    expect((await page(2)).page).toEqual({ number: 2, of: 2 })
    expect((await page(3)).status).toBe(204)
    const byTotal = { parameters: [{ name: 'jobTotal', type: 'DESCENDING' }, { name: 'jobs.id' }] }
    expect((await search('/search/jobs', { sort: byTotal })).rows.map(row => row.id)).toEqual([
      ids.open,
      ids.ended,
      ids.paused,
    ])
  })

  test('leads on by cursor, up and down', async () => {
    for (const type of ['ASCENDING', 'DESCENDING']) {
      const seen: unknown[] = []
      const sort = { parameters: [{ name: 'jobs.id', type }] }
      for (let cursor: string | undefined; ; ) {
        const { page, rows } = await search('/search/jobs', { sort, limit: { size: 1, ...(cursor && { cursor }) } })
        seen.push(...rows.map(row => row.id))
        cursor = page.cursor
        if (cursor === undefined) break
      }
      const all = [ids.ended, ids.open, ids.paused]
      expect(seen).toEqual(type === 'ASCENDING' ? all : all.toReversed())
    }
    const { page } = await search('/search/jobs', { limit: { size: 1 } })
    const answer = await door.ask('POST', HISTORY, { limit: { cursor: page.cursor } })
    expect([answer.status, answer.text]).toMatchObject([400, expect.stringContaining('limit.cursor')])
  })

  test('shows selected fields, where the row has them or under an alias', async () => {
    const select = [
      { name: 'jobs.request.name' },
      { name: 'jobs.report.execution.activatedDate' },
      { name: 'jobs.report.summary', fields: [{ field: 'total', alias: 'Operations' }] },
      { name: 'jobs.request.parameters.type' },
    ]
    expect((await search('/search/jobs', { select, filter: { eq: { jobId: ids.ended } } })).rows).toEqual([
      {
        request: { name: 'REBOOT_EQUIPMENT', parameters: { type: 'HARDWARE' } },
        report: { execution: { activatedDate: EPOCH.toISOString() } },
        Operations: 3,
      },
    ])
  })

  test.each<[string, unknown[], string]>([
    [
      'two columns',
      [
        { name: 'jobs.request.name', fields: [{ alias: 'x' }] },
        { name: 'jobs.id', fields: [{ alias: 'x' }] },
      ],
      'x',
    ],
    [
      'a column and the path of another',
      [{ name: 'jobs.id', fields: [{ alias: 'request' }] }, { name: 'jobs.request.name' }],
      'request',
    ],
    [
      'the path of a column before it',
      [{ name: 'jobs.request.name' }, { name: 'jobs.id', fields: [{ alias: 'request' }] }],
      'request',
    ],
  ])('refuses an alias that is the name of %s', async (_, select, alias) => {
    const { status, body } = await door.ask('POST', '/search/jobs', { select })
    expect([status, body]).toMatchObject([400, { errors: [{ code: '0x010001', context: [{ name: alias }] }] }])
  })

  test('shows a field once that is selected twice under one alias', async () => {
    const column = { name: 'jobs.id', fields: [{ alias: 'x' }] }
    expect((await search('/search/jobs', { select: [column, column] })).rows[0]).toEqual({ x: ids.ended })
  })

  test('shows a selected object of the request as its GET does', async () => {
    const { rows } = await search('/search/jobs', { select: [{ name: 'jobs.request' }] })
    expect(rows).toEqual((await search('/search/jobs')).rows.map(({ request }) => ({ request })))
  })

  test('refuses a field that is unknown, and a regular expression that is none', async () => {
    const unknown = await door.ask('POST', '/search/jobs', { filter: { eq: { 'jobs.what': 1 } } })
    expect([unknown.status, unknown.body]).toMatchObject([
      400,
      { errors: [{ code: '0x050014', context: [{ name: 'jobs.what' }] }] },
    ])
    const broken = await door.ask('POST', '/search/jobs', { filter: { like: { jobUser: '(' } } })
    expect([broken.status, broken.body]).toMatchObject([
      400,
      { errors: [{ code: '0x050010', context: [{ name: 'filter.like.jobUser' }] }] },
    ])
  })

  test('ignores case where asked', async () => {
    const filter = { like: { jobUser: '^A@B' } }
    expect((await search('/search/jobs', { filter })).status).toBe(204)
    expect((await search('/search/jobs?caseSensitive=false', { filter })).rows).toHaveLength(3)
  })

  test('never finds what is another organization’s', async () => {
    const stranger = openDoor({ ...workbench.caller, organization: 4711 }, app => searchRoutes(app, { database }))
    for (const path of ['/search/jobs', OPEN, HISTORY]) {
      const all = { filter: { or: [{ exists: { jobId: true } }, { exists: { jobId: false } }] } }
      expect((await stranger.ask('POST', path, all)).status).toBe(204)
      expect((await stranger.ask('POST', `${path}/summary`, all)).body).toMatchObject({ summary: { count: 0 } })
      const csv = await stranger.ask('POST', path, all, { accept: 'text/csv' })
      expect(csv.text.split('\n')).toHaveLength(2)
    }
  })
})

describe('a search of operations', () => {
  test('finds those that are open, and those that ended, in their places', async () => {
    const open = await search(OPEN, { filter: { eq: { jobId: ids.open } }, limit: { size: 1000, start: 1 } })
    expect(open.rows.map(row => row.entityId).sort()).toEqual(['d1', 'd2', 'd3', 'd4'])
    expect(open.rows[0]).toMatchObject({ jobId: ids.open, status: 'WAITING_FOR_ACK', result: 'OPERATION_PENDING' })
    const ended = await search(HISTORY)
    expect(ended.rows.map(row => row.entityId).sort()).toEqual(['d1', 'd2', 'd3'])
    expect(ended.rows.every(row => row.jobId === ids.ended && row.status === 'FINISHED')).toBe(true)
    expect((await search('/search/entities/subscribers/operations')).status).toBe(204)
  })

  test.each<[string, unknown, string[]]>([
    ['by entity', { eq: { entityId: 'd2' } }, ['d2']],
    ['by result', { eq: { operationResult: 'ERROR_PROCESSING' } }, ['d3']],
    ['by result with a dotted name', { neq: { 'operation.result': 'SUCCESSFUL' } }, ['d3']],
    ['by result and step', { eq: { operationStatus: 'FINISHED', operationStepName: 'CHECK' } }, ['d1', 'd2', 'd3']],
    ['by a description that is there', { neq: { operationDetails: '' } }, ['d1', 'd2', 'd3']],
    ['by a description that reads as empty', { eq: { operationDetails: '' } }, []],
    ['by notes that are there', { neq: { operationUserNotes: '' } }, ['d1', 'd2', 'd3']],
    ['by a start that reads as empty', { eq: { 'operations.execution.startedDate': '' } }, []],
    ['by tag', { eq: { tag: 'all' } }, ['d1', 'd2', 'd3']],
    ['by another tag', { eq: { tag: 'other' } }, []],
    ['by a counter of the job', { gt: { jobFinishedError: 0 } }, ['d1', 'd2', 'd3']],
    ['by organization', { eq: { organizationName: 'drover' } }, ['d1', 'd2', 'd3']],
    ['by attempts', { eq: { operationAttemptCurrent: 1, operationAttemptMax: 1 } }, ['d1', 'd2', 'd3']],
    ['by end', { lte: { operationEndDate: EPOCH.toISOString() } }, ['d1', 'd2', 'd3']],
    ['by parameters', { eq: { 'jobs.request.parameters.type': 'HARDWARE' } }, ['d1', 'd2', 'd3']],
  ])('%s', async (_, filter, expected) => {
    const { rows } = await search(HISTORY, { filter })
    expect(rows.map(row => row.entityId).sort()).toEqual(expected)
  })

  test('finds what was never launched at attempt 0, however often its launch was put off', async () => {
    await database.executeSql(`update operation set attempt = 2 where started_at is null`)
    const { rows } = await search(OPEN, { filter: { eq: { operationAttemptCurrent: 0 } } })
    expect(rows).toMatchObject([{ jobId: ids.paused, attempts: { current: 0 } }])
    expect((await search(OPEN, { filter: { eq: { operationAttemptCurrent: 2 } } })).status).toBe(204)
  })

  test('finds one by its id, also after it ended', async () => {
    const { rows } = await search(HISTORY, { filter: { eq: { entityId: 'd1' } } })
    const again = await search(HISTORY, { filter: { eq: { operationId: rows[0]?.operationId } } })
    expect(again.rows).toEqual(rows)
  })

  test('leads on by cursor in the order in which they ended, and by key within a job', async () => {
    for (const filter of [{}, { eq: { jobId: ids.ended } }]) {
      const seen: unknown[] = []
      for (let cursor: string | undefined; ; ) {
        const { page, rows } = await search(HISTORY, { filter, limit: { size: 2, ...(cursor && { cursor }) } })
        seen.push(...rows.map(row => row.entityId))
        cursor = page.cursor
        if (cursor === undefined) break
      }
      expect(seen.toSorted()).toEqual(['d1', 'd2', 'd3'])
    }
  })
})

describe('a summary', () => {
  test('counts by the usual fields', async () => {
    const { body } = await door.ask('POST', '/search/jobs/summary', { filter: {}, limit: { size: 1000, start: 1 } })
    expect(body).toEqual({
      summary: {
        count: 3,
        status: {
          count: 3,
          list: [
            { name: 'FINISHED_WITH_ERRORS', count: 1 },
            { name: 'IDLE', count: 1 },
            { name: 'IN_PROGRESS', count: 1 },
          ],
        },
        name: {
          count: 3,
          list: [
            { name: 'REBOOT_EQUIPMENT', count: 2 },
            { name: 'REFRESH', count: 1 },
          ],
        },
      },
    })
  })

  test('counts by the fields of a group', async () => {
    const group = {
      parameters: [{ name: 'operationResult' }, { name: 'operationStepDescription' }, { name: 'entityId' }],
    }
    const { body } = await door.ask('POST', `${HISTORY}/summary`, { filter: { neq: { entityId: 'd2' } }, group })
    const { count, summaryGroup } = body.summary as { count: number; summaryGroup: Record<string, unknown>[] }
    expect(count).toBe(2)
    expect(summaryGroup[0]).toEqual({
      operationResult: {
        count: 2,
        list: [
          { name: 'ERROR_PROCESSING', count: 1 },
          { name: 'SUCCESSFUL', count: 1 },
        ],
      },
    })
    expect(summaryGroup[2]).toEqual({
      entityId: {
        count: 2,
        list: [
          { name: 'd1', count: 1 },
          { name: 'd3', count: 1 },
        ],
      },
    })
  })

  test.each([
    [HISTORY, 3, [{ name: 'REBOOT_EQUIPMENT', count: 3 }]],
    [
      '/search/entities/operations',
      5,
      [
        { name: 'REBOOT_EQUIPMENT', count: 4 },
        { name: 'REFRESH', count: 1 },
      ],
    ],
  ])('of operations in %s counts them by the name of their job', async (path, count, list) => {
    const group = { parameters: [{ name: 'jobOperationName' }] }
    const { body } = await door.ask('POST', `${path}/summary`, { filter: {}, group })
    expect(body.summary).toEqual({ count, summaryGroup: [{ jobOperationName: { count, list } }] })
  })

  test('of nothing is 200 with a count of 0', async () => {
    const answer = await door.ask('POST', `${OPEN}/summary`, { filter: { eq: { jobId: 'what' } } })
    expect(answer).toMatchObject({
      status: 200,
      body: { summary: { count: 0, status: { count: 0, list: [] }, name: { count: 0, list: [] } } },
    })
  })
})

describe('CSV', () => {
  test('has the paths of the row, or the aliases of the select, as its first line', async () => {
    const answer = await door.ask('POST', '/search/jobs', { filter: {} }, { accept: 'text/plain' })
    expect(answer.headers['content-type']).toContain('text/plain')
    expect(answer.headers['content-disposition']).toBe('attachment; filename=result.csv')
    const [header = '', ...lines] = answer.text.trimEnd().split('\n')
    expect(header.split(';').slice(0, 4)).toEqual(['id', 'taskId', 'request.name', 'request.user'])
    expect(lines).toHaveLength(3)
    const history = await door.ask('POST', HISTORY, {}, { accept: 'text/csv' })
    expect(history.text.startsWith('operations.operationId;operations.jobId;')).toBe(true)
    const select = [
      {
        name: 'jobs',
        fields: [
          { field: 'id', alias: 'Job' },
          { field: 'request.userNotes', alias: 'Notes' },
        ],
      },
    ]
    const selected = await door.ask('POST', '/search/jobs', { select }, { accept: 'text/csv' })
    expect(selected.text).toBe(`Job;Notes\n${ids.ended};'-5 apples\n${ids.open};-5\n${ids.paused};\n`)
  })

  test('quotes what needs it, and disarms formulas but not numbers', async () => {
    const select = [
      { name: 'operationDetails', fields: [{ field: 'value', alias: '=x' }] },
      { name: 'operationAttemptMax' },
      { name: 'operationStepDescription' },
      { name: 'operationEndDate' },
    ]
    const filter = { eq: { entityId: 'd1' } }
    const answer = await door.ask('POST', HISTORY, { select, filter }, { accept: 'text/csv' })
    const [header, row] = answer.text.split(/\n(?=')/)
    expect(header).toBe("'=x;operationAttemptMax;operationStepDescription;operationEndDate")
    expect(row).toContain("'=cmd();1;")
    expect(row).toContain(EPOCH.toISOString().slice(0, 16))
  })

  test('of nothing is its header', async () => {
    const answer = await door.ask(
      'POST',
      '/search/jobs',
      { filter: { eq: { jobId: 'x' } }, select: [{ name: 'jobId' }] },
      { accept: 'text/csv' },
    )
    expect([answer.status, answer.text]).toEqual([200, 'jobId\n'])
  })

  test('is not what a client gets that names JSON first', async () => {
    const answer = await door.ask('POST', '/search/jobs', {}, { accept: 'application/json, text/plain, */*' })
    expect(answer.headers['content-type']).toContain('application/json')
  })

  test('refuses a broken filter like any other search', async () => {
    const answer = await door.ask(
      'POST',
      '/search/jobs',
      { filter: { like: { jobUser: '(' } } },
      { accept: 'text/csv' },
    )
    expect(answer.status).toBe(400)
  })
})

test('a page that would be too long for the memory is refused, and a shorter one is not', async () => {
  const { database: own, close } = await createTestDatabase()
  await own.query(sql`insert into organization (name, created_at) values ('long', ${EPOCH})`)
  await own.query(sql`
    insert into job (job, organization, name, user_email, request, status, created_at, timeout_ms)
    select n, 1, 'LONG', 'a@b.c', jsonb_build_object('parameters', jsonb_build_object('text', repeat('x', 300000))), 'IDLE', ${EPOCH}, 60000
      from generate_series(1, 300) n`)
  const long = openDoor({ ...workbench.caller, organization: 1 }, app => searchRoutes(app, { database: own }))
  const refused = await long.ask('POST', '/search/jobs', {})
  expect([refused.status, refused.body]).toMatchObject([
    400,
    { errors: [{ code: '0x050020', context: [{ name: 'limit.size' }] }] },
  ])
  const { body } = await long.ask('POST', '/search/jobs', { limit: { size: 150 } })
  expect(body).toMatchObject({ page: { number: 1, of: 2 } })
  expect(body.jobs).toHaveLength(150)
  await close()
}, 30_000)
