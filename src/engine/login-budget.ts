/**
 * How many wrong passwords an account and an address may try, over all nodes and across their restarts. Who is proven by what is not
 * its business. Serves: Authentication.
 */
import { DroverError } from '../domain/errors.ts'
import { networkOf, type ThrottleRule, waitBeforeTry } from '../domain/throttle.ts'
import type { Database } from '../store/database.ts'
import { giveLoginTriesBack, readLoginBudget, takeLoginTries } from '../store/login-budget.ts'
import type { Seal } from './secret.ts'

export interface LoginBudget {
  /**
   * Runs a check of a password and answers what it does; one that answers false counts against the account and the address. Fails with
   * `tooMany`, before it checks, where either has no try left. A refusal writes nothing, so that a flood of them costs a look each.
   */
  spend(email: string, address: string, check: () => Promise<boolean>): Promise<boolean>
}

const accountRule: ThrottleRule = { burst: 10, everyMs: 15_000 }
const addressRule: ThrottleRule = { burst: 50, everyMs: 2_000 }
const rules = [addressRule, accountRule] as const

export function createLoginBudget(database: Database, seal: Seal, now: () => Date): LoginBudget {
  function allow(restedAt: readonly number[], at: Date): void {
    const waitMs = Math.max(...rules.map((rule, index) => waitBeforeTry(rule, restedAt[index]!, at.getTime())))
    if (waitMs > 0) throw new DroverError('tooMany', [{ name: 'email' }], 'Too many failed logins.', waitMs)
  }

  return {
    async spend(email, address, check) {
      const at = now()
      const tries = [
        { key: seal.hash(`login from ${networkOf(address)}`), everyMs: addressRule.everyMs },
        { key: seal.hash(`login of ${email.toLowerCase()}`), everyMs: accountRule.everyMs },
      ]
      allow(await readLoginBudget(database, tries), at)
      // Two nodes may both have read the last try: what is counted decides, and a refusal takes back what it counted.
      await database.transaction(async tx => allow(await takeLoginTries(tx, tries, at), at))
      let failed = false
      try {
        failed = !(await check())
        return !failed
      } finally {
        if (!failed) await database.transaction(tx => giveLoginTriesBack(tx, tries))
      }
    },
  }
}
