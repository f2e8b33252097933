import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readParameters } from '../../src/contract/device-parameters.ts'
import { DroverError } from '../../src/domain/errors.ts'
import type { JobRequest } from '../../src/domain/job.ts'
import type { JobRequestRules } from '../../src/domain/job-request.ts'
import { parseTaskBody, parseTaskChange } from '../../src/domain/task-request.ts'

const rules: JobRequestRules = {
  entitiesMax: 3,
  minOperationTimeoutMs: 40_000,
  readParameters,
  callbacks: { allowHttps: false, allowLoopback: false, allowLinkLocal: false },
}
const now = Date.UTC(2026, 0, 1)
const job = { request: { name: 'REBOOT', target: { append: { entities: ['d1'] } } } }
const parse = (task: object) => parseTaskBody({ task: { job, ...task } }, rules, { now })
const change = (task: unknown) => parseTaskChange({ task }, rules, { now })

function refusal(work: () => unknown): [string, string | undefined] {
  try {
    work()
  } catch (error) {
    if (error instanceof DroverError) return [error.entry.code, error.context[0]?.name]
    throw error
  }
  throw new Error('nothing was refused')
}

describe('a task', () => {
  test('is active and executed once, now, where it says nothing else', () => {
    expect(parse({})).toEqual({
      active: true,
      schedule: { start: { date: '2026-01-01T00:00:00.000Z' } },
      request: {
        name: 'REBOOT',
        parameters: {},
        target: { append: { entities: ['d1'] } },
        active: true,
        schedule: {},
        operationParameters: { ackTimeout: 0, timeout: 60_000, retries: 0, retriesDelay: 0, retryResultList: [] },
        notify: false,
        callback: '',
      },
    })
  })

  test('keeps its words, its id and its schedule in the form in which it reads back', () => {
    const schedule = { repeating: { pattern: { time: '02:30:40+00:00', yearly: { day: 4, month: 'JAN' } } } }
    expect(parse({ id: 't1', name: 'n', description: 'd', active: false, schedule })).toMatchObject({
      id: 't1',
      name: 'n',
      description: 'd',
      active: false,
      schedule: { repeating: { pattern: { yearly: { day: 4, month: 'JAN', months: ['JAN'] } } } },
    })
  })

  test('takes its resource type from the query', () => {
    const body = { task: { job } }
    expect(parseTaskBody(body, rules, { now, resourceType: 'entity.asset' }).request.resourceType).toBe('entity.asset')
  })

  test.each<[string, object, string, string]>([
    ['an unknown member', { State: 1 }, '0x010003', 'task.State'],
    ['no job', { job: undefined }, '0x010000', 'task.job'],
    ['a job without a request', { job: {} }, '0x010000', 'task.job.request'],
    ['an id that is none', { id: '' }, '0x010001', 'task.id'],
    ['active as a text', { active: 'yes' }, '0x010001', 'task.active'],
    [
      'a period and a pattern',
      { schedule: { repeating: { period: { each: 1, unit: 'DAYS' }, pattern: { time: '00:00:00Z' } } } },
      '0x010001',
      'task.schedule.repeating',
    ],
    [
      'an exact date in its job',
      { job: { request: { ...job.request, schedule: { stop: { date: '2030-01-01T00:00:00Z' } } } } },
      '0x010001',
      'task.job.request.schedule.stop.date',
    ],
    ['no target', { job: { request: { name: 'A' } } }, '0x010000', 'task.job.request.target'],
    [
      'an inactive request without a target',
      { job: { request: { name: 'A', active: false, target: {} } } },
      '0x020002',
      'task.job.request.target',
    ],
    [
      'a time-out too short',
      { job: { request: { ...job.request, operationParameters: { timeout: 1 } } } },
      '0x010001',
      'task.job.request.operationParameters.timeout',
    ],
  ])('is refused with %s', (_, task, code, field) => {
    expect(refusal(() => parse(task))).toEqual([code, field])
  })

  test.each<[unknown, string, string]>([
    [undefined, '0x010000', 'task'],
    [{}, '0x010000', 'task'],
    [{ task: { job }, more: 1 }, '0x010003', 'more'],
  ])('is refused in the body %j', (body, code, field) => {
    expect(refusal(() => parseTaskBody(body, rules, { now }))).toEqual([code, field])
  })
})

