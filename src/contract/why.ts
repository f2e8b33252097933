/** Why an operation is where it is, as it travels: the gates that hold it, and what may move it next. Decides nothing. */
import { type Static, Type } from 'typebox'
import { GATES } from '../domain/gates.ts'
import { OPERATION_STATUSES } from '../domain/operation.ts'

const instant = (description: string) =>
  Type.Union([Type.String(), Type.Null()], { description, examples: ['2026-03-02T10:00:00.000Z'] })

/** A closed gate, of one operation or of all of a job. */
export const GateView = Type.Object({
  gate: Type.Enum([...GATES]),
  reason: Type.String({ examples: ['The window of the job is closed.'] }),
  fields: Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()]), {
    description: 'The figures behind the reason',
  }),
  liftsAt: instant('The earliest instant at which it opens by itself; null where an event must open it'),
})
export type GateView = Static<typeof GateView>

/** Something that will or may happen to the operation. */
export const NextMoveView = Type.Object({
  event: Type.String({
    description: 'The event, by its name in the lifecycle of operations or jobs',
    examples: ['launch'],
  }),
  words: Type.String(),
  at: instant('When; null where that depends on a person, a device or a free place'),
})

/** The answer of `GET …/operations/{id}/why`. */
export const WhyView = Type.Object(
  {
    operationId: Type.String(),
    jobId: Type.String(),
    status: Type.Enum([...OPERATION_STATUSES]),
    attempts: Type.Object({ total: Type.Integer(), current: Type.Integer() }),
    date: Type.String({ description: 'The instant that is explained' }),
    held: Type.Array(GateView, { description: 'What holds it, first things first; empty when it has ended' }),
    next: Type.Array(NextMoveView, { description: 'What will move it next, or may' }),
  },
  { description: 'Why an operation is where it is, and what will move it next' },
)
export type WhyView = Static<typeof WhyView>
