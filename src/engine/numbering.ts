/**
 * Numbers for jobs, tasks and entities that no other process hands out: each process holds a salt of its own, taken from the database
 * before its first number and kept while it lives. Refuses to number where another process may have its salt by now.
 */
import { DroverError } from '../domain/errors.ts'
import { numberSource } from '../domain/identity.ts'
import type { Database } from '../store/database.ts'
import { keepSalt, takeSalt } from '../store/number-salts.ts'
import type { Clock } from './clock.ts'

export interface Numbering {
  /** The next number. Fails with `unavailable` where the salt could not be kept for so long that it may soon be another's. */
  next(): bigint
  /** Keeps the salt; takes another where it has been lost. To be called every few seconds: it asks the database once a minute. */
  keep(): Promise<void>
}

export interface NumberingParts {
  readonly database: Database
  readonly clock: Pick<Clock, 'now'>
  readonly node: number
}

const KEEP_EVERY_MS = 60_000
/** The salt of the dead is free only after longer than a clock goes back: numbers begin with the time. */
export const FREE_AFTER_MS = 600_000
/** Well before that, a process that could not keep its salt hands out no more numbers. */
export const UNKEPT_MAX_MS = FREE_AFTER_MS / 2

/** Takes a salt. Fails where all are in use, which takes a thousand processes, or as many starts within ten minutes. */
export async function createNumbering({ database, clock, node }: NumberingParts): Promise<Numbering> {
  let held = await take()

  async function take() {
    const now = clock.now()
    const freeBefore = new Date(now.getTime() - FREE_AFTER_MS)
    const salt = await database.transaction(tx => takeSalt(tx, node, now, freeBefore))
    if (salt === undefined)
      throw new Error('No salt for numbers is free: too many processes run, or have started lately')
    return { salt, keptAt: now.getTime(), next: numberSource(() => clock.now().getTime(), salt) }
  }

  return {
    next() {
      if (clock.now().getTime() - held.keptAt > UNKEPT_MAX_MS) throw new DroverError('unavailable')
      return held.next()
    },
    async keep() {
      const now = clock.now()
      if (now.getTime() - held.keptAt < KEEP_EVERY_MS) return
      if (await keepSalt(database, held.salt, node, now)) held = { ...held, keptAt: now.getTime() }
      else held = await take()
    },
  }
}
