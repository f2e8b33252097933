/** The words that mean something to a service which was prepared for a fuzz run. None of them leads off this machine. */
import fc from 'fast-check'
import { OPERATION_RESULTS } from '../../../src/domain/operation.ts'
import type { Words } from './schema-values.ts'

export const DEVICES_OF_THE_RUN = ['f1', 'f2', 'f3', 'f4', 'f5', 'f6']
const TASK_IDS = ['t1', 't2', 't3']
const TYPES = ['REBOOT_EQUIPMENT', 'UPDATE', 'REFRESH_INFO', 'SET_DEVICE_PARAMETERS', 'FUZZED']
const NOWHERE = 'http://127.0.0.1:9/'

const JOB_FIELDS = [
  ...[
    'jobs.id',
    'jobs.request.name',
    'jobs.report.summary.status',
    'jobs.report.summary.total',
    'jobStatus',
    'jobUser',
  ],
  ...[
    'jobs.report.execution.startedDate',
    'jobTotal',
    'taskName',
    'jobs.request.schedule.start.delayed',
    'jobUserNotes',
  ],
]
const OPERATION_FIELDS = [
  ...[
    'operationStatus',
    'operationResult',
    'entityId',
    'operationId',
    'operationSteps',
    'operationDate',
    'jobId',
    'tag',
  ],
  ...[
    'operationStepName',
    'operationAttemptCurrent',
    'operationParameters',
    'operationTimeoutTimestamp',
    'resourceType',
  ],
]
const TASK_FIELDS = [
  ...[
    'tasks.id',
    'tasks.state',
    'tasks.name',
    'tasks.schedule.repeating.period.unit',
    'tasks.schedule.stop.executions',
  ],
  ...[
    'tasks.job.request.name',
    'tasks.active',
    'tasks.schedule.start.date',
    'tasks.job.request.target.append.entities',
  ],
]
const ENTITY_FIELDS = [
  ...['provision.device.identifier', 'provision.device.model', 'provision.administration.tags', 'resourceType'],
  ...[
    'provision.device.communicationModules[].subscription.identifier',
    'temperature',
    'provision.device.serialNumber',
  ],
]
const TYPE_FIELDS = [
  'name',
  'models',
  'profile',
  'applicableTo',
  'fromCatalog',
  'parameters.properties.type.default',
  'steps.name',
]
const USER_FIELDS = [
  'users.email',
  'email',
  'profile',
  'name',
  'users.profile',
  'organizations.name',
  'datamodels.identifier',
]

const UNKNOWN = ['no.such']

/** Fields that a search at an address knows, and one that it does not. */
function fieldsOf(path: string): readonly string[] {
  if (/operationTypes/.test(path)) return [...TYPE_FIELDS, ...UNKNOWN]
  if (/users|organizations\b.*search|datamodels|search\/organizations/.test(path)) return [...USER_FIELDS, ...UNKNOWN]
  if (/operations/.test(path)) return [...OPERATION_FIELDS, ...JOB_FIELDS, ...UNKNOWN]
  if (/search\/tasks/.test(path)) return [...TASK_FIELDS, ...UNKNOWN]
  if (/search\/jobs/.test(path)) return [...JOB_FIELDS, ...UNKNOWN]
  return [...ENTITY_FIELDS, ...UNKNOWN]
}

const LEAVES = ['eq', 'neq', 'like', 'gt', 'lt', 'gte', 'lte', 'in', 'nin', 'exists', 'within', 'wish']

const scalar = fc.oneof(
  fc.constantFrom('f1', 'FINISHED', 'a.*', '(a+)+$', '[', '2026-01-01T00:00:00Z', '', 'HOURS', 'UPDATE'),
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
  fc.string({ maxLength: 10 }),
)
const value = fc.oneof(
  { weight: 4, arbitrary: scalar },
  fc.array(scalar, { maxLength: 4 }),
  fc.jsonValue({ maxDepth: 2 }),
)

