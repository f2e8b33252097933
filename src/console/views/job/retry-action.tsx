/**
 * The devices on which a job had no success, as a new job of the same kind: which of them is chosen by how they came to have none. The
 * plan counts them beforehand.
 */
import { Checkbox } from '@mantine/core'
import { useState } from 'react'
import type { JobView } from '../../../contract/client/client.ts'
import {
  mayHaveOwnParameters,
  ownParametersSearch,
  passedStop,
  RETRIED_UNLESS_TOLD,
  RETRY_WAYS,
  type RetryWay,
  resourceTypeOf,
  retryRequest,
  unsuccessfulByWay,
} from '../../../contract/client/job-retry.ts'
import { count, Instant } from '../../figures.tsx'
import { useAsked } from '../../live.ts'
import { Action } from '../../parts/action.tsx'
import { Notice } from '../../parts/notice.tsx'
import { ask, asking } from '../../request.ts'
import { useTypes } from '../../types.ts'
import { isFinal } from '../../words.ts'

const WORDS: Readonly<Record<RetryWay, string>> = {
  failed: 'failed',
  'timed-out': 'timed out',
  stopped: 'cut off by the stop of the job, or by a deletion',
  cancelled: 'cancelled by a user or from outside',
  busy: 'not begun: the same operation was already in progress',
}

const OWN = 'Devices of this job were listed with parameters of their own, which one request would not give them again.'
const UNKNOWN =
  'Whether devices had parameters of their own, which one request would not give them again, could not be told.'

/** Not offered where the type may not be run by this profile, or is no more. */
export function RetryAction({ job, onLaunched }: { readonly job: JobView; readonly onLaunched: (id: string) => void }) {
  const { types } = useTypes()
  const [ways, setWays] = useState(RETRIED_UNLESS_TOLD)
  const [isOpened, setOpened] = useState(false)
  const counts = unsuccessfulByWay(job.report.summary)
  const chosen = ways.reduce((sum, way) => sum + counts[way], 0)
  const mayHaveOwn = mayHaveOwnParameters(job)
  const ownSearch = asking('POST /search/entities/operations/history', ownParametersSearch(job, ways))
  const own = useAsked(ownSearch, { enabled: isOpened && mayHaveOwn && chosen > 0 })
  if (!types.some(each => each.name === job.request.name)) return null
  const passed = passedStop(job)
  const given = { query: resourceTypeOf(job), body: { job: { request: retryRequest(job, ways) } } }
  const making = asking('POST /operation/jobs', given)
  return (
    <Action
      name="Retry the unsuccessful"
      icon="again"
      ask={making}
      plan={asking('POST /operation/jobs/plan', given)}
      makesJob
      send={async asked => {
        // Devices may have ended since this was last asked.
        if (mayHaveOwn && (await ask(ownSearch))) throw new Error(OWN)
        return await ask(asked)
      }}
      onOpen={() => {
        setOpened(true)
        if (isOpened && mayHaveOwn && chosen > 0) void own.refetch()
      }}
      isReady={!mayHaveOwn || (own.isSuccess && !own.isFetching)}
      lacks={
        chosen === 0
          ? 'Choose what is run once more.'
          : own.isError && !own.isFetching
            ? UNKNOWN
            : own.data
              ? OWN
              : null
      }
      // What ends meanwhile is in the plan, and not in the figures it is measured by.
      {...(isFinal(job.report.summary.status) && { of: chosen })}
      onDone={made => made && onLaunched(made.id)}
    >
      <p>A new job runs {String(job.request.name)} once more on those devices of this one that are chosen here.</p>
      <Checkbox.Group
        label="Devices whose operation was"
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
      {passed !== undefined && (
        <Notice>
          The stop of this job, <Instant at={passed} />, has passed: the new one has none.
        </Notice>
      )}
    </Action>
  )
}
