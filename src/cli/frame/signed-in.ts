/** Where `drover login` keeps what it was given: one file that only its owner reads. It holds a token that runs out, never a password. */
import { chmod, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { CommandFailed } from './exit-codes.ts'
import { type Surroundings, settingsFolder } from './surroundings.ts'

export interface SignedIn {
  /** the service that gave the token, and the only one it is sent to */
  readonly url: string
  readonly token: string
  readonly email: string
  readonly organization: string
  /** ISO 8601 */
  readonly expiresDate: string
}

type Environment = Surroundings['env']

/** The file's path. */
export function signedInFile(env: Environment): string {
  return path.join(settingsFolder(env), 'login.json')
}

/** Who is signed in; undefined where nobody is. Fails with a usage error on a file that is not of this command's making. */
export async function readSignedIn(env: Environment): Promise<SignedIn | undefined> {
  const file = signedInFile(env)
  const text = await readFile(file, 'utf8').catch(() => undefined)
  if (text === undefined) return undefined
  try {
    const { url, token, email, organization, expiresDate }: Record<string, unknown> = JSON.parse(text)
    const found = { url, token, email, organization, expiresDate }
    if (Object.values(found).every(value => typeof value === 'string')) return found as SignedIn
  } catch {
    // said below
  }
  throw new CommandFailed('usage', `${file} cannot be read: sign in again, with \`drover login\`.`)
}

/** Keeps who is signed in. The file is never there with more than its owner's rights, not even for a moment. */
export async function keepSignedIn(env: Environment, signedIn: SignedIn): Promise<string> {
  const file = signedInFile(env)
  await mkdir(path.dirname(file), { recursive: true, mode: 0o700 })
  const draft = `${file}.${process.pid}`
  await rm(draft, { force: true })
  await writeFile(draft, `${JSON.stringify(signedIn, null, 2)}\n`, { mode: 0o600, flag: 'wx' })
  await chmod(draft, 0o600)
  await rename(draft, file)
  return file
}

/** Forgets who is signed in; answers whether there was anybody. */
export async function forgetSignedIn(env: Environment): Promise<boolean> {
  const known = await readFile(signedInFile(env)).then(
    () => true,
    () => false,
  )
  await rm(signedInFile(env), { force: true })
  return known
}

/** What a token says of itself. It is not verified: only the service can. */
export function readToken(token: string): { readonly organization: string; readonly expiresDate: string } {
  const claims: Record<string, unknown> = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
  return { organization: String(claims.org), expiresDate: new Date(Number(claims.exp) * 1_000).toISOString() }
}