function filtersOn(fields: readonly string[]): fc.Arbitrary<unknown> {
  return fc.letrec<{ filter: unknown }>(tie => ({
    filter: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      fc
        .tuple(fc.constantFrom(...LEAVES), fc.dictionary(fc.constantFrom(...fields), value, { minKeys: 1, maxKeys: 2 }))
        .map(([operator, members]) => ({ [operator]: members })),
      fc.constant({}),
      fc
        .tuple(fc.constantFrom('and', 'or'), fc.array(tie('filter'), { maxLength: 3 }))
        .map(([operator, parts]) => ({ [operator]: parts })),
      tie('filter').map(part => ({ not: part })),
    ),
  })).filter
}

const entities = fc.record(
  {
    resourceType: fc.constantFrom('entity.device', 'entity.asset', 'entity.subscription', {
      _value: { _current: { value: 'entity.device' } },
    }),
    'provision.device.identifier': fc.oneof(
      fc.constantFrom('f1', 'f7', 'f8', 'f9'),
      fc.string({ minLength: 1, maxLength: 8 }),
    ),
    'provision.asset.identifier': fc.constantFrom('a1', 'a2'),
    'provision.device.communicationModules[].subscription.identifier': fc.constantFrom('s1', [
      { _index: { value: 'm' }, _value: { _current: { value: 's1' } } },
    ]),
    'provision.device.communicationModules[].subscriber.identifier': fc.constantFrom('u1', 'u2'),
    'provision.device.communicationModules[].identifier': fc.constantFrom('m1', [
      { _index: { value: 'm' }, _value: { _current: { value: 'm' } } },
    ]),
    'provision.administration.tags': fc.constantFrom(['tag'], ['tag', 'other'], []),
    'provision.device.model': fc.constantFrom(
      'A',
      { manufacturer: 'm', name: 'B', version: '1' },
      { _value: { _current: { value: 'A' } } },
    ),
    'provision.device.operation.flow': fc.constantFrom('http', 'mqtt', 'pull', 'function:meter', 'pigeon'),
    'provision.device.operation.url': fc.constantFrom(
      'http://127.0.0.1:9/',
      'http://127.0.0.1:9/{id}',
      'gopher://127.0.0.1',
    ),
    'provision.device.location': fc.constantFrom({ coordinates: [1, 2] }, { _value: { _current: { value: {} } } }),
  },
  { requiredKeys: ['provision.device.identifier'] },
)

const anInstant = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom('2030-01-02T03:04:05Z', '2020-01-01T00:00:00+02:00', '2100-01-01T00:00:00.000Z'),
  },
  fc.constantFrom('', 'soon'),
  fc.date({ noInvalidDate: true }).map(date => date.toISOString()),
)
const deviceId = fc.constantFrom(...DEVICES_OF_THE_RUN, 'nobody')
const oneOf = (...words: unknown[]) => fc.constantFrom(...words)

const listed = fc.array(deviceId, { maxLength: 5 })
const wholeHour = oneOf('09:00:00Z', '22:00:00+02:00', '15:00:00Z', '06:00:00Z', '09:30:00Z')
const typeNames = oneOf(...TYPES, 'DANCE')

/**
 * Words for one address, by the name of their member or parameter, or by that of its holder and its own. `job-7` stands for a job
 * of the run, `operation-7` for an operation of it.
 */
