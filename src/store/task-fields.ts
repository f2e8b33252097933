/**
 * The one table of what tasks can be searched by: every name of the interface (`tasks.<path>`) and the flat ones. Over `task t`.
 * Serves: Endpoints (Tasks), Task.
 */
import { TASK_STATES } from '../domain/task.ts'
import { parameterFieldOf, requestFields } from './request-fields.ts'
import { elements, field, object, pathsAbove, type SearchField, words } from './search-field.ts'
import { type SqlFragment, sql } from './statement.ts'

const at = (path: string): SqlFragment => sql`t.schedule #> ${path.split('.')}::text[]`
const textAt = (path: string): SqlFragment => sql`t.schedule #>> ${path.split('.')}::text[]`
const scheduleText = (path: string) => field('text', `tasks.schedule.${path}`, sql`(${textAt(path)})`)
const scheduleNumber = (path: string) => field('number', `tasks.schedule.${path}`, sql`(${textAt(path)})::float8`)
const scheduleDate = (path: string) => field('date', `tasks.schedule.${path}`, sql`(${textAt(path)})::timestamptz`)
const scheduleList = (path: string) =>
  field('any', `tasks.schedule.${path}`, sql`element`, elements(sql`(${at(path)})`))

const state = (names: string) =>
  field(
    'text',
    names,
    sql`t.state::text`,
    words(TASK_STATES, found => sql`t.state = any(${found}::task_state[])`),
  )

const SCHEDULE: readonly SearchField[] = [
  scheduleDate('start.date'),
  scheduleDate('stop.date'),
  scheduleNumber('stop.executions'),
  scheduleNumber('repeating.period.each'),
  scheduleText('repeating.period.unit'),
  scheduleText('repeating.pattern.time'),
  scheduleList('repeating.pattern.weekly.days'),
  scheduleNumber('repeating.pattern.monthly.day'),
  scheduleList('repeating.pattern.monthly.months'),
  scheduleNumber('repeating.pattern.yearly.day'),
  scheduleText('repeating.pattern.yearly.month'),
  scheduleList('repeating.pattern.yearly.months'),
]
const schedulePaths = SCHEDULE.map(({ names: [name = ''] }) => name.slice('tasks.schedule.'.length))

const FIELDS: readonly SearchField[] = [
  field('text', 'tasks.id taskId task.id', sql`t.id`, { indexed: true }),
  field('text', 'tasks.name taskName', sql`t.name`),
  field('text', 'tasks.description taskDescription', sql`t.description`),
  field('text', 'tasks.user taskUser', sql`t.user_email`),
  field('boolean', 'tasks.active taskActive', sql`t.active`),
  state('tasks.state taskState'),
  state('tasks.status taskStatus'),
  object('tasks.schedule', sql`t.schedule`),
  ...SCHEDULE,
  ...pathsAbove(schedulePaths).map(path => object(`tasks.schedule.${path}`, at(path))),
  object('tasks.job.request', sql`t.request`),
  field('text', 'tasks.job.request.name operationName jobOperationName', sql`t.request ->> 'name'`),
  ...requestFields('tasks.job.request', sql`t.request`),
  field('number', 'tasks.report.executions', sql`t.executions`),
  field('number', 'tasks.report.skipped', sql`t.skipped`),
  field('date', 'tasks.report.nextDate', sql`t.waiting_at`),
]

/** The fields of tasks; each shows where its path says. */
export const TASK_FIELDS: readonly SearchField[] = FIELDS.map(each => ({
  ...each,
  path: each.names[0]?.slice('tasks.'.length) ?? '',
}))

/** A parameter of the template by its path, which no table can list; undefined for any other name. */
export const taskParameterField = parameterFieldOf('tasks', 'job.request', sql`t.request`)
