/**
 * Whether figures taken one after the other rise: by the median of the slopes between all of them, which a few of them cannot bend, and
 * only where their order tells more than chance does. It knows nothing of what is measured.
 */

/** What is let pass: a rise to so many times what it was at first, and any that is smaller than the grain. */
export interface Bound {
  readonly factor: number
  readonly grain: number
}

export interface Trend {
  /** of the line through the figures, at the first and at the last of them */
  readonly from: number
  readonly to: number
  /** whether it rises steadily, and further than the bound lets it */
  readonly grows: boolean
}

/** How many standard deviations the order of the figures lies from that of chance: one in a thousand such orders does. */
const CHANCE = 3.1

export function trendOf(values: readonly number[], { factor, grain }: Bound): Trend {
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
  const start = middle(values.map((value, i) => value - slope * i))
  const [from, to] = [start, start + slope * (count - 1)]
  // The test of Mann and Kendall.
  const deviations = rising / Math.sqrt((count * (count - 1) * (2 * count + 5)) / 18)
  return { from, to, grows: deviations > CHANCE && to > from * factor && to - from > grain }
}

/** The value in the middle, or the mean of the two; 0 of none. */
export function middle(values: readonly number[]): number {
  if (values.length === 0) return 0
  const sorted = values.toSorted((a, b) => a - b)
  const half = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2
}
