/**
 * A run that lies over the end of a month: where the clock of its database stands for that, and whether months of ended operations came
 * and went as they must. It makes no load.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from 'pg'
import { type Month, monthOf } from '../../src/domain/months.ts'
import type { World } from './world.ts'

/** The months that a run with retention of one month sees: what lies in `old` goes when `next` begins, and `ahead` is made. */
export interface Months {
  readonly old: Month
  readonly present: Month
  readonly next: Month
  readonly ahead: Month
}

const AT_THE_CLOCK_WITHIN_MS = 60_000

export function monthsAround(now: Date): Months {
  const [old, present, next, ahead] = [-1, 0, 1, 3].map(away => monthOf(now, away))
  return { old: old!, present: present!, next: next!, ahead: ahead! }
}

/** Sets the clock forward, and waits until the nodes have it. */
export async function jumpTo(world: World, at: Date): Promise<void> {
  await world.database.setClock(at)
  for (const until = Date.now() + AT_THE_CLOCK_WITHIN_MS; Date.now() < until; await sleep(100)) {
    const { rows } = await world.database.on(client =>
      client.query<{ there: boolean }>('select coalesce(max(heartbeat_at) >= $1, false) as there from node', [at]),
    )
    if (rows[0]?.there) return
  }
  throw new Error(`the nodes did not take over the clock of their database: ${at.toISOString()}`)
}

/** Operations that lie in the partition of a month; null where there is none. */
export async function rowsOf(client: Client, { name }: Pick<Month, 'name'>): Promise<number | null> {
  const table = `operation_ended_${name}`
  const { rows } = await client.query<{ there: boolean }>('select to_regclass($1) is not null as there', [table])
  if (!rows[0]?.there) return null
  const { rows: counted } = await client.query<{ count: number }>(`select count(*)::int as count from ${table}`)
  return counted[0]!.count
}

/** Looks once the next month has begun and the house was kept after that. Answers what is not as it must be. */
export async function judgeMonths(client: Client, { old, present, next, ahead }: Months): Promise<string[]> {
  const [ofOld, ofPresent, ofNext, ofAhead, ofRest] = [
    await rowsOf(client, old),
    await rowsOf(client, present),
    await rowsOf(client, next),
    await rowsOf(client, ahead),
    await rowsOf(client, { name: 'rest' }),
  ]
  return [
    ...(ofOld === null ? [] : [`the month ${old.name} is older than is kept, and ${ofOld} operations of it are there`]),
    ...(ofPresent ? [] : [`the month ${present.name}, in which the run began, holds nothing`]),
    ...(ofNext ? [] : [`the month ${next.name}, in which the run ended, holds nothing`]),
    ...(ofAhead === 0 ? [] : [`the month ${ahead.name} was not made ahead`]),
    ...(ofRest === 0 ? [] : [`${ofRest} operations lie in no month`]),
  ]
}
