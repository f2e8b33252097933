import { Ajv } from 'ajv'
import { describe, expect, test } from 'vitest'
import { readParameters } from '../../src/contract/device-parameters.ts'
import { JobBody, JobChangeBody, JobView } from '../../src/contract/job.ts'
import { OperationView } from '../../src/contract/operation.ts'
import { SearchBody } from '../../src/contract/search.ts'
import { TaskBody, TaskChangeBody } from '../../src/contract/task.ts'
import { parseJobBody, parseJobChange } from '../../src/domain/job-request.ts'
import { parseSearch } from '../../src/domain/search.ts'
import { parseTaskBody, parseTaskChange } from '../../src/domain/task-request.ts'

const ajv = new Ajv({ strict: false })
const accepts = (schema: object, body: unknown): boolean => ajv.compile(schema)(body) === true

const rules = {
  entitiesMax: 100,
  minOperationTimeoutMs: 40_000,
  readParameters,
  callbacks: { allowHttps: false, allowLoopback: false, allowLinkLocal: false },
}
const now = Date.UTC(2026, 0, 1)
const read = (work: () => unknown): boolean => {
  try {
    work()
    return true
  } catch {
    return false
  }
}

const job = (request: object) => ({
  job: { request: { name: 'UPDATE', target: { append: { tags: ['t'] } }, ...request } },
})
const JOB_BODIES: readonly (readonly [unknown, boolean])[] = [
  [job({}), true],
  [
    job({ parameters: { a: [1] }, operationParameters: { timeout: '60000', retryResultList: ['ERROR_TIMEOUT'] } }),
    true,
  ],
  [job({ parameters: [{ name: 'a', type: 'string', value: { string: 'x' } }] }), true],
  [job({ target: { filter: { eq: { a: 1 } } } }), true],
  [job({ target: { append: { entities: ['a'], entitiesWithParameters: [{ id: 'b', parameters: {} }] } } }), true],
  [job({ schedule: { start: { delayed: '5' }, stop: { date: '2030-01-01T00:00:00+02:00' } } }), true],
  [job({ schedule: { window: { weekly: [{ daily: { start: '22:00:00Z', stop: '06:00:00Z' } }] } } }), true],
  [
    job({ schedule: { window: { days: ['MON'], start: '22:00:00Z', stop: '06:00:00Z', timezone: 'Europe/Madrid' } } }),
    true,
  ],
  [
    job({
      schedule: {
        scattering: {
          maxSpread: 20,
          strategy: { field: 'subscription.collected.cellInfo', factor: 75, warningMaxRate: 3 },
        },
      },
    }),
    true,
  ],
  [job({ schedule: { scattering: { maxSpread: 20, Strategy: {} } } }), false],
  [job({ schedule: { start: {} } }), false],
  [job({ target: { append: { tags: ['a', 'b'] } } }), false],
  [job({ Name: 'x' }), false],
  [{ job: {} }, false],
]

describe('the schemas of the contract and the readers of the domain agree', () => {
  test.each(JOB_BODIES.filter(([, both]) => both))('on a job that is good: %j', body => {
    expect(read(() => parseJobBody(body, rules))).toBe(true)
    expect(accepts(JobBody, body)).toBe(true)
  })

  test.each(JOB_BODIES.filter(([, both]) => !both))('on a job that is not: %j', body => {
    expect(read(() => parseJobBody(body, rules))).toBe(false)
    expect(accepts(JobBody, body)).toBe(false)
  })

  test.each<[string, object, (body: unknown) => unknown]>([
    ['a job', JobBody, body => parseJobBody(body, rules)],
    ['a change of a job', JobChangeBody, body => parseJobChange(body, rules)],
    ['a task', TaskBody, body => parseTaskBody(body, rules, { now })],
    ['a change of a task', TaskChangeBody, body => parseTaskChange(body, rules, { now })],
    ['a search', SearchBody, body => parseSearch(body, () => 'any')],
  ])('on the examples of %s', (_, schema, parse) => {
    const { examples } = schema as { examples: unknown[] }
    expect(examples.length).toBeGreaterThan(0)
    for (const example of examples) {
      expect(accepts(schema, example)).toBe(true)
      expect(read(() => parse(example))).toBe(true)
    }
  })

  test('on the examples of what is answered', () => {
    for (const schema of [OperationView, JobView]) {
      for (const example of (schema as { examples?: unknown[] }).examples ?? [])
        expect(accepts(schema, example)).toBe(true)
    }
  })
})
