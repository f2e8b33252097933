/** The operation types of organizations, as rows. Refuses to judge them. */
import type { JobStatus } from '../domain/job.ts'
import type { OperationType } from '../domain/operation-type.ts'
import type { Queryable } from './database.ts'
import { statement } from './statement.ts'

/** A type as stored, before what is empty is left out. */
interface OperationTypeRow {
  name: string
  title: string | null
  description: string | null
  applicableTo: OperationType['applicableTo']
  models: OperationType['models']
  parameters: OperationType['parameters']
  steps: OperationType['steps']
  profiles: string[] | null
  fromCatalog: string | null
}

const columns = `name, title, description, applicable_to as "applicableTo", models, parameters, steps, profiles,
  from_catalog as "fromCatalog"`

const insert = statement<unknown, readonly unknown[]>(
  'operation_types_insert',
  `insert into operation_type (organization, name, title, description, applicable_to, models, parameters, steps, profiles,
                               from_catalog, created_at)
   select $1, i.name, i.title, i.description, array(select jsonb_array_elements_text(i.applicable_to)), i.models, i.parameters,
          i.steps, case when i.profiles is null then null else array(select jsonb_array_elements_text(i.profiles)) end,
          i.from_catalog, $2
     from unnest($3::text[], $4::text[], $5::text[], $6::jsonb[], $7::jsonb[], $8::jsonb[], $9::jsonb[], $10::jsonb[], $11::text[])
       as i(name, title, description, applicable_to, models, parameters, steps, profiles, from_catalog)
   on conflict do nothing`,
)

/** Stores types of an organization; answers how many were new. */
export function insertOperationTypes(
  db: Queryable,
  organization: number,
  types: readonly OperationType[],
  now: Date,
): Promise<number> {
  return db.count(insert, [
    organization,
    now,
    types.map(type => type.name),
    types.map(type => type.title ?? null),
    types.map(type => type.description ?? null),
    types.map(type => JSON.stringify(type.applicableTo)),
    types.map(type => JSON.stringify(type.models)),
    types.map(type => JSON.stringify(type.parameters)),
    types.map(type => JSON.stringify(type.steps)),
    types.map(type => (type.profiles ? JSON.stringify(type.profiles) : null)),
    types.map(type => type.fromCatalog ?? null),
  ])
}

const update = statement<unknown, readonly unknown[]>(
  'operation_types_update',
  `update operation_type
      set name = $3, title = $4, description = $5, applicable_to = $6, models = $7, parameters = $8, steps = $9, profiles = $10
    where organization = $1 and name = $2`,
)

/** Replaces a type, by the name it had; answers whether it was there. */
export async function updateOperationType(
  db: Queryable,
  organization: number,
  name: string,
  type: OperationType,
): Promise<boolean> {
  const changed = await db.count(update, [
    organization,
    name,
    type.name,
    type.title ?? null,
    type.description ?? null,
    type.applicableTo,
    JSON.stringify(type.models),
    type.parameters,
    JSON.stringify(type.steps),
    type.profiles ?? null,
  ])
  return changed > 0
}

const read = statement<OperationTypeRow, [number, string]>(
  'operation_types_read',
  `select ${columns} from operation_type where organization = $1 and name = $2`,
)
const list = statement<OperationTypeRow, [number]>(
  'operation_types_list',
  `select ${columns} from operation_type where organization = $1 order by name`,
)
const remove = statement<unknown, [number, string]>(
  'operation_types_remove',
  'delete from operation_type where organization = $1 and name = $2',
)

const lock = statement<OperationTypeRow, [number, string]>(
  'operation_types_lock',
  `select ${columns} from operation_type where organization = $1 and name = $2 for update`,
)
const count = statement<{ count: number }, [number]>(
  'operation_types_count',
  'select count(*)::int as count from operation_type where organization = $1',
)

/** How many types an organization has. */
export async function countOperationTypes(db: Queryable, organization: number): Promise<number> {
  return (await db.run(count, [organization]))[0]?.count ?? 0
}

/** One type, held until the transaction ends, or undefined. */
export async function lockOperationType(
  db: Queryable,
  organization: number,
  name: string,
): Promise<OperationType | undefined> {
  const [row] = await db.run(lock, [organization, name])
  return row && fromRow(row)
}

/** One type of an organization, or undefined. */
export async function readOperationType(
  db: Queryable,
  organization: number,
  name: string,
): Promise<OperationType | undefined> {
  const [row] = await db.run(read, [organization, name])
  return row && fromRow(row)
}

/** All types of an organization, by name. */
export async function listOperationTypes(db: Queryable, organization: number): Promise<OperationType[]> {
  return (await db.run(list, [organization])).map(fromRow)
}

/** Removes a type; answers whether it was there. */
export async function removeOperationType(db: Queryable, organization: number, name: string): Promise<boolean> {
  return (await db.count(remove, [organization, name])) > 0
}

const lockJobs = statement<{ job: bigint; status: JobStatus }, [number, string]>(
  'operation_types_lock_jobs',
  `select job, status from job
    where organization = $1 and name = $2
      and status in ('IDLE', 'SCHEDULED', 'IN_PROGRESS', 'PAUSED', 'CANCELLING_BY_USER', 'CANCELLING_BY_ENGINE')
    order by job for no key update`,
)

/** The jobs of a type that have not ended, held in order until the transaction ends. */
export function lockJobsOfType(
  db: Queryable,
  organization: number,
  name: string,
): Promise<{ job: bigint; status: JobStatus }[]> {
  return db.run(lockJobs, [organization, name])
}

/** One lock per organization, under a number of its own for what it locks. */
const shareNames = statement<unknown, [number]>(
  'operation_types_share_names',
  'select pg_advisory_xact_lock_shared(227274, $1)',
)
const holdNames = statement<unknown, [number]>('operation_types_hold_names', 'select pg_advisory_xact_lock(227274, $1)')

/** Taken before the type of a new job or task is read: its name stays until the transaction ends. */
export async function shareTypeNames(db: Queryable, organization: number): Promise<void> {
  await db.run(shareNames, [organization])
}

/** Taken by whoever takes a name away, once he has what is known to bear it: what was made under it meanwhile is seen from then on. */
export async function holdTypeNames(db: Queryable, organization: number): Promise<void> {
  await db.run(holdNames, [organization])
}

const renameInTasks = statement<unknown, [bigint[], string]>(
  'operation_types_rename_in_tasks',
  `update task set request = jsonb_set(request, '{name}', to_jsonb($2::text)) where task = any($1::bigint[])`,
)
const renameInJobs = statement<unknown, [bigint[], string]>(
  'operation_types_rename_in_jobs',
  `update job set name = $2, request = jsonb_set(request, '{name}', to_jsonb($2::text)) where job = any($1::bigint[])`,
)

/** Has tasks and jobs, held by this transaction, run a type under its new name. */
export async function renameInWork(
  db: Queryable,
  { tasks, jobs }: { readonly tasks: readonly bigint[]; readonly jobs: readonly bigint[] },
  name: string,
): Promise<void> {
  if (tasks.length > 0) await db.run(renameInTasks, [[...tasks], name])
  if (jobs.length > 0) await db.run(renameInJobs, [[...jobs], name])
}

function fromRow({ title, description, profiles, fromCatalog, ...type }: OperationTypeRow): OperationType {
  return {
    ...type,
    ...(title !== null && { title }),
    ...(description !== null && { description }),
    ...(profiles && { profiles }),
    ...(fromCatalog !== null && { fromCatalog }),
  }
}
