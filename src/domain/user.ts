/** A user of an organization, and what one user may do to another. Refuses to know passwords and keys. Serves: Authentication. */
import { type Caller, may, PROFILES, type Profile } from './caller.ts'
import { DroverError } from './errors.ts'

/** What a user says of itself; members that the interface does not name are kept. */
export interface UserDocument {
  readonly name?: string
  readonly surname?: string
  readonly description?: string
  readonly workgroup?: string
  readonly domain?: string
  readonly countryCode?: string
  readonly langCode?: string
  readonly timezone?: string
  /** the user must choose another password before anything else */
  readonly forcePasswordChange?: boolean
  readonly [member: string]: unknown
}

/** A user as the store keeps it, without its secrets. */
export interface User {
  readonly email: string
  readonly organization: number
  readonly organizationName: string
  readonly profile: Profile
  readonly document: UserDocument
}

/** Longest email, by RFC 5321. */
export const EMAIL_MAX = 254
export const PASSWORD_MAX = 512
/** A key chosen by hand must be at least this long. */
export const API_KEY_MIN = 16
export const API_KEY_MAX = 256
/** Characters of everything a user or an organization says of itself, as JSON. */
const DOCUMENT_MAX = 16_384

function rank(profile: Profile): number {
  return PROFILES.indexOf(profile)
}

/** Whether a caller manages another user: its profile manages users, and the other's is not above its own. */
export function manages(caller: Caller, other: Pick<User, 'profile'>): boolean {
  return may(caller.profile, 'manageUsers') && rank(other.profile) <= rank(caller.profile)
}

/** Refuses a profile above the caller's own. */
export function judgeProfileGiven(caller: Caller, profile: Profile): void {
  if (rank(profile) <= rank(caller.profile)) return
  throw new DroverError('forbidden', [{ name: 'user.profile', value: profile }])
}

/** Members as a client gives them, null for one to be taken away. */
export type Change = Readonly<Record<string, unknown>>

/** Lays a change over a document: null takes a member away, everything else replaces it. Fails when too much results. */
export function changedDocument<Document extends object>(document: Document, change: Change, name: string): Document {
  const members = Object.entries({ ...document, ...change }).filter(([, value]) => value !== null)
  const changed = Object.fromEntries(members) as Document
  if (JSON.stringify(changed).length > DOCUMENT_MAX) {
    throw new DroverError(
      'invalidField',
      [{ name }],
      `Invalid field: ${name} holds more than ${DOCUMENT_MAX} characters.`,
    )
  }
  return changed
}

/** Members of a user by which a client names an organization. */
const PLACES = ['organization', 'domain'] as const

/** Refuses a change that names another organization than the user's: it would move nobody, and read as if it had. */
export function judgePlaceNamed(change: Change, { organizationName, document }: Omit<User, 'email' | 'profile'>): void {
  const wrong = PLACES.filter(name => {
    const named = change[name]
    return typeof named === 'string' && named !== organizationName && named !== document[name]
  })
  if (wrong.length === 0) return
  throw new DroverError(
    'invalidField',
    wrong.map(name => ({ name: `user.${name}`, value: change[name] })),
    `Invalid field: user.${wrong[0]} must be ${organizationName}, the organization in which the user is.`,
  )
}
