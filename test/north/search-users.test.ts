import { beforeAll, describe, expect, test } from 'vitest'
import type { Caller, Profile } from '../../src/domain/caller.ts'
import { searchUserRoutes } from '../../src/north/search-users.ts'
import { sql } from '../../src/store/statement.ts'
import { insertUser } from '../../src/store/users.ts'
import { testDatabase } from '../database.ts'
import { type Door, openDoor } from './door.ts'

const { database } = await testDatabase()
const at = new Date('2026-03-02T10:00:00Z')
let door: Door
let root: Door

beforeAll(async () => {
  await database.query(sql`
    insert into organization (name, document, created_at)
    values ('mine', '{"countryCode":"ES"}', ${at}), ('other', '{"countryCode":"FR"}', ${at})`)
  const users: readonly [string, number, Profile, Record<string, unknown>][] = [
    ['ana/b@x.y', 1, 'admin', { name: 'Ana', langCode: 'es' }],
    ['bob@x.y', 1, 'viewer', { name: 'Bob', forcePasswordChange: true }],
    ['eve@x.y', 2, 'root', { name: 'Eve' }],
  ]
  for (const [email, organization, profile, document] of users) {
    const secret = Buffer.from(email)
    const secrets = { passwordHash: 'h', apiKeyHash: secret, apiKeySealed: secret }
    await insertUser(database, { email, organization, profile, document, ...secrets }, at)
  }
  const caller: Caller = { email: 'ana/b@x.y', organization: 1, organizationName: 'mine', profile: 'admin' }
  const open = (each: Caller) => openDoor(each, app => searchUserRoutes(app, { database }))
  door = open(caller)
  root = open({ email: 'eve@x.y', organization: 2, organizationName: 'other', profile: 'root' })
})

const find = async (from: Door, path: string, body: object = {}) => {
  const { status, body: answer } = await from.ask('POST', path, body)
  return {
    status,
    page: answer.page as { cursor?: string },
    rows: (answer.users ?? answer.organizations ?? []) as Record<string, unknown>[],
  }
}

describe('a search of users', () => {
  test('finds those of the organization, as their GET shows them and without their keys', async () => {
    const { rows } = await find(door, '/search/users')
    expect(rows).toEqual([
      {
        workgroup: 'mine',
        domain: 'mine',
        name: 'Ana',
        langCode: 'es',
        email: 'ana/b@x.y',
        profile: 'admin',
        '2FaType': 'NONE',
      },
      {
        workgroup: 'mine',
        domain: 'mine',
        name: 'Bob',
        forcePasswordChange: true,
        email: 'bob@x.y',
        profile: 'viewer',
        '2FaType': 'NONE',
      },
    ])
  })

  test.each<[object, string[]]>([
    [{ eq: { 'users.email': 'bob@x.y' } }, ['bob@x.y']],
    [{ like: { name: '^A' } }, ['ana/b@x.y']],
    [{ eq: { 'users.profile': 'viewer', forcePasswordChange: true } }, ['bob@x.y']],
    [{ exists: { langCode: true } }, ['ana/b@x.y']],
    [{ eq: { domain: 'other' } }, []],
  ])('by %j finds %j', async (filter, emails) => {
    const { rows, status } = await find(door, '/search/users', { filter })
    expect(rows.map(row => row.email)).toEqual(emails)
    expect(status).toBe(emails.length > 0 ? 200 : 204)
  })

  test('has no field for what proves a user', async () => {
    for (const field of ['password', 'apiKey', 'users.passwordHash', 'users.api_key_sealed']) {
      const answer = await door.ask('POST', '/search/users', { filter: { like: { [field]: 'x' } } })
      expect([answer.status, answer.text]).toEqual([400, expect.stringContaining('0x050014')])
    }
    const csv = await door.ask('POST', '/search/users', {}, { accept: 'text/csv' })
    expect(csv.text).toMatch(/^email;profile;domain;workgroup;name;/)
    expect(csv.text.toLowerCase()).not.toContain('key')
  })

  test('leads on by cursor, whatever stands in an email', async () => {
    const { page, rows } = await find(door, '/search/users', { limit: { size: 1 } })
    expect(rows.map(row => row.email)).toEqual(['ana/b@x.y'])
    expect((await find(door, '/search/users', { limit: { size: 1, cursor: page.cursor } })).rows).toMatchObject([
      { email: 'bob@x.y' },
    ])
  })

  test('finds all for who manages organizations', async () => {
    expect((await find(root, '/search/users')).rows).toHaveLength(3)
    const { body } = await root.ask('POST', '/search/users/summary', {})
    expect(body).toMatchObject({
      summary: {
        count: 3,
        domain: {
          list: [
            { name: 'mine', count: 2 },
            { name: 'other', count: 1 },
          ],
        },
      },
    })
  })
})

test('a search of organizations finds one’s own, or all for who manages them', async () => {
  expect((await find(door, '/search/organizations')).rows).toEqual([{ name: 'mine', countryCode: 'ES' }])
  const filter = { in: { countryCode: ['ES', 'FR'] } }
  expect((await find(root, '/search/organizations', { filter })).rows.map(row => row.name)).toEqual(['mine', 'other'])
  expect((await find(door, '/search/organizations', { filter: { eq: { name: 'other' } } })).status).toBe(204)
})
