/** How the operations of a job failed: in groups by result, step and description, each leading to its devices. */
import { Button } from '@mantine/core'
import { count } from '../../figures.tsx'
import { useAsked } from '../../live.ts'
import { AsOf } from '../../parts/as-of.tsx'
import { TakeAway } from '../../parts/csv.tsx'
import { Panel } from '../../parts/page.tsx'
import { Failed, Loading } from '../../parts/states.tsx'
import { Status } from '../../parts/status.tsx'
import { asking } from '../../request.ts'
import { beside, type FailureChosen } from './operation-filter.ts'

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
  if (found.data && failures.length === 0) return null
  return (
    <Panel
      title="Failures"
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
      {failures.length > 0 && (
        <div className="scroll-x failures">
          <table className="small-table">
            <thead>
              <tr>
                <th scope="col" className="right">
                  Operations
                </th>
                <th scope="col">Result</th>
                <th scope="col" className="wide-only">
                  Step
                </th>
                <th scope="col" className="wide-only">
                  Description
                </th>
                <th scope="col" className="wide-only">
                  <span className="sr-only">Devices</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {failures.map(({ count: number, result, step, stepDescription, description, status }) => {
                const show = (
                  <Button
                    size="compact-xs"
                    variant="default"
                    onClick={() => choose({ status, result, step, stepDescription, description })}
                  >
                    Show these devices
                  </Button>
                )
                return (
                  <tr key={[status, result, step, stepDescription, description].join('|')}>
                    <td className="right figure strong">{count(number)}</td>
                    <td>
                      <Status word={result} />
                      <div className="quiet small">{beside(status, result)}</div>
                      <div className="narrow-only small">
                        <p className="quiet">{[step, description, stepDescription].filter(Boolean).join(' · ')}</p>
                        {show}
                      </div>
                    </td>
                    <td className="wide-only">{step ?? <span className="quiet">–</span>}</td>
                    <td className="wide-only">
                      {[description, stepDescription].filter(Boolean).join(' · ') || <span className="quiet">–</span>}
                    </td>
                    <td className="right wide-only">{show}</td>
                  </tr>
                )
              })}
            </tbody>
          </table>
        </div>
      )}
    </Panel>
  )
}
