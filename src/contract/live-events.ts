/**
 * Live events as they travel: what a stream may be asked by, and the data of each event. They come as server-sent events, whose
 * `event` is the name and whose `data` is JSON. It says what travels and decides nothing.
 */
import { type Static, Type } from 'typebox'
import { JobSummaryView } from './job.ts'
import { ExecutionView, OperationView } from './operation.ts'

/** Operations of a page that a stream follows where the client does not say. */
export const WATCHED_SIZE_DEFAULT = 100
/** The most that a stream follows. */
const WATCHED_SIZE_MAX = 200

/** How many operations ended in a second. */
const SecondView = Type.Object({
  at: Type.String({ description: 'The second, ISO 8601 UTC', examples: ['2026-03-02T10:00:05.000Z'] }),
  ended: Type.Integer({ minimum: 0 }),
  successful: Type.Integer({ description: 'Of those, with success in time' }),
})

/** `event: seconds`, the first of a stream that goes on from nothing. */
export const SecondsEvent = Type.Object(
  { seconds: Type.Array(SecondView, { description: 'Oldest first; seconds in which nothing ended are left out' }) },
  { description: 'What ended in each second of the last ten minutes' },
)
export type SecondsEvent = Static<typeof SecondsEvent>

/** `event: job`: how a job stands. */
export const JobEvent = Type.Object(
  {
    jobId: Type.String(),
    name: Type.String({ description: 'The operation type' }),
    revision: Type.Integer({ description: 'Grows with every change of the job' }),
    at: Type.String({ description: 'When it came to stand so, ISO 8601 UTC' }),
    ended: Type.Integer({ description: 'Operations that ended since the event before, for figures per time' }),
    successful: Type.Integer({ description: 'Of those, with success in time' }),
    summary: JobSummaryView,
  },
  { description: 'A job whose status or counters changed' },
)
export type JobEvent = Static<typeof JobEvent>

/** `event: operation`: how an operation stands, in those members of the listing that are its own and not its job's. */
export const OperationEvent = Type.Object(
  {
    ...Type.Pick(OperationView, ['operationId', 'jobId', 'entityId', 'resourceType']).properties,
    attempts: Type.Object({ current: Type.Integer({ description: 'The present attempt; 0 before the first launch' }) }),
    execution: Type.Pick(ExecutionView, ['startedDate', 'finishedDate']),
    ...Type.Pick(OperationView, ['status', 'result', 'description', 'steps']).properties,
  },
  { description: 'An operation that stands otherwise than before' },
)
export type OperationEvent = Static<typeof OperationEvent>

/** What the stream of an organization may be asked by. */
export const OrganizationEventsQuery = Type.Object({
  operations: Type.Optional(Type.Boolean({ default: true, description: 'Whether operations are told, too' })),
})

export type OrganizationEventsQuery = Static<typeof OrganizationEventsQuery>

/** What the stream of a job may be asked by. */
export const JobEventsQuery = Type.Object({
  ...OrganizationEventsQuery.properties,
  start: Type.Optional(
    Type.Integer({ minimum: 1, default: 1, description: 'Page of the operations that are followed' }),
  ),
  size: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: WATCHED_SIZE_MAX,
      default: WATCHED_SIZE_DEFAULT,
      description: 'Operations of that page',
    }),
  ),
})
export type JobEventsQuery = Static<typeof JobEventsQuery>
