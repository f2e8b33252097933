/**
 * The use cases of users: who may make, read, change and remove whom. Passwords are hashed and keys sealed before they are stored.
 * Serves: decisions on access, users and organizations.
 */
import { type Caller, may, type Profile } from '../domain/caller.ts'
import { DroverError } from '../domain/errors.ts'
import {
  type Change,
  changedDocument,
  judgePlaceNamed,
  judgeProfileGiven,
  manages,
  type User,
  type UserDocument,
} from '../domain/user.ts'
import type { Database, Transaction } from '../store/database.ts'
import { readOrganization } from '../store/organizations.ts'
import {
  insertUser,
  lockUser,
  lockUsersOfProfile,
  readUser,
  removeUser,
  type StoredUser,
  updateUser,
  updateUserKey,
} from '../store/users.ts'
import type { Access } from './access.ts'
import type { Passwords } from './passwords.ts'
import type { Seal } from './secret.ts'

export interface UsersParts {
  readonly database: Database
  readonly now: () => Date
  readonly seal: Seal
  readonly passwords: Passwords
  readonly access: Access
}

export interface NewUserRequest {
  readonly email: string
  readonly password: string
  readonly profile: Profile
  /** a key chosen by hand; made where it is left out */
  readonly apiKey?: string | undefined
  readonly document: Change
}

export interface UserChange {
  readonly password?: string | undefined
  readonly profile?: Profile | undefined
  /** null asks for a new one */
  readonly apiKey?: string | null | undefined
  readonly document: Change
}

/** What a change of one's own password or key must bring. */
export interface PasswordProof {
  readonly password: string | undefined
  /** where the request came from */
  readonly address: string
}

/** A user as a caller may see it: the key is shown to itself and to who manages it. */
export interface UserView extends User {
  readonly apiKey?: string
}

export interface Users {
  create(caller: Caller, asked: NewUserRequest): Promise<UserView>
  read(caller: Caller, email: string): Promise<UserView>
  change(caller: Caller, email: string, change: UserChange, proof: PasswordProof): Promise<UserView>
  remove(caller: Caller, email: string): Promise<void>
}

/** A user of another organization is no user at all, but for root. */
function visible<Found extends User>(caller: Caller, email: string, user: Found | undefined): Found {
  const seen = user && (user.organization === caller.organization || may(caller.profile, 'manageOrganizations'))
  if (!seen) throw new DroverError('unknown', [{ name: 'email', value: email }])
  return user
}

function isSelf(caller: Caller, user: User): boolean {
  return user.email === caller.email
}

/** Nobody could manage organizations any more. */
async function keepOneRoot(tx: Transaction, user: User): Promise<void> {
  if (user.profile !== 'root') return
  const roots = await lockUsersOfProfile(tx, 'root')
  if (roots.some(email => email !== user.email)) return
  throw new DroverError(
    'invalidField',
    [{ name: 'email', value: user.email }],
    'This is the last user with profile root.',
  )
}

