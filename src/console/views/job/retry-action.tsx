/** The devices on which a job had no success, as a new job of the same kind. The plan counts them beforehand. */
import type { JobRequestSchema, JobView } from '../../../contract/client/client.ts'
import { RESOURCE_TYPES, type ResourceType } from '../../../contract/words.ts'
import { Action } from '../../parts/action.tsx'
import { asking } from '../../request.ts'
import { useTypes } from '../../types.ts'

/** The same request for those that did not succeed: at once, with the limits and the stop of the first where it counts from the start. */
function retryRequest({ id, request }: JobView): JobRequestSchema {
  const { name, parameters, operationParameters, notify, callback, schedule } = request as Record<string, unknown> & {
    name: string
    schedule?: { stop?: { delayed?: number }; window?: unknown; scattering?: unknown }
  }
  const { stop, window, scattering } = schedule ?? {}
  const kept = {
    ...(stop?.delayed !== undefined && { stop: { delayed: stop.delayed } }),
    ...(window !== undefined && { window }),
    ...(scattering !== undefined && { scattering }),
  }
  return {
    name,
    ...(parameters !== undefined && { parameters: parameters as Record<string, unknown> }),
    target: { append: { filter: { eq: { 'operations.unsuccessfulIn': id } } } },
    ...(Object.keys(kept).length > 0 && { schedule: kept as NonNullable<JobRequestSchema['schedule']> }),
    ...(operationParameters !== undefined && {
      operationParameters: operationParameters as NonNullable<JobRequestSchema['operationParameters']>,
    }),
    ...(notify === true && { notify }),
    ...(typeof callback === 'string' && callback !== '' && { callback }),
    userNotes: `Again for what did not succeed in ${id}`,
    active: true,
  }
}

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

function resourceTypeOf({ request: { resourceType } }: JobView): { resourceType?: ResourceType } {
  const known = RESOURCE_TYPES.find(each => each === resourceType)
  return known ? { resourceType: known } : {}
}
