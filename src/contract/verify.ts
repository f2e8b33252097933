/** The answer of a verification, as it travels: what the rows of jobs contradict. Decides nothing. */
import { type Static, Type } from 'typebox'

/** Jobs verified by one call where the client does not say, and at most. */
export const VERIFY_SIZE_DEFAULT = 200
export const VERIFY_SIZE_MAX = 1_000

/** The answer of `GET /operation/verify`. */
export const VerifyView = Type.Object(
  {
    jobs: Type.Integer({ description: 'Jobs verified by this call' }),
    differences: Type.Array(
      Type.Object({
        kind: Type.String({ description: 'counter, or the fault found in rows', examples: ['counter'] }),
        jobId: Type.String(),
        counter: Type.Optional(Type.String({ description: 'The counter that is wrong' })),
        counted: Type.Optional(Type.Integer({ description: 'What the counter says' })),
        rows: Type.Optional(Type.Integer({ description: 'What the rows say' })),
        operations: Type.Optional(Type.Integer({ description: 'Operations of the job with this fault' })),
        operationId: Type.Optional(Type.String({ description: 'One of them' })),
      }),
      { description: 'Empty where all is as it must be' },
    ),
    next: Type.Optional(
      Type.String({ description: 'Ask again with this as `after`; absent once all jobs are verified' }),
    ),
  },
  { description: 'Every counter recounted from the rows, and the rows judged by what must always hold' },
)
export type VerifyView = Static<typeof VerifyView>