describe('a change of a task', () => {
  const before = parse({}).request
  const changed = (request: object, template: JobRequest = before) => change({ job: { request } }).request?.(template)

  test('holds what was sent and nothing else', () => {
    expect(change({})).toEqual({})
    expect(change({ name: 'n', active: false })).toEqual({ name: 'n', active: false })
    expect(change({ schedule: { repeating: { period: { each: '2', unit: 'HOURS' } } } })).toEqual({
      schedule: { start: { date: '2026-01-01T00:00:00.000Z' }, repeating: { period: { each: 2, unit: 'HOURS' } } },
    })
  })

  test('replaces the members of the request that are given', () => {
    expect(changed({ parameters: { type: 'SOFTWARE' }, userNotes: 'n' })).toEqual({
      ...before,
      parameters: { type: 'SOFTWARE' },
      userNotes: 'n',
    })
  })

  test('adds entities to the list of the target and takes them from it', () => {
    const grown = changed({ target: { append: { entities: ['d2', 'd3'] }, remove: { entities: ['d1'] } } })
    expect(grown?.target).toEqual({ append: { entities: ['d2', 'd3'] } })
    const own = changed({ target: { append: { entitiesWithParameters: [{ id: 'd2', parameters: { a: 1 } }] } } }, grown)
    expect(own?.target).toEqual({
      append: { entities: ['d3'], entitiesWithParameters: [{ id: 'd2', parameters: { a: 1 } }] },
    })
    expect(changed({ target: { append: { entities: ['d2'] } } }, own)?.target).toEqual({
      append: { entities: ['d3', 'd2'] },
    })
  })

  test('replaces a list by a tag or a filter, and the other way round', () => {
    const tagged = changed({ target: { append: { tags: ['t'] } } })
    expect(tagged?.target).toEqual({ append: { tags: ['t'] } })
    expect(changed({ target: { append: { entities: ['d2'] } } }, tagged)?.target).toEqual({
      append: { entities: ['d2'] },
    })
    expect(changed({ target: { filter: {} } })?.target).toEqual({ filter: {} })
  })

  test('lets a list grow beyond what one request may hold', () => {
    const grown = [
      ['d2', 'd3'],
      ['d4', 'd5'],
    ].reduce<JobRequest>((template, entities) => changed({ target: { append: { entities } } }, template)!, before)
    expect(grown.target.append?.entities).toHaveLength(5)
    expect(refusal(() => changed({ target: { append: { entities: ['a', 'b', 'c', 'd'] } } }))[0]).toBe('0x010001')
  })

  test('is refused where nothing would be left, and where a member is unknown', () => {
    expect(refusal(() => changed({ target: { remove: { entities: ['d1'] } } }))).toEqual([
      '0x020002',
      'task.job.request.target',
    ])
    expect(refusal(() => changed({ What: 1 }))).toEqual(['0x010003', 'task.job.request.What'])
    expect(refusal(() => change({ id: 't2' }))).toEqual(['0x010003', 'task.id'])
  })
})

test('any JSON at all is read or refused with a word, never a fault', () => {
  const task = fc.oneof(
    fc.jsonValue(),
    fc.record(
      {
        name: fc.jsonValue(),
        schedule: fc.jsonValue(),
        active: fc.boolean(),
        job: fc.record({ request: fc.jsonValue() }),
      },
      { requiredKeys: [] },
    ),
  )
  fc.assert(
    fc.property(fc.oneof(fc.jsonValue(), fc.record({ task })), body => {
      for (const read of [
        () => parseTaskBody(body, rules, { now }),
        () => parseTaskChange(body, rules, { now }).request?.(parse({}).request),
      ]) {
        try {
          read()
        } catch (error) {
          expect(error).toBeInstanceOf(DroverError)
        }
      }
    }),
    { numRuns: 500 },
  )
})
