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

/** The month of a name such as `2026_11`. Throws where it is none. */
export function monthNamed(name: string): Month {
  const [, year, month] = /^(\d{4})_(0[1-9]|1[0-2])$/.exec(name) ?? []
  if (year === undefined) throw new RangeError(`${name} is no month`)
  return monthOf(new Date(Date.UTC(Number(year), Number(month) - 1)))
}
