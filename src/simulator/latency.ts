/**
 * How long pretend devices take, as a distribution that can be written on a command line.
 */

/** A distribution of milliseconds: evenly between two bounds, or exponential around a mean and cut at ten times it. */
export type Latency = { shape: 'uniform'; minMs: number; maxMs: number } | { shape: 'exponential'; meanMs: number }

const LATENCY_MAX_MS = 24 * 3_600_000

/**
 * Reads `200` (always 200 ms), `50..500` (evenly between) or `exp:200` (exponential, mean 200 ms).
 * Throws a RangeError in plain words on anything else.
 */
export function parseLatency(text: string): Latency {
  const match = /^(?:exp:(\d+)|(\d+)(?:\.\.(\d+))?)$/.exec(text.trim())
  if (match === null) throw new RangeError(`latency must read like 200, 50..500 or exp:200, not ${text}`)
  const [meanMs, minMs, maxMs] = [match[1], match[2], match[3] ?? match[2]].map(Number)
  if (match[1] !== undefined) return { shape: 'exponential', meanMs: bounded(meanMs!) }
  if (minMs! > maxMs!) throw new RangeError(`latency must not begin above its end: ${text}`)
  return { shape: 'uniform', minMs: bounded(minMs!), maxMs: bounded(maxMs!) }
}

/** One draw, in whole milliseconds. */
export function drawLatencyMs(latency: Latency, random: () => number): number {
  if (latency.shape === 'uniform') return Math.round(latency.minMs + random() * (latency.maxMs - latency.minMs))
  return Math.round(Math.min(-Math.log(1 - random()), 10) * latency.meanMs)
}

function bounded(ms: number): number {
  if (ms > LATENCY_MAX_MS) throw new RangeError('latency must not exceed a day')
  return ms
}
