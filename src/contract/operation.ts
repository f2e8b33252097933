/**
 * Operations as clients read them: the item, its steps, and the page of a job's operations. It says what travels and decides
 * nothing. Serves: Operation, Step, Endpoints (Jobs).
 */
import { type Static, Type } from 'typebox'
import { OPERATION_RESULTS, OPERATION_STATUSES } from '../domain/operation.ts'
import { STEP_RESULTS } from '../domain/step.ts'

/** Items of one page of a listing. */
export const LISTING_SIZE_MAX = 1_000
/** Items of a page where the client does not say. */
export const LISTING_SIZE_DEFAULT = 10

const timestamp = (description: string) =>
  Type.String({
    description: `${description}; ISO 8601 UTC, empty while there is none`,
    examples: ['2026-03-02T10:00:00.000Z', ''],
  })

/** Serves: Step. */
export const StepView = Type.Object(
  {
    name: Type.String(),
    title: Type.Optional(Type.String()),
    timestamp: Type.String({ examples: ['2026-03-02T10:00:05.000Z'] }),
    result: Type.Enum([...STEP_RESULTS]),
    description: Type.Optional(Type.String()),
    response: Type.Optional(Type.Unknown({ description: 'What the device answered to this step' })),
  },
  { description: 'One stage of an operation, as its device reported it' },
)
export type StepView = Static<typeof StepView>

/** The dates of a job or an operation. */
export const ExecutionView = Type.Object({
  activatedDate: timestamp('When the job was activated'),
  startedDate: timestamp('When it started'),
  finishedDate: timestamp('When it ended'),
})
export type ExecutionView = Static<typeof ExecutionView>

/** What an earlier attempt of an operation saw. */
export const PastAttemptView = Type.Object({
  attempt: Type.Integer({ minimum: 1 }),
  startedDate: Type.String(),
  finishedDate: Type.String(),
  result: Type.Enum([...OPERATION_RESULTS]),
  description: Type.Optional(Type.String()),
  steps: Type.Array(StepView),
})

/** One operation: the execution of a job on one entity. */
export const OperationView = Type.Object(
  {
    operationId: Type.String(),
    jobId: Type.String(),
    entityId: Type.String({ description: 'The entity, also where it has been deleted since' }),
    resourceType: Type.String({ examples: ['entity.device'] }),
    name: Type.String({ description: 'The operation type' }),
    parameters: Type.Record(Type.String(), Type.Unknown()),
    attempts: Type.Object({
      total: Type.Integer({ description: 'Attempts at most: retries and one' }),
      current: Type.Integer({ description: 'The present attempt; 0 before the first launch' }),
      history: Type.Optional(Type.Array(PastAttemptView, { description: 'Earlier attempts and what they saw' })),
    }),
    notify: Type.Boolean(),
    execution: ExecutionView,
    user: Type.String({ description: 'Who created the job' }),
    status: Type.Enum([...OPERATION_STATUSES]),
    result: Type.Enum([...OPERATION_RESULTS], { description: 'OPERATION_PENDING while the operation is open' }),
    description: Type.String({ description: 'Free text about the outcome' }),
    date: Type.String({ description: 'When the operation came to be: the activation of its job, or its creation' }),
    userNotes: Type.String(),
    steps: Type.Array(StepView),
  },
  {
    description: 'An operation: one job on one entity',
    examples: [
      {
        operationId: '0196c0a4b1e00801-2f-0196c0a0d2400003',
        jobId: '0196c0a4b1e00801',
        entityId: 'meter-17',
        resourceType: 'entity.device',
        name: 'REBOOT_EQUIPMENT',
        parameters: { type: 'HARDWARE' },
        attempts: { total: 2, current: 1 },
        notify: false,
        execution: {
          activatedDate: '2026-03-02T10:00:00.000Z',
          startedDate: '2026-03-02T10:00:01.000Z',
          finishedDate: '2026-03-02T10:00:09.000Z',
        },
        user: 'ada@example.com',
        status: 'FINISHED',
        result: 'SUCCESSFUL',
        description: 'Restarted',
        date: '2026-03-02T10:00:00.000Z',
        userNotes: '',
        steps: [{ name: 'REBOOT_EQUIPMENT', timestamp: '2026-03-02T10:00:09.000Z', result: 'SUCCESSFUL' }],
      },
    ],
  },
)
export type OperationView = Static<typeof OperationView>

/** Which page of how many; the cursor leads to the next one and is absent on the last. */
export const PageView = Type.Object({
  number: Type.Integer({ minimum: 1, description: 'This page' }),
  of: Type.Integer({ minimum: 1, description: 'Pages in all' }),
  cursor: Type.Optional(
    Type.String({
      description: 'Leads to the next page at the same cost however deep it lies; an addition of this service',
    }),
  ),
})
export type PageView = Static<typeof PageView>

/** A page of a job's operations. */
export const OperationsPage = Type.Object({ page: PageView, operations: Type.Array(OperationView) })
export type OperationsPage = Static<typeof OperationsPage>

/** Which page of a listing. Query strings are texts; they are read as what the schema says. */
export const PageQuery = Type.Object({
  start: Type.Optional(Type.Integer({ minimum: 0, description: 'Page number; absent, 0 and 1 mean the first' })),
  size: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: LISTING_SIZE_MAX,
      default: LISTING_SIZE_DEFAULT,
      description: 'Items of a page',
    }),
  ),
})

/** What the listing of a job's operations may be asked by: deep pages go by cursor. */
export const ListingQuery = Type.Object({
  ...PageQuery.properties,
  cursor: Type.Optional(
    Type.String({ maxLength: 1_000, description: 'The cursor of an earlier page, in place of start' }),
  ),
})
export type ListingQuery = Static<typeof ListingQuery>