export function wordsFor(path: string): Words {
  const fields = fc.constantFrom(...fieldsOf(path))
  const ofJobs = /\/operation\/(jobs|tasks)/.test(path)
  return {
    jobId: fc.oneof({ weight: 9, arbitrary: fc.nat(99).map(n => `job-${n}`) }, fc.constant('none')),
    operationId: fc.oneof({ weight: 9, arbitrary: fc.nat(99).map(n => `operation-${n}`) }, fc.constant('none')),
    taskId: oneOf(...TASK_IDS, 'none'),
    // Those of the jobs stay: a job of a type that is gone shows nothing.
    operationName: oneOf('FUZZED', 'FUZZED_2', 'UPDATE', 'DANCE'),
    functionName: oneOf('meter', 'none'),
    deliveryId: oneOf('none', '01234567-89ab-8cde-8f10-000000000000'),
    organization: oneOf('drover', 'drover', 'drover', 'drover', 'drover', 'drover', 'beside', 'none'),
    identifier: deviceId,
    deviceId,
    entityId: deviceId,
    route: oneOf('meter-says', 'none'),
    email: oneOf('one@drover.test', 'two@drover.test', 'three@beside.test', 'none'),
    'append.entities': listed,
    'remove.entities': listed,
    'body.entities': fc.array(entities, { maxLength: 4 }),
    tags: fc.tuple(oneOf('tag', 'none')),
    'task.id': oneOf(...TASK_IDS),
    'request.name': typeNames,
    'body.name': oneOf('FUZZED', 'FUZZED_2', 'meter', 'REBOOT_EQUIPMENT'),
    'parameters.name': fields,
    'select.name': fields,
    'response.id': fc.nat(99).map(n => `operation-${n}`),
    'request.target': fc.oneof(
      fc.record({ append: fc.record({ entities: listed }) }),
      fc.record({ append: fc.record({ tags: fc.tuple(oneOf('tag', 'none')) }) }),
      fc.record({ append: fc.record({ filter: filtersOn(ENTITY_FIELDS) }) }),
      fc.record({ filter: filtersOn(ENTITY_FIELDS) }),
      fc.record({ append: fc.record({ entities: listed }), remove: fc.record({ entities: listed }) }),
    ),
    filter: filtersOn(ofJobs ? ENTITY_FIELDS : fieldsOf(path)),
    field: fields,
    entity: entities,
    date: anInstant,
    from: anInstant,
    to: anInstant,
    delayed: fc.oneof(
      { weight: 4, arbitrary: fc.integer({ min: 1, max: 5_000 }) },
      oneOf(86_400_000, '600', -1, 2 ** 53),
    ),
    // A task of seconds would make jobs for as long as the run lasts.
    each: fc.oneof(fc.integer({ min: 100, max: 10_000 }), oneOf(2 ** 31, 1_000_000)),
    executions: fc.integer({ min: 1, max: 5 }),
    'pattern.time': oneOf('02:30:00Z', '23:59:59+14:00', '9:00'),
    'daily.start': wholeHour,
    'daily.stop': wholeHour,
    'window.start': wholeHour,
    'window.stop': wholeHour,
    daily: oneOf(
      { start: '09:00:00Z', stop: '15:00:00Z' },
      { start: '22:00:00Z', stop: '06:00:00Z' },
      { start: '00:00:00Z', stop: '00:00:00Z' },
    ),
    timezone: oneOf('Europe/Madrid', 'UTC', 'America/New_York'),
    callback: oneOf(
      '',
      NOWHERE,
      `${NOWHERE}base/`,
      'https://127.0.0.1/',
      'ftp://127.0.0.1/',
      'http://169.254.169.254/',
    ),
    resultCode: oneOf(...OPERATION_RESULTS, 'TIRED', undefined),
    timeout: oneOf(60_000, 41_000, '60000', 90_000),
    ackTimeout: oneOf(5_000, 0, null, '1000'),
    retries: oneOf(0, 1, 3, '2'),
    retriesDelay: oneOf(0, 100, '10'),
    wait: oneOf(0, 1, -1, 'x', 1.5),
    'request.parameters': fc.oneof(
      oneOf({ type: 'HARDWARE' }, { type: 'SOFTWARE' }, {}, { level: 2 }),
      fc.jsonValue({ maxDepth: 2 }),
    ),
    'body.parameters': oneOf(
      { type: 'object' },
      { type: 'object', properties: { level: { type: 'integer', default: 1 } } },
    ),
    fromCatalog: oneOf('UPDATE', 'REBOOT_EQUIPMENT', 'DANCE', null),
    source: oneOf(
      'const response = () => []',
      'while (true) {}',
      'function request(',
      'const request = () => ({ result: "SUCCESSFUL" })',
    ),
  }
}
