/**
 * What can be learned of a job beside its counters, as it travels: how it failed, how it goes over time, and the messages of one
 * operation as they came. Additions of this service. It says what travels and decides nothing.
 */
import { type Static, Type } from 'typebox'
import { OPERATION_RESULTS, OPERATION_STATUSES } from '../domain/operation.ts'
import { GateView } from './why.ts'

/** Groups answered at most. */
export const FAILURE_GROUPS_MAX = 200

/** What operations without success are counted as, as the job's summary calls it. */
const UNSUCCESSFUL = [
  ...(['error', 'byUser', 'byEngine', 'byTimeout', 'byExternalTimeout', 'byExternal', 'byAlreadyInProgress'] as const),
  'outOfTimeError',
] as const

/** Operations that ended without success in one way. */
export const FailureGroup = Type.Object({
  status: Type.Enum([...OPERATION_STATUSES]),
  result: Type.Enum([...OPERATION_RESULTS]),
  step: Type.Union([Type.String(), Type.Null()], { description: 'The last step that ended in ERROR; null: none did' }),
  stepDescription: Type.String({ description: 'What the device said of that step; empty: nothing' }),
  description: Type.String({ description: 'Of the operation; empty: none' }),
  counter: Type.Enum([...UNSUCCESSFUL], {
    description: 'What they are counted as: byUser tells what somebody cancelled from what failed',
  }),
  count: Type.Integer({ minimum: 1 }),
})
export type FailureGroup = Static<typeof FailureGroup>

/** The answer of `GET …/jobs/{jobId}/failures`. */
export const FailuresView = Type.Object(
  {
    date: Type.String({ description: 'Of when these figures are' }),
    failures: Type.Array(FailureGroup, { description: 'The most frequent first, at most 200' }),
    more: Type.Boolean({ description: 'Whether there are further groups' }),
  },
  { description: 'How the operations of a job ended without success, in groups: failed, timed out or cancelled' },
)
export type FailuresView = Static<typeof FailuresView>

const countUntil = (description: string) =>
  Type.Union([Type.Integer(), Type.Null()], { description: `${description}; null: not known at that time` })

/** How far a job was to be, and has come, by an instant. */
export const ProgressPoint = Type.Object({
  date: Type.String(),
  planned: countUntil('Operations that its schedule launches by then'),
  launched: countUntil('Operations launched by then'),
  ended: countUntil('Operations ended by then'),
  successful: countUntil('Of those, with success in time'),
})
export type ProgressPoint = Static<typeof ProgressPoint>

/** The answer of `GET …/jobs/{jobId}/progress`. */
export const ProgressView = Type.Object(
  {
    date: Type.String({ description: 'Of when these figures are' }),
    total: Type.Integer(),
    expectedEndDate: Type.Union([Type.String(), Type.Null()], {
      description: 'When the job is expected to end as things stand; null: nobody can tell. Of an ended job, its end',
    }),
    held: Type.Array(GateView, {
      description:
        'What holds everything of it that is not launched, first things first; empty: each waits for its turn',
    }),
    lastLaunchDate: Type.Union([Type.String(), Type.Null()], {
      description:
        'When the turn of the last one comes as things stand; null: not known before its start and while it is paused',
    }),
    points: Type.Array(ProgressPoint, { description: 'In equal steps from its start to its end or expected end' }),
  },
  { description: 'The plan of a job against what has happened' },
)
export type ProgressView = Static<typeof ProgressView>

/** The answer of `GET …/operations/{operationId}/messages`. */
export const MessagesView = Type.Object(
  {
    messages: Type.Array(
      Type.Object({
        date: Type.String(),
        attempt: Type.Integer(),
        raw: Type.String({ description: 'The message as it came, cut to its limit' }),
      }),
      { description: 'What was taken from the device, oldest first' },
    ),
    filed: Type.Array(Type.Object({ date: Type.String(), reason: Type.String(), raw: Type.String() }), {
      description: 'Messages about the operation that changed nothing, oldest first, at most 100',
    }),
  },
  { description: 'The messages about one operation' },
)
export type MessagesView = Static<typeof MessagesView>
