/**
 * What is kept of measurements, and the page that shows it. All of it is of one machine and the same versions, which the page says once: what
 * is of others is not put beside it. It measures nothing.
 */
import { type Figure, type Measurement, RUNS_LEAST, shown, table } from './figures.ts'

/** What is known of a measurement that was done, and of the circumstances. */
export interface Kept {
  /** as it was measured, which options may have made smaller */
  readonly about: string
  readonly commit: string
  readonly at: string
  /** of the machine over the last minute: how much else was running */
  readonly load: number
  readonly figures: readonly Figure[]
}

/** Everything that is kept. */
export interface Results {
  /** it, and the versions of what ran on it */
  readonly machine: string
  readonly results: Readonly<Record<string, Kept>>
}

/** How a measurement was asked for. */
export interface Asked {
  readonly runs: number
  readonly entities: number | undefined
  readonly isWithoutPage: boolean
}

/** Why figures that were asked for so, on this machine, are printed and not kept; undefined where they are kept. */
export function reasonNotToKeep(asked: Asked, machine: string, kept: Results | undefined): string | undefined {
  if (asked.isWithoutPage) return 'that was asked for'
  if (asked.runs < RUNS_LEAST) return `a figure that is kept stands on at least ${RUNS_LEAST} runs`
  if (asked.entities !== undefined) return 'a figure that is kept is of the full size'
  if (kept !== undefined && kept.machine !== machine) {
    return `those that are kept are of another machine or of other versions (${kept.machine}): remove them to begin anew`
  }
  return undefined
}

/** The page of what is kept, in the order of the measurements; what is no longer measured is left out. */
export function pageOf({ machine, results }: Results, measurements: readonly Measurement[]): string {
  const parts = measurements.flatMap(({ name }) => {
    const last = results[name]
    if (!last) return []
    return `## ${name}\n\n${last.about}. Commit ${last.commit}, ${last.at}, load average ${shown(last.load)}.\n\n${table(last.figures)}\n`
  })
  return `${HEAD}\n${machine}.\n\n${parts.join('\n')}`
}

const HEAD = `# Results

Written by \`npm run bench\`, with the same as JSON in \`results.json\`: the median of the runs, and their least and most. The load average is that
of the machine at the end of the measurement, its own work included: on two cores, far more than 4 tells of others at work. What is short, why, and what comes next: [SHORTFALLS.md](SHORTFALLS.md).
`
