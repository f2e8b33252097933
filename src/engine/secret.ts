/**
 * The secret of the service and what is made of it: sealed texts, keyed hashes, and a key per purpose. It keeps nothing but the
 * secret, and gives it to nobody.
 */
import { createCipheriv, createDecipheriv, createHmac, createSecretKey, hkdfSync, randomBytes } from 'node:crypto'
import type { Queryable } from '../store/database.ts'
import { settle } from '../store/settings.ts'

/** Seals texts that the service must read again, and hashes those it only has to recognise. */
export interface Seal {
  /** Encrypts with AES-256-GCM; the same text gives another result every time. */
  seal(text: string): Buffer
  /** Reads what `seal` made. Fails when it was made with another secret, or changed. */
  open(sealed: Uint8Array): string
  /** HMAC-SHA256 under a key of its own: the same text gives the same 32 bytes. */
  hash(text: string): Buffer
  /** A new API key: 256 bits of chance in 43 characters that need no escape. */
  newKey(): string
}

const nonceBytes = 12
const tagBytes = 16
/** First byte of everything sealed, so that another way of sealing can come beside this one. */
const sealedV1 = 1

/** A 256-bit key for one purpose; from it neither the secret nor the key of another purpose can be told. */
export function deriveKey(secret: string, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', `drover ${purpose}`, 32))
}

export function createSeal(secret: string): Seal {
  const sealKey = deriveKey(secret, 'seal')
  // Made once: a key of mere bytes is prepared anew for every hash, which costs five times as much, at each request of a device.
  const hashKey = createSecretKey(deriveKey(secret, 'hash'))
  return {
    seal(text) {
      const nonce = randomBytes(nonceBytes)
      const cipher = createCipheriv('aes-256-gcm', sealKey, nonce)
      const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      return Buffer.concat([Buffer.of(sealedV1), nonce, cipher.getAuthTag(), body])
    },
    open(sealed) {
      const bytes = Buffer.from(sealed)
      if (bytes[0] !== sealedV1 || bytes.length < 1 + nonceBytes + tagBytes) throw new Error('This is no sealed text')
      const nonce = bytes.subarray(1, 1 + nonceBytes)
      const tag = bytes.subarray(1 + nonceBytes, 1 + nonceBytes + tagBytes)
      const decipher = createDecipheriv('aes-256-gcm', sealKey, nonce, { authTagLength: tagBytes })
      decipher.setAuthTag(tag)
      const body = bytes.subarray(1 + nonceBytes + tagBytes)
      return Buffer.concat([decipher.update(body), decipher.final()]).toString('utf8')
    },
    hash: text => createHmac('sha256', hashKey).update(text, 'utf8').digest(),
    newKey: () => randomBytes(32).toString('base64url'),
  }
}

/**
 * The secret of this service: the one the operator gave, else the one that the first of its processes made and keeps in the
 * database. Fails with a clear word when what is kept was sealed with another one.
 */
export async function serviceSecret(db: Queryable, given: string | null): Promise<string> {
  const secret = given ?? (await settle(db, 'secret', randomBytes(32).toString('base64url')))
  const mark = createSeal(secret).hash('the secret of this database').toString('base64')
  if ((await settle(db, 'secret_mark', mark)) !== mark) {
    throw new Error(
      'The API keys in this database were sealed with another secret: set DROVER_SECRET as it was when the database was made, ' +
        'or leave it unset where it was unset then',
    )
  }
  return secret
}
