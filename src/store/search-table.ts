/**
 * What can be searched: jobs, tasks, open operations, ended operations. Each is a base table with its joins, its fields, the orders in which
 * its rows lie, and the bound of an organization. It runs nothing.
 */
import type { FieldTypes, Filter } from '../domain/filter.ts'
import { exactCounters, OPERATIONS_COUNTED } from './counters.ts'
import { JOB_FIELDS, jobParameterField } from './job-fields.ts'
import {
  jobFieldsOfOperations,
  jobParameterOfOperations,
  keysIn,
  type OperationKind,
  operationFields,
} from './operation-fields.ts'
import { fieldTable, type SearchField } from './search-field.ts'
import { type SqlFragment, sql } from './statement.ts'
import { TASK_FIELDS, taskParameterField } from './task-fields.ts'

/** One column of the order in which rows lie; its value travels in cursors as text. */
export interface KeyColumn {
  readonly name: string
  readonly value: SqlFragment
  /** the value in a cursor's text, undefined where it is none */
  readonly read: (text: string) => SqlFragment | undefined
}

/** An order in which rows lie in an index, so that a page costs the same however deep it is. */
export interface KeyOrder {
  readonly name: string
  readonly columns: readonly KeyColumn[]
  /** sorting by this field alone is this order */
  readonly field?: string
}

/** A table of rows whose key columns are `Key`. */
export interface SearchTable<Key> {
  find(name: string): SearchField | undefined
  /** every field, each once */
  readonly fields: readonly SearchField[]
  /** `from` with the joins that are needed, in the order in which they depend on each other */
  from(needs: ReadonlySet<string>): SqlFragment
  /** what of the table is the organization's, and of the kind asked for */
  readonly scope: SqlFragment
  readonly orders: readonly KeyOrder[]
  /** the order of unsorted rows, fitting a filter */
  orderFor(filter: Filter): KeyOrder
  /** the condition that a row is one of these */
  among(keys: readonly Key[]): SqlFragment
  /** the same rows by their jobs, for what asks of them only what `ofJob` is */
  readonly byJob?: RowsByJob
}

/** The rows of a table of operations gathered by job: one for each job that has any, with how many of them it stands for. */
export interface RowsByJob {
  /** whether a filter holds for certain jobs alone */
  namesJobs(filter: Filter): boolean
  /** how many jobs would have to be gone through otherwise, at most `limit` */
  jobs(limit: number): SqlFragment
  /** as that of the table, with `o.times` beside `o.job` */
  from(needs: ReadonlySet<string>): SqlFragment
}

/** The types of a table's fields, for the reader of filters. */
export function fieldTypesOf(table: Pick<SearchTable<never>, 'find'>): FieldTypes {
  return name => table.find(name)?.type
}

/** A key column of a bigint. */
export const int8 = (name: string, value: SqlFragment): KeyColumn => ({
  name,
  value,
  read: text => (/^\d{1,18}$/.test(text) ? sql`${text}::bigint` : undefined),
})
/** A key column of a smallint. */
export const int2 = (name: string, value: SqlFragment): KeyColumn => ({
  name,
  value,
  read: text => (/^\d{1,3}$/.test(text) ? sql`${text}::smallint` : undefined),
})
/** A key column of a text. */
export const text = (name: string, value: SqlFragment): KeyColumn => ({
  name,
  value,
  read: given => (given.includes('\u0000') ? undefined : sql`${given}::text`),
})
const instant = (name: string, value: SqlFragment): KeyColumn => ({
  name,
  value,
  read: text => (/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(text) ? sql`${text}::timestamptz` : undefined),
})

const joinsInOrder = (joins: readonly (readonly [string, SqlFragment])[], needs: ReadonlySet<string>): SqlFragment =>
  sql.join(
    joins.filter(([name]) => needs.has(name)).map(([, join]) => join),
    sql` `,
  )

/** Field names may say `[]` behind a list; any element is meant with it and without. */
function finder<Key>(
  fields: readonly SearchField[],
  beyond: (name: string) => SearchField | undefined,
): SearchTable<Key>['find'] {
  const table = fieldTable(fields)
  return name => table.get(name) ?? (name.endsWith('[]') ? table.get(name.slice(0, -2)) : undefined) ?? beyond(name)
}

const taskJoin = ['task', sql`left join task t on t.task = j.task`] as const
const countersJoin = ['counters', sql`cross join ${exactCounters}`] as const

const BY_NUMBER: KeyOrder = { name: 'job', columns: [int8('job', sql`j.job`)], field: 'jobs.id' }

/** The jobs of an organization, in the order in which they were made. */
export function jobTable(organization: number): SearchTable<{ job: bigint }> {
  return {
    find: finder(JOB_FIELDS, jobParameterField),
    fields: JOB_FIELDS,
    from: needs => sql`job j ${joinsInOrder([taskJoin, countersJoin], needs)}`,
    scope: sql`j.organization = ${organization}::int`,
    orders: [BY_NUMBER],
    orderFor: () => BY_NUMBER,
    among: keys => sql`j.job = any(${keys.map(key => key.job)}::bigint[])`,
  }
}

