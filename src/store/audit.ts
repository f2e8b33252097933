/** The lines of the audit log. They are added and read, never changed; only age removes them. */
import type { Database, Queryable } from './database.ts'
import { type SqlFragment, sql, statement } from './statement.ts'

/** Who did what, when, from where, with which result. */
export interface AuditEntry {
  readonly at: Date
  /** the organization acted in; null where nobody was let in */
  readonly organization: number | null
  readonly user: string | null
  readonly address: string
  readonly method: string
  readonly path: string
  readonly status: number
  readonly errorCode: string | null
  readonly requestId: string
}

type Columns = [
  Date[],
  (number | null)[],
  (string | null)[],
  string[],
  string[],
  string[],
  number[],
  (string | null)[],
  string[],
]

// A failed login is told to the organization whose user it names.
const insert = statement<unknown, Columns>(
  'audit_insert',
  `insert into audit (at, organization, user_email, address, method, path, status, error_code, request_id)
   select i.at, coalesce(i.organization, u.organization), i.user_email, i.address, i.method, i.path, i.status, i.error_code,
          i.request_id
     from unnest($1::timestamptz[], $2::int[], $3::text[], $4::text[], $5::text[], $6::text[], $7::int[], $8::text[], $9::text[])
          with ordinality
       as i(at, organization, user_email, address, method, path, status, error_code, request_id, place)
     left join users u on i.organization is null and lower(u.email) = lower(i.user_email)
    order by i.place`,
)

/** Adds lines, in their order, in one statement. */
export async function insertAudit(db: Queryable, entries: readonly AuditEntry[]): Promise<void> {
  await db.count(insert, [
    entries.map(entry => entry.at),
    entries.map(entry => entry.organization),
    entries.map(entry => entry.user),
    entries.map(entry => entry.address),
    entries.map(entry => entry.method),
    entries.map(entry => entry.path),
    entries.map(entry => entry.status),
    entries.map(entry => entry.errorCode),
    entries.map(entry => entry.requestId),
  ])
}

/** Which lines are wanted, of one organization. */
export interface AuditSelection {
  readonly organization: number
  readonly user: string | undefined
  readonly from: Date | undefined
  readonly to: Date | undefined
}

/** Lines are counted up to here; a page's `of` is exact below. */
const AUDIT_COUNT_MAX = 100_000

function chosen({ organization, user, from, to }: AuditSelection): SqlFragment {
  const conditions = [sql`organization = ${organization}`]
  if (user !== undefined) conditions.push(sql`lower(user_email) = lower(${user})`)
  if (from !== undefined) conditions.push(sql`at >= ${from}`)
  if (to !== undefined) conditions.push(sql`at < ${to}`)
  return sql.join(conditions, sql` and `)
}

const columns = sql`at, organization, user_email as "user", address, method, path, status, error_code as "errorCode",
  request_id as "requestId"`

function newestFirst(selection: AuditSelection): SqlFragment {
  return sql`select ${columns} from audit where ${chosen(selection)} order by entry desc`
}

/** A page of lines, newest first, and how many there are in all. */
export async function listAudit(
  db: Queryable,
  selection: AuditSelection,
  { offset, size }: { readonly offset: number; readonly size: number },
): Promise<{ entries: AuditEntry[]; count: number }> {
  const [counted] = await db.query<{ count: number }>(
    sql`select count(*)::int as count
          from (select from audit where ${chosen(selection)} limit ${AUDIT_COUNT_MAX}) as bounded`,
  )
  const count = counted?.count ?? 0
  if (offset >= count) return { entries: [], count }
  const entries = await db.query<AuditEntry>(sql`${newestFirst(selection)} limit ${size} offset ${offset}`)
  return { entries, count }
}

/** All lines chosen, newest first, batch by batch. */
export function streamAudit(db: Database, selection: AuditSelection): AsyncGenerator<AuditEntry[], void, void> {
  return db.stream<AuditEntry>(newestFirst(selection))
}

const forget = statement<unknown, [Date]>('audit_forget', 'delete from audit where at < $1')

/** Removes lines that are older. */
export async function forgetAudit(db: Queryable, before: Date): Promise<void> {
  await db.count(forget, [before])
}
