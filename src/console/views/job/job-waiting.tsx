/** Why operations of a job wait: what holds all that are not launched, or when their turn comes, and who else is waited for. */
import type { ReactNode } from 'react'
import type { JobSummaryView, ProgressView } from '../../../contract/client/client.ts'
import { count, Instant, Since } from '../../figures.tsx'
import type { Tone } from '../../words.ts'

interface Waiting {
  readonly tone: Tone
  readonly number: number
  readonly reason: ReactNode
}

interface Props {
  readonly inProgress: JobSummaryView['inProgress']
  readonly progress: ProgressView | null | undefined
}

export function JobWaiting({ inProgress, progress }: Props) {
  const { scheduled, pendingExecution, waitingForConnection } = inProgress
  const all: readonly Waiting[] = [
    { tone: 'scheduled', number: scheduled, reason: progress && <Held progress={progress} /> },
    { tone: 'waiting', number: waitingForConnection, reason: 'The device has to connect, or to ask for its work.' },
    { tone: 'sent', number: pendingExecution, reason: 'Sent or about to be, and not acknowledged yet.' },
  ]
  const shown = all.filter(({ number, reason }) => number > 0 && reason)
  if (shown.length === 0) return null
  return (
    <ul className="waits" aria-label="What is waited for">
      {shown.map(({ tone, number, reason }) => (
        <li key={tone}>
          <span className={`swatch tone-${tone}`} aria-hidden="true" />
          <span className="figure strong right">{count(number)}</span>
          <span>{reason}</span>
        </li>
      ))}
    </ul>
  )
}

/** Why what is scheduled is not launched. */
function Held({ progress: { date, held, lastLaunchDate } }: { readonly progress: ProgressView }) {
  if (held.length > 0) {
    return held.map(({ gate, reason, liftsAt }) => (
      <span key={gate}>
        {reason}{' '}
        {liftsAt && (
          <span className="quiet">
            Until <Instant at={liftsAt} />, <Since at={liftsAt} />.{' '}
          </span>
        )}
      </span>
    ))
  }
  if (lastLaunchDate && lastLaunchDate > date) {
    return (
      <>
        The launches are spread over time, and each waits for its turn.{' '}
        <span className="quiet">
          The last one comes at <Instant at={lastLaunchDate} />, <Since at={lastLaunchDate} />.
        </span>
      </>
    )
  }
  return 'Due: each waits for a free place, for its next attempt, or for another operation on its device to end.'
}