export function createUsers({ database, now, seal, passwords, access }: UsersParts): Users {
  function view(caller: Caller, user: StoredUser): UserView {
    const { passwordHash: _, apiKeySealed, ...seen } = user
    return isSelf(caller, user) || manages(caller, user) ? { ...seen, apiKey: seal.open(apiKeySealed) } : seen
  }

  /** Root acts in the organization that the body names; everybody else in its own. */
  async function organizationOf(caller: Caller, { organization, domain }: UserDocument) {
    const own = { organization: caller.organization, organizationName: caller.organizationName }
    const named = typeof organization === 'string' ? organization : domain
    if (!may(caller.profile, 'manageOrganizations') || named === undefined || named === own.organizationName) return own
    const found = await readOrganization(database, named)
    if (!found) throw new DroverError('organizationNotExists', [{ name: 'user.domain', value: named }])
    return { organization: found.organization, organizationName: found.name }
  }

  function judgeChange(caller: Caller, user: StoredUser, change: UserChange): void {
    const self = isSelf(caller, user)
    if (!self && !manages(caller, user)) throw new DroverError('forbidden')
    if (change.profile === undefined || change.profile === user.profile) return
    if (!may(caller.profile, 'manageUsers')) throw new DroverError('forbidden', [{ name: 'user.profile' }])
    judgeProfileGiven(caller, change.profile)
  }

  async function changeIn(tx: Transaction, caller: Caller, email: string, change: UserChange, passwordHash?: string) {
    const user = visible(caller, email, await lockUser(tx, email))
    judgeChange(caller, user, change)
    judgePlaceNamed(change.document, user)
    const profile = change.profile ?? user.profile
    if (profile !== 'root') await keepOneRoot(tx, user)
    // A new password by one's own hand is what the mark asked for.
    const marked = passwordHash !== undefined && isSelf(caller, user) ? { forcePasswordChange: false } : {}
    const document = changedDocument(user.document, { ...change.document, ...marked }, 'user')
    const changed = { ...user, profile, document, passwordHash: passwordHash ?? user.passwordHash }
    await updateUser(tx, changed)
    if (change.apiKey === undefined || change.apiKey === seal.open(user.apiKeySealed)) return changed
    const apiKey = change.apiKey ?? seal.newKey()
    const apiKeySealed = seal.seal(apiKey)
    if (!(await updateUserKey(tx, user.email, seal.hash(apiKey), apiKeySealed))) {
      throw new DroverError('duplicated', [{ name: 'user.apiKey' }])
    }
    return { ...changed, apiKeySealed }
  }

  return {
    async create(caller, asked) {
      const document = changedDocument<UserDocument>({}, asked.document, 'user')
      if (!may(caller.profile, 'manageUsers')) throw new DroverError('forbidden')
      judgeProfileGiven(caller, asked.profile)
      const place = await organizationOf(caller, document)
      judgePlaceNamed(document, { ...place, document: {} })
      const apiKey = asked.apiKey ?? seal.newKey()
      const user = {
        ...place,
        email: asked.email,
        profile: asked.profile,
        document,
        passwordHash: await passwords.hash(asked.password),
        apiKeyHash: seal.hash(apiKey),
        apiKeySealed: seal.seal(apiKey),
      }
      if (await insertUser(database, user, now())) return view(caller, user)
      throw new DroverError('duplicated', [{ name: 'user.email', value: asked.email }])
    },

    async read(caller, email) {
      return view(caller, visible(caller, email, await readUser(database, email)))
    },

    async change(caller, email, change, proof) {
      const user = visible(caller, email, await readUser(database, email))
      judgeChange(caller, user, change)
      const newKey = change.apiKey !== undefined && change.apiKey !== seal.open(user.apiKeySealed)
      if (isSelf(caller, user) && (change.password !== undefined || newKey)) {
        if (proof.password === undefined) throw new DroverError('requiredField', [{ name: 'X-ApiPass' }])
        await access.provePassword(caller, proof.password, proof.address)
        if (user.document.forcePasswordChange === true && change.password === proof.password) {
          throw new DroverError(
            'invalidField',
            [{ name: 'user.password' }],
            'It is the present password: take another one.',
          )
        }
      }
      // Hashing takes longer than a row should be held.
      const passwordHash = change.password === undefined ? undefined : await passwords.hash(change.password)
      const changed = await database.transaction(tx => changeIn(tx, caller, email, change, passwordHash))
      access.forget()
      return view(caller, changed)
    },

    async remove(caller, email) {
      await database.transaction(async tx => {
        const user = visible(caller, email, await lockUser(tx, email))
        if (!manages(caller, user)) throw new DroverError('forbidden')
        await keepOneRoot(tx, user)
        await removeUser(tx, user.email)
      })
      access.forget()
    },
  }
}
