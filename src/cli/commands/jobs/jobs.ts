/** `drover jobs`: run, plan, retry, list, show, watch, pause, resume, cancel, and why. Serves: Endpoints (Jobs). */
import type { Command } from 'commander'
import type { JobView } from '../../../contract/client/client.ts'
import { command, commandForEach, group, type Run } from '../../frame/command.ts'
import { CommandFailed } from '../../frame/exit-codes.ts'
import { tableOr } from '../../frame/output.ts'
import type { Surroundings } from '../../frame/surroundings.ts'
import { anyValue, declareFilter, filterOf } from '../../reading/filters.ts'
import { spanOf } from '../../reading/times.ts'
import { count, words } from '../../reading/values.ts'
import { listedRows } from '../../rows/found-rows.ts'
import { operationOf, whyWords } from '../operations/operation-words.ts'
import { followJob, OUTCOMES } from './job-following.ts'
import { declareLaunch, launchJob, waited } from './job-launching.ts'
import { declareJob, readJob } from './job-options.ts'
import { planOf, showPlan } from './job-planning.ts'
import { retryCommand } from './job-retrying.ts'
import { JOB_TITLES, jobRow, jobWords } from './job-words.ts'

const LISTED = 20

/** The group of commands. */
export function jobsCommand(surroundings: Surroundings): Command {
  return group({ usage: 'jobs', description: 'run operations on fleets, and follow them', examples: [] }, [
    runCommand(surroundings),
    planCommand(surroundings),
    retryCommand(surroundings),
    listCommand(surroundings),
    showCommand(surroundings),
    watchCommand(surroundings),
    changeCommand(surroundings, 'pause', false),
    changeCommand(surroundings, 'resume', true),
    cancelCommand(surroundings),
    whyCommand(surroundings),
  ])
}

function runCommand(surroundings: Surroundings): Command {
  return command(
    surroundings,
    {
      usage: 'run',
      description: 'run an operation on a list of entities, a tag or a filter',
      examples: [
        {
          meaning: 'reboot two devices',
          line: 'drover jobs run REBOOT_EQUIPMENT -p type=SOFTWARE -e meter-1,meter-2 --timeout 60s',
        },
        {
          meaning: 'the devices in a file, and wait for the end',
          line: 'drover jobs run REFRESH_INFO --file devices.txt --timeout 60s --stop 2h --wait',
        },
        {
          meaning: 'a tag, at night, spread over the whole window',
          line: 'drover jobs run UPDATE --parameters @update.json --tag meters --window "22:00-06:00" --stop 7d --spread 100 --ack-timeout 1m --timeout 10m --retries 2',
        },
        {
          meaning: 'what a filter finds, made but not launched yet',
          line: 'drover jobs run REFRESH_INFO --where "provision.device.name~^Meter" --timeout 60s --inactive',
        },
      ],
      declare: made => {
        declareJob(made)
        declareLaunch(made)
      },
    },
    async (run, type) => await launchJob(run, await readJob(run, type)),
  )
}

function planCommand(surroundings: Surroundings): Command {
  return command(
    surroundings,
    {
      usage: 'plan',
      description: 'what a job would do: on what, when, how fast; nothing is run',
      examples: [
        {
          meaning: 'a night of updates, before it is launched',
          line: 'drover jobs plan UPDATE --parameters @update.json --tag meters --window "22:00-06:00" --stop 7d --spread 100 --timeout 10m',
        },
      ],
      declare: declareJob,
    },
    async (run, type) => await showPlan(run, await planOf(run, await readJob(run, type))),
  )
}

function listCommand(surroundings: Surroundings): Command {
  return command(
    surroundings,
    {
      usage: 'list',
      description: 'jobs, the newest first',
      examples: [
        { meaning: 'what runs now', line: 'drover jobs list --status IN_PROGRESS,PAUSED' },
        {
          meaning: 'jobs in which something failed',
          line: 'drover jobs list --where "jobs.report.summary.finished.error>0" --limit 5',
        },
      ],
      declare: made => {
        made
          .option('--status <words>', 'only in these statuses', words)
          .option('--type <names>', 'only of these operation types', words)
          .option('--user <email>', 'only of this user')
          .option('--limit <n>', 'at most so many', count, LISTED)
        declareFilter(made)
      },
    },
    async run => {
      const { out, options } = run
      const filter = await filterOf(options, surroundings, [
        ...anyValue('jobs.report.summary.status', options.status),
        ...anyValue('jobs.request.name', options.type),
        ...anyValue('jobs.request.user', options.user),
      ])
      const sort = { parameters: [{ name: 'jobs.id', type: 'DESCENDING' as const }] }
      const body = { sort, ...(filter && { filter }) }
      const jobs = await listedRows(run, 'POST /search/jobs', body)
      await out.answer(jobs, () =>
        tableOr(
          'No jobs.',
          JOB_TITLES,
          jobs.map(job => jobRow(job, out)),
        ),
      )
      return undefined
    },
  )
}

