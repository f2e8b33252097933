/**
 * Jobs as they travel: the request that makes one, the change of a PUT, and the job as it is read. The reader of requests in the
 * domain is their judge; these schemas tell clients the same. Serves: Job request, Job as read, Endpoints (Jobs).
 */
import { type Static, Type } from 'typebox'
import { RESOURCE_TYPES } from '../domain/data-model.ts'
import { JOB_STATUSES, type RefusedIds } from '../domain/job.ts'
import { OPERATION_RESULTS } from '../domain/operation.ts'
import { DeviceParameter } from './device-parameters.ts'
import { ExecutionView } from './operation.ts'

const exact = { additionalProperties: false }

/** A whole number, also as its digits in a text. */
const whole = (description: string, options: { minimum?: number; maximum?: number; default?: number } = {}) =>
  Type.Union([Type.Integer(options), Type.String({ pattern: '^[+-]?\\d{1,17}$' })], { description })

const Parameters = Type.Union(
  [Type.Record(Type.String(), Type.Unknown()), Type.Array(DeviceParameter, { title: 'typed list' })],
  {
    description: 'What the device is to do, judged by the JSON Schema of the operation type',
    examples: [{ type: 'HARDWARE' }],
  },
)

const Moment = Type.Union(
  [
    Type.Object(
      { date: Type.String({ description: 'ISO 8601, any offset', examples: ['2030-01-02T03:04:05Z'] }) },
      exact,
    ),
    Type.Object({ delayed: whole('Milliseconds') }, exact),
  ],
  { description: 'An instant, or a delay in milliseconds: of a start from activation, of a stop from the start' },
)

const Days = Type.Array(Type.Enum(['MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT', 'SUN']), {
  minItems: 1,
  description: 'Days on which the window opens; left out, every day',
})
const windowTime = Type.String({ description: 'hh:mm:ss with Z or an offset', examples: ['22:00:00Z'] })

/** Serves: Schedule (job), `window`. */
export const WindowSchema = Type.Union(
  [
    Type.Object(
      {
        weekly: Type.Array(
          Type.Object(
            { days: Type.Optional(Days), daily: Type.Object({ start: windowTime, stop: windowTime }, exact) },
            exact,
          ),
          { minItems: 1 },
        ),
        timezone: Type.Optional(Type.String({ examples: ['Europe/Madrid'] })),
      },
      exact,
    ),
    Type.Object(
      { days: Type.Optional(Days), start: windowTime, stop: windowTime, timezone: Type.Optional(Type.String()) },
      { ...exact, title: 'one entry, flat' },
    ),
  ],
  {
    description: 'When requests may reach devices; each entry a whole number of hours',
    examples: [{ weekly: [{ days: ['MON', 'TUE'], daily: { start: '22:00:00Z', stop: '06:00:00Z' } }] }],
  },
)

/** Serves: Schedule (job), `scattering`. */
export const ScatteringSchema = Type.Object(
  {
    maxSpread: Type.Optional(
      whole('Percentage of the effective time that operations are spread over', { minimum: 0, maximum: 100 }),
    ),
    strategy: Type.Optional(
      Type.Object(
        {
          field: Type.Literal('subscription.collected.cellInfo'),
          factor: Type.Optional(whole('Dispersion within a group, per cent', { minimum: 0, maximum: 100 })),
          warningMaxRate: Type.Optional(
            Type.Number({ description: 'Operations per second above which the job carries a warning' }),
          ),
        },
        exact,
      ),
    ),
    warningMaxRate: Type.Optional(Type.Number()),
  },
  exact,
)

/** Serves: Schedule (job). */
export const JobScheduleSchema = Type.Object(
  {
    start: Type.Optional(Moment),
    stop: Type.Optional(Moment),
    window: Type.Optional(WindowSchema),
    scattering: Type.Optional(ScatteringSchema),
  },
  exact,
)

