/**
 * Whether figures taken one after the other rise, steadily or by a step that lasts. Medians judge, which a few bad figures cannot move, and
 * only where the order of the figures tells more than chance does. It knows nothing of what is measured.
 */

/** What is let pass: a rise to so many times what it was at first, and any that is smaller than the grain. */
export interface Bound {
  readonly factor: number
  readonly grain: number
}

export interface Trend {
  /** on both sides of the step where there is one, else of the line through the figures, at the first and at the last of them */
  readonly from: number
  readonly to: number
  /** whether it rises further than the bound lets it */
  readonly grows: boolean
}

/** How many standard deviations the order of the figures lies from that of chance: one in two thousand such orders does. */
const CHANCE = 3.3
/** A step has this share of the figures, at least, on each of its sides: what is shorter may be a bad time of the machine. */
const SIDE = 0.2

export function trendOf(values: readonly number[], bound: Bound): Trend {
  const step = stepIn(values, bound)
  return step ? { ...step, grows: true } : lineThrough(values, bound)
}

/** The line by the median of all slopes (Theil and Sen), and whether it rises (the test of Mann and Kendall). */
function lineThrough(values: readonly number[], bound: Bound): Trend {
  const count = values.length
  const slopes: number[] = []
  let rising = 0
  for (let i = 0; i < count; i += 1) {
    for (let j = i + 1; j < count; j += 1) {
      const step = values[j]! - values[i]!
      slopes.push(step / (j - i))
      rising += Math.sign(step)
    }
  }
  const slope = middle(slopes)
  const from = middle(values.map((value, i) => value - slope * i))
  const to = from + slope * (count - 1)
  const deviations = rising / Math.sqrt((count * (count - 1) * (2 * count + 5)) / 18)
  return { from, to, grows: deviations > CHANCE && isBeyond(from, to, bound) }
}

/** The highest of the steps between figures before and after a place that differ (the test of Mann and Whitney) beyond the bound. */
function stepIn(values: readonly number[], bound: Bound): { readonly from: number; readonly to: number } | undefined {
  const count = values.length
  const side = Math.ceil(count * SIDE)
  let found: { readonly from: number; readonly to: number } | undefined
  for (let place = side; place <= count - side; place += 1) {
    const [before, after] = [values.slice(0, place), values.slice(place)]
    const higher = after.reduce(
      (sum, late) => sum + before.reduce((all, early) => all + (late > early ? 1 : late === early ? 0.5 : 0), 0),
      0,
    )
    const pairs = before.length * after.length
    const deviations = (higher - pairs / 2) / Math.sqrt((pairs * (count + 1)) / 12)
    const [from, to] = [middle(before), middle(after)]
    if (deviations <= CHANCE || !isBeyond(from, to, bound)) continue
    if (found === undefined || to - from > found.to - found.from) found = { from, to }
  }
  return found
}

const isBeyond = (from: number, to: number, { factor, grain }: Bound) => to > from * factor && to - from > grain

/** The value in the middle, or the mean of the two; 0 of none. */
export function middle(values: readonly number[]): number {
  if (values.length === 0) return 0
  const sorted = values.toSorted((a, b) => a - b)
  const half = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2
}
