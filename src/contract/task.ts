/**
 * Tasks as they travel: the body that makes or changes one, the task as it is read, its jobs and its entities. The reader in the
 * domain is the judge of bodies. Serves: Task, Endpoints (Tasks).
 */
import { type Static, Type } from 'typebox'
import { RESOURCE_TYPES } from '../domain/data-model.ts'
import { TASK_STATES } from '../domain/task.ts'
import { JobRequestSchema, JobView } from './job.ts'
import { PageView } from './operation.ts'

const exact = { additionalProperties: false }

const Days = Type.Array(Type.Enum(['MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT', 'SUN']), { minItems: 1 })
const Month = Type.Enum(['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'])
const Day = Type.Integer({ minimum: 1, maximum: 31, description: 'A month without this day is skipped' })
const Months = Type.Array(Month, { minItems: 1 })

/** Serves: Task (`schedule`). */
export const TaskScheduleSchema = Type.Object(
  {
    start: Type.Optional(
      Type.Object({ date: Type.String() }, { ...exact, description: 'First execution; left out, now' }),
    ),
    stop: Type.Optional(
      Type.Union([
        Type.Object({ date: Type.String() }, exact),
        Type.Object({ executions: Type.Integer({ minimum: 1 }) }, exact),
      ]),
    ),
    repeating: Type.Optional(
      Type.Union(
        [
          Type.Object(
            {
              period: Type.Object(
                { each: Type.Integer({ minimum: 1 }), unit: Type.Enum(['SECONDS', 'MINUTES', 'HOURS', 'DAYS']) },
                exact,
              ),
            },
            exact,
          ),
          Type.Object(
            {
              pattern: Type.Object(
                {
                  time: Type.Optional(Type.String({ examples: ['02:30:00+01:00'] })),
                  weekly: Type.Optional(Type.Object({ days: Days }, exact)),
                  monthly: Type.Optional(Type.Object({ day: Day, months: Months }, exact)),
                  yearly: Type.Optional(
                    Type.Object({ day: Day, months: Type.Optional(Months), month: Type.Optional(Month) }, exact),
                  ),
                },
                exact,
              ),
            },
            exact,
          ),
        ],
        { description: 'A period or a pattern; left out, one execution' },
      ),
    ),
  },
  exact,
)

const words = {
  name: Type.Optional(Type.String()),
  description: Type.Optional(Type.String()),
  active: Type.Optional(Type.Boolean({ default: true, description: 'When false, no jobs are launched' })),
  schedule: Type.Optional(TaskScheduleSchema),
}

/** The body that creates a task. */
export const TaskBody = Type.Object(
  {
    task: Type.Object(
      {
        id: Type.Optional(Type.String({ minLength: 1, maxLength: 256, description: 'Unique; a UUID when left out' })),
        ...words,
        job: Type.Object({ request: JobRequestSchema }, exact),
      },
      exact,
    ),
  },
  {
    ...exact,
    examples: [
      {
        task: {
          name: 'Nightly refresh',
          active: true,
          schedule: { repeating: { pattern: { time: '02:30:00+01:00', weekly: { days: ['MON', 'FRI'] } } } },
          job: {
            request: {
              name: 'REFRESH_INFO',
              target: { append: { tags: ['meters'] } },
              schedule: { stop: { delayed: 3_600_000 } },
              active: true,
            },
          },
        },
      },
    ],
  },
)

/** The body that changes a task. */
export const TaskChangeBody = Type.Object(
  {
    task: Type.Object(
      { ...words, job: Type.Optional(Type.Object({ request: Type.Record(Type.String(), Type.Unknown()) }, exact)) },
      exact,
    ),
  },
  {
    ...exact,
    description: '`schedule` is replaced as a whole; what is given of `job.request` replaces that part of the template',
    examples: [{ task: { schedule: { repeating: { period: { each: 2, unit: 'HOURS' } }, stop: { executions: 3 } } } }],
  },
)

/** A task as it is read. */
export const TaskView = Type.Object({
  id: Type.String(),
  name: Type.Optional(Type.String()),
  description: Type.Optional(Type.String()),
  user: Type.String({ description: 'Who created the task' }),
  active: Type.Boolean(),
  state: Type.Enum([...TASK_STATES]),
  status: Type.Enum([...TASK_STATES], { description: 'The same as state' }),
  schedule: Type.Record(Type.String(), Type.Unknown()),
  job: Type.Object({ request: Type.Record(Type.String(), Type.Unknown()) }),
  report: Type.Object({
    executions: Type.Integer({ description: 'Jobs started or cancelled' }),
    skipped: Type.Integer({ description: 'Occurrences that were missed and not made up for' }),
    nextDate: Type.String({ description: 'The next occurrence; empty where there is none' }),
  }),
})
export type TaskView = Static<typeof TaskView>

/** A task, wrapped. */
export const TaskAnswer = Type.Object({ task: TaskView })

/** The jobs of a task, newest first: the same array under both names that are in use. */
export const TaskJobsPage = Type.Object({ page: PageView, jobs: Type.Array(JobView), job: Type.Array(JobView) })

/** What the target of a task resolves to now. */
export const TaskEntitiesPage = Type.Object({
  page: PageView,
  entities: Type.Array(Type.Object({ id: Type.String(), resourceType: Type.Enum([...RESOURCE_TYPES]) })),
})

/** Which occurrences are asked for. */
export const OccurrencesQuery = Type.Object({
  from: Type.Optional(Type.String({ description: 'ISO 8601; now when left out' })),
  to: Type.Optional(Type.String({ description: 'ISO 8601; a week after `from` when left out, at most 400 days' })),
})

const Occurrence = Type.Object({
  taskId: Type.String(),
  name: Type.String({ description: 'Of the task; empty: none' }),
  operationName: Type.String(),
  date: Type.String(),
})

/** When the tasks of an organization will make jobs. An addition of this service. */
export const OccurrencesView = Type.Object(
  {
    occurrences: Type.Array(Occurrence, {
      description: 'In the order of their dates, at most 2,000, which tasks share where there are more',
    }),
    cut: Type.Array(Occurrence, { description: 'Of each task of which some were left out, the first of these' }),
    more: Type.Boolean({ description: 'Whether some were left out' }),
  },
  { description: 'Occurrences of active tasks that are still to come' },
)
export type OccurrencesView = Static<typeof OccurrencesView>
