/** Of when the figures beside it are, and whether they are still kept up to date. */
import { Instant, span, useNow } from '../figures.tsx'
import { useStreamState } from '../stream.ts'

/** After so long without an answer the figures are called old, and after so long nobody should rely on them. */
const OLD_MS = 10_000
const LOST_MS = 60_000

export interface Freshness {
  readonly dataUpdatedAt: number
  readonly isError: boolean
}

/** What was learned least lately of several answers that are shown together. */
export const oldest = (...answers: readonly Freshness[]): Freshness => ({
  dataUpdatedAt: Math.min(...answers.map(each => each.dataUpdatedAt)),
  isError: answers.some(each => each.isError),
})

export function AsOf({
  of: { dataUpdatedAt, isError },
  live = true,
}: {
  readonly of: Freshness
  readonly live?: boolean
}) {
  const now = useNow()
  const stream = useStreamState()
  if (dataUpdatedAt === 0) return null
  const age = now - dataUpdatedAt
  // Also what is asked for once is as old as that where the service does not answer: the stream, which all views share, tells.
  const isUnheard = live ? stream !== 'live' : stream === 'broken'
  const broken = isError || (isUnheard && age > OLD_MS)
  const tone = !broken ? '' : age > LOST_MS ? 'as-of-broken as-of-lost' : 'as-of-broken'
  return (
    <span className={`as-of ${tone}`}>
      <span className="as-of-dot" aria-hidden="true" />
      {broken ? (
        <>
          {/* What is read aloud is told once, and does not tick. */}
          <span role="alert">No connection.</span> Figures of <Instant at={dataUpdatedAt} />, {span(age)} old; trying
          again.
        </>
      ) : (
        <>
          {live && stream === 'live' ? 'Live, as of ' : 'As of '}
          <Instant at={dataUpdatedAt} />
        </>
      )}
    </span>
  )
}
