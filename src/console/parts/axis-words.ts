/** What stands at the ticks of a time axis: times, with the day below where it is another one; days alone where the ticks are days apart. Pure. */
import { dayKeyOf, dayOf, timeOfDay } from '../figures.tsx'

const DAY_S = 86_400
const MINUTE_S = 60

/** The words at each tick, in seconds since 1970; a line break stands between time and day. */
export function axisWords(ticks: readonly number[], now = Date.now()): string[] {
  const apart = (ticks[1] ?? 0) - (ticks[0] ?? 0)
  if (apart >= DAY_S) return ticks.map(tick => dayOf(tick * 1000, now))
  return ticks.map((tick, index) => {
    const at = tick * 1000
    const before = ticks[index - 1]
    const time = timeOfDay(at).slice(0, apart < MINUTE_S ? 8 : 5)
    // Nobody has to be told that it is today until it has been another day.
    const known = dayKeyOf(before === undefined ? now : before * 1000)
    return dayKeyOf(at) === known ? time : `${time}\n${dayOf(at, now)}`
  })
}
