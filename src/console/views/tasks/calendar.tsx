/** A month of runs: those that tasks will make, and the jobs that they made, by day in the viewer's zone. */
import './calendar.css'
import { ActionIcon, Button } from '@mantine/core'
import { useMemo } from 'react'
import { Link } from 'wouter'
import { dayKeyOf, timeOfDay, useNow, viewerZone } from '../../figures.tsx'
import { useAsked } from '../../live.ts'
import { useAddressed } from '../../parts/address.ts'
import { CurlButton } from '../../parts/curl.tsx'
import { Icon } from '../../parts/icons.tsx'
import { Panel } from '../../parts/page.tsx'
import { Failed } from '../../parts/states.tsx'
import { asking } from '../../request.ts'
import { toneOf } from '../../words.ts'

const DAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun']
const monthName = new Intl.DateTimeFormat('en', { month: 'long', year: 'numeric' })
/** Runs told of one day; the others are counted. */
const OF_A_DAY = 5

interface Run {
  readonly at: number
  readonly name: string
  readonly href: string
  /** of the job; of a run to come, none */
  readonly status: string | null
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
  const past = useAsked(
    asking('POST /search/jobs', {
      body: {
        filter: {
          and: [
            { exists: { 'jobs.taskId': true } },
            { gte: { [started]: from.toISOString() } },
            { lt: { [started]: to.toISOString() } },
          ],
        },
        limit: { size: 1_000 },
      },
    }),
    { every: 30_000 },
  )
  const byDay = useMemo(() => {
    const runs: Run[] = [
      ...(toCome.data?.occurrences ?? []).map(({ taskId, name, operationName, date }) => ({
        at: Date.parse(date),
        name: name || operationName,
        href: `/tasks/${encodeURIComponent(taskId)}`,
        status: null,
      })),
      ...(past.data?.jobs ?? []).map(({ id, taskId, request, report }) => ({
        at: Date.parse(report.execution.startedDate),
        name: `${String(request.name)} ${taskId ?? ''}`,
        href: `/jobs/${id}`,
        status: report.summary.status,
      })),
    ].sort((a, b) => a.at - b.at)
    return Map.groupBy(runs, run => dayKeyOf(run.at))
  }, [toCome.data, past.data])

  return (
    <Panel
      title={monthName.format(new Date(`${month}-15T12:00:00`))}
      facts={`Days in ${viewerZone}${toCome.data?.more ? '; more runs than can be told' : ''}`}
      actions={
        <>
          <CurlButton ask={coming} what="Coming runs" />
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
      <div className="calendar-names" aria-hidden="true">
        {DAYS.map(each => (
          <span key={each}>{each}</span>
        ))}
      </div>
      <ol className="calendar">
        {days.map(day => {
          const key = dayKeyOf(day.getTime())
          const runs = byDay.get(key) ?? []
          const kind = [key === today ? 'day-today' : '', key.startsWith(month) ? '' : 'day-other'].join(' ')
          return (
            <li key={key} className={`day ${kind}`} aria-label={key} aria-current={key === today ? 'date' : undefined}>
              <span className="day-number figure">{day.getDate()}</span>
              <ul>
                {runs.slice(0, OF_A_DAY).map(run => (
                  <li key={`${run.href}${run.at}`}>
                    <Link
                      href={run.href}
                      className={run.status ? 'run' : 'run run-coming'}
                      title={`${run.name} ${run.status ?? 'to come'}`}
                    >
                      {run.status && <span className={`status-dot tone-${toneOf(run.status)}`} aria-hidden="true" />}
                      <span className="figure">{timeOfDay(run.at).slice(0, 5)}</span>
                      <span className="cut">{run.name}</span>
                      <span className="sr-only">{run.status ?? 'to come'}</span>
                    </Link>
                  </li>
                ))}
                {runs.length > OF_A_DAY && <li className="quiet small">and {runs.length - OF_A_DAY} more</li>}
              </ul>
            </li>
          )
        })}
      </ol>
    </Panel>
  )
}
