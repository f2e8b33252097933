/** The connector functions of organizations and their versions, as rows. Refuses to run or judge them. */
import type { Queryable } from './database.ts'
import { statement } from './statement.ts'

/** A function as stored, with the source of the version that runs. */
export interface ConnectorFunctionRow {
  readonly name: string
  readonly description: string | null
  readonly route: string | null
  readonly version: number
  readonly source: string
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** What its author decides of a function, beside its source. */
export type ConnectorFunctionMembers = Pick<ConnectorFunctionRow, 'name' | 'description' | 'route'>

export interface FunctionVersionRow {
  readonly version: number
  readonly source: string
  readonly user: string
  readonly createdAt: Date
}

const columns = `f.name, f.description, f.route, f.version, v.source, f.created_at as "createdAt", f.updated_at as "updatedAt"`
const joined = `connector_function f join connector_function_version v
       on v.organization = f.organization and v.name = f.name and v.version = f.version`

const list = statement<ConnectorFunctionRow, [number]>(
  'connector_functions_list',
  `select ${columns} from ${joined} where f.organization = $1 order by f.name`,
)
const read = statement<ConnectorFunctionRow, [number, string]>(
  'connector_functions_read',
  `select ${columns} from ${joined} where f.organization = $1 and f.name = $2`,
)
const lock = statement<ConnectorFunctionRow, [number, string]>(
  'connector_functions_lock',
  `select ${columns} from ${joined} where f.organization = $1 and f.name = $2 for update of f`,
)
const ofRoute = statement<ConnectorFunctionRow, [number, string]>(
  'connector_functions_of_route',
  `select ${columns} from ${joined} where f.organization = $1 and f.route = $2`,
)

/** The functions of an organization, by name. */
export function listFunctions(db: Queryable, organization: number): Promise<ConnectorFunctionRow[]> {
  return db.run(list, [organization])
}

export async function readFunction(
  db: Queryable,
  organization: number,
  name: string,
): Promise<ConnectorFunctionRow | undefined> {
  return (await db.run(read, [organization, name]))[0]
}

/** The function, held for this transaction. */
export async function lockFunction(
  db: Queryable,
  organization: number,
  name: string,
): Promise<ConnectorFunctionRow | undefined> {
  return (await db.run(lock, [organization, name]))[0]
}

export async function readFunctionOfRoute(
  db: Queryable,
  organization: number,
  route: string,
): Promise<ConnectorFunctionRow | undefined> {
  return (await db.run(ofRoute, [organization, route]))[0]
}

const insert = statement<unknown, [number, string, string | null, string | null, Date]>(
  'connector_functions_insert',
  `insert into connector_function (organization, name, description, route, version, created_at, updated_at)
   values ($1, $2, $3, $4, 1, $5, $5) on conflict do nothing`,
)

/** Stores a function at version 1, whose source is to follow; answers false where its name or its route is taken. */
export async function insertFunction(
  db: Queryable,
  organization: number,
  { name, description, route }: ConnectorFunctionMembers,
  now: Date,
): Promise<boolean> {
  return (await db.count(insert, [organization, name, description, route, now])) === 1
}

const update = statement<unknown, [number, string, string | null, string | null, number, Date]>(
  'connector_functions_update',
  `update connector_function set description = $3, route = $4, version = $5, updated_at = $6
    where organization = $1 and name = $2`,
)

export async function updateFunction(
  db: Queryable,
  organization: number,
  { name, description, route, version }: ConnectorFunctionMembers & { readonly version: number },
  now: Date,
): Promise<void> {
  await db.count(update, [organization, name, description, route, version, now])
}

const remove = statement<unknown, [number, string]>(
  'connector_functions_remove',
  'delete from connector_function where organization = $1 and name = $2',
)

/** Removes a function with all its versions; answers whether it was there. */
export async function removeFunction(db: Queryable, organization: number, name: string): Promise<boolean> {
  return (await db.count(remove, [organization, name])) === 1
}

const versions = statement<FunctionVersionRow, [number, string, number | null]>(
  'connector_functions_versions',
  `select version, source, user_email as "user", created_at as "createdAt" from connector_function_version
    where organization = $1 and name = $2 and ($3::int is null or version = $3) order by version desc`,
)

/** The versions of a function that are kept, newest first; or the one of that number. */
export function readVersions(
  db: Queryable,
  organization: number,
  name: string,
  version: number | null = null,
): Promise<FunctionVersionRow[]> {
  return db.run(versions, [organization, name, version])
}

const insertVersion = statement<{ version: number }, [number, string, string, string, Date]>(
  'connector_functions_insert_version',
  `insert into connector_function_version (organization, name, version, source, user_email, created_at)
   select $1, $2, coalesce(max(version), 0) + 1, $3, $4, $5 from connector_function_version where organization = $1 and name = $2
   returning version`,
)

/** Stores the next version of a function; answers its number. */
export async function addVersion(
  db: Queryable,
  organization: number,
  name: string,
  { source, user }: { readonly source: string; readonly user: string },
  now: Date,
): Promise<number> {
  const [row] = await db.run(insertVersion, [organization, name, source, user, now])
  return row!.version
}

const trim = statement<unknown, [number, string, number, number]>(
  'connector_functions_trim',
  `delete from connector_function_version where organization = $1 and name = $2 and version <> $3
      and version not in (select version from connector_function_version where organization = $1 and name = $2
                           order by version desc limit $4)`,
)

/** Removes all but the newest versions; the one that runs always stays. */
export async function trimVersions(
  db: Queryable,
  organization: number,
  name: string,
  running: number,
  keep: number,
): Promise<void> {
  await db.count(trim, [organization, name, running, keep])
}

const flowOf = statement<{ flow: string | null }, [number, bigint]>(
  'connector_functions_flow_of_device',
  'select flow from entity where partition = $1 and entity = $2',
)

/** How a device is provisioned to be reached; null where the service chooses. */
export async function readFlowOfDevice(
  db: Queryable,
  { partition, entity }: { readonly partition: number; readonly entity: bigint },
): Promise<string | null> {
  return (await db.run(flowOf, [partition, entity]))[0]?.flow ?? null
}
