/** Tokens: signed by us, in the way the operator chose, and good for a while. */
import { generateKeyPairSync } from 'node:crypto'
import { decodeProtectedHeader, SignJWT } from 'jose'
import { describe, expect, test } from 'vitest'
import { createTokens, type TokensOptions } from '../../src/engine/tokens.ts'

const secret = 'a secret of at least thirty-two characters'
const user = {
  email: 'ana@example.com',
  organizationName: 'ours',
  profile: 'advanced',
  passwordHash: 'a hash',
} as const
const options: TokensOptions = { secret, lifetimeMs: 60_000, now: () => new Date('2026-11-21T00:00:00Z') }
const pem = { format: 'pem', type: 'pkcs8' } as const
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export(pem).toString()
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export(pem).toString()

describe.each([
  ['HS256', {}],
  ['RS256', { privateKey: rsa }],
  ['ES256', { privateKey: ec }],
])('%s', (alg, key) => {
  const tokens = createTokens({ ...options, ...key })

  test('signs with it, and reads its own', async () => {
    const token = await tokens.issue(user)
    expect(decodeProtectedHeader(token).alg).toBe(alg)
    expect(await tokens.read(token)).toEqual({ email: user.email, passwordMark: tokens.passwordMark('a hash') })
    expect(tokens.passwordMark('another hash')).not.toBe(tokens.passwordMark('a hash'))
  })

  test('is no good once its time is over, or changed in a letter', async () => {
    const token = await tokens.issue(user)
    const later = createTokens({ ...options, ...key, now: () => new Date('2026-11-21T00:01:01Z') })
    expect(await later.read(token)).toBeUndefined()
    const [header, payload, signature] = token.split('.')
    const flipped = `${signature!.startsWith('A') ? 'B' : 'A'}${signature!.slice(1)}`
    expect(await tokens.read(`${header}.${payload}.${flipped}`)).toBeUndefined()
  })
})

test('a token of another algorithm, or of another secret, is none of ours', async () => {
  const hs = await createTokens(options).issue(user)
  expect(await createTokens({ ...options, privateKey: rsa }).read(hs)).toBeUndefined()
  expect(await createTokens({ ...options, secret: 'another' }).read(hs)).toBeUndefined()
  // The public key of a pair used as the secret of an HMAC: the oldest trick.
  const confused = await new SignJWT({ sub: user.email, exp: 4_000_000_000 })
    .setProtectedHeader({ alg: 'HS256' })
    .sign(new TextEncoder().encode(rsa))
  expect(await createTokens({ ...options, privateKey: rsa }).read(confused)).toBeUndefined()
})

test('a key that is too short or of another kind is refused at the start', () => {
  const short = generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey.export(pem).toString()
  const curve = generateKeyPairSync('ec', { namedCurve: 'secp384r1' }).privateKey.export(pem).toString()
  for (const privateKey of [short, curve, 'no key']) {
    expect(() => createTokens({ ...options, privateKey })).toThrow()
  }
})
