/**
 * The first start of a service: its organization and its administrator, and the credentials that were made for it. Any later start
 * finds them and does nothing, whatever happened in between.
 */
import type { Database } from '../store/database.ts'
import { readOrganization } from '../store/organizations.ts'
import { lockSetting, removeSetting, settle } from '../store/settings.ts'
import { anyUser, insertUser } from '../store/users.ts'
import { addOrganization } from './organizations.ts'
import type { Passwords } from './passwords.ts'
import type { Seal } from './secret.ts'

export interface FirstStartParts {
  readonly database: Database
  readonly now: () => Date
  readonly seal: Seal
  readonly passwords: Passwords
}

/** What the operator set; what it left out is made. */
export interface FirstStartSettings {
  readonly organization: string
  readonly adminEmail: string | null
  readonly adminPassword: string | null
  readonly adminApiKey: string | null
}

/** What to tell the operator, once. A password or key that it chose itself is not repeated. */
export interface FirstCredentials {
  readonly organization: string
  readonly email: string
  readonly password?: string
  readonly apiKey?: string
}

const defaultEmail = 'admin@drover.local'
const untold = 'first_credentials'

/**
 * Makes the first organization and its administrator where there is no user yet, and keeps the credentials sealed until they are told. Of
 * many processes one does it.
 */
export async function firstStart(
  { database, now, seal, passwords }: FirstStartParts,
  settings: FirstStartSettings,
): Promise<void> {
  if (await anyUser(database)) return
  const email = settings.adminEmail ?? defaultEmail
  const password = settings.adminPassword ?? seal.newKey()
  const apiKey = settings.adminApiKey ?? seal.newKey()
  const passwordHash = await passwords.hash(password)
  const credentials: FirstCredentials = {
    organization: settings.organization,
    email,
    ...(settings.adminPassword === null && { password }),
    ...(settings.adminApiKey === null && { apiKey }),
  }
  await database.transaction(async tx => {
    // Whoever comes second waits here for the first, and then finds its administrator.
    await settle(tx, 'first_start', now().toISOString())
    if ((await lockSetting(tx, 'first_start')) === undefined || (await anyUser(tx))) return
    const organization =
      (await addOrganization(tx, settings.organization, {}, now())) ??
      (await readOrganization(tx, settings.organization))?.organization
    if (organization === undefined) throw new Error(`The organization ${settings.organization} cannot be made`)
    const keys = { apiKeyHash: seal.hash(apiKey), apiKeySealed: seal.seal(apiKey) }
    await insertUser(tx, { email, organization, profile: 'root', passwordHash, ...keys, document: {} }, now())
    await settle(tx, untold, seal.seal(JSON.stringify(credentials)).toString('base64'))
  })
}

/**
 * Tells the credentials of the first start, where nobody was told yet. Until `tell` has returned they are kept: a start that was cut
 * short, or that found its port taken, is made up for by the next.
 */
export async function tellFirstCredentials(
  { database, seal }: Pick<FirstStartParts, 'database' | 'seal'>,
  tell: (credentials: FirstCredentials) => void,
): Promise<void> {
  await database.transaction(async tx => {
    const sealed = await lockSetting(tx, untold)
    if (sealed === undefined) return
    tell(JSON.parse(seal.open(Buffer.from(sealed, 'base64'))) as FirstCredentials)
    await removeSetting(tx, untold)
  })
}
