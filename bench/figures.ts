/** What a measurement says: named figures of several runs, as a median with its spread, in a table, as JSON, and as a page. */

/** One run's figures, by name; names carry their unit. */
export type Figures = Readonly<Record<string, number>>

/** What a figure must reach: the median of its runs, or where `worst` says so the worst of them. */
export interface Target {
  readonly least?: number
  readonly most?: number
  readonly worst?: true
}

/** Fewer runs than these carry no verdict and are not kept. */
export const RUNS_LEAST = 3

/** What several runs are done on, where that is made once. */
export interface Session {
  run(): Promise<Figures>
  close(): Promise<void>
}

/** A measurement: what it is called, and how one run is done. */
export type Measurement = {
  readonly name: string
  /** one sentence for the page */
  readonly about: string
  /** measured in the same runs, and asked for by a name of its own */
  readonly also?: readonly string[]
  /** what must be reached, by figure */
  readonly targets?: Readonly<Record<string, Target>>
} & ({ run(): Promise<Figures> } | { open(): Promise<Session> })

/** What the runs of a measurement are done on; one that makes everything anew has nothing to close. */
export async function openSession(measurement: Measurement): Promise<Session> {
  if ('open' in measurement) return await measurement.open()
  return { run: () => measurement.run(), close: async () => {} }
}

/** A figure over all runs. */
export interface Figure {
  readonly measurement: string
  readonly figure: string
  readonly median: number
  readonly least: number
  readonly most: number
  readonly runs: number
  /** as asked, and whether it is reached; absent where nothing is asked, or too few runs were done to tell */
  readonly target?: string
  readonly reached?: boolean
}

/** The middle value, or the mean of the two. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** The value that a share of the others do not exceed. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN
}

/** Sums runs up. */
export function summarize({ name, targets = {} }: Measurement, runs: readonly Figures[]): Figure[] {
  return Object.keys(runs[0] ?? {}).map(figure => {
    const values = runs.map(run => run[figure]!)
    const target = targets[figure]
    const middle = median(values)
    return {
      measurement: name,
      figure,
      median: middle,
      least: Math.min(...values),
      most: Math.max(...values),
      runs: runs.length,
      ...(target && { target: wordsOf(target) }),
      ...(target && values.length >= RUNS_LEAST && { reached: isReached(target, values) }),
    }
  })
}

function wordsOf({ least, most, worst }: Target): string {
  const bounds = [
    ...(least === undefined ? [] : [`≥ ${shown(least)}`]),
    ...(most === undefined ? [] : [`≤ ${shown(most)}`]),
  ]
  return `${bounds.join(', ')}${worst ? ' in every run' : ''}`
}

function isReached({ least = -Infinity, most = Infinity, worst }: Target, values: readonly number[]): boolean {
  const judged = worst ? values : [median(values)]
  return judged.every(value => value >= least && value <= most)
}

/** A number as a reader wants it: three digits where it is small. */
export function shown(value: number): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2
  return value.toLocaleString('en', { maximumFractionDigits: digits })
}

function verdictOf({ target, reached, runs }: Figure): string {
  if (target === undefined) return ''
  if (reached === undefined || runs < RUNS_LEAST) return 'too few runs'
  return reached ? 'yes' : 'no'
}

/** The figures as a table in Markdown, which a terminal shows as well. */
export function table(figures: readonly Figure[]): string {
  const rows = figures.map(each => [
    each.measurement,
    each.figure,
    shown(each.median),
    `${shown(each.least)} to ${shown(each.most)}`,
    String(each.runs),
    each.target ?? '',
    verdictOf(each),
  ])
  const head = ['name', 'figure', 'median', 'spread', 'runs', 'target', 'reached']
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map(row => row[i]!.length)))
  const line = (cells: readonly string[]) => `| ${cells.map((cell, i) => cell.padEnd(widths[i]!)).join(' | ')} |`
  return [line(head), line(widths.map(width => '-'.repeat(width))), ...rows.map(line)].join('\n')
}
