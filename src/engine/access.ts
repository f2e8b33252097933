/**
 * Who asks: proves callers by password, token or key. What a caller may do is not its business. Serves: Authentication.
 */
import type { Caller } from '../domain/caller.ts'
import { DroverError } from '../domain/errors.ts'
import type { Database } from '../store/database.ts'
import { readUser, readUserByKey, type StoredUser } from '../store/users.ts'
import { createLoginBudget } from './login-budget.ts'
import type { Passwords } from './passwords.ts'
import type { Seal } from './secret.ts'
import type { Tokens } from './tokens.ts'

export interface AccessParts {
  readonly database: Database
  readonly now: () => Date
  readonly seal: Seal
  readonly tokens: Tokens
  readonly passwords: Passwords
  /** Whoever else keeps what it knows of users is told to forget it: the door for devices. */
  readonly onForget?: () => void
}

/** What a login answers beside the user itself. */
export interface Session {
  readonly user: StoredUser
  readonly jwt: string
  readonly apiKey: string
}

export interface Access {
  /** Fails with `unauthorized`, and with `tooMany` after too many failures of the account or from the address. */
  login(email: string, password: string, address: string): Promise<Session>
  /** Proves the present password of a caller before its password or key changes; throttled as a login is. */
  provePassword(caller: Caller, password: string, address: string): Promise<void>
  /** The caller of a token, as it is now; undefined where the token is no good, or its user gone or of another password since. */
  byToken(token: string): Promise<Caller | undefined>
  /** The caller of a user's API key. The device interface accepts it too, for whoever manages devices. */
  byKey(key: string): Promise<Caller | undefined>
  /** Forgets what was kept of users for a moment; to be called when one changes. Other processes follow within a second. */
  forget(): void
}

/** A user as it was a moment ago, with the mark that its tokens must bear. */
interface Known {
  readonly caller: Caller
  readonly passwordMark: string
}

/** How long a process may take a user for what it was: a request costs no statement, a removal takes effect soon. */
const keptMs = 1_000
const keptMax = 10_000
const keyLengthMax = 512

export function callerOf({ email, organization, organizationName, profile, document }: StoredUser): Caller {
  const base = { email, organization, organizationName, profile }
  return document.forcePasswordChange === true ? { ...base, mustChangePassword: true } : base
}

export function createAccess({ database, now, seal, tokens, passwords, onForget }: AccessParts): Access {
  const budget = createLoginBudget(database, seal, now)
  const kept = new Map<string, { readonly known: Known | undefined; readonly until: number }>()
  let generation = 0

  /** Who is under a name, from memory where it was asked a moment ago. */
  async function remembered(name: string, find: () => Promise<StoredUser | undefined>): Promise<Known | undefined> {
    const at = now().getTime()
    const before = kept.get(name)
    if (before && before.until > at) return before.known
    const asked = generation
    const user = await find()
    const known = user && { caller: callerOf(user), passwordMark: tokens.passwordMark(user.passwordHash) }
    if (kept.size >= keptMax) kept.clear()
    // What was read before a change must not be kept beyond it.
    if (asked === generation) kept.set(name, { known, until: at + keptMs })
    return known
  }

  async function proves(email: string, password: string, address: string): Promise<StoredUser> {
    let user: StoredUser | undefined
    const proven = await budget.spend(email, address, async () => {
      user = await readUser(database, email)
      return passwords.matches(user?.passwordHash, password)
    })
    if (!proven || !user) throw new DroverError('unauthorized')
    return user
  }

  return {
    async login(email, password, address) {
      const user = await proves(email, password, address)
      return { user, jwt: await tokens.issue(user), apiKey: seal.open(user.apiKeySealed) }
    },
    async provePassword(caller, password, address) {
      await proves(caller.email, password, address)
    },
    async byToken(token) {
      const claims = await tokens.read(token)
      if (claims === undefined) return undefined
      const known = await remembered(`email ${claims.email}`, () => readUser(database, claims.email))
      return known?.passwordMark === claims.passwordMark ? known.caller : undefined
    },
    async byKey(key) {
      if (key.length > keyLengthMax) return undefined
      const hash = seal.hash(key)
      return (await remembered(`key ${hash.toString('base64')}`, () => readUserByKey(database, hash)))?.caller
    },
    forget() {
      generation += 1
      kept.clear()
      onForget?.()
    },
  }
}
