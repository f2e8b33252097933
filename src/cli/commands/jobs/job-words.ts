/** Jobs as people read them: a row of a list, one in full, and what came of making one. */
import type { JobSummaryView, JobView, PlanView } from '../../../contract/client/client.ts'
import {
  NOTHING_RUNS,
  NOTHING_RUNS_ACTIVATED,
  nothingRunsWords,
  REFUSALS,
  whyNothingRuns,
} from '../../../contract/client/plan-words.ts'
import { type Cell, facts, type Output, table } from '../../frame/output.ts'

/** The titles of a list of jobs. */
export const JOB_TITLES = [
  'id',
  'type',
  'status',
  'total',
  'open',
  'successful',
  'failed',
  'cancelled',
  'late',
  'started',
  'user',
]

/** A row under these titles. */
export function jobRow({ id, request, report }: JobView, out: Output): Cell[] {
  const { status, total, inProgress, finished, finishedOutOfTime } = report.summary
  return [
    id,
    text(request.name),
    status,
    total,
    inProgress.total,
    finished.successful,
    finished.error,
    finished.cancelled.total,
    finishedOutOfTime.total,
    out.instant(report.execution.startedDate),
    text(request.user),
  ]
}

/** A job in full: when, how far, what was refused and why, and how its operations ended. */
export function jobWords(job: JobView, results: readonly { name: string; count: number }[], out: Output): string {
  const { id, taskId, request, report } = job
  const { execution, summary } = report
  const about = facts([
    ['Job', id],
    ['Type', text(request.name)],
    ['Status', summary.status],
    ['Why', summary.errorDescription],
    ['User', text(request.user)],
    ['Task', taskId],
    ['Notes', text(request.userNotes)],
    ['Parameters', inJson(request.parameters)],
    ['Target', inJson(request.target)],
    ['Schedule', inJson(request.schedule)],
    ['Timeouts', inJson(request.operationParameters)],
    ['Callback', text(request.callback)],
    ['Activated', out.instant(execution.activatedDate)],
    ['Started', out.instant(execution.startedDate)],
    ['Finished', out.instant(execution.finishedDate)],
  ])
  const counted = table(['operations', 'count'], counterRows(summary))
  const ended =
    results.length === 0
      ? ''
      : `\n${table(
          ['result', 'ended'],
          results.map(({ name, count }) => [name, count]),
        )}`
  return [about, `\n${counted}`, ended, concerns(job, '\n')].join('')
}

function counterRows({ total, inProgress, finished, finishedOutOfTime }: JobSummaryView): Cell[][] {
  const { cancelled } = finished
  const rows: [string, number][] = [
    ['total', total],
    ['scheduled', inProgress.scheduled],
    ['queued', inProgress.pendingExecution],
    ['waiting for connection', inProgress.waitingForConnection],
    ['started', inProgress.started],
    ['successful', finished.successful],
    ['failed', finished.error],
    ['cancelled by user', cancelled.byUser],
    ['cancelled by engine', cancelled.byEngine],
    ['cancelled by time-out', cancelled.byTimeout],
    ['cancelled by external time-out', cancelled.byExternalTimeout],
    ['cancelled externally', cancelled.byExternal],
    ['already in progress', cancelled.byAlreadyInProgress],
    ['successful out of time', finishedOutOfTime.successful],
    ['failed out of time', finishedOutOfTime.error],
  ]
  return rows.filter(([name, count]) => count > 0 || name === 'total')
}

const SHOWN_MAX = 10

/** What a person should know of a job beside its counters: what it does not cover, and what it warns of. */
export function concerns({ report }: Pick<JobView, 'report'>, before = ''): string {
  const refused = Object.entries(REFUSALS).flatMap(([kind, words]) => {
    const ids = report.target?.[kind as keyof typeof REFUSALS]
    if (ids === undefined) return []
    const [count, first] = Array.isArray(ids) ? [ids.length, ids] : [ids.count, ids.first]
    return [`${count} ${words}: ${first.slice(0, SHOWN_MAX).join(', ')}${count > SHOWN_MAX ? ', …' : ''}\n`]
  })
  const warned = (report.warnings ?? []).map(warning => `Warning: ${warningWords(warning)}\n`)
  return refused.length + warned.length === 0 ? '' : `${before}${[...refused, ...warned].join('')}`
}

