/**
 * A week that repeats for ever, open at some times and closed at others, on one clock. Measuring open time in it, and
 * finding the time at which so much has passed, are divisions by a week: nothing here steps through time.
 */
import { mondayAt, weekMs } from './instants.ts'

/**
 * The open spans of a week in order, apart from each other, as milliseconds since Monday 00:00; a span over the end of
 * the week lies here as two. `before[i]` is the open time of the week ahead of span i, `openMs` that of the whole week.
 */
export type Week = {
  readonly opens: readonly number[]
  readonly closes: readonly number[]
  readonly before: readonly number[]
  readonly openMs: number
}

/** The union of the spans given, each from any millisecond of the week and at most a week long. */
export function weekOf(spans: readonly { readonly opens: number; readonly lengthMs: number }[]): Week {
  const pieces = spans.flatMap(({ opens, lengthMs }) => {
    const start = ((opens % weekMs) + weekMs) % weekMs
    const end = start + lengthMs
    return end <= weekMs
      ? [{ start, end }]
      : [
          { start, end: weekMs },
          { start: 0, end: end - weekMs },
        ]
  })
  const opens: number[] = []
  const closes: number[] = []
  for (const { start, end } of pieces.sort((one, other) => one.start - other.start)) {
    const last = closes.length - 1
    const lastEnd = closes[last]
    if (lastEnd !== undefined && start <= lastEnd) closes[last] = Math.max(lastEnd, end)
    else {
      opens.push(start)
      closes.push(end)
    }
  }
  const before: number[] = []
  let openMs = 0
  for (const [index, start] of opens.entries()) {
    before.push(openMs)
    openMs += closes[index]! - start
  }
  return { opens, closes, before, openMs }
}

/** Whether the week is open at this local time. */
export function isOpenAt(week: Week, local: number): boolean {
  return spanAt(week, sinceMonday(local)) !== undefined
}

/** The first open local time at or after this one; the week must not be empty. */
export function firstOpen(week: Week, local: number): number {
  const since = sinceMonday(local)
  if (spanAt(week, since) !== undefined) return local
  const next = week.opens.find(start => start > since) ?? week.opens[0]! + weekMs
  return local + next - since
}

/** The first closed local time at or after this one; the week must not be open throughout. */
export function firstClosed(week: Week, local: number): number {
  const since = sinceMonday(local)
  const span = spanAt(week, since)
  if (span === undefined) return local
  const close = week.closes[span]!
  // The span that reaches the end of the week goes on in the next one, where the first begins with the week.
  const end = close === weekMs && week.opens[0] === 0 ? weekMs + week.closes[0]! : close
  return local + end - since
}

/** Open time between the origin of weeks and this local time; negative before the origin. Never decreases. */
export function openTimeUntil(week: Week, local: number): number {
  const since = sinceMonday(local)
  const whole = ((local - mondayAt - since) / weekMs) * week.openMs
  let index = week.opens.length - 1
  while (index >= 0 && week.opens[index]! > since) index -= 1
  if (index < 0) return whole
  return whole + week.before[index]! + Math.min(since, week.closes[index]!) - week.opens[index]!
}

/** The earliest local time at which `openTimeUntil` is `openMs`; the week must not be empty. */
export function localAfter(week: Week, openMs: number): number {
  const weeks = Math.ceil(openMs / week.openMs) - 1
  const rest = openMs - weeks * week.openMs
  let index = week.before.length - 1
  while (index > 0 && week.before[index]! >= rest) index -= 1
  return mondayAt + weeks * weekMs + week.opens[index]! + rest - week.before[index]!
}

function sinceMonday(local: number): number {
  const since = (local - mondayAt) % weekMs
  return since < 0 ? since + weekMs : since
}

function spanAt(week: Week, since: number): number | undefined {
  const index = week.opens.findIndex((start, span) => start <= since && since < week.closes[span]!)
  return index < 0 ? undefined : index
}
