import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { statements } from '../../src/store/statement.ts'
import { testDatabase } from '../database.ts'

const folder = path.join(import.meta.dirname, '..', '..', 'src', 'store')
for (const name of await readdir(folder)) if (name.endsWith('.ts')) await import(path.join(folder, name))

const { database } = await testDatabase({ max: 1 })

describe('every declared statement', () => {
  test('some are declared', () => {
    expect(statements.length).toBeGreaterThan(0)
  })

  test.each(statements.map(({ name, text }) => ({ name, text })))(
    '$name is one that the server can prepare',
    async ({ name, text }) => {
      await database.executeSql(`prepare "${name}" as ${text}`)
      const { rows } = await database.executeSql('select name from pg_prepared_statements where name = $1', [name])
      expect(rows).toEqual([{ name }])
    },
  )
})
