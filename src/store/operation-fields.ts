/**
 * The one table of what operations can be searched by: every name leads to a column, for open operations and for ended ones. Over
 * `o`, which is `operation` or `operation_ended`, with `job j`, `detail d`, `entity e`, `former_entity f`, `task t` and `counters` where they are needed.
 * Serves: Job and operation search.
 */
import type { FieldType } from '../domain/filter.ts'
import { type OperationKey, parseJobId, parseOperationId, partitionOf } from '../domain/identity.ts'
import { OPERATION_RESULTS, OPERATION_STATUSES, type OperationStatus } from '../domain/operation.ts'
import { COUNTERS_OF_SUCCESS, ENDED_COUNTERS } from './ended-counters.ts'
import { JOB_FIELDS, jobParameterField } from './job-fields.ts'
import { elements, type FieldTraits, field, ids, type SearchField, words } from './search-field.ts'
import { type SqlFragment, sql } from './statement.ts'

/** Which operations: those not final, or those that are. */
export type OperationKind = 'open' | 'ended'

const PENDING = 'OPERATION_PENDING'

/** An operation's public id. */
const operationIdSql = sql`(lpad(to_hex(o.job), 16, '0') || '-' || lpad(to_hex(o.partition::int), 2, '0') || '-'
  || lpad(to_hex(o.entity), 16, '0'))`

/** The condition that an operation is one of these. */
export function keysIn(keys: readonly OperationKey[]): SqlFragment {
  return sql`(o.job, o.partition, o.entity) in (
    select key.job, key.partition, key.entity
      from unnest(${keys.map(key => key.job)}::bigint[], ${keys.map(key => key.partition)}::smallint[],
                  ${keys.map(key => key.entity)}::bigint[]) as key(job, partition, entity))`
}

const entitiesIn = (organization: number, identifiers: readonly string[]): SqlFragment =>
  sql`(o.partition, o.entity) in (
    select found.partition, found.entity
      from unnest(${identifiers.map(each => partitionOf(organization, each))}::smallint[], ${identifiers}::text[])
             as asked(partition, identifier)
      join entity found on found.partition = asked.partition and found.organization = ${organization}::int
                       and found.identifier = asked.identifier
    union all
    select gone.partition, gone.entity
      from unnest(${identifiers.map(each => partitionOf(organization, each))}::smallint[], ${identifiers}::text[])
             as asked(partition, identifier)
      join former_entity gone on gone.partition = asked.partition and gone.organization = ${organization}::int
                             and gone.identifier = asked.identifier)`

const provisioned = (names: string, id: string): SearchField =>
  field('any', names, sql`e.document -> ${id}::text`, { needs: ['entity'] })

/** The statuses that no successful operation has: an answer in time is FINISHED, a late one FINISHED_OUT_OF_TIME. */
export const STATUSES_WITHOUT_SUCCESS: readonly OperationStatus[] = ['TIMEOUT_CANCELLED', 'NOT_ALLOWED', 'CANCELLED']

/** A condition that no successful operation meets, so that the index of the unsuccessful ones answers it. */
const unsuccessfulWhere = (isSo: boolean, condition: SqlFragment): SqlFragment =>
  isSo ? sql`(${condition} and o.result <> 'SUCCESSFUL')` : condition

/** What an ended operation is counted as. */
const COUNTED_AS = field(
  'text',
  'operations.counter operationCounter',
  sql`(${JSON.stringify(Object.fromEntries(Object.entries(ENDED_COUNTERS).map(([name, counter]) => [counter, name])))}::jsonb ->> o.counter::text)`,
  words(
    Object.keys(ENDED_COUNTERS),
    found =>
      unsuccessfulWhere(
        !found.some(each => COUNTERS_OF_SUCCESS.includes(each)),
        sql`o.counter = any(${found.map(each => ENDED_COUNTERS[each])}::operation_counter[])`,
      ),
    found =>
      unsuccessfulWhere(
        COUNTERS_OF_SUCCESS.every(each => found.includes(each)),
        sql`o.counter <> all(${found.map(each => ENDED_COUNTERS[each])}::operation_counter[])`,
      ),
  ),
)

