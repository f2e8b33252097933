/**
 * What a migration may do, so that the build before goes on working on the schema after it while nodes are replaced one by one:
 * it adds, and takes nothing away that the other reads or writes.
 */
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { describe, expect, test } from 'vitest'

const folder = path.resolve(import.meta.dirname, '../../migrations')
/** The first of them were written before there was a build that could run beside another. */
const FIRST_HELD = '0006'
const held = (await readdir(folder)).filter(name => name >= FIRST_HELD).toSorted()

/** What of a migration a build that does not know it could fail on. */
function offences(migration: string): string[] {
  const statements = migration
    .replaceAll(/--.*$/gm, '')
    .split(';')
    .map(text => text.replaceAll(/\s+/g, ' ').trim().toLowerCase())
    .filter(text => text !== '')
  const own = statements.flatMap(text => /^create table (\w+)/.exec(text)?.[1] ?? [])
  return statements.filter(text => !isAdding(text, own))
}

function isAdding(text: string, own: readonly string[]): boolean {
  // Another name for a row that is written twice would be refused to the build that knows nothing of it.
  const unique = /^create unique index \w+ on (\w+)/.exec(text)
  if (unique) return own.includes(unique[1]!)
  const altered = /^alter table (\w+) (.*)$/.exec(text)
  if (altered)
    return (
      own.includes(altered[1]!) ||
      altered[2]!.split(/, (?=(?:add|drop|alter|rename|validate|enable|disable|set|owner) )/).every(isColumnAdded)
    )
  return /^(create table|create index|drop index|create type|comment on) /.test(text)
}

/** Rows are inserted without it. */
function isColumnAdded(action: string): boolean {
  return (
    action.startsWith('add column ') &&
    !/\b(unique|primary key|check|references)\b/.test(action) &&
    (!action.includes('not null') || action.includes(' default '))
  )
}

describe('a migration', () => {
  test.each(held)('%s leaves what the build before it reads and writes', async name => {
    expect(offences(await readFile(path.join(folder, name), 'utf8'))).toEqual([])
  })

  test.each([
    'alter table job drop column trace',
    'alter table job rename column trace to traceparent',
    'alter table job add column colour text not null',
    'alter table job add column colour text, drop column trace',
    'alter table job add column colour text, drop constraint job_pkey',
    'alter table job alter column trace set not null',
    'alter table job add constraint job_trace check (trace is not null)',
    'create unique index job_trace on job (trace)',
    'drop table job_change',
    "update job set trace = ''",
  ])('would be refused with: %s', statement => {
    expect(offences(`create index job_name on job (name);\n${statement};`)).toEqual([statement])
  })

  test('may do as it likes with tables of its own', () => {
    expect(
      offences('create table own (a int);\nalter table own add check (a > 0);\ncreate unique index own_a on own (a);'),
    ).toEqual([])
  })
})
