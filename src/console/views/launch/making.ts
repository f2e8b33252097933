/**
 * Makes the job or the task of a draft: in one request, or, where its list is long, inactive at first and filled in parts. What is done
 * and what is shown as commands are the same requests, but for the key of what is done: a command that is run twice means it twice.
 */
import type { JobView } from '../../../contract/client/client.ts'
import type { Once } from '../../parts/once.ts'
import { type Ask, ask, asking, curlOf } from '../../request.ts'
import { refusedCount } from '../../words.ts'
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

/** What follows for a job whose list is long, of which so much stands in it: its further parts, and its activation. */
function* following(draft: Draft, jobId: string, listed = LISTED_MAX): Generator<Following> {
  if (!isLong(draft)) return
  const put = (request: object) =>
    asking('PUT /operation/jobs/{jobId}', { path: { jobId }, body: { job: { request } } })
  for (let from = listed; from < draft.list.length; from += LISTED_MAX) {
    const entities = draft.list.slice(from, from + LISTED_MAX)
    yield { ask: put({ target: { append: { entities } } }), listed: from + entities.length }
  }
  if (requestOf(draft).active !== false) yield { ask: put({ active: true }), listed: draft.list.length }
}

/**
 * Answers the address of what was made. `told` hears how many devices have been listed. Done again with the same `once`, it goes on with
 * the job that is there, where it broke off.
 */
export async function makeJob(
  draft: Draft,
  isTask: boolean,
  once: Once,
  told: (listed: number) => void,
): Promise<string> {
  if (isTask) return `/tasks/${encodeURIComponent((await ask(taskMaking(draft))).task.id)}`
  const job = await ask(once(jobMaking(draft)))
  // Asked again under its key, the service answers with the job of the first time as it is now.
  if (job.report.summary.status.startsWith('CANCEL')) throw new Error(CANCELLED)
  // What has been activated is complete.
  if (job.report.summary.status === 'IDLE') {
    for (const each of following(draft, job.id, listedIn(job))) {
      await ask(each.ask)
      told(each.listed)
    }
  }
  return `/jobs/${job.id}`
}

const CANCELLED =
  'The job that an earlier attempt has made was cancelled meanwhile, and nothing of it runs. To launch it anew, go back a step and come here again.'

/** How many identifiers a job was given: each is in it, or refused. */
function listedIn({ report: { summary, target = {} } }: JobView): number {
  const { notProvisioned, notAllowed, duplicated } = target
  return summary.total + [notProvisioned, notAllowed, duplicated].reduce((sum, each) => sum + refusedCount(each), 0)
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
