/**
 * Searches as they travel: what may be asked, pages of what was found, summaries. The reader in the domain is the judge of bodies;
 * these schemas tell clients the same. Serves: Job and operation search.
 */
import { type Static, Type } from 'typebox'
import { JobView } from './job.ts'
import { OperationView, PageView } from './operation.ts'
import { TaskView } from './task.ts'

const exact = { additionalProperties: false }
const fieldName = Type.String({ description: 'Name of a field; docs/reference/search-fields.md lists them' })

/** The body of every search; all of it is optional. */
export const SearchBody = Type.Object(
  {
    filter: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description:
          '`{}`; `and`, `or` with an array; `not`; leaves `eq neq like gt lt gte lte in nin exists within`, each `{"field": value}`',
      }),
    ),
    limit: Type.Optional(
      Type.Object(
        {
          start: Type.Optional(Type.Integer({ minimum: 0, description: 'Page number, from 1' })),
          size: Type.Optional(Type.Integer({ minimum: 1, maximum: 2_000, default: 1_000 })),
          cursor: Type.Optional(
            Type.String({
              description: 'The cursor of an earlier answer in place of start; an addition of this service',
            }),
          ),
        },
        exact,
      ),
    ),
    sort: Type.Optional(
      Type.Object(
        {
          parameters: Type.Array(
            Type.Object({ name: fieldName, type: Type.Optional(Type.Enum(['ASCENDING', 'DESCENDING'])) }, exact),
            { maxItems: 10 },
          ),
        },
        exact,
      ),
    ),
    group: Type.Optional(
      Type.Object({ parameters: Type.Array(Type.Object({ name: fieldName }, exact), { maxItems: 10 }) }, exact),
    ),
    select: Type.Optional(
      Type.Array(
        Type.Object(
          {
            name: fieldName,
            fields: Type.Optional(
              Type.Array(
                Type.Object({ field: Type.Optional(Type.String()), alias: Type.Optional(Type.String()) }, exact),
              ),
            ),
          },
          exact,
        ),
        { maxItems: 100, description: 'The columns of the answer; an alias names the column' },
      ),
    ),
  },
  {
    ...exact,
    examples: [
      {
        filter: {
          and: [{ eq: { 'jobs.request.name': 'UPDATE' } }, { gt: { 'jobs.report.summary.finished.error': 0 } }],
        },
        limit: { start: 1, size: 100 },
        sort: { parameters: [{ name: 'jobs.id', type: 'DESCENDING' }] },
      },
    ],
  },
)

/** What may stand behind the address of a search. */
export const SearchQuery = Type.Object({
  caseSensitive: Type.Optional(Type.Boolean({ default: true, description: 'false: `like` ignores case' })),
})

/** What was found of jobs. With a select, rows hold what was selected. */
export const FoundJobs = Type.Object({ page: PageView, jobs: Type.Array(JobView) })
/** What was found of operations. */
export const FoundOperations = Type.Object({ page: PageView, operations: Type.Array(OperationView) })

/** What was found of tasks. */
export const FoundTasks = Type.Object({ page: PageView, tasks: Type.Array(TaskView) })

/** How often the values of one field occur, the most frequent first. */
export const ValueCounts = Type.Object({
  count: Type.Integer({ description: 'Rows that have a value' }),
  list: Type.Array(Type.Object({ name: Type.String(), count: Type.Integer() })),
})
export type ValueCounts = Static<typeof ValueCounts>

/** Counts of what was found: by its usual fields, or by those of `group`. */
export const SummaryAnswer = Type.Object(
  {
    summary: Type.Union([
      Type.Object(
        { count: Type.Integer(), summaryGroup: Type.Array(Type.Record(Type.String(), ValueCounts)) },
        { title: 'grouped' },
      ),
      Type.Object({ count: Type.Integer() }, { additionalProperties: ValueCounts }),
    ]),
  },
  {
    examples: [
      {
        summary: {
          count: 34,
          status: {
            count: 34,
            list: [
              { name: 'FINISHED', count: 30 },
              { name: 'IN_PROGRESS', count: 4 },
            ],
          },
        },
      },
    ],
  },
)
