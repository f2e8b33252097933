/**
 * The service that a command talks to and who it is there: by option, by environment, or by who is signed in, in this order. A secret
 * is sent to the service that it is for and shown nowhere.
 */
import { type Client, createClient } from '../../contract/client/client.ts'
import { CommandFailed } from './exit-codes.ts'
import { readSignedIn, type SignedIn } from './signed-in.ts'
import type { Surroundings } from './surroundings.ts'

/** Where a service is that was started as it comes. */
const DEFAULT_URL = 'http://127.0.0.1:8080'

export interface Session {
  readonly client: Client
  /** The organization of the addresses that name one. Fails with a usage error where it is not clear. */
  organization(): Promise<string>
  /** The headers that prove who asks, for the requests that the client does not know. */
  credentials(): Readonly<Record<string, string>>
}

export interface SessionOptions {
  readonly url?: string | undefined
  readonly organization?: string | undefined
}

/** The service that is meant, without who asks. Fails with a usage error on what is no address. */
export async function serviceUrl({ url }: SessionOptions, env: Surroundings['env']): Promise<string> {
  const meant = url ?? (env.DROVER_URL || (await readSignedIn(env))?.url) ?? DEFAULT_URL
  const parsed = URL.canParse(meant) ? new URL(meant) : null
  if (!parsed || !/^https?:$/.test(parsed.protocol)) {
    throw new CommandFailed('usage', `The service's address must begin with http:// or https://, not "${meant}".`)
  }
  return meant.replace(/\/+$/, '')
}

/** Opens a session. It asks the service nothing yet. Fails with `notPermitted` where nobody is signed in. */
export async function openSession(options: SessionOptions, env: Surroundings['env']): Promise<Session> {
  const url = await serviceUrl(options, env)
  const apiKey = env.DROVER_API_KEY
  const signedIn = apiKey ? undefined : tokenFor(url, await readSignedIn(env))
  const credentials = () => (apiKey ? { 'x-apikey': apiKey } : { authorization: `Bearer ${signedIn?.token ?? ''}` })
  const client = createClient({ url, credentials })
  const named = options.organization ?? (env.DROVER_ORGANIZATION || signedIn?.organization)
  let organization: Promise<string> | undefined
  return {
    client,
    credentials,
    organization: () => {
      organization ??= named === undefined ? onlyOrganization(client) : Promise.resolve(named)
      return organization
    },
  }
}

function tokenFor(url: string, signedIn: SignedIn | undefined): SignedIn {
  const hint = 'Sign in with `drover login`, or set DROVER_API_KEY.'
  if (!signedIn) throw new CommandFailed('notPermitted', `Nobody is signed in. ${hint}`)
  if (signedIn.url !== url) {
    throw new CommandFailed('notPermitted', `${signedIn.email} is signed in to ${signedIn.url}, not to ${url}. ${hint}`)
  }
  if (Date.parse(signedIn.expiresDate) <= Date.now()) {
    throw new CommandFailed('notPermitted', `The login of ${signedIn.email} has run out. ${hint}`)
  }
  return signedIn
}

/** A key does not say whose it is: where it sees one organization, that is its own. */
async function onlyOrganization(client: Client): Promise<string> {
  const found = await client.call('POST /search/organizations', { body: { limit: { size: 2 } } })
  const [first, second] = found?.organizations ?? []
  if (first && !second) return first.name
  throw new CommandFailed('usage', 'This key sees several organizations: name one with --organization.')
}
