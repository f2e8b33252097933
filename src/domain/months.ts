/** The months by which ended operations are kept and let go: ranges of job numbers. Refuses to know tables. */
import { firstNumberAt } from './identity.ts'

/** A month of UTC and the job numbers that belong to it: `from` included, `to` excluded. */
export interface Month {
  /** `2026_11` */
  readonly name: string
  readonly startsAt: Date
  readonly from: bigint
  readonly to: bigint
}

/** The month of an instant, or one so many months away from it. */
export function monthOf(at: Date, away = 0): Month {
  const startsAt = new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + away))
  const endsAt = Date.UTC(startsAt.getUTCFullYear(), startsAt.getUTCMonth() + 1)
  const name = `${startsAt.getUTCFullYear()}_${String(startsAt.getUTCMonth() + 1).padStart(2, '0')}`
  return { name, startsAt, from: firstNumberAt(startsAt.getTime()), to: firstNumberAt(endsAt) }
}
