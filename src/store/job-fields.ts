/**
 * The one table of what jobs can be searched by: every name of the interface (`jobs.<path>`) and every flat name leads to a column.
 * Over `job j`; with `task t` and the exact `counters` where they are needed. Serves: Job and operation search.
 */
import { parseJobId } from '../domain/identity.ts'
import { JOB_STATUSES } from '../domain/job.ts'
import { elements, type FieldTraits, field, ids, type SearchField, words } from './search-field.ts'
import { type SqlFragment, sql } from './statement.ts'

const counted: FieldTraits = { needs: ['counters'] }

/** A counter, or a sum of them. */
const counter = (names: string, value: SqlFragment): SearchField => field('number', names, value, counted)

const open = sql`(counters.scheduled + counters.pending_execution + counters.waiting_for_connection + counters.started)`
const cancelled = sql`(counters.by_user + counters.by_engine + counters.by_timeout + counters.by_external_timeout
  + counters.by_external + counters.by_already_in_progress)`
const finished = sql`(counters.successful + counters.error + ${cancelled})`
const late = sql`(counters.oot_successful + counters.oot_error)`

/** A job's public id. */
export const jobIdSql = sql`lpad(to_hex(j.job), 16, '0')`

const target = sql`coalesce(j.request #> '{target,append}', '{}')`

