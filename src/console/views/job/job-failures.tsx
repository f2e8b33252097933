/** How the operations of a job failed, in groups by result, step and description; what a user cancelled stands apart. */
import { useAsked } from '../../live.ts'
import { AsOf } from '../../parts/as-of.tsx'
import { TakeAway } from '../../parts/csv.tsx'
import { Panel } from '../../parts/page.tsx'
import { Failed, Loading } from '../../parts/states.tsx'
import { asking } from '../../request.ts'
import { FailureTable } from './failure-table.tsx'
import type { FailureChosen } from './operation-filter.ts'

const EVERY_MS = 10_000

interface Props {
  readonly jobId: string
  readonly isLive: boolean
  readonly choose: (failure: FailureChosen) => void
}

export function JobFailures({ jobId, isLive, choose }: Props) {
  const asked = asking('GET /operation/jobs/{jobId}/failures', { path: { jobId } })
  const found = useAsked(asked, { every: isLive ? EVERY_MS : false })
  const failures = found.data?.failures ?? []
  const failed = failures.filter(each => each.counter !== 'byUser')
  const calledOff = failures.filter(each => each.counter === 'byUser')
  if (found.data && failures.length === 0) return null
  return (
    <Panel
      title={calledOff.length > 0 && failed.length === 0 ? 'Cancelled by a user' : 'Failures'}
      facts={
        <span className="row">
          {found.data?.more && 'The most frequent ones'}
          <AsOf of={found} live={false} />
        </span>
      }
      actions={<TakeAway ask={asked} name={`failures-${jobId}`} what="Failures" />}
    >
      {found.isPending && <Loading what="the failures" />}
      {found.isError && !found.data && <Failed error={found.error} retry={() => void found.refetch()} />}
      {failed.length > 0 && <FailureTable groups={failed} choose={choose} />}
      {calledOff.length > 0 && (
        <>
          {failed.length > 0 && <h3 className="fact-head">Cancelled by a user, and no failure</h3>}
          <FailureTable groups={calledOff} choose={choose} />
        </>
      )}
    </Panel>
  )
}
