/**
 * Passwords: hashed with argon2id, verified with the same effort whether or not the user exists. It bounds how much of the machine
 * that may take, and keeps no password.
 */
import { hash, verify } from '@node-rs/argon2'
import { DroverError } from '../domain/errors.ts'

export interface Passwords {
  hash(password: string): Promise<string>
  /** With undefined, the hash of nobody, it takes as long and answers false. Fails with `tooMany` when too many wait. */
  matches(passwordHash: string | undefined, password: string): Promise<boolean>
}

/** Argon2id with 19 MiB and two passes, as OWASP recommends. */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const
/** Each takes some 20 ms of a core and a thread of the pool that files and names need as well. */
const atOnceMax = 2
const waitingMax = 100

export function createPasswords(): Passwords {
  const nobody = hash('nobody has this password', cost)
  // Whoever awaits it sees the failure; until then it must not end the process.
  nobody.catch(() => {})
  let running = 0
  const waiting: (() => void)[] = []

  async function inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (running >= atOnceMax) {
      if (waiting.length >= waitingMax) throw new DroverError('tooMany', [], undefined, 1_000)
      // The turn is handed over with its place: `running` stays as it is.
      await new Promise<void>(resolve => waiting.push(resolve))
    } else running += 1
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else running -= 1
    }
  }

  return {
    hash: password => inTurn(() => hash(password, cost)),
    matches: (passwordHash, password) =>
      inTurn(async () => {
        const matched = await verify(passwordHash ?? (await nobody), password).catch(() => false)
        return matched && passwordHash !== undefined
      }),
  }
}