/** The fields. Paths are those of the job as read. */
const FIELDS: readonly SearchField[] = [
  field('text', 'jobs.id jobId job.id', jobIdSql, {
    sort: sql`j.job`,
    ...ids(parseJobId, jobs => sql`j.job = any(${jobs}::bigint[])`),
  }),
  field('text', 'jobs.taskId taskId', sql`t.id`, { needs: ['task'] }),
  field('text', 'jobs.request.name operationName jobOperationName job.name', sql`j.name`),
  field('text', 'jobs.request.user jobUser job.user', sql`j.user_email`),
  field('boolean', 'jobs.request.active jobActive', sql`(j.request ->> 'active')::boolean`),
  field('boolean', 'jobs.request.notify jobNotify', sql`(j.request ->> 'notify')::boolean`),
  field('text', 'jobs.request.callback jobCallback', sql`nullif(j.request ->> 'callback', '')`),
  field('text', 'jobs.request.userNotes jobUserNotes', sql`j.request ->> 'userNotes'`),
  field('text', 'jobs.request.resourceType jobResourceType', sql`j.request ->> 'resourceType'`),
  field('any', 'jobs.request.parameters jobParameters', sql`j.request -> 'parameters'`),
  field('date', 'jobs.request.schedule.start.date', sql`(j.request #>> '{schedule,start,date}')::timestamptz`),
  field('number', 'jobs.request.schedule.start.delayed', sql`(j.request #>> '{schedule,start,delayed}')::float8`),
  field('date', 'jobs.request.schedule.stop.date', sql`(j.request #>> '{schedule,stop,date}')::timestamptz`),
  field('number', 'jobs.request.schedule.stop.delayed', sql`(j.request #>> '{schedule,stop,delayed}')::float8`),
  field('any', 'jobs.request.schedule.window', sql`j.request #> '{schedule,window}'`),
  field(
    'number',
    'jobs.request.schedule.scattering.maxSpread',
    sql`(j.request #>> '{schedule,scattering,maxSpread}')::float8`,
  ),
  field(
    'text',
    'jobs.request.schedule.scattering.strategy.field',
    sql`j.request #>> '{schedule,scattering,strategy,field}'`,
  ),
  field(
    'number',
    'jobs.request.schedule.scattering.strategy.factor',
    sql`(j.request #>> '{schedule,scattering,strategy,factor}')::float8`,
  ),
  field(
    'number',
    'jobs.request.schedule.scattering.strategy.warningMaxRate',
    sql`(j.request #>> '{schedule,scattering,strategy,warningMaxRate}')::float8`,
  ),
  field('number', 'jobs.request.operationParameters.ackTimeout', sql`j.ack_timeout_ms`),
  field('number', 'jobs.request.operationParameters.timeout', sql`j.timeout_ms`),
  field('number', 'jobs.request.operationParameters.retries', sql`j.retries`),
  field('number', 'jobs.request.operationParameters.retriesDelay', sql`j.retries_delay_ms`),
  field('text', 'jobs.request.operationParameters.retryResultList', sql`result`, {
    some: condition => sql`exists (select 1 from unnest(j.retry_results) as result where ${condition})`,
    all: sql`to_jsonb(j.retry_results)`,
  }),
  field('any', 'jobs.request.target.append.entities', sql`element`, elements(sql`${target} -> 'entities'`)),
  field('any', 'jobs.request.target.append.tags jobTag', sql`element`, elements(sql`${target} -> 'tags'`)),
  field('any', 'jobs.request.target.append.filter', sql`${target} -> 'filter'`),
  field(
    'any',
    'jobs.request.target.append.entitiesWithParameters',
    sql`element -> 'id'`,
    elements(sql`${target} -> 'entitiesWithParameters'`),
  ),
  field('any', 'jobs.request.target.filter', sql`j.request #> '{target,filter}'`),
  field('date', 'jobs.report.execution.activatedDate jobActivatedDate', sql`j.activated_at`),
  field('date', 'jobs.report.execution.startedDate jobStartedDate', sql`j.started_at`),
  field('date', 'jobs.report.execution.finishedDate jobFinishedDate', sql`j.finished_at`),
  field('text', 'jobs.report.summary.status jobStatus jobState job.status', sql`j.status::text`, {
    ...words(JOB_STATUSES, found => sql`j.status = any(${found}::job_status[])`),
  }),
  counter('jobs.report.summary.total jobTotal jobEntityTotal', sql`(${open} + ${finished} + ${late})`),
  counter('jobs.report.summary.inProgress.total jobInProgressTotal', open),
  counter('jobs.report.summary.inProgress.scheduled jobInProgressScheduled', sql`counters.scheduled`),
  counter(
    'jobs.report.summary.inProgress.pendingExecution jobInProgressPendingExecution',
    sql`counters.pending_execution`,
  ),
  counter(
    'jobs.report.summary.inProgress.waitingForConnection jobInProgressWaitingForConnection',
    sql`counters.waiting_for_connection`,
  ),
  counter('jobs.report.summary.inProgress.started jobInProgressStarted', sql`counters.started`),
  counter('jobs.report.summary.finished.total jobFinishedTotal', finished),
  counter('jobs.report.summary.finished.successful jobFinishedSuccessful', sql`counters.successful`),
  counter('jobs.report.summary.finished.error jobFinishedError', sql`counters.error`),
  counter('jobs.report.summary.finished.cancelled.total jobFinishedCancelledTotal', cancelled),
  counter('jobs.report.summary.finished.cancelled.byUser jobFinishedCancelledByUser', sql`counters.by_user`),
  counter('jobs.report.summary.finished.cancelled.byEngine jobFinishedCancelledByEngine', sql`counters.by_engine`),
  counter('jobs.report.summary.finished.cancelled.byTimeout jobFinishedCancelledByTimeout', sql`counters.by_timeout`),
  counter(
    'jobs.report.summary.finished.cancelled.byExternalTimeout jobFinishedCancelledByExternalTimeout',
    sql`counters.by_external_timeout`,
  ),
  counter(
    'jobs.report.summary.finished.cancelled.byExternal jobFinishedCancelledByExternal',
    sql`counters.by_external`,
  ),
  counter(
    'jobs.report.summary.finished.cancelled.byAlreadyInProgress jobFinishedCancelledByAlreadyInProgress',
    sql`counters.by_already_in_progress`,
  ),
  counter('jobs.report.summary.finishedOutOfTime.total jobFinishedOotTotal', late),
  counter('jobs.report.summary.finishedOutOfTime.successful jobFinishedOotSuccessful', sql`counters.oot_successful`),
  counter('jobs.report.summary.finishedOutOfTime.error jobFinishedOotError', sql`counters.oot_error`),
  field('text', 'jobs.report.summary.errorCode jobErrorCode', sql`j.error_code`),
  field('text', 'jobs.report.summary.errorDescription jobErrorDescription', sql`j.error_description`),
  field('any', 'jobs.report.target', sql`nullif(j.refused, '{}')`),
  field('any', 'jobs.report.warnings', sql`element -> 'code'`, elements(sql`nullif(j.warnings, '[]')`)),
  field('text', 'taskName', sql`t.name`, { needs: ['task'] }),
  field('text', 'taskState', sql`t.state::text`, { needs: ['task'] }),
]

const PARAMETERS = 'jobs.request.parameters.'
const PARAMETER_DEPTH_MAX = 20

/** The fields of jobs; a field of the interface shows where its path says. */
export const JOB_FIELDS: readonly SearchField[] = FIELDS.map(each =>
  each.names[0]?.startsWith('jobs.') ? { ...each, path: each.names[0].slice('jobs.'.length) } : each,
)

/** A parameter of the request by its path, which no table can list; undefined for any other name. */
export function jobParameterField(name: string): SearchField | undefined {
  if (!name.startsWith(PARAMETERS)) return undefined
  const below = name.slice(PARAMETERS.length).split('.')
  if (below.length > PARAMETER_DEPTH_MAX || below.includes('__proto__')) return undefined
  return field('any', name, sql`(j.request #> ${['parameters', ...below]}::text[])`, {
    path: name.slice('jobs.'.length),
  })
}