/** Of the last step of an ended operation that ended in ERROR; a step without a description has an empty one. */
const ofFailedStep = (names: string, member: string): SearchField =>
  field(
    'text',
    names,
    sql`(select coalesce(element ->> ${member}::text, '')
           from jsonb_array_elements(case jsonb_typeof(o.steps) when 'array' then o.steps end) with ordinality as step(element, place)
          where element ->> 'result' = 'ERROR' order by place desc limit 1)`,
  )

/** What is told of ended operations alone, and by no row of them. */
const OF_ENDED = [
  COUNTED_AS,
  // The request of a job holds those alone that were listed when it was made.
  field('boolean', 'operations.ownParameters operationOwnParameters', sql`(o.parameters is not null)`),
  ofFailedStep('operations.failedStep.name operationFailedStepName', 'name'),
  ofFailedStep('operations.failedStep.description operationFailedStepDescription', 'description'),
]

const RESULTS: Pick<SearchField, 'anyOf' | 'noneOf'> = words(
  OPERATION_RESULTS,
  found => sql`o.result = any(${found}::operation_result[])`,
  found => sql`o.result <> all(${found}::operation_result[])`,
)

/** A field of `job j`. */
const overJob = (each: SearchField): SearchField => ({ ofJob: true, ...each, needs: ['job', ...each.needs] })
const ofJob = (type: FieldType, names: string, value: SqlFragment, traits: FieldTraits = {}) =>
  overJob(field(type, names, value, traits))

