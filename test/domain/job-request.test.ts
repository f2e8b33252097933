import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readParameters } from '../../src/contract/device-parameters.ts'
import { RESOURCE_TYPES } from '../../src/domain/data-model.ts'
import { DroverError } from '../../src/domain/errors.ts'
import { type JobRequestRules, parseJobBody, parseJobChange, parseJobRequest } from '../../src/domain/job-request.ts'
import { OPERATION_RESULTS } from '../../src/domain/operation.ts'

const rules: JobRequestRules = {
  entitiesMax: 3,
  minOperationTimeoutMs: 40_000,
  readParameters,
  callbacks: { allowHttps: false, allowLoopback: false, allowLinkLocal: false },
}

const target = { append: { entities: ['d1'] } }
const body = (request: unknown) => ({ job: { request } })
const parse = (request: Record<string, unknown>, place = {}) =>
  parseJobBody(body({ name: 'REBOOT', target, ...request }), rules, place)

function refusal(work: () => unknown): DroverError {
  try {
    work()
  } catch (error) {
    if (error instanceof DroverError) return error
    throw error
  }
  throw new Error('nothing was refused')
}

describe('a job request as it is read back', () => {
  test('has every default', () => {
    expect(parse({})).toEqual({
      name: 'REBOOT',
      parameters: {},
      target,
      active: true,
      schedule: {},
      operationParameters: { ackTimeout: 0, timeout: 60_000, retries: 0, retriesDelay: 0, retryResultList: [] },
      notify: false,
      callback: '',
    })
  })

  test('has numbers for numeric texts, and UTC for any offset', () => {
    const request = parse({
      schedule: { start: { date: '2030-01-02T05:04:05+02:00' }, stop: { delayed: '43200' } },
      operationParameters: { timeout: '90000', retries: '2' },
    })
    expect(request.schedule).toEqual({ start: { date: '2030-01-02T03:04:05.000Z' }, stop: { delayed: 43_200 } })
    expect(request.operationParameters).toMatchObject({ timeout: 90_000, retries: 2 })
  })

  test('has parameters as an object, also where they came as a typed list', () => {
    const list = [{ name: 'type', type: 'string', value: { string: 'HARDWARE' } }]
    expect(parse({ parameters: list }).parameters).toEqual({ type: 'HARDWARE' })
    const own = { append: { entitiesWithParameters: [{ id: 'd1', parameters: list }], entities: ['d2'] } }
    expect(parse({ target: own }).target.append?.entitiesWithParameters).toEqual([
      { id: 'd1', parameters: { type: 'HARDWARE' } },
    ])
  })

  test('may have an empty list beside a tag', () => {
    const target = { append: { entities: [], tags: ['t'] } }
    expect(parse({ target }).target).toEqual(target)
  })

  test('tells an entity without parameters of its own from one whose own are empty', () => {
    const entitiesWithParameters = [{ id: 'd1' }, { id: 'd2', parameters: {} }, { id: 'd3', parameters: null }]
    expect(parse({ target: { append: { entitiesWithParameters } } }).target.append).toEqual({
      entitiesWithParameters: [{ id: 'd1' }, { id: 'd2', parameters: {} }, { id: 'd3' }],
    })
  })

  test('has window and scattering in the one form', () => {
    const request = parse({
      schedule: { window: { days: ['MON'], start: '22:00:00Z', stop: '06:00:00Z' }, scattering: { maxSpread: '20' } },
    })
    expect(request.schedule.window).toEqual({
      weekly: [{ days: ['MON'], daily: { start: '22:00:00Z', stop: '06:00:00Z' } }],
    })
    expect(request.schedule.scattering).toMatchObject({ maxSpread: 20 })
  })

  test('a filter stands directly under target as well as under append, and resourceType comes from the query', () => {
    const filter = { eq: { 'provision.device.identifier': 'd1' } }
    expect(parse({ target: { filter } }, { resourceType: 'entity.device' })).toMatchObject({
      target: { filter },
      resourceType: 'entity.device',
    })
    expect(parse({ target: { append: { filter: {} } } }).target).toEqual({ append: { filter: {} } })
  })

  test('an inactive job may have no target yet', () => {
    expect(parse({ active: false, target: undefined }).target).toEqual({})
    expect(parse({ active: false, target: { append: { entities: [] } } }).target).toEqual({ append: { entities: [] } })
  })

  test('null counts as left out', () => {
    const request = parse({ schedule: { start: null }, operationParameters: { ackTimeout: null }, callback: null })
    expect(request).toEqual(parse({}))
  })
})

