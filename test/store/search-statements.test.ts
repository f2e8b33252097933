import { beforeAll, describe, expect, test } from 'vitest'
import { type FieldType, parseFilter } from '../../src/domain/filter.ts'
import { parseSearch } from '../../src/domain/search.ts'
import { findPage, readFields, streamFields, summarise } from '../../src/store/search.ts'
import { fieldTypesOf, jobTable, operationTable, type SearchTable, taskTable } from '../../src/store/search-table.ts'
import { sql } from '../../src/store/statement.ts'
import { testDatabase } from '../database.ts'
import { createWorkbench, EPOCH, jobRequest } from '../engine/workbench.ts'

const { database } = await testDatabase()
const workbench = await createWorkbench(database)

const { organization } = workbench.caller
const tables: readonly [string, SearchTable<object>][] = [
  ['jobs', jobTable(organization)],
  ['tasks', taskTable(organization)],
  ['open operations', operationTable(organization, 'open')],
  ['open operations of a type', operationTable(organization, 'open', 'entity.device')],
  ['ended operations', operationTable(organization, 'ended')],
]

/** One row in each table. */
beforeAll(async () => {
  await workbench.provision(['d1', 'd2'])
  workbench.device = ({ id, device }, report) =>
    report(
      device.deviceId === 'd1'
        ? {
            seen: 'answered',
            message: { ...device, operationId: id, resultCode: 'SUCCESSFUL', steps: [{ name: 'A' }] },
          }
        : { seen: 'sent' },
    )
  const request = jobRequest({
    target: { append: { entities: ['d1', 'd2'] } },
    parameters: { a: { b: 1 } },
    schedule: { stop: { delayed: 1_000_000 } },
  })
  await workbench.jobs.create(workbench.caller, request)
  await workbench.settle()
  await database.query(sql`
    insert into task (task, organization, id, user_email, user_profile, active, state, schedule, request, created_at)
    values (1, ${organization}, 't', 'a@b.c', 'admin', true, 'ACTIVE', '{"start":{"date":"2026-01-01T00:00:00.000Z"}}',
            ${JSON.stringify(request)}::jsonb, ${EPOCH})`)
})

const VALUES: Readonly<Record<FieldType, readonly unknown[]>> = {
  text: ['d1', ''],
  number: [1, '-2.5'],
  boolean: [true],
  date: ['2026-01-01T00:00:00Z', 0],
  any: ['x', 1, true, '1'],
  location: [],
}

function filtersOf(name: string, type: FieldType): unknown[] {
  const values = VALUES[type]
  const ordered =
    type === 'boolean'
      ? []
      : ['gt', 'gte', 'lt', 'lte'].flatMap(leaf => values.map(value => ({ [leaf]: { [name]: value } })))
  return [
    { exists: { [name]: true } },
    { not: { exists: { [name]: false } } },
    { like: { [name]: '^[a-z]' } },
    { in: { [name]: values } },
    { nin: { [name]: values } },
    ...values.map(value => ({ eq: { [name]: value } })),
    ...(type === 'date' ? [{ eq: { [name]: '' } }] : []),
    ...ordered,
  ]
}

describe.each(tables)('every field of %s', (_, table) => {
  const names = [...table.fields.flatMap(field => field.names), ...table.fields.map(field => `${field.names[0]}[]`)]
  const types = fieldTypesOf(table)
  const all = parseSearch({}, types)

  test('there is a row to find', async () => {
    const { rows } = await findPage(database, table, all, (_db, keys) => Promise.resolve(keys))
    expect(rows).toHaveLength(1)
  })

  test('can be filtered by, with every operator', async () => {
    for (const name of names.filter(each => types(each) !== undefined)) {
      const leaves = filtersOf(name, types(name)!)
      // Together in one statement that finds the one row whatever they say, so that each of them is planned and run.
      const filter = parseFilter({ or: [...leaves, { not: { and: leaves } }] }, types)
      const { rows } = await findPage(database, table, { ...all, filter }, (_db, keys) => Promise.resolve(keys))
      expect([name, rows.length]).toEqual([name, 1])
    }
  }, 60_000)

  test('can be sorted, grouped and selected by', async () => {
    for (const {
      names: [name = ''],
    } of table.fields) {
      const sort = { parameters: [{ name, type: 'DESCENDING' }] }
      const read = (keys: readonly object[]) => readFields(database, table, keys, [name])
      const { rows } = await findPage(database, table, parseSearch({ sort }, types), (_db, keys) => read(keys))
      expect(rows).toHaveLength(1)
      const summary = await summarise(database, table, all.filter, [name])
      expect(summary.count).toBe(1)
      for await (const batch of streamFields(database, table, all, [name])) {
        // What is selected, counted and streamed is the same value.
        const text = batch[0]?.[0] ?? null
        expect([name, summary.fields[0]?.list.map(each => each.name)]).toEqual([name, text === null ? [] : [text]])
        expect([name, (rows[0] as unknown[])[0] === null]).toEqual([name, text === null])
      }
    }
  }, 60_000)
})
