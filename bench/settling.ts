/** Waits, as a database is left alone: nobody vacuums by hand, autovacuum does what it would do in its own time. */
import { setTimeout as sleep } from 'node:timers/promises'
import { onDatabaseOf } from './million-entities.ts'
import type { BenchService } from './processes.ts'

const NAP = '1s'
const LOOK_MS = 500
/** So long nothing is done, of many naps, and after the servers' own word of what they changed, which takes up to 10 s. */
const QUIET_MS = 20_000
const WITHIN_MS = 600_000
/** A table with more changes than these is vacuumed at least once. */
const GROWN = 10_000

/**
 * Resolves once autovacuum has been at every table that grew and has found nothing to do for a while. It looks around every second
 * meanwhile, every minute as always again thereafter. Fails after ten minutes.
 */
export function settle(service: BenchService): Promise<void> {
  return onDatabaseOf(service, async database => {
    await database.query(`alter system set autovacuum_naptime = '${NAP}'`)
    await database.query('select pg_reload_conf()')
    const giveUpAt = performance.now() + WITHIN_MS
    let done = -1
    let quietSince = performance.now()
    while (performance.now() - quietSince < QUIET_MS) {
      if (performance.now() > giveUpAt) throw new Error('autovacuum does not settle')
      await sleep(LOOK_MS)
      const { rows } = await database.query<{ done: number; busy: boolean }>(SEEN, [GROWN])
      const seen = rows[0]!
      if (seen.busy || seen.done !== done) quietSince = performance.now()
      done = seen.done
    }
    await database.query('alter system reset autovacuum_naptime')
    await database.query('select pg_reload_conf()')
  })
}

const SEEN = `
  select coalesce(sum(autovacuum_count + autoanalyze_count), 0)::int as done,
         coalesce(bool_or(n_tup_ins + n_tup_upd + n_tup_del >= $1::int and last_autovacuum is null), false)
         or exists (select from pg_stat_progress_vacuum) or exists (select from pg_stat_progress_analyze) as busy
    from pg_stat_user_tables`
