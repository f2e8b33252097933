/**
 * A door for clients on a database of its own, for the tests of its nouns: an organization, its administrator, and callers of any
 * profile. Nothing listens.
 */
import { randomUUID } from 'node:crypto'
import type { FastifyInstance, InjectOptions } from 'fastify'
import { afterAll } from 'vitest'
import type { Caller, Profile } from '../../src/domain/caller.ts'
import { type Access, createAccess } from '../../src/engine/access.ts'
import { createAudit } from '../../src/engine/audit.ts'
import { firstStart } from '../../src/engine/first-start.ts'
import { createOrganizations, type Organizations } from '../../src/engine/organizations.ts'
import { createPasswords, type Passwords } from '../../src/engine/passwords.ts'
import { createSeal, type Seal } from '../../src/engine/secret.ts'
import { createTokens } from '../../src/engine/tokens.ts'
import { createUsers, type Users } from '../../src/engine/users.ts'
import { type DoorParts, hangDoor } from '../../src/north/north.ts'
import { createServer } from '../../src/server/server.ts'
import type { Database, Transaction } from '../../src/store/database.ts'
import { silentLog, testDatabase } from '../database.ts'

export interface Door {
  server: FastifyInstance
  database: Database
  seal: Seal
  passwords: Passwords
  access: Access
  organizations: Organizations
  users: Users
  /** The door's clock; tests move it. */
  clock: { nowMs: number }
  /** organizations whose content was closed, by number */
  closed: number[]
  /** The first organization's root user. */
  root: { email: string; password: string; key: string }
  rootCaller: Caller
  /** Makes a user of the profile, of the first organization unless another is named; answers what it logs in and calls with. */
  user(profile: Profile, organization?: string): Promise<{ email: string; password: string; key: string }>
  /** Calls with a key, under /north/v80. */
  call(
    key: string,
    method: InjectOptions['method'],
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Answer>
}

export interface Answer {
  status: number
  headers: Record<string, unknown>
  body: string
  json: () => Record<string, never>
}

export interface DoorOptions {
  apiKeys?: boolean
  nouns: (app: FastifyInstance, door: Omit<Door, 'server' | 'call' | 'user'>) => void
  closeOrganization?: (tx: Transaction, organization: number, now: Date) => Promise<void>
}

export const FIRST_ORGANIZATION = 'first'

export async function openDoor({ apiKeys = true, nouns, closeOrganization }: DoorOptions): Promise<Door> {
  const { database } = await testDatabase()
  const clock = { nowMs: Date.now() }
  const now = () => new Date(clock.nowMs)
  const seal = createSeal('the secret of the tests, long enough')
  const passwords = createPasswords()
  const tokens = createTokens({ secret: 'the secret of the tests, long enough', lifetimeMs: 8 * 3_600_000, now })
  const access = createAccess({ database, now, seal, tokens, passwords })
  const closed: number[] = []
  const organizations = createOrganizations({
    database,
    now,
    access,
    drainOrganization: async () => {},
    closeOrganization: async (tx, organization, at) => {
      closed.push(organization)
      await closeOrganization?.(tx, organization, at)
    },
  })
  const users = createUsers({ database, now, seal, passwords, access })
  const root = { email: 'root@example.com', password: 'the password of root', key: 'the-key-of-root-in-tests' }
  await firstStart(
    { database, now, seal, passwords },
    {
      organization: FIRST_ORGANIZATION,
      adminEmail: root.email,
      adminPassword: root.password,
      adminApiKey: root.key,
    },
  )
  const rootCaller = (await access.byKey(root.key))!
  const parts = { database, seal, passwords, access, organizations, users, clock, closed, root, rootCaller }
  const server = createServer({ log: silentLog, bodyBytesMax: 307_200 })
  const doorParts: DoorParts = { access, organizations, apiKeys, audit: createAudit({ database, now }) }
  hangDoor(server, doorParts, app => nouns(app, parts))
  afterAll(() => server.close())
  await server.ready()

  return {
    ...parts,
    server,
    async user(profile, organization) {
      const email = `${profile}-${randomUUID()}@example.com`
      const caller = organization === undefined ? rootCaller : await organizations.actingIn(rootCaller, organization)
      const password = 'a good password'
      const made = await users.create(caller, { email, password, profile, document: {} })
      return { email, password, key: made.apiKey! }
    },
    async call(key, method, path, body, headers = {}) {
      const answer = await server.inject({
        method: method!,
        url: `/north/v80${path}`,
        headers: { 'x-apikey': key, ...headers },
        ...(body !== undefined && { payload: body as object }),
      })
      return { status: answer.statusCode, headers: answer.headers, body: answer.body, json: () => answer.json() }
    },
  }
}

/** The first error of an answer. */
export function errorOf(answer: Answer): {
  code: string
  message: string
  context?: { name: string; value?: unknown }[]
} {
  return (answer.json() as unknown as { errors: [{ code: string; message: string }] }).errors[0]
}