describe('a job request is refused', () => {
  test.each<[string, Record<string, unknown>, string, string]>([
    ['without a name', { name: undefined }, '0x010000', 'job.request.name'],
    ['with a name that is too long', { name: 'x'.repeat(51) }, '0x010001', 'job.request.name'],
    ['with an unknown member', { Schedule: {} }, '0x010003', 'job.request.Schedule'],
    [
      'with a misspelt strategy',
      { schedule: { scattering: { maxSpread: 1, Strategy: {} } } },
      '0x010003',
      'job.request.schedule.scattering.Strategy',
    ],
    ['active and without a target', { target: undefined }, '0x010000', 'job.request.target'],
    ['active and with an empty target', { target: {} }, '0x020002', 'job.request.target'],
    ['active and with an empty list', { target: { append: { entities: [] } } }, '0x020002', 'job.request.target'],
    [
      'with a list and a tag',
      { target: { append: { entities: ['d1'], tags: ['t'] } } },
      '0x010001',
      'job.request.target.append',
    ],
    [
      'with a tag and a filter',
      { target: { append: { tags: ['t'], filter: {} } } },
      '0x010001',
      'job.request.target.append',
    ],
    [
      'with a list and a filter beside it',
      { target: { append: { entities: ['d1'] }, filter: {} } },
      '0x010001',
      'job.request.target',
    ],
    [
      'with a timeout of 0',
      { operationParameters: { ackTimeout: 50_000, timeout: 0 } },
      '0x010001',
      'job.request.operationParameters.timeout',
    ],
    ['with two tags', { target: { append: { tags: ['a', 'b'] } } }, '0x010001', 'job.request.target.append.tags'],
    [
      'with more entities than allowed',
      { target: { append: { entities: ['a', 'b', 'c', 'd'] } } },
      '0x010001',
      'job.request.target.append.entities',
    ],
    [
      'with an entity that is no text',
      { target: { append: { entities: ['a', 1] } } },
      '0x010001',
      'job.request.target.append.entities[1]',
    ],
    [
      'with something to remove',
      { target: { append: { entities: ['a'] }, remove: {} } },
      '0x010003',
      'job.request.target.remove',
    ],
    ['with a filter that is none', { target: { filter: { and: {} } } }, '0x050010', 'job.request.target.filter.and'],
    ['with parameters that are no object', { parameters: 1 }, '0x010001', 'job.request.parameters'],
    ['with a broken typed list', { parameters: [{ name: 'a' }] }, '0x010001', 'job.request.parameters[0].value'],
    ['with active as a text', { active: 'true' }, '0x010001', 'job.request.active'],
    ['with a callback over HTTPS', { callback: 'https://cb' }, '0x010001', 'job.request.callback'],
    ['with a callback to loopback', { callback: 'http://127.0.0.1/cb' }, '0x010001', 'job.request.callback'],
    [
      'with a window of half an hour more',
      { schedule: { window: { start: '09:00:00Z', stop: '15:30:00Z' } } },
      '0x010001',
      'job.request.schedule.window.stop',
    ],
    [
      'with too short a time-out',
      { operationParameters: { timeout: 39_000, ackTimeout: 1_000 } },
      '0x010001',
      'job.request.operationParameters.timeout',
    ],
    [
      'with an unknown result to retry',
      { operationParameters: { retryResultList: ['WHAT'] } },
      '0x010001',
      'job.request.operationParameters.retryResultList[0]',
    ],
    [
      'with retries below zero',
      { operationParameters: { retries: -1 } },
      '0x010001',
      'job.request.operationParameters.retries',
    ],
    ['with notes that are no text', { userNotes: 1 }, '0x010001', 'job.request.userNotes'],
  ])('%s', (_, request, code, field) => {
    const error = refusal(() => parse(request))
    expect(error.entry.code).toBe(code)
    expect(error.context.map(each => each.name)).toContain(field)
  })

  test('over HTTPS, with the words that say what is supported', () => {
    expect(refusal(() => parse({ callback: 'https://cb' })).message).toContain('only the HTTP scheme is supported')
  })

  test('with a resourceType that is none', () => {
    const error = refusal(() => parse({}, { resourceType: 'device' }))
    expect(error.context[0]?.name).toBe('resourceType')
  })

  test.each<[unknown, string, string]>([
    [undefined, '0x010000', 'job'],
    [{}, '0x010000', 'job'],
    [{ job: {} }, '0x010000', 'job.request'],
    [{ job: { request: {} }, more: 1 }, '0x010003', 'more'],
    [{ job: { request: { name: 'x' }, id: 1 } }, '0x010003', 'job.id'],
    [[], '0x010001', 'body'],
  ])('in the body %j', (json, code, field) => {
    const error = refusal(() => parseJobBody(json, rules))
    expect([error.entry.code, error.context[0]?.name]).toEqual([code, field])
  })

  test('in a task, with an exact date', () => {
    const request = { name: 'A', target, schedule: { start: { date: '2030-01-01T00:00:00Z' } } }
    const error = refusal(() => parseJobRequest(request, rules, { path: 'task.job.request', inTask: true }))
    expect(error.context[0]?.name).toBe('task.job.request.schedule.start.date')
  })
})

