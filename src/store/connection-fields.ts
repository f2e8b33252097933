/**
 * What entities are searched by of their connection: whether a device is connected now, and when it last came, went and was heard of. Each
 * condition is one `exists` over `presence` by its key, so that a million entities are one join. Over `entity e`.
 */
import type { FilterValue } from '../domain/filter.ts'
import { textOf } from './filter-sql.ts'
import { field, type SearchField } from './search-field.ts'
import { type SqlFragment, sql } from './statement.ts'

const present = (condition: SqlFragment): SqlFragment => sql`exists (select 1 from presence where
  presence.partition = e.partition and presence.entity = e.entity and ${condition})`

const isConnected = present(sql`presence.mqtt_connection is not null`)

/** Whether it is among the values: each entity is connected or not, also one of which nothing was ever heard. */
function connectedAmong(values: readonly FilterValue[]): SqlFragment {
  const [yes, no] = [values.includes(true), values.includes(false)]
  if (yes === no) return yes ? sql`true` : sql`false`
  return yes ? isConnected : sql`not ${isConnected}`
}

const CONNECTED = field('boolean', 'connection.connected', sql`(${isConnected})`, {
  anyOf: connectedAmong,
  noneOf: values => connectedAmong([true, false].filter(each => !values.includes(each))),
  exists: sql`true`,
})

function instant(name: string, column: SqlFragment): SearchField {
  const ofEntity = (value: SqlFragment) =>
    sql`(select ${value} from presence where presence.partition = e.partition and presence.entity = e.entity)`
  return field('date', name, column, {
    some: present,
    all: ofEntity(sql`to_jsonb(${textOf('date', column)})`),
    exists: present(sql`${column} is not null`),
    sort: ofEntity(column),
  })
}

/** The fields. */
export const CONNECTION_FIELDS: readonly SearchField[] = [
  CONNECTED,
  instant('connection.connectedDate', sql`presence.connected_at`),
  instant('connection.disconnectedDate', sql`presence.disconnected_at`),
  instant('connection.seenDate', sql`presence.seen_at`),
]
