/** The first start: an organization, its administrator, and credentials that are told once and never lost. */
import { expect, test } from 'vitest'
import { CATALOG } from '../../src/domain/catalog.ts'
import {
  type FirstCredentials,
  type FirstStartSettings,
  firstStart,
  tellFirstCredentials,
} from '../../src/engine/first-start.ts'
import { createPasswords } from '../../src/engine/passwords.ts'
import { createSeal } from '../../src/engine/secret.ts'
import { listOperationTypes } from '../../src/store/operation-types.ts'
import { readUser } from '../../src/store/users.ts'
import { createTestDatabase } from '../database.ts'

const seal = createSeal('a secret of at least thirty-two characters')
const passwords = createPasswords()
const now = () => new Date('2026-11-21T00:00:00Z')
const unset: FirstStartSettings = { organization: 'drover', adminEmail: null, adminPassword: null, adminApiKey: null }

async function opened() {
  const made = await createTestDatabase()
  const parts = { database: made.database, now, seal, passwords }
  /** One start, which comes as far as telling. */
  const start = async (settings: FirstStartSettings, tell: (credentials: FirstCredentials) => void) => {
    await firstStart(parts, settings)
    await tellFirstCredentials(parts, tell)
  }
  return { ...made, parts, start, [Symbol.asyncDispose]: made.close }
}

test('makes the organization with the catalog, and a root user whose credentials are told', async () => {
  await using made = await opened()
  const told: FirstCredentials[] = []
  await made.start(unset, each => told.push(each))
  expect(told).toEqual([
    { organization: 'drover', email: 'admin@drover.local', password: expect.any(String), apiKey: expect.any(String) },
  ])
  const user = (await readUser(made.database, 'admin@drover.local'))!
  expect(user).toMatchObject({ organizationName: 'drover', profile: 'root' })
  expect(await passwords.matches(user.passwordHash, told[0]!.password!)).toBe(true)
  expect(seal.open(user.apiKeySealed)).toBe(told[0]!.apiKey)
  expect(await listOperationTypes(made.database, user.organization)).toHaveLength(CATALOG.length)
  const { rows } = await made.database.executeSql('select * from setting')
  expect(rows.map(({ name }) => name)).toEqual(['first_start'])
})

test('takes what the operator chose, and does not repeat its secrets', async () => {
  await using made = await opened()
  const told: FirstCredentials[] = []
  const settings = {
    organization: 'ours',
    adminEmail: 'me@ours.example',
    adminPassword: 'chosen password',
    adminApiKey: 'chosen-api-key-1234',
  }
  await made.start(settings, each => told.push(each))
  expect(told).toEqual([{ organization: 'ours', email: 'me@ours.example' }])
  const user = (await readUser(made.database, 'me@ours.example'))!
  expect(await passwords.matches(user.passwordHash, 'chosen password')).toBe(true)
  expect(seal.open(user.apiKeySealed)).toBe('chosen-api-key-1234')
})

test('happens once, also when twenty processes start together', async () => {
  await using made = await opened()
  const told: FirstCredentials[] = []
  await Promise.all(Array.from({ length: 20 }, () => made.start(unset, each => told.push(each))))
  await made.start({ ...unset, organization: 'another' }, each => told.push(each))
  expect(told).toHaveLength(1)
  const { rows } = await made.database.executeSql(
    'select (select count(*)::int from users) as users, (select count(*)::int from organization) as organizations',
  )
  expect(rows).toEqual([{ users: 1, organizations: 1 }])
})

test('that was cut short before the credentials were told tells the same ones at the next start', async () => {
  await using made = await opened()
  const interrupted = made.start(unset, () => {
    throw new Error('killed')
  })
  await expect(interrupted).rejects.toThrow('killed')
  const told: FirstCredentials[] = []
  await made.start(unset, each => told.push(each))
  const user = (await readUser(made.database, 'admin@drover.local'))!
  expect(await passwords.matches(user.passwordHash, told[0]!.password!)).toBe(true)
})

test('of a start that never came to tell them, the next one tells the credentials', async () => {
  await using made = await opened()
  await firstStart(made.parts, unset)
  const told: FirstCredentials[] = []
  await made.start(unset, each => told.push(each))
  const user = (await readUser(made.database, 'admin@drover.local'))!
  expect(await passwords.matches(user.passwordHash, told[0]!.password!)).toBe(true)
})
