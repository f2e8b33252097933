/**
 * The tokens that clients get at login: signed, short-lived, and good for nothing but to say who asks. Whether that user still
 * exists, with the same password, is not theirs to say. Serves: Authentication.
 */
import { createHmac, createPrivateKey, createPublicKey, type KeyObject, randomUUID } from 'node:crypto'
import { jwtVerify, SignJWT } from 'jose'
import type { Caller } from '../domain/caller.ts'
import { deriveKey } from './secret.ts'

export interface TokensOptions {
  secret: string
  /** A private key in PEM, RSA of 2048 bits or more, or EC P-256: then RS256 or ES256 instead of HS256. */
  privateKey?: string
  lifetimeMs: number
  now: () => Date
}

export interface Tokens {
  /** Claims `sub` (email), `org`, `profile`, `iat`, `exp` and `jti`, which ends in the mark of the password it was got with. */
  issue(caller: TokenUser): Promise<string>
  /** What a token says that is ours and still good, else undefined. */
  read(token: string): Promise<TokenClaims | undefined>
  /**
   * What tells the present password from every other one, and tells nothing else of it: another password, and another user under the
   * same email, have another mark.
   */
  passwordMark(passwordHash: string): string
}

/** Whom a token is for. */
export type TokenUser = Pick<Caller, 'email' | 'organizationName' | 'profile'> & { readonly passwordHash: string }

export interface TokenClaims {
  readonly email: string
  readonly passwordMark: string
}

/** Bytes of a mark: enough that none is met twice. */
const MARK_BYTES = 12

interface Signing {
  alg: 'HS256' | 'RS256' | 'ES256'
  signKey: KeyObject | Uint8Array
  verifyKey: KeyObject | Uint8Array
}

function signingOf({ secret, privateKey }: TokensOptions): Signing {
  if (privateKey === undefined) {
    const key = new Uint8Array(deriveKey(secret, 'tokens'))
    return { alg: 'HS256', signKey: key, verifyKey: key }
  }
  const signKey = createPrivateKey(privateKey)
  const verifyKey = createPublicKey(signKey)
  const { modulusLength = 0, namedCurve } = signKey.asymmetricKeyDetails ?? {}
  if (signKey.asymmetricKeyType === 'rsa' && modulusLength >= 2048) return { alg: 'RS256', signKey, verifyKey }
  if (signKey.asymmetricKeyType === 'ec' && namedCurve === 'prime256v1') return { alg: 'ES256', signKey, verifyKey }
  throw new Error('The private key for tokens must be RSA of 2048 bits or more, or EC on the curve P-256')
}

/** Fails at once on a private key that cannot be used. */
export function createTokens(options: TokensOptions): Tokens {
  const { alg, signKey, verifyKey } = signingOf(options)
  const { lifetimeMs, now } = options
  const markKey = deriveKey(options.secret, 'password marks')
  const passwordMark = (passwordHash: string) =>
    createHmac('sha256', markKey).update(passwordHash).digest().subarray(0, MARK_BYTES).toString('base64url')
  return {
    passwordMark,
    issue({ email, organizationName, profile, passwordHash }) {
      const issuedAt = Math.floor(now().getTime() / 1000)
      return new SignJWT({ org: organizationName, profile })
        .setProtectedHeader({ alg, typ: 'JWT' })
        .setSubject(email)
        .setIssuedAt(issuedAt)
        .setExpirationTime(issuedAt + Math.ceil(lifetimeMs / 1000))
        .setJti(`${randomUUID()}.${passwordMark(passwordHash)}`)
        .sign(signKey)
    },
    async read(token) {
      const verified = await jwtVerify(token, verifyKey, {
        algorithms: [alg],
        currentDate: now(),
        requiredClaims: ['sub', 'exp'],
      }).catch(() => undefined)
      const { sub: email, jti } = verified?.payload ?? {}
      return email === undefined ? undefined : { email, passwordMark: jti?.split('.')[1] ?? '' }
    },
  }
}