function showCommand(surroundings: Surroundings): Command {
  return command(
    surroundings,
    {
      usage: 'show <job>',
      description: 'one job: request, dates, counters, and how its operations ended',
      examples: [{ meaning: 'how a job stands', line: 'drover jobs show $JOB' }],
    },
    async (run, jobId) => {
      const { client } = await run.session()
      const job = await client.call('GET /operation/jobs/{jobId}', { path: { jobId: jobId! } })
      const results = run.out.json ? [] : await resultsOf(run, jobId!)
      await run.out.answer(job, () => jobWords(job, results, run.out))
      return undefined
    },
  )
}

/** How often each result occurs among the operations that ended. */
async function resultsOf(run: Run, jobId: string): Promise<readonly { name: string; count: number }[]> {
  const { client } = await run.session()
  const { summary } = await client.call('POST /search/entities/operations/history/summary', {
    body: { filter: { eq: { jobId } }, group: { parameters: [{ name: 'operations.result' }] } },
  })
  if (!('summaryGroup' in summary) || !Array.isArray(summary.summaryGroup)) return []
  return summary.summaryGroup.flatMap(counts => Object.values(counts).flatMap(({ list }) => list))
}

function watchCommand(surroundings: Surroundings): Command {
  return command(
    surroundings,
    {
      usage: 'watch <job>',
      description: 'follow a job to its end; the exit code says how it ended',
      examples: [
        { meaning: 'with a bar, on a terminal', line: 'drover jobs watch $JOB' },
        { meaning: 'every change as a line of JSON', line: 'drover jobs watch $JOB --json --within 10m' },
      ],
      declare: made => {
        made.option('--within <time>', 'wait so long at most, such as 10m')
      },
    },
    async (run, jobId) => {
      const { out, options } = run
      if (!out.json) return await waited(run, jobId!)
      const withinMs = typeof options.within === 'string' ? spanOf('--within', options.within) : undefined
      const { client } = await run.session()
      const tell = (job: JobView) => out.line(job, () => '')
      const job = await followJob(jobId!, { client, out, surroundings, withinMs, tell })
      return OUTCOMES[job.report.summary.status]
    },
  )
}

function changeCommand(surroundings: Surroundings, name: 'pause' | 'resume', active: boolean): Command {
  return commandForEach(
    surroundings,
    {
      usage: `${name} <jobs...>`,
      description: active
        ? 'let jobs launch again, or for the first time'
        : 'launch nothing more of these jobs; what was sent goes on',
      examples: [{ meaning: active ? 'go on with a job' : 'hold a job', line: `drover jobs ${name} $RUNNING_JOB` }],
    },
    (client, jobId) => {
      const body = { job: { request: { active } } }
      return client.call('PUT /operation/jobs/{jobId}', { path: { jobId }, body })
    },
    changedWords,
  )
}

function changedWords({ id, report: { summary } }: JobView): string {
  const { scheduled, total } = summary.inProgress
  return `Job ${id} is ${summary.status}: ${total} of ${summary.total} operations open, ${scheduled} of them not launched.`
}

function cancelCommand(surroundings: Surroundings): Command {
  return commandForEach(
    surroundings,
    {
      usage: 'cancel <jobs...>',
      description: 'cancel jobs and every operation of theirs that is open; steps already done on devices stay done',
      examples: [{ meaning: 'cancel a job', line: 'drover jobs cancel $JOB_TO_CANCEL' }],
    },
    (client, jobId) => client.call('DELETE /operation/jobs/{jobId}', { path: { jobId } }),
    changedWords,
  )
}

function whyCommand(surroundings: Surroundings): Command {
  return command(
    surroundings,
    {
      usage: 'why <job-or-operation> [entity]',
      description: 'why an operation is where it is, and what will move it next',
      examples: [
        { meaning: 'by job and device', line: 'drover jobs why $JOB meter-1' },
        { meaning: "by the operation's id", line: 'drover jobs why $OPERATION' },
      ],
    },
    async (run, first, entity) => {
      const { client } = await run.session()
      const found = await operationOf(client, first!, entity)
      if (!found) throw new CommandFailed('notFound', `Job ${first} has no operation on ${entity}.`)
      const why = await client.call('GET /operation/jobs/{jobId}/operations/{operationId}/why', { path: found })
      await run.out.answer(why, () => whyWords(why, run.out))
      return undefined
    },
  )
}
