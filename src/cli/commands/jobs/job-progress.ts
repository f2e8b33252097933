/** A job's progress as one bar by state, or as lines where there is no terminal. */
import { type Bar, MultiBar, Presets } from 'cli-progress'

/** The part of a job's summary that is shown. */
export interface ShownSummary {
  readonly status: string
  readonly total: number
  readonly inProgress: {
    readonly total: number
    readonly scheduled: number
    readonly pendingExecution: number
    readonly waitingForConnection: number
    readonly started: number
  }
  readonly finished: {
    readonly total: number
    readonly successful: number
    readonly error: number
    readonly cancelled: { readonly total: number }
  }
  readonly finishedOutOfTime: { readonly total: number }
}

export interface JobProgress {
  show(summary: ShownSummary): void
  end(): void
}

const LINE_EVERY_MS = 1_000

function words({ status, inProgress, finished }: ShownSummary): string {
  return [
    status.padEnd(11),
    `scheduled ${inProgress.scheduled}`,
    `queued ${inProgress.pendingExecution}`,
    `waiting ${inProgress.waitingForConnection}`,
    `started ${inProgress.started}`,
    `successful ${finished.successful}`,
    `error ${finished.error}`,
    `cancelled ${finished.cancelled.total}`,
  ].join(' · ')
}

/** Shows a job on a terminal as a bar that fills, elsewhere as a line a second. */
export function createJobProgress(output: NodeJS.WriteStream = process.stderr): JobProgress {
  if (!output.isTTY) return lines(output)
  const bars = new MultiBar(
    { stream: output, format: ' {bar} {value}/{total}  {words}', hideCursor: true, clearOnComplete: false },
    Presets.shades_classic,
  )
  let bar: Bar | undefined
  return {
    show(summary) {
      bar ??= bars.create(summary.total, 0, { words: '' })
      bar.setTotal(Math.max(1, summary.total))
      bar.update(summary.finished.total + summary.finishedOutOfTime.total, { words: words(summary) })
    },
    end: () => bars.stop(),
  }
}

function lines(output: NodeJS.WriteStream): JobProgress {
  let shownAt = 0
  let last = ''
  const print = () => {
    if (last !== '') output.write(`${last}\n`)
    last = ''
  }
  return {
    show(summary) {
      last = `${summary.finished.total + summary.finishedOutOfTime.total}/${summary.total}  ${words(summary)}`
      if (Date.now() - shownAt < LINE_EVERY_MS) return
      shownAt = Date.now()
      print()
    },
    end: print,
  }
}
