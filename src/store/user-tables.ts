/**
 * Users and organizations as tables that can be searched: by what they say of themselves, never by what proves them. It runs nothing.
 * Serves: Authentication, Job and operation search.
 */
import { field, fieldTable, type SearchField } from './search-field.ts'
import { int8, type KeyOrder, type SearchTable, text } from './search-table.ts'
import { type SqlFragment, sql } from './statement.ts'

const described = (root: string, document: SqlFragment, names: string): SearchField[] =>
  names
    .split(' ')
    .map(name => field('text', `${root}.${name} ${name}`, sql`${document} ->> ${name}::text`, { path: name }))

const place = (name: string): SearchField =>
  field('text', `users.${name} ${name}`, sql`coalesce(u.document ->> ${name}::text, o.name)`, { path: name })

const USER_FIELDS: readonly SearchField[] = [
  field('text', 'users.email email', sql`u.email`, { path: 'email', indexed: true }),
  field('text', 'users.profile profile', sql`u.profile`, { path: 'profile' }),
  field('text', 'users.organization organization organizationName', sql`o.name`),
  place('domain'),
  place('workgroup'),
  ...described('users', sql`u.document`, 'name surname description countryCode langCode timezone'),
  field(
    'boolean',
    'users.forcePasswordChange forcePasswordChange',
    sql`(u.document ->> 'forcePasswordChange')::boolean`,
    {
      path: 'forcePasswordChange',
    },
  ),
]

const ORGANIZATION_FIELDS: readonly SearchField[] = [
  field('text', 'organizations.name name organizationName', sql`o.name`, { path: 'name', indexed: true }),
  ...described('organizations', sql`o.document`, 'description countryCode langCode timezone'),
]

const BY_EMAIL: KeyOrder = { name: 'email', columns: [text('email', sql`u.email`)], field: 'users.email' }
const BY_NUMBER: KeyOrder = { name: 'organization', columns: [int8('organization', sql`o.organization`)] }

const users = fieldTable(USER_FIELDS)
const organizations = fieldTable(ORGANIZATION_FIELDS)

/** The users of an organization, or of all. */
export function userTable(organization: number | 'all'): SearchTable<{ email: string }> {
  return {
    find: name => users.get(name),
    fields: USER_FIELDS,
    from: () => sql`users u join organization o on o.organization = u.organization`,
    scope: organization === 'all' ? sql`true` : sql`u.organization = ${organization}::int`,
    orders: [BY_EMAIL],
    orderFor: () => BY_EMAIL,
    among: keys => sql`u.email = any(${keys.map(key => key.email)}::text[])`,
  }
}

/** An organization, or all of them. */
export function organizationTable(organization: number | 'all'): SearchTable<{ organization: number }> {
  return {
    find: name => organizations.get(name),
    fields: ORGANIZATION_FIELDS,
    from: () => sql`organization o`,
    scope: organization === 'all' ? sql`true` : sql`o.organization = ${organization}::int`,
    orders: [BY_NUMBER],
    orderFor: () => BY_NUMBER,
    among: keys => sql`o.organization = any(${keys.map(key => key.organization)}::int[])`,
  }
}
