/** A month of runs: those that tasks will make, and the jobs that they made, by day in the viewer's zone. */
import './calendar.css'
import { ActionIcon, Button } from '@mantine/core'
import { useMemo } from 'react'
import { Link } from 'wouter'
import { count, dayKeyOf, Instant, timeOfDay, useNow, utcText, viewerZone } from '../../figures.tsx'
import { useAsked } from '../../live.ts'
import { useAddressed } from '../../parts/address.ts'
import { AsOf, oldest } from '../../parts/as-of.tsx'
import { CsvOfShown } from '../../parts/csv.tsx'
import { CurlButton } from '../../parts/curl.tsx'
import { Icon } from '../../parts/icons.tsx'
import { Panel } from '../../parts/page.tsx'
import { Failed } from '../../parts/states.tsx'
import { asking } from '../../request.ts'
import { toneOf } from '../../words.ts'

const DAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun']
const monthName = new Intl.DateTimeFormat('en', { month: 'long', year: 'numeric' })
/** Past runs, and names of tasks, that are read. */
const JOBS_MAX = 1_000
/** Lines of one day that are told at once; the others are opened. */
const OF_A_DAY = 5

interface Run {
  readonly at: number
  readonly taskId: string
  readonly name: string
  readonly href: string
  /** of the job; of a run to come, none */
  readonly status: string | null
}

/** From so many runs of one task on, alike and on one day, they are told in one line. */
const ALIKE = 3

/** One line of a day: a run, or the runs of a task that are alike, from the first to the last. */
interface Line extends Run {
  readonly last: number
  readonly count: number
}

function linesOf(runs: readonly Run[]): Line[] {
  const alike = Map.groupBy(runs, run => `${run.taskId} ${run.status}`)
  return [...alike.values()]
    .flatMap(all => {
      const [first] = all
      if (!first || all.length < ALIKE) return all.map(run => ({ ...run, last: run.at, count: 1 }))
      const href = `/tasks/${encodeURIComponent(first.taskId)}`
      return [{ ...first, href, last: all.at(-1)?.at ?? first.at, count: all.length }]
    })
    .sort((a, b) => a.at - b.at)
}

/** The days of the weeks that a month lies in. */
function daysOf(month: string): Date[] {
  const [year = 0, number = 1] = month.split('-').map(Number)
  const first = new Date(year, number - 1, 1)
  const before = (first.getDay() + 6) % 7
  const weeks = Math.ceil((before + new Date(year, number, 0).getDate()) / 7)
  return Array.from({ length: weeks * 7 }, (_, index) => new Date(year, number - 1, 1 - before + index))
}

