/** The plan of a job, as it travels: what it would run on, when it would launch, and what it would refuse. Decides nothing. */
import { type Static, Type } from 'typebox'

const instant = (description: string) => Type.String({ description, examples: ['2026-03-02T10:00:00.000Z'] })
const instantOrNone = (description: string) => Type.Union([instant(description), Type.Null()], { description })

/** Serves: Scattering fields. */
const GroupPlanView = Type.Object({
  value: Type.Union([Type.String(), Type.Null()], { description: 'What the group has in common; null: nothing known' }),
  operations: Type.Integer(),
  firstLaunchDate: instant('Its first launch'),
  lastLaunchDate: instant('Its last launch'),
  operationsPerSecond: Type.Union([Type.Number(), Type.Null()], {
    description: 'Between the two; null where they fall together',
  }),
})

/** The answer of `POST /operation/jobs/plan`. */
export const PlanView = Type.Object(
  {
    target: Type.Object({
      total: Type.Integer({ description: 'Entities that would get an operation' }),
      resourceTypes: Type.Record(Type.String(), Type.Integer(), { description: 'The same by entity type' }),
      refusals: Type.Array(
        Type.Object({
          reason: Type.Enum(['notProvisioned', 'notAllowed', 'duplicated']),
          words: Type.String(),
          count: Type.Integer(),
          entities: Type.Array(Type.String(), { description: 'At most the first 1,000' }),
        }),
      ),
    }),
    error: Type.Optional(
      Type.Object({ code: Type.String(), message: Type.String() }, { description: 'Why nothing of it would run' }),
    ),
    launch: Type.Object({
      startDate: instant('When the job would start'),
      stopDate: instantOrNone('When it would stop'),
      firstLaunchDate: instantOrNone('The first launch'),
      lastLaunchDate: instantOrNone('The last launch'),
      expectedEndDate: instant('When the last operation is over, where each uses up its time and none is retried'),
      perHour: Type.Array(
        Type.Object({ date: instant('The full hour, UTC'), launches: Type.Integer({ minimum: 1 }) }),
        { description: 'The launch curve; hours without launches are left out' },
      ),
      launchesLater: Type.Integer({ description: 'Launches after the last of these hours' }),
      notLaunched: Type.Integer({ description: 'Operations that the stop cancels before their launch' }),
      mayNotEnd: Type.Integer({ description: 'Operations that the stop may cancel after their launch' }),
      windows: Type.Array(Type.Object({ opensDate: instant('Opens'), closesDate: instant('Closes') }), {
        description: 'The first windows used; none without a window',
      }),
    }),
    scattering: Type.Object({
      effectiveMs: Type.Number({ description: 'Open time between start and stop' }),
      drainReserveMs: Type.Number({ description: 'Kept free at its end' }),
      spreadMs: Type.Number({ description: 'Open time over which launches are spread' }),
      operationsPerSecond: Type.Union([Type.Number(), Type.Null()], { description: 'null: all at once' }),
      groupCount: Type.Optional(Type.Integer()),
      groups: Type.Optional(Type.Array(GroupPlanView, { description: 'Left empty beyond 1,000 groups' })),
    }),
    warnings: Type.Array(
      Type.Intersect([Type.Object({ code: Type.String() }), Type.Record(Type.String(), Type.Unknown())]),
    ),
  },
  { description: 'What a job would do. Counts and times, not promises: the sending itself takes time too' },
)
export type PlanView = Static<typeof PlanView>