/** Serves: operationParameters. */
export const OperationParametersSchema = Type.Object(
  {
    ackTimeout: Type.Optional(whole('Milliseconds to wait for the acknowledgement; 0 or absent: no limit')),
    timeout: Type.Optional(whole('Milliseconds to wait for the end, more than 0', { default: 60_000 })),
    retries: Type.Optional(whole('Retries without acknowledgement or after a time-out', { default: 0 })),
    retriesDelay: Type.Optional(
      whole('Milliseconds between attempts; where the device is taken and it is 0, a second', { default: 0 }),
    ),
    retryResultList: Type.Optional(
      Type.Array(Type.Enum([...OPERATION_RESULTS]), { description: 'Results that cause a retry' }),
    ),
  },
  { ...exact, description: '`timeout` and `ackTimeout` together must be greater than 40 seconds' },
)

const EntityIds = Type.Array(Type.String({ minLength: 1, maxLength: 256 }), {
  description: 'At most 100, configurable',
})
const Tags = Type.Array(Type.String({ minLength: 1, maxLength: 256 }), { minItems: 1, maxItems: 1 })
const FilterSchema = Type.Record(Type.String(), Type.Unknown(), {
  description: 'An inline filter; {} matches every entity',
  examples: [{ eq: { 'provision.device.identifier': 'meter-17' } }],
})
const OwnParameters = Type.Array(
  Type.Object({ id: Type.String({ minLength: 1, maxLength: 256 }), parameters: Type.Optional(Parameters) }, exact),
  { description: 'Entities with parameters of their own; without any an entity has those of the request' },
)

/** Serves: Target. */
export const TargetSchema = Type.Object(
  {
    append: Type.Optional(
      Type.Object(
        {
          entities: Type.Optional(EntityIds),
          entitiesWithParameters: Type.Optional(OwnParameters),
          tags: Type.Optional(Tags),
          filter: Type.Optional(FilterSchema),
        },
        exact,
      ),
    ),
    filter: Type.Optional(FilterSchema),
  },
  {
    ...exact,
    description: 'Exactly one of a list of entities, a tag and a filter; an empty list beside another is none',
  },
)

const target = { append: { entities: ['meter-17', 'meter-18'] } }

/** Serves: Job request. */
export const JobRequestSchema = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 50, description: "An operation type of the caller's organization" }),
    parameters: Type.Optional(Parameters),
    target: Type.Optional(TargetSchema),
    active: Type.Optional(Type.Boolean({ default: true, description: 'false creates the job without launching it' })),
    schedule: Type.Optional(JobScheduleSchema),
    operationParameters: Type.Optional(OperationParametersSchema),
    notify: Type.Optional(Type.Boolean({ default: false, description: 'Tell the user by mail and trap' })),
    callback: Type.Optional(Type.String({ description: 'Base address of the notifications; empty: none' })),
    userNotes: Type.Optional(Type.String()),
  },
  exact,
)

/** The body that creates a job. */
export const JobBody = Type.Object(
  { job: Type.Object({ request: JobRequestSchema }, exact) },
  {
    ...exact,
    examples: [
      {
        job: {
          request: {
            name: 'REBOOT_EQUIPMENT',
            parameters: { type: 'HARDWARE' },
            target,
            active: true,
            schedule: { stop: { delayed: 3_600_000 } },
            operationParameters: { ackTimeout: 5_000, timeout: 60_000, retries: 1, retriesDelay: 10_000 },
            callback: 'http://client.example/fleet',
          },
        },
      },
    ],
  },
)

