/** `drover jobs retry`: a job once more, on the entities on which it had no success. */
import type { Command } from 'commander'
import type { JobView, PlanView } from '../../../contract/client/client.ts'
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
import { leftOutWords } from '../../../contract/client/plan-words.ts'
import { FINAL_JOB_STATUSES } from '../../../contract/words.ts'
import { command, type Run } from '../../frame/command.ts'
import { CommandFailed } from '../../frame/exit-codes.ts'
import type { Surroundings } from '../../frame/surroundings.ts'
import { words } from '../../reading/values.ts'
import { declareCourse, withCourse } from './job-course.ts'
import { declareLaunch, launchJob } from './job-launching.ts'
import type { AskedJob } from './job-options.ts'
import { planOf, showPlan } from './job-planning.ts'
import { nothingRuns } from './job-words.ts'

/** The command. */
export function retryCommand(surroundings: Surroundings): Command {
  return command(
    surroundings,
    {
      usage: 'retry <job>',
      description:
        'run a job again, as a new job, on the entities on which it had no success; its window and limits are kept',
      examples: [
        { meaning: 'what failed, timed out or was cut off by the stop', line: 'drover jobs retry $FAILED_JOB' },
        {
          meaning: 'what it would do if what was cancelled ran again, too, until the morning',
          line: 'drover jobs retry $FAILED_JOB --of failed,timed-out,stopped,cancelled --stop 06:00 --plan',
        },
      ],
      declare: made => {
        made
          .option(
            '--of <ways>',
            `how they came to have no success: ${RETRY_WAYS.join(', ')} (default: ${RETRIED_UNLESS_TOLD.join(',')})`,
            words,
          )
          .option('--plan', 'only say what it would do; nothing is run')
        declareCourse(made)
        declareLaunch(made)
      },
    },
    async (run, jobId) => {
      const { out, options } = run
      const ways = waysOf(options.of)
      const { client } = await run.session()
      const job = await client.call('GET /operation/jobs/{jobId}', { path: { jobId: jobId! } })
      const remark = chosenWords(job, ways)
      if (
        mayHaveOwnParameters(job) &&
        (await client.call('POST /search/entities/operations/history', ownParametersSearch(job, ways)))
      ) {
        throw new CommandFailed(
          'refused',
          `Entities of job ${job.id} were listed with parameters of their own, which one request would not give them again.`,
        )
      }
      const asked = { request: withCourse(run, retryRequest(job, ways)), entities: [], query: resourceTypeOf(job) }
      const isPlanned = options.plan === true
      const plan = isPlanned ? await planOf(run, asked) : out.json ? undefined : await planIfAny(run, asked)
      if (!out.json) {
        const counted = plan ? leftOut(job, ways, plan) : ' How many of them are still there could not be counted.'
        // A plan that is shown says itself that nothing would run.
        const warning = plan && !isPlanned ? nothingRuns(plan, out, options.inactive !== true) : ''
        out.remark(`${remark}${counted}${stopWords(run, job)}\n${warning}`)
      }
      return plan && isPlanned ? await showPlan(run, plan) : await launchJob(run, asked)
    },
  )
}

/** What is only remarked on does not keep a retry from being made. */
function planIfAny(run: Run, asked: AskedJob): Promise<PlanView | undefined> {
  return planOf(run, asked).catch(() => undefined)
}

function waysOf(given: unknown): readonly RetryWay[] {
  if (!Array.isArray(given)) return RETRIED_UNLESS_TOLD
  const ways = RETRY_WAYS.filter(way => given.includes(way))
  const unknown = given.filter(word => !ways.includes(word))
  if (unknown.length > 0 || ways.length === 0) {
    throw new CommandFailed('usage', `--of takes ${RETRY_WAYS.join(', ')}, not "${unknown.join(',')}".`)
  }
  return ways
}

/** That the stop of the first job is left out, where nothing stands in its place. */
function stopWords({ options, out }: Run, job: JobView): string {
  const passed = options.stop === undefined ? passedStop(job) : undefined
  return passed === undefined ? '' : ` Its stop, ${out.instant(passed)}, has passed: this one has none (--stop).`
}

/** How many of those that are run again the plan does not find. What ends meanwhile is in the plan and not in the figures of the job. */
function leftOut({ report: { summary } }: JobView, ways: readonly RetryWay[], { target }: PlanView): string {
  if (!FINAL_JOB_STATUSES.some(each => each === summary.status)) return ''
  const counts = unsuccessfulByWay(summary)
  const words = leftOutWords(
    ways.reduce((sum, way) => sum + counts[way], 0),
    target.total,
  )
  return words === null ? '' : ` ${words}`
}

/** How many there are of those that are run again, and of those that are left. Fails where nothing would be run again. */
function chosenWords(job: JobView, ways: readonly RetryWay[]): string {
  const counts = unsuccessfulByWay(job.report.summary)
  const told = (some: readonly RetryWay[]) =>
    some
      .filter(way => counts[way] > 0)
      .map(way => `${counts[way]} ${way}`)
      .join(', ')
  const left = told(RETRY_WAYS.filter(way => !ways.includes(way)))
  const rest = left === '' ? '' : ` Left as they are: ${left} (--of).`
  if (told(ways) === '') {
    throw new CommandFailed('refused', `Job ${job.id} has nothing to run again that is ${ways.join(' or ')}.${rest}`)
  }
  return `Of job ${job.id} again: ${told(ways)}.${rest}`
}