const BY_TASK: KeyOrder = { name: 'task', columns: [int8('task', sql`t.task`)] }

/** The tasks of an organization, in the order in which they were made. */
export function taskTable(organization: number): SearchTable<{ task: bigint }> {
  return {
    find: finder(TASK_FIELDS, taskParameterField),
    fields: TASK_FIELDS,
    from: () => sql`task t`,
    scope: sql`t.organization = ${organization}::int`,
    orders: [BY_TASK],
    orderFor: () => BY_TASK,
    among: keys => sql`t.task = any(${keys.map(key => key.task)}::bigint[])`,
  }
}

/** The key of an operation as a search finds it. */
export interface FoundOperation {
  readonly job: bigint
  readonly partition: number
  readonly entity: bigint
}

const BY_KEY: KeyOrder = {
  name: 'key',
  columns: [int8('job', sql`o.job`), int2('partition', sql`o.partition`), int8('entity', sql`o.entity`)],
  field: 'operations.operationId',
}
const BY_END: KeyOrder = {
  name: 'end',
  columns: [instant('endedAt', sql`o.ended_at`), ...BY_KEY.columns],
  field: 'operations.execution.finishedDate',
}

const operationJoins = [
  ['job', sql`join job j on j.job = o.job`],
  ['detail', sql`left join operation_detail d on d.job = o.job and d.partition = o.partition and d.entity = o.entity`],
  ['entity', sql`left join entity e on e.partition = o.partition and e.entity = o.entity`],
  ['former', sql`left join former_entity f on f.partition = o.partition and f.entity = o.entity`],
  taskJoin,
  countersJoin,
] as const

/**
 * The operations of an organization, open or ended, of one resource type or of any. Open ones lie in the order of their keys; ended
 * ones in the order in which they ended, unless the filter asks for certain jobs.
 */
export function operationTable(
  organization: number,
  kind: OperationKind,
  resourceType?: string,
): SearchTable<FoundOperation> {
  const own = operationFields(kind, organization)
  const fields = [...own, ...jobFieldsOfOperations(new Set(own.flatMap(each => each.names)))]
  const find = finder(fields, jobParameterOfOperations)
  const base = kind === 'open' ? sql`operation` : sql`operation_ended`
  const jobs = jobsWith(kind, organization)
  // The jobs that have open operations are few; as an array they let the rows be read in the order of the key.
  const mine =
    kind === 'open' ? sql`o.job = any(array(select j.job from ${jobs}))` : sql`o.organization = ${organization}::int`
  const ofType = resourceType
    ? sql`exists (select 1 from entity typed where typed.partition = o.partition and typed.entity = o.entity
                     and typed.resource_type = ${resourceType}::text)`
    : sql`true`
  return {
    find,
    fields,
    from: needs => sql`${base} o ${joinsInOrder(operationJoins, needs)}`,
    scope: sql`${mine} and ${ofType}`,
    orders: kind === 'open' ? [BY_KEY] : [BY_KEY, BY_END],
    orderFor: filter => (kind === 'open' || asksForJobs(filter, find) ? BY_KEY : BY_END),
    among: keysIn,
    ...(resourceType === undefined && {
      byJob: {
        namesJobs: filter => asksForJobs(filter, find),
        jobs: limit => sql`select count(*)::int as count from (select from ${jobs} limit ${limit}::int) looked_at`,
        from: needs => sql`${operationsByJob(base, jobs, kind)} o ${joinsInOrder(operationJoins, needs)}`,
      },
    }),
  }
}

/** The jobs of an organization that can have such operations, as `job j where …`. */
function jobsWith(kind: OperationKind, organization: number): SqlFragment {
  const open = sql`and j.status in ('IDLE', 'SCHEDULED', 'IN_PROGRESS', 'PAUSED', 'CANCELLING_BY_USER', 'CANCELLING_BY_ENGINE')`
  return sql`job j where j.organization = ${organization}::int ${kind === 'open' ? open : sql.empty}`
}

/** Of jobs whose month is going, the operations are gone already, and the counters are not: they count for nothing. */
function operationsByJob(base: SqlFragment, jobs: SqlFragment, kind: OperationKind): SqlFragment {
  return sql`(
    select j.job, (${OPERATIONS_COUNTED[kind]}) as times from (select j.job from ${jobs}) j cross join ${exactCounters}
     where exists (select from ${base} o where o.job = j.job))`
}

/** Whether a filter holds for operations of certain jobs alone, or for certain operations. */
function asksForJobs(filter: Filter, find: (name: string) => SearchField | undefined): boolean {
  if (filter.kind === 'and') return filter.parts.some(part => asksForJobs(part, find))
  if (filter.kind !== 'anyOf') return false
  const name = find(filter.field)?.names[0]
  return name === 'operations.jobId' || name === 'operations.operationId'
}
