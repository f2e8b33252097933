/** Makes the job or the task of a draft: in one request, or, where its list is long, inactive at first and filled in parts. */
import { ask, asking } from '../../request.ts'
import { type Draft, isLong, LISTED_MAX, requestOf, resourceTypeOf, taskScheduleOf } from './draft.ts'

/** Answers the address of what was made. `told` hears how many devices have been listed. */
export async function makeJob(draft: Draft, isTask: boolean, told: (listed: number) => void): Promise<string> {
  const request = requestOf(draft, isTask)
  const query = resourceTypeOf(draft)
  if (isTask) {
    const named = draft.taskName === '' ? {} : { name: draft.taskName }
    const task = { ...named, active: true, schedule: taskScheduleOf(draft), job: { request } }
    const made = await ask(asking('POST /operation/tasks', { query, body: { task } }))
    return `/tasks/${encodeURIComponent(made.task.id)}`
  }
  if (!isLong(draft)) {
    const made = await ask(asking('POST /operation/jobs', { query, body: { job: { request } } }))
    return `/jobs/${made.id}`
  }
  const made = await ask(
    asking('POST /operation/jobs', { query, body: { job: { request: { ...request, active: false } } } }),
  )
  const path = { jobId: made.id }
  for (let from = LISTED_MAX; from < draft.list.length; from += LISTED_MAX) {
    const entities = draft.list.slice(from, from + LISTED_MAX)
    await ask(
      asking('PUT /operation/jobs/{jobId}', { path, body: { job: { request: { target: { append: { entities } } } } } }),
    )
    told(from + entities.length)
  }
  if (request.active !== false) {
    await ask(asking('PUT /operation/jobs/{jobId}', { path, body: { job: { request: { active: true } } } }))
  }
  return `/jobs/${made.id}`
}