function warningWords({ code, ...figures }: { code: string }): string {
  if (code === 'waits-forever') return 'with neither --ack-timeout nor --stop it may wait for ever.'
  return Object.keys(figures).length === 0 ? code : `${code} ${JSON.stringify(figures)}`
}

/** That nothing of a plan would run, and why; empty where something would. */
export function nothingRuns(plan: PlanView, out: Output, isLaunched = true): string {
  if (whyNothingRuns(plan) === null) return ''
  return `${isLaunched ? NOTHING_RUNS : NOTHING_RUNS_ACTIVATED} ${nothingRunsWords(plan, at => out.instant(at)).join('')}\n`
}

/** A plan: what would run, when, and what would not. */
export function planWords(plan: PlanView, out: Output): string {
  const { target, error, launch, scattering, warnings } = plan
  const kinds = Object.entries(target.resourceTypes).map(([kind, count]) => `${count} ${kind}`)
  const about = facts([
    ['Operations', `${target.total}${kinds.length > 0 ? ` (${kinds.join(', ')})` : ''}`],
    ['Error', error && `${error.message} (${error.code})`],
    ['Starts', out.instant(launch.startDate)],
    ['First launch', out.instant(launch.firstLaunchDate)],
    ['Last launch', out.instant(launch.lastLaunchDate)],
    ['Stops', out.instant(launch.stopDate)],
    ['Over by', out.instant(launch.expectedEndDate)],
    [
      'Rate',
      scattering.operationsPerSecond === null
        ? 'as fast as possible'
        : `${rounded(scattering.operationsPerSecond)} a second`,
    ],
    ['Groups', scattering.groupCount],
    ['Not launched', launch.notLaunched || undefined],
    ['May not end', launch.mayNotEnd || undefined],
  ])
  const refused = target.refusals.map(
    ({ words, count, entities }) => `${count} refused: ${words} ${entities.slice(0, SHOWN_MAX).join(', ')}\n`,
  )
  const curve =
    launch.perHour.length > HOURS_SHOWN_MAX
      ? byDay(launch.perHour, out)
      : launch.perHour.map(({ date, launches }) => [out.instant(date), launches] as const)
  const most = Math.max(1, ...curve.map(([, launches]) => launches))
  const rows = curve.map(([time, launches]) => [time, launches, '█'.repeat(Math.ceil((launches / most) * 30))])
  const nothing = nothingRuns(plan, out)
  return [
    nothing === '' ? '' : `${nothing}\n`,
    about,
    ...refused,
    ...warnings.map(warning => `Warning: ${warningWords(warning)}\n`),
    rows.length === 0 ? '' : `\n${table(['time', 'launches', ''], rows)}`,
  ].join('')
}

/** With more hours than these, days are shown. */
const HOURS_SHOWN_MAX = 24

function byDay(perHour: PlanView['launch']['perHour'], out: Output): (readonly [day: string, launches: number])[] {
  const days = new Map<string, number>()
  for (const { date, launches } of perHour) {
    const day = out.instant(date).slice(0, 10)
    days.set(day, (days.get(day) ?? 0) + launches)
  }
  return [...days]
}

const rounded = (value: number) => (value >= 10 ? Math.round(value) : Number(value.toPrecision(2)))
const text = (value: unknown) => (typeof value === 'string' ? value : undefined)
const inJson = (value: unknown) =>
  value === undefined || (typeof value === 'object' && value !== null && Object.keys(value).length === 0)
    ? undefined
    : JSON.stringify(value)
