/**
 * The devices on which a job had no success, as a new job of the same kind: which of them is chosen by how they came to have none. The
 * plan counts them beforehand.
 */
import { Checkbox } from '@mantine/core'
import { useState } from 'react'
import type { JobView } from '../../../contract/client/client.ts'
import {
  hasOwnParameters,
  RETRIED_UNLESS_TOLD,
  RETRY_WAYS,
  type RetryWay,
  resourceTypeOf,
  retryRequest,
  unsuccessfulByWay,
} from '../../../contract/client/job-retry.ts'
import { count } from '../../figures.tsx'
import { Action } from '../../parts/action.tsx'
import { asking } from '../../request.ts'
import { useTypes } from '../../types.ts'

const WORDS: Readonly<Record<RetryWay, string>> = {
  failed: 'failed',
  'timed-out': 'timed out',
  stopped: 'cut off by the stop of the job',
  cancelled: 'cancelled by a user or from outside',
  busy: 'not begun: the same operation was already in progress',
}

/** Not offered where the type may not be run by this profile, or is no more. */
export function RetryAction({ job, onLaunched }: { readonly job: JobView; readonly onLaunched: (id: string) => void }) {
  const { types } = useTypes()
  const [ways, setWays] = useState(RETRIED_UNLESS_TOLD)
  if (!types.some(each => each.name === job.request.name)) return null
  const counts = unsuccessfulByWay(job.report.summary)
  const given = { query: resourceTypeOf(job), body: { job: { request: retryRequest(job, ways) } } }
  return (
    <Action
      name="Retry the unsuccessful"
      icon="again"
      ask={asking('POST /operation/jobs', given)}
      plan={asking('POST /operation/jobs/plan', given)}
      lacks={lacksOf(job, ways, counts)}
      onDone={made => made && onLaunched(made.id)}
    >
      <p>A new job runs {String(job.request.name)} once more on the devices whose operation in this one was:</p>
      <Checkbox.Group
        aria-label="Which of them"
        value={[...ways]}
        onChange={chosen => setWays(RETRY_WAYS.filter(way => chosen.includes(way)))}
      >
        <div className="stack">
          {RETRY_WAYS.filter(way => counts[way] > 0).map(way => (
            <Checkbox
              key={way}
              value={way}
              label={
                <>
                  {WORDS[way]} <span className="figure strong">{count(counts[way])}</span>
                </>
              }
            />
          ))}
        </div>
      </Checkbox.Group>
    </Action>
  )
}

/** Why there is nothing to launch as it is chosen. */
function lacksOf(job: JobView, ways: readonly RetryWay[], counts: Readonly<Record<RetryWay, number>>): string | null {
  if (hasOwnParameters(job)) {
    return 'Devices of this job were listed with parameters of their own, which one request would not give them again.'
  }
  return ways.some(way => counts[way] > 0) ? null : 'Choose what is run once more.'
}