/** The fields of an organization's operations. */
export function operationFields(kind: OperationKind, organization: number): readonly SearchField[] {
  const isOpen = kind === 'open'
  const own = isOpen ? { needs: ['detail'] } : {}
  const steps = isOpen ? sql`nullif(coalesce(o.steps, d.steps), '[]')` : sql`o.steps`
  const description = isOpen ? sql`coalesce(o.description, d.description)` : sql`o.description`
  const step = (names: string, member: SqlFragment): SearchField =>
    field('any', names, sql`element -> ${member}`, { ...elements(steps), ...own })
  return [
    field('text', 'operations.operationId operationId operation.id', operationIdSql, ids(parseOperationId, keysIn)),
    field('text', 'operations.jobId jobId jobs.id job.id', sql`lpad(to_hex(o.job), 16, '0')`, {
      sort: sql`o.job`,
      ofJob: true,
      ...ids(parseJobId, jobs => sql`o.job = any(${jobs}::bigint[])`),
    }),
    field('text', 'operations.entityId entityId', sql`coalesce(e.identifier, f.identifier)`, {
      needs: ['entity', 'former'],
      anyOf: values => entitiesIn(organization, values.map(String)),
      indexed: true,
    }),
    field('text', 'operations.resourceType resourceType', sql`coalesce(e.resource_type, f.resource_type)`, {
      needs: ['entity', 'former'],
    }),
    ofJob(
      'text',
      'operations.name operation.name operationName jobs.request.name jobOperationName job.name',
      sql`j.name`,
    ),
    field(
      'any',
      'operations.parameters operationParameters operation.parameters',
      sql`coalesce(${isOpen ? sql`d` : sql`o`}.parameters, j.request -> 'parameters')`,
      { needs: isOpen ? ['job', 'detail'] : ['job'] },
    ),
    ofJob('number', 'operations.attempts.total operationAttemptMax', sql`(j.retries + 1)`),
    field(
      'number',
      'operations.attempts.current operationAttemptCurrent',
      sql`(case when o.started_at is null then 0 else o.attempt end)`,
    ),
    ofJob(
      'boolean',
      'operations.notify operationNotify jobs.request.notify jobNotify',
      sql`(j.request ->> 'notify')::boolean`,
    ),
    ofJob(
      'date',
      'operations.execution.activatedDate jobs.report.execution.activatedDate jobActivatedDate',
      sql`j.activated_at`,
    ),
    field('date', 'operations.execution.startedDate operationInitDate', sql`o.started_at`),
    field(
      'date',
      'operations.execution.finishedDate operationEndDate',
      isOpen ? sql`null::timestamptz` : sql`o.ended_at`,
      {
        indexed: !isOpen,
      },
    ),
    ofJob('text', 'operations.user applicationEmail jobs.request.user jobUser job.user', sql`j.user_email`),
    field('text', 'operations.status operationStatus operation.status', sql`o.status::text`, {
      ...words(OPERATION_STATUSES, found =>
        unsuccessfulWhere(
          !isOpen && found.every(each => STATUSES_WITHOUT_SUCCESS.some(status => status === each)),
          sql`o.status = any(${found}::operation_status[])`,
        ),
      ),
    }),
    field(
      'text',
      'operations.result operationResult operation.result',
      isOpen ? sql`${PENDING}::text` : sql`o.result::text`,
      isOpen ? words(OPERATION_RESULTS, found => sql`${found.includes(PENDING)}::boolean`) : RESULTS,
    ),
    ...(isOpen ? [] : OF_ENDED),
    field('text', 'operations.description operationDetails', sql`nullif(${description}, '')`, {
      ...own,
      emptyIsNone: true,
    }),
    ofJob('date', 'operations.date operationDate', sql`coalesce(j.activated_at, j.created_at)`),
    ofJob(
      'text',
      'operations.userNotes operationUserNotes jobs.request.userNotes jobUserNotes',
      sql`nullif(j.request ->> 'userNotes', '')`,
      { emptyIsNone: true },
    ),
    field('any', 'operations.steps operationSteps operation.steps', steps, own),
    step('operations.steps[].name operationStepName', sql`'name'`),
    step('operations.steps[].result operationStepResult', sql`'result'`),
    step('operations.steps[].description operationStepDescription', sql`'description'`),
    step('operations.steps[].response operationStepResponse', sql`'response'`),
    step('operations.steps[].timestamp operationStepTimestamp', sql`'timestamp'`),
    field('date', 'operationTimeoutTimestamp', isOpen ? sql`o.deadline_at` : sql`null::timestamptz`),
    ofJob('date', 'operationScheduleTimestamp', sql`j.start_at`),
    ofJob('text', 'organizationName', sql`(select name from organization g where g.organization = j.organization)`),
    provisioned('channelName', 'provision.administration.channel'),
    provisioned('serviceGroupName', 'provision.administration.serviceGroup'),
    provisioned('workgroupName', 'provision.administration.workgroup'),
    field('text', 'tag', sql`tag`, {
      needs: ['entity'],
      some: condition => sql`exists (select 1 from unnest(e.tags) as tag where ${condition})`,
      all: sql`to_jsonb(e.tags)`,
    }),
  ].map(each => {
    const [name = ''] = each.names
    return name.startsWith('operations.') && !name.includes('[]') && !OF_ENDED.includes(each)
      ? { ...each, path: name.slice('operations.'.length) }
      : each
  })
}

/** What of the job an operation can be searched by besides: every field of jobs that is not one of operations already. */
export function jobFieldsOfOperations(taken: ReadonlySet<string>): readonly SearchField[] {
  return JOB_FIELDS.flatMap(each => {
    const names = each.names.filter(name => !taken.has(name))
    const { path: _, ...withoutPath } = each
    return names.length > 0 ? [overJob({ ...withoutPath, names })] : []
  })
}

/** A parameter of the job's request by its path; undefined for any other name. */
export function jobParameterOfOperations(name: string): SearchField | undefined {
  const found = jobParameterField(name)
  return found && overJob(found)
}