/** The body that changes a job. */
export const JobChangeBody = Type.Object(
  {
    job: Type.Object(
      {
        request: Type.Object(
          {
            active: Type.Optional(Type.Boolean()),
            notify: Type.Optional(Type.Boolean()),
            callback: Type.Optional(Type.String()),
            userNotes: Type.Optional(Type.String()),
            schedule: Type.Optional(Type.Object({ start: Type.Optional(Moment), stop: Type.Optional(Moment) }, exact)),
            target: Type.Optional(
              Type.Object(
                {
                  append: Type.Optional(
                    Type.Object(
                      {
                        entities: Type.Optional(EntityIds),
                        entitiesWithParameters: Type.Optional(OwnParameters),
                        tags: Type.Optional(Tags),
                      },
                      exact,
                    ),
                  ),
                  remove: Type.Optional(
                    Type.Object({ entities: Type.Optional(EntityIds), tags: Type.Optional(Tags) }, exact),
                  ),
                },
                { ...exact, description: 'What is taken out goes first: what is in both is in the job afterwards' },
              ),
            ),
          },
          exact,
        ),
      },
      exact,
    ),
  },
  {
    ...exact,
    description: 'In IDLE any of these; in SCHEDULED, IN_PROGRESS and PAUSED `active` alone',
    examples: [{ job: { request: { active: false } } }],
  },
)

const count = (description: string) => Type.Integer({ minimum: 0, description })

/** Serves: Job as read (`report.summary`). */
export const JobSummaryView = Type.Object({
  status: Type.Enum([...JOB_STATUSES]),
  total: count('Operations in all'),
  inProgress: Type.Object({
    total: count('Not finished'),
    scheduled: count('Not launched'),
    pendingExecution: count('Queued, or waiting for the acknowledgement'),
    waitingForConnection: count('Waiting for the device to appear'),
    started: count('Started'),
  }),
  finished: Type.Object({
    total: count('In a final state'),
    successful: count('Finished successfully'),
    error: count('Finished with error'),
    cancelled: Type.Object({
      total: count('Cancelled, all causes'),
      byUser: count('By a user or through the API'),
      byEngine: count('By the engine'),
      byTimeout: count('By the time-out of the operation'),
      byExternalTimeout: count('By a time-out of an external system'),
      byExternal: count('By an external system'),
      byAlreadyInProgress: count('Because the same operation already ran on the entity'),
    }),
  }),
  finishedOutOfTime: Type.Object({
    total: count('Results outside the allowed time'),
    successful: count('Of those, successful'),
    error: count('Of those, failed'),
  }),
  errorCode: Type.Optional(Type.String({ description: 'Only with FINISHED_WITH_ERRORS' })),
  errorDescription: Type.Optional(Type.String({ description: 'Only with FINISHED_WITH_ERRORS' })),
})
export type JobSummaryView = Static<typeof JobSummaryView>

const Refused = Type.Unsafe<RefusedIds>(
  Type.Union([
    Type.Array(Type.String()),
    Type.Object({ count: Type.Integer(), first: Type.Array(Type.String()) }, { title: 'more than 1,000' }),
  ]),
)

/** A job as it is read. */
export const JobView = Type.Object(
  {
    id: Type.String(),
    taskId: Type.Optional(Type.String({ description: 'The task that made it' })),
    request: Type.Record(Type.String(), Type.Unknown(), { description: 'The request, normalised, with `user`' }),
    report: Type.Object({
      execution: ExecutionView,
      summary: JobSummaryView,
      target: Type.Optional(
        Type.Object(
          {
            notProvisioned: Type.Optional(Refused),
            notAllowed: Type.Optional(Refused),
            duplicated: Type.Optional(Refused),
          },
          { description: 'What was asked for and has no operation' },
        ),
      ),
      warnings: Type.Optional(Type.Array(Type.Object({ code: Type.String() }))),
    }),
  },
  { description: 'A job' },
)
export type JobView = Static<typeof JobView>

/** What the creation of a job or a task may be asked with. */
export const TargetQuery = Type.Object(
  {
    resourceType: Type.Optional(
      Type.Enum([...RESOURCE_TYPES], { description: 'Restricts a filter or a tag to one entity type' }),
    ),
  },
  exact,
)
