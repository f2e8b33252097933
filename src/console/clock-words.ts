/** Times of day and days of the week as the interface writes them, as people read them. Pure. */

const WEEK = ['MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT', 'SUN']

/** `22:00:00+02:00` is 22:00, UTC+02:00. Seconds are told where there are some. */
export function clockOf(time: string): { readonly time: string; readonly zone: string } {
  const [, minutes = time, seconds = '', offset = ''] = /^(\d\d:\d\d)(:\d\d(?:[.,]\d+)?)?(.*)$/.exec(time) ?? []
  return {
    time: seconds === ':00' ? minutes : `${minutes}${seconds}`,
    zone: /^z?$/i.test(offset) ? 'UTC' : `UTC${offset}`,
  }
}

/** The same in one piece. */
export function clockWords(text: string): string {
  const { time, zone } = clockOf(text)
  return `${time} ${zone}`
}

const short = (day: string): string => `${day.charAt(0)}${day.slice(1).toLowerCase()}`

/** Days in the order of the week, those that follow each other as Mon–Fri; all or none are every day. */
export function daysWords(days: readonly string[] = []): string {
  const known = WEEK.filter(day => days.includes(day))
  if (known.length === 0 || known.length === WEEK.length) return 'every day'
  const runs: string[][] = []
  for (const day of known) {
    const run = runs.at(-1)
    if (run && WEEK.indexOf(day) === WEEK.indexOf(run.at(-1) ?? '') + 1) run.push(day)
    else runs.push([day])
  }
  return runs
    .flatMap(run => (run.length > 2 ? [`${short(run[0] ?? '')}–${short(run.at(-1) ?? '')}`] : run.map(short)))
    .join(', ')
}
