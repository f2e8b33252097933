/** What the typed client does not let pass: no line below a comment compiles, which the check of types holds. Never run. */
import type { Client } from '../../src/contract/client/client.ts'

const request = { name: 'REBOOT_EQUIPMENT' }
const path = { jobId: '1' }

export const refusedByTypes: readonly ((client: Client) => unknown)[] = [
  // @ts-expect-error an operation that the interface does not have
  client => client.call('GET /operation/job'),
  // @ts-expect-error an address without its parameter
  client => client.call('GET /operation/jobs/{jobId}'),
  // @ts-expect-error a job request without its name
  client => client.call('POST /operation/jobs', { body: { job: { request: {} } } }),
  // @ts-expect-error a member that job requests do not have
  client => client.call('POST /operation/jobs', { body: { job: { request: { ...request, sheduel: {} } } } }),
  // @ts-expect-error a resource type that does not exist
  client => client.call('POST /operation/jobs', { query: { resourceType: 'device' }, body: { job: { request } } }),
  // @ts-expect-error a query parameter of another kind
  client => client.call('GET /deliveries', { query: { size: 'ten' } }),
  // @ts-expect-error a query parameter that does not exist
  client => client.call('GET /deliveries', { query: { page: 1 } }),
  async client => {
    const job = await client.call('GET /operation/jobs/{jobId}', { path })
    // @ts-expect-error a status that jobs do not have
    return job.report.summary.status === 'DONE'
  },
]
