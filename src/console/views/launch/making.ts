/**
 * Makes the job or the task of a draft: in one request, or, where its list is long, inactive at first and filled in parts. What is done
 * and what is shown as commands are the same requests.
 */
import { type Ask, ask, asking, curlOf } from '../../request.ts'
import { type Draft, isLong, LISTED_MAX, requestOf, resourceTypeOf, taskScheduleOf } from './draft.ts'

/** The request that makes the task of a draft. */
export function taskMaking(draft: Draft) {
  const named = draft.taskName === '' ? {} : { name: draft.taskName }
  const job = { request: requestOf(draft, true) }
  const task = { ...named, active: true, schedule: taskScheduleOf(draft), job }
  return asking('POST /operation/tasks', { query: resourceTypeOf(draft), body: { task } })
}

/** The first request for the job of a draft: all of it, or, where its list is long, without what follows. */
export function jobMaking(draft: Draft) {
  const request = requestOf(draft)
  const made = isLong(draft) ? { ...request, active: false } : request
  return asking('POST /operation/jobs', { query: resourceTypeOf(draft), body: { job: { request: made } } })
}

interface Following {
  readonly ask: Ask<unknown>
  /** devices listed once it is done */
  readonly listed: number
}

/** What follows for a job whose list is long: its further parts, and its activation. */
function* following(draft: Draft, jobId: string): Generator<Following> {
  if (!isLong(draft)) return
  const put = (request: object) =>
    asking('PUT /operation/jobs/{jobId}', { path: { jobId }, body: { job: { request } } })
  for (let from = LISTED_MAX; from < draft.list.length; from += LISTED_MAX) {
    const entities = draft.list.slice(from, from + LISTED_MAX)
    yield { ask: put({ target: { append: { entities } } }), listed: from + entities.length }
  }
  if (requestOf(draft).active !== false) yield { ask: put({ active: true }), listed: draft.list.length }
}

/** Answers the address of what was made. `told` hears how many devices have been listed. */
export async function makeJob(draft: Draft, isTask: boolean, told: (listed: number) => void): Promise<string> {
  if (isTask) return `/tasks/${encodeURIComponent((await ask(taskMaking(draft))).task.id)}`
  const { id } = await ask(jobMaking(draft))
  for (const each of following(draft, id)) {
    await ask(each.ask)
    told(each.listed)
  }
  return `/jobs/${id}`
}

/** The same as a script for a shell, for a job that takes more than one request. It prints the id of the job. */
export function makingScript(draft: Draft): string {
  const quietly = ' -fsS -o /dev/null'
  const rest = [...following(draft, '$JOB')].map(each => curlOf(each.ask, undefined, quietly).replace('%24JOB', '$JOB'))
  return [
    '#!/bin/sh',
    '# $DROVER_URL is the address of the service, $DROVER_API_KEY your API key.',
    'set -e',
    `JOB=$(${curlOf(jobMaking(draft), undefined, `${quietly} -w '%header{location}'`)})`,
    // The last part of its address is its id.
    'JOB=$(basename "$JOB")',
    ...rest,
    'echo "$JOB"',
    '',
  ].join('\n')
}
