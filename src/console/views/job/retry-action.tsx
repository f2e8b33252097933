/** The devices on which a job had no success, as a new job of the same kind. The plan counts them beforehand. */
import type { JobView } from '../../../contract/client/client.ts'
import { Action } from '../../parts/action.tsx'
import { asking } from '../../request.ts'
import { useTypes } from '../../types.ts'
import { resourceTypeOf, retryRequest } from './retry-request.ts'

/** Not offered where the type may not be run by this profile, or is no more. */
export function RetryAction({ job, onLaunched }: { readonly job: JobView; readonly onLaunched: (id: string) => void }) {
  const { types } = useTypes()
  if (!types.some(each => each.name === job.request.name)) return null
  const given = { query: resourceTypeOf(job), body: { job: { request: retryRequest(job) } } }
  return (
    <Action
      name="Retry the unsuccessful"
      icon="again"
      ask={asking('POST /operation/jobs', given)}
      plan={asking('POST /operation/jobs/plan', given)}
      onDone={made => made && onLaunched(made.id)}
    >
      <p>A new job runs {String(job.request.name)} on the devices that had no success in this one.</p>
    </Action>
  )
}
