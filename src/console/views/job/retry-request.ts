/** What asks for a job once more, on the devices on which it had no success. Pure: it asks nobody. */
import type { JobRequestSchema, JobView } from '../../../contract/client/client.ts'
import { RESOURCE_TYPES, type ResourceType } from '../../../contract/words.ts'

/** The same request for those that did not succeed: at once, with the limits and the stop of the first where it counts from the start. */
export function retryRequest({ id, request }: Pick<JobView, 'id' | 'request'>): JobRequestSchema {
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

/** The kind of device that the job was kept to, where it was. */
export function resourceTypeOf({ request: { resourceType } }: Pick<JobView, 'request'>): {
  resourceType?: ResourceType
} {
  const known = RESOURCE_TYPES.find(each => each === resourceType)
  return known ? { resourceType: known } : {}
}
