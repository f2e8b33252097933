/**
 * Whether what a day must keep flat stayed so: memory, tables, dead rows, and the times of answers. A time that grows is let pass only
 * where that of a commit on a server that has nothing to do with the service grows with it, and not without bound: a machine that others
 * come to use slows both. It measures nothing.
 */
import { middle, trendOf } from './trend.ts'
import type { RunEnd } from './verdict.ts'

export interface Sample {
  readonly atMs: number
  readonly residentMb: number
  /** of what JavaScript holds, garbage that was not collected yet included */
  readonly heapMb: number
  readonly hotMb: number
  readonly deadRows: number
  readonly endedMb: number
  readonly operations: number
  /** 99th percentiles since the sample before, milliseconds: of what a client asks, and of a commit on another server */
  readonly readMs: number
  readonly createMs: number
  readonly commitMs: number
}

/** The first samples, of a process that is still warming up, are not judged. */
const WARMING = 4
/** What may come to how much more over the day; what is less than the grain says nothing. */
const BOUNDS = {
  residentMb: { factor: 1.3, grain: 60 },
  heapMb: { factor: 1.3, grain: 40 },
  hotMb: { factor: 1.5, grain: 10 },
  deadRows: { factor: 2, grain: 20_000 },
  readMs: { factor: 1.5, grain: 25 },
  createMs: { factor: 1.5, grain: 25 },
  /** a machine that slows further than this tells nothing of a service on it */
  commitMs: { factor: 3, grain: 50 },
} as const
type Name = keyof typeof BOUNDS

export interface Judging {
  readonly asked: number
  readonly done: number
  readonly tell: (line: string) => void
}

/** Answers what did not stay flat, or was too little to tell, and the figures. */
export function judgeDay(all: readonly Sample[], { asked, done, tell }: Judging): RunEnd {
  const samples = all.slice(WARMING)
  const { atMs = 0, endedMb = 0 } = all.at(-1) ?? {}
  const figures: Record<string, unknown> = { operations: done, minutes: Math.round(atMs / 60_000), endedMb }
  const wrong = done < asked ? [`the day was to have ${asked} operations, and had ${done}`] : []
  for (const name of Object.keys(BOUNDS) as Name[]) {
    const { from, to, grows } = trendOf(
      samples.map(sample => sample[name]),
      BOUNDS[name],
    )
    const told = `${Math.round(from)} to ${Math.round(to)}`
    tell(`${name}: from ${told}`)
    figures[name] = told
    if (grows && !isOfMachine(samples, name)) wrong.push(`${name} grew from ${told}`)
  }
  return { wrong, leftOut: [], figures }
}

/** Whether a time does not grow where it is taken as what it would be on the machine as it usually was. */
function isOfMachine(samples: readonly Sample[], name: Name): boolean {
  if (name !== 'readMs' && name !== 'createMs') return false
  const usual = middle(samples.map(({ commitMs }) => commitMs))
  const values = samples.map(sample => (sample[name] * usual) / Math.max(1, sample.commitMs))
  return !trendOf(values, BOUNDS[name]).grows
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return Math.round((sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0) * 10) / 10
}
