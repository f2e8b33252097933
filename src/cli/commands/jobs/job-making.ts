/**
 * Makes the job that was asked for. A list longer than one request takes is built as the interface says: an inactive job, one
 * change for each part of the list, and its activation.
 */
import type { Client, JobView } from '../../../contract/client/client.ts'
import type { Output } from '../../frame/output.ts'
import { type AskedJob, requestOf } from './job-options.ts'

/** Entities of one request, as every service takes them. */
const LIST_MAX = 100

/** Makes the job; `active` launches it. A job that cannot be built to its end is cancelled. Fails as the service refuses. */
export async function makeJob(
  client: Client,
  asked: AskedJob,
  {
    active,
    idempotencyKey,
    out,
  }: { readonly active: boolean; readonly idempotencyKey?: string | undefined; readonly out: Output },
): Promise<JobView> {
  const { entities, request, query } = asked
  const header = { 'idempotency-key': idempotencyKey }
  if (entities.length <= LIST_MAX) {
    return await client.call('POST /operation/jobs', {
      query,
      header,
      body: { job: { request: { ...requestOf(asked), active } } },
    })
  }
  const job = await client.call('POST /operation/jobs', {
    query,
    header,
    body: { job: { request: { ...request, active: false } } },
  })
  const path = { jobId: job.id }
  const change = (members: object) =>
    client.call('PUT /operation/jobs/{jobId}', { path, body: { job: { request: members } } })
  const progress = out.progress('Listing entities')
  try {
    let built = job
    for (let at = 0; at < entities.length; at += LIST_MAX) {
      built = await change({ target: { append: { entities: entities.slice(at, at + LIST_MAX) } } })
      const done = Math.min(at + LIST_MAX, entities.length)
      progress.show(done / entities.length, `${done} of ${entities.length}`)
    }
    return active ? await change({ active: true }) : built
  } catch (error) {
    await client.call('DELETE /operation/jobs/{jobId}', { path }).catch(() => undefined)
    throw error
  } finally {
    progress.end()
  }
}
