/** The secret of the service: what it seals nobody else reads, and no other secret is taken for it. */
import { describe, expect, test } from 'vitest'
import { createSeal, deriveKey, serviceSecret } from '../../src/engine/secret.ts'
import { createTestDatabase } from '../database.ts'

const seal = createSeal('a secret of at least thirty-two characters')

describe('a seal', () => {
  test('opens what it sealed, and never seals the same text the same way', () => {
    const once = seal.seal('key ✓')
    expect(seal.open(once)).toBe('key ✓')
    expect(seal.seal('key ✓').equals(once)).toBe(false)
    expect(once.toString('latin1')).not.toContain('key')
  })

  test('refuses what was changed, cut, or sealed with another secret', () => {
    const sealed = seal.seal('key')
    for (const at of [0, 5, 20, sealed.length - 1]) {
      const changed = Buffer.from(sealed)
      changed[at]! ^= 1
      expect(() => seal.open(changed)).toThrow()
    }
    expect(() => seal.open(sealed.subarray(0, 20))).toThrow()
    expect(() => createSeal('another secret').open(sealed)).toThrow()
  })

  test('hashes the same text the same way, under its own secret alone', () => {
    expect(seal.hash('key').equals(seal.hash('key'))).toBe(true)
    expect(seal.hash('key').equals(seal.hash('kez'))).toBe(false)
    expect(createSeal('another secret').hash('key').equals(seal.hash('key'))).toBe(false)
  })

  test('makes keys that need no escape and do not repeat', () => {
    const keys = Array.from({ length: 100 }, seal.newKey)
    expect(new Set(keys).size).toBe(100)
    for (const key of keys) expect(key).toMatch(/^[\w-]{43}$/)
  })

  test('has a key of its own for every purpose', () => {
    expect(deriveKey('s', 'a').equals(deriveKey('s', 'b'))).toBe(false)
  })
})

describe('the secret of a service', () => {
  test('is made once, however many processes start together, and found again', async () => {
    await using made = await opened()
    const secrets = await Promise.all(Array.from({ length: 20 }, () => serviceSecret(made.database, null)))
    expect(new Set(secrets).size).toBe(1)
    expect(secrets[0]!.length).toBeGreaterThanOrEqual(43)
    expect(await serviceSecret(made.database, null)).toBe(secrets[0])
  })

  test('is the operator’s where it gives one, and then stands in no table', async () => {
    await using made = await opened()
    expect(await serviceSecret(made.database, 'the secret of the operator, long enough')).toContain('operator')
    const { rows } = await made.database.executeSql('select * from setting')
    expect(JSON.stringify(rows)).not.toContain('operator')
  })

  test('cannot be exchanged for another without a clear word', async () => {
    await using made = await opened()
    await serviceSecret(made.database, null)
    await expect(serviceSecret(made.database, 'the secret of the operator, long enough')).rejects.toThrow(
      'DROVER_SECRET',
    )
  })
})

async function opened() {
  const made = await createTestDatabase()
  return { ...made, [Symbol.asyncDispose]: made.close }
}
