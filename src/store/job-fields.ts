/**
 * The one table of what jobs can be searched by: every name of the interface (`jobs.<path>`) and every flat name leads to a column.
 * Over `job j`; with `task t` and the exact `counters` where they are needed. Serves: Job and operation search.
 */
import { parseJobId } from '../domain/identity.ts'
import { JOB_STATUSES } from '../domain/job.ts'
import { OPERATIONS_COUNTED } from './counters.ts'
import { parameterFieldOf, requestFields } from './request-fields.ts'
import { elements, type FieldTraits, field, ids, object, type SearchField, words } from './search-field.ts'
import { type SqlFragment, sql } from './statement.ts'

const counted: FieldTraits = { needs: ['counters'] }

/** A counter, or a sum of them. */
const counter = (names: string, value: SqlFragment): SearchField => field('number', names, value, counted)

const open = sql`(${OPERATIONS_COUNTED.open})`
const cancelled = sql`(counters.by_user + counters.by_engine + counters.by_timeout + counters.by_external_timeout
  + counters.by_external + counters.by_already_in_progress)`
const finished = sql`(counters.successful + counters.error + ${cancelled})`
const late = sql`(counters.oot_successful + counters.oot_error)`

/** A job's public id. */
const jobIdSql = sql`lpad(to_hex(j.job), 16, '0')`

/** The fields. Paths are those of the job as read. */
const FIELDS: readonly SearchField[] = [
  field('text', 'jobs.id jobId job.id', jobIdSql, {
    sort: sql`j.job`,
    ...ids(parseJobId, jobs => sql`j.job = any(${jobs}::bigint[])`),
  }),
  field('text', 'jobs.taskId taskId', sql`t.id`, { needs: ['task'] }),
  field('text', 'jobs.request.name operationName jobOperationName job.name', sql`j.name`),
  field('text', 'jobs.request.user jobUser job.user', sql`j.user_email`),
  object('jobs.request', sql`(j.request || jsonb_build_object('user', j.user_email))`),
  ...requestFields('jobs.request', sql`j.request`, {
    active: 'jobActive',
    notify: 'jobNotify',
    callback: 'jobCallback',
    userNotes: 'jobUserNotes',
    resourceType: 'jobResourceType',
    parameters: 'jobParameters',
    'target.append.tags': 'jobTag',
  }),
  field('date', 'jobs.report.execution.activatedDate jobActivatedDate', sql`j.activated_at`),
  field('date', 'jobs.report.execution.startedDate jobStartedDate', sql`j.started_at`),
  field('date', 'jobs.report.execution.finishedDate jobFinishedDate', sql`j.finished_at`),
  field('text', 'jobs.report.summary.status jobStatus jobState job.status', sql`j.status::text`, {
    ...words(JOB_STATUSES, found => sql`j.status = any(${found}::job_status[])`),
  }),
  counter('jobs.report.summary.total jobTotal jobEntityTotal', sql`(${open} + ${OPERATIONS_COUNTED.ended})`),
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

/** The fields of jobs; a field of the interface shows where its path says. */
export const JOB_FIELDS: readonly SearchField[] = FIELDS.map(each =>
  each.names[0]?.startsWith('jobs.') ? { ...each, path: each.names[0].slice('jobs.'.length) } : each,
)

/** A parameter of the request by its path, which no table can list; undefined for any other name. */
export const jobParameterField = parameterFieldOf('jobs', 'request', sql`j.request`)