export default function Calendar() {
  const now = useNow()
  const today = dayKeyOf(now)
  const [asked, setAsked] = useAddressed('month')
  const month = /^\d{4}-\d{2}$/.test(asked) ? asked : today.slice(0, 7)
  const days = useMemo(() => daysOf(month), [month])
  const from = days[0] ?? new Date()
  const to = new Date((days.at(-1) ?? new Date()).getTime() + 86_400_000)
  const turn = (by: number) => {
    const [year = 0, number = 1] = month.split('-').map(Number)
    setAsked(dayKeyOf(new Date(year, number - 1 + by, 1).getTime()).slice(0, 7))
  }
  const coming = asking('GET /operation/taskOccurrences', { query: { from: from.toISOString(), to: to.toISOString() } })
  const toCome = useAsked(coming, { every: 30_000 })
  const started = 'jobs.report.execution.startedDate'
  const made = asking('POST /search/jobs', {
    body: {
      filter: {
        and: [
          { exists: { 'jobs.taskId': true } },
          { gte: { [started]: from.toISOString() } },
          { lt: { [started]: to.toISOString() } },
        ],
      },
      sort: { parameters: [{ name: started, type: 'DESCENDING' }] },
      limit: { size: JOBS_MAX },
    },
  })
  const past = useAsked(made, { every: 30_000 })
  const named = useAsked(asking('POST /search/tasks', { body: { limit: { size: JOBS_MAX } } }), { every: 30_000 })
  const runs = useMemo(() => {
    const names = new Map(named.data?.tasks.map(({ id, name }) => [id, name]))
    const all: Run[] = [
      ...(toCome.data?.occurrences ?? []).map(({ taskId, name, operationName, date }) => ({
        at: Date.parse(date),
        taskId,
        name: name || operationName,
        href: `/tasks/${encodeURIComponent(taskId)}`,
        status: null,
      })),
      ...(past.data?.jobs ?? []).map(({ id, taskId, request, report }) => ({
        at: Date.parse(report.execution.startedDate),
        taskId: taskId ?? '',
        name: names.get(taskId ?? '') || String(request.name),
        href: `/jobs/${id}`,
        status: report.summary.status,
      })),
    ]
    return all.sort((a, b) => a.at - b.at)
  }, [toCome.data, past.data, named.data])
  const byDay = useMemo(() => {
    const days = Map.groupBy(runs, run => dayKeyOf(run.at))
    return new Map([...days].map(([day, all]) => [day, linesOf(all)]))
  }, [runs])

  return (
    <Panel
      title={monthName.format(new Date(`${month}-15T12:00:00`))}
      facts={
        <span className="row">
          {`Days in ${viewerZone}`}
          <AsOf of={oldest(toCome, past)} live={false} />
        </span>
      }
      actions={
        <>
          <CurlButton ask={[coming, made]} what="These runs" />
          <CsvOfShown
            name={`runs-${month}`}
            columns={['date', 'taskId', 'name', 'status', 'jobId']}
            rows={() =>
              runs.map(({ at, taskId, name, status, href }) => [
                new Date(at).toISOString(),
                taskId,
                name,
                status ?? 'to come',
                status && href.replace('/jobs/', ''),
              ])
            }
          />
          <ActionIcon variant="default" size={30} aria-label="The month before" onClick={() => turn(-1)}>
            <Icon name="back" />
          </ActionIcon>
          <Button variant="default" size="xs" onClick={() => setAsked('')}>
            Today
          </Button>
          <ActionIcon variant="default" size={30} aria-label="The month after" onClick={() => turn(1)}>
            <Icon name="next" />
          </ActionIcon>
        </>
      }
    >
      {(toCome.isError || past.isError) && <Failed error={toCome.error ?? past.error} />}
      {toCome.data?.cut.map(({ taskId, name, operationName, date }) => (
        <p key={taskId} className="small quiet">
          {name || operationName} runs too often to be told in full: here until <Instant at={date} />.
        </p>
      ))}
      {(past.data?.page.of ?? 1) > 1 && (
        <p className="small quiet">
          Of the past runs, the last {count(JOBS_MAX)} are here; all are in the list of jobs.
        </p>
      )}
      <div className="calendar-names" aria-hidden="true">
        {DAYS.map(each => (
          <span key={each}>{each}</span>
        ))}
      </div>
      <ol className="calendar">
        {days.map(day => {
          const key = dayKeyOf(day.getTime())
          const lines = byDay.get(key) ?? []
          const kind = [key === today ? 'day-today' : '', key.startsWith(month) ? '' : 'day-other'].join(' ')
          return (
            <li key={key} className={`day ${kind}`} aria-label={key} aria-current={key === today ? 'date' : undefined}>
              <span className="day-number figure">{day.getDate()}</span>
              <Runs lines={lines.slice(0, OF_A_DAY)} />
              {lines.length > OF_A_DAY && (
                <details className="more">
                  <summary>and {lines.length - OF_A_DAY} more</summary>
                  <Runs lines={lines.slice(OF_A_DAY)} />
                </details>
              )}
            </li>
          )
        })}
      </ol>
    </Panel>
  )
}

function Runs({ lines }: { readonly lines: readonly Line[] }) {
  return (
    <ul>
      {lines.map(({ href, at, last, count: number, name, status }) => (
        <li key={`${href}${at}${status}`}>
          <Link
            href={href}
            className={status ? 'run' : 'run run-coming'}
            title={`${name} ${status ?? 'to come'}, ${utcText(at)}${number > 1 ? ` to ${utcText(last)}` : ''}`}
          >
            {status && <span className={`status-dot tone-${toneOf(status)}`} aria-hidden="true" />}
            <time className="figure" dateTime={new Date(at).toISOString()}>
              {timeOfDay(at).slice(0, 5)}
            </time>
            <span className="cut">{name}</span>
            {number > 1 && <span className="figure nowrap">× {count(number)}</span>}
            <span className="sr-only">{status ?? 'to come'}</span>
          </Link>
        </li>
      ))}
    </ul>
  )
}