describe('a change by PUT', () => {
  const change = (request: unknown) => parseJobChange(body(request), rules)

  test('holds what was sent and nothing else', () => {
    expect(change({})).toEqual({})
    expect(change({ active: true })).toEqual({ active: true })
    expect(change({ callback: '', userNotes: 'n', notify: true })).toEqual({
      callback: '',
      userNotes: 'n',
      notify: true,
    })
    expect(change({ schedule: { stop: { delayed: '5' } } })).toEqual({ schedule: { stop: { delayed: 5 } } })
    const batch = { append: { entities: ['d1'] }, remove: { entities: ['d2'] } }
    expect(change({ target: batch })).toEqual({ target: batch })
  })

  test.each([
    ['name', { name: 'A' }, 'job.request.name'],
    ['parameters', { parameters: {} }, 'job.request.parameters'],
    ['operationParameters', { operationParameters: {} }, 'job.request.operationParameters'],
    ['a window', { schedule: { window: {} } }, 'job.request.schedule.window'],
    ['a filter', { target: { append: { filter: {} } } }, 'job.request.target.append.filter'],
  ])('refuses %s', (_, request, field) => {
    const error = refusal(() => change(request))
    expect([error.entry.code, error.context[0]?.name]).toEqual(['0x010003', field])
  })
})

const amount = fc.oneof(fc.integer({ min: -1, max: 90_000 }), fc.nat(90_000).map(String), fc.constant(null))
const moment = fc.oneof(
  fc.record({ delayed: amount }),
  fc.record({
    date: fc.oneof(
      fc.date({ noInvalidDate: true }).map(date => date.toISOString()),
      fc.string(),
    ),
  }),
)
const id = fc.string({ minLength: 1, maxLength: 4 })
const parameters = fc.oneof(
  fc.dictionary(fc.string(), fc.jsonValue()),
  fc.array(fc.record({ name: id, type: fc.constantFrom('string', 'number'), value: fc.record({ string: id }) })),
)
const selection = fc.record(
  {
    entities: fc.array(id, { maxLength: 4 }),
    entitiesWithParameters: fc.array(fc.record({ id, parameters }, { requiredKeys: ['id'] }), { maxLength: 2 }),
    tags: fc.array(id, { maxLength: 2 }),
    filter: fc.oneof(fc.constant({}), fc.record({ eq: fc.dictionary(id, id) })),
  },
  { requiredKeys: [] },
)
const plausible = fc.record(
  {
    name: fc.oneof(fc.constant('REBOOT'), id),
    parameters,
    target: fc.oneof(fc.record({ append: selection }), fc.record({ filter: fc.constant({}) })),
    active: fc.oneof(fc.boolean(), fc.constant(null)),
    schedule: fc.record(
      { start: moment, stop: moment, scattering: fc.record({ maxSpread: amount }) },
      { requiredKeys: [] },
    ),
    operationParameters: fc.record(
      {
        ackTimeout: amount,
        timeout: amount,
        retries: fc.integer({ min: -1, max: 5 }),
        retriesDelay: amount,
        retryResultList: fc.array(fc.constantFrom(...OPERATION_RESULTS), { maxLength: 4 }),
      },
      { requiredKeys: [] },
    ),
    notify: fc.boolean(),
    callback: fc.constantFrom('', 'http://cb', ' http://cb/x/ ', 'cb'),
    userNotes: fc.string(),
  },
  { requiredKeys: ['name', 'target'] },
)

test('whatever is read, reading it again changes nothing', () => {
  let readWell = 0
  fc.assert(
    fc.property(plausible, fc.option(fc.constantFrom(...RESOURCE_TYPES)), (request, resourceType) => {
      try {
        const { resourceType: kept, ...once } = parseJobRequest(
          request,
          { ...rules, minOperationTimeoutMs: 0 },
          { resourceType },
        )
        const { resourceType: again, ...twice } = parseJobRequest(
          once,
          { ...rules, minOperationTimeoutMs: 0 },
          { resourceType: kept },
        )
        expect(twice).toEqual(once)
        expect(again).toBe(kept)
        readWell++
      } catch (error) {
        expect(error).toBeInstanceOf(DroverError)
        expect((error as DroverError).context.length).toBeGreaterThan(0)
      }
    }),
    { numRuns: 1_000 },
  )
  expect(readWell).toBeGreaterThan(20)
})

test('any JSON at all is read or refused with a word, never a fault', () => {
  const anywhere = fc.oneof(
    fc.jsonValue(),
    fc.record({ job: fc.record({ request: fc.dictionary(fc.string(), fc.jsonValue()) }) }),
  )
  fc.assert(
    fc.property(anywhere, json => {
      for (const read of [parseJobBody, parseJobChange]) {
        expect(refusalOrNone(() => read(json, rules))).not.toBeInstanceOf(TypeError)
      }
    }),
    { numRuns: 500 },
  )
})

function refusalOrNone(work: () => unknown): unknown {
  try {
    work()
    return undefined
  } catch (error) {
    if (!(error instanceof DroverError)) throw error
    return error
  }
}
