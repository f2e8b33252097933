/** What runs, what fails, what needs a person; how fast operations end, and how many devices are there. */
import { lazy, type ReactNode, Suspense, useMemo } from 'react'
import { Link } from 'wouter'
import type { JobView } from '../../contract/client/client.ts'
import { count, counted, Instant, percent, rate, Since, useNow } from '../figures.tsx'
import { useAsked } from '../live.ts'
import { AsOf } from '../parts/as-of.tsx'
import { Icon } from '../parts/icons.tsx'
import { Page, Panel } from '../parts/page.tsx'
import { StackedBar } from '../parts/stacked-bar.tsx'
import { Empty, Failed, Loading } from '../parts/states.tsx'
import { Status } from '../parts/status.tsx'
import { persistent } from '../persistent.ts'
import { asking } from '../request.ts'
import { useSession } from '../session.ts'
import { useSeconds } from '../stream.ts'
import { sharesOf, unsuccessful } from '../words.ts'

const Chart = lazy(persistent(() => import('../parts/chart.tsx')))

const NEWEST = { sort: { parameters: [{ name: 'jobs.id', type: 'DESCENDING' as const }] } }
const STATUS = 'jobs.report.summary.status'

const RUNS = { in: { [STATUS]: ['IN_PROGRESS', 'CANCELLING_BY_USER', 'CANCELLING_BY_ENGINE'] } }
const RUNNING = asking('POST /search/jobs', { body: { ...NEWEST, filter: RUNS, limit: { size: 8 } } })
const RUNNING_COUNT = asking('POST /search/jobs/summary', { body: { filter: RUNS } })
const FAILING = asking('POST /search/jobs', {
  body: {
    ...NEWEST,
    filter: {
      or: [
        { gt: { 'jobs.report.summary.finished.error': 0 } },
        { gt: { 'jobs.report.summary.finished.cancelled.byTimeout': 0 } },
      ],
    },
    limit: { size: 8 },
  },
})
const WAITING = asking('POST /search/jobs', {
  body: { ...NEWEST, filter: { in: { [STATUS]: ['PAUSED', 'IDLE'] } }, limit: { size: 8 } },
})
const GIVEN_UP = asking('GET /deliveries', { query: { state: 'GIVEN_UP', size: 5 } })

export default function Overview() {
  const session = useSession()
  const running = useAsked(RUNNING, { live: true })
  const runningCount = useAsked(RUNNING_COUNT, { live: true })
  const failing = useAsked(FAILING, { live: true })
  const waiting = useAsked(WAITING, { live: true })
  const givenUp = useAsked(GIVEN_UP, { every: 15_000 })
  const devices = useAsked(
    asking('GET /provision/organizations/{organization}/connectedDevices', {
      path: { organization: session?.organization ?? '' },
    }),
    { every: 5_000 },
  )
  const open = (running.data?.jobs ?? []).reduce((sum, job) => sum + job.report.summary.inProgress.total, 0)

  return (
    <Page title="Overview" facts={<AsOf of={running} />}>
      <Throughput />
      <div className="columns">
        <Tile label="jobs run" href="/jobs?show=IN_PROGRESS">
          {runningCount.data && count(runningCount.data.summary.count)}
        </Tile>
        <Tile
          label={
            (runningCount.data?.summary.count ?? 0) > 8 ? 'operations open in the newest 8' : 'operations open in them'
          }
          href="/jobs?show=open"
        >
          {running.data !== undefined && count(open)}
        </Tile>
        <Tile label="devices connected" href="/devices">
          {devices.data && count(devices.data.connected)}
        </Tile>
        <Tile
          label={devices.data ? `devices, ${count(devices.data.seenLately)} heard of in 5 minutes` : 'devices'}
          href="/devices"
        >
          {devices.data && count(devices.data.devices)}
        </Tile>
      </div>
      <div className="columns">
        <div className="span-7">
          <Panel title="What runs" actions={<Link href="/jobs?show=open">All that has not ended</Link>}>
            <JobLines found={running} none="No job runs now." />
          </Panel>
        </div>
        <div className="span-5">
          <Panel title="What needs a person">
            <NeedsPerson
              jobs={waiting.data?.jobs ?? []}
              deliveries={givenUp.data?.deliveries ?? []}
              isRead={waiting.data !== undefined}
            />
          </Panel>
        </div>
        <div className="span-12">
          <Panel title="What fails" actions={<Link href="/jobs?show=failing">All with failures</Link>}>
            <JobLines found={failing} none="No job has failures." failures />
          </Panel>
        </div>
      </div>
    </Page>
  )
}

function Tile({
  label,
  href,
  children,
}: {
  readonly label: string
  readonly href: string
  readonly children: ReactNode
}) {
  return (
    <Link href={href} className="panel tile tile-link span-3">
      <span className="tile-value">{children || '–'}</span>
      <span className="tile-label">{label}</span>
    </Link>
  )
}

/** Operations that ended, second by second over ten minutes. */
function Throughput() {
  const { at, ended, successful, lately } = useSeconds(useNow())
  const lines = useMemo(
    () => [
      { label: 'Ended', tone: 'running' as const, values: ended },
      { label: 'Successful', tone: 'good' as const, values: successful, filled: true },
    ],
    [ended, successful],
  )
  return (
    <Panel
      title="Operations per second"
      facts={
        <>
          <span className="strong figure">{rate(lately)}</span> over the last ten seconds
        </>
      }
    >
      <Suspense fallback={<Loading what="the curve" />}>
        <Chart
          label={`Operations ended per second over the last ten minutes; ${rate(lately)} per second over the last ten seconds`}
          at={at}
          lines={lines}
          height={150}
          told={rate}
        />
      </Suspense>
    </Panel>
  )
}

interface Found {
  readonly data: { readonly jobs: readonly JobView[] } | null | undefined
  readonly isPending: boolean
  readonly isError: boolean
  readonly error: unknown
}

function JobLines({
  found,
  none,
  failures = false,
}: {
  readonly found: Found
  readonly none: string
  readonly failures?: boolean
}) {
  if (found.isPending) return <Loading what="jobs" />
  if (found.isError && !found.data) return <Failed error={found.error} />
  const jobs = found.data?.jobs ?? []
  if (jobs.length === 0) return <Empty>{none}</Empty>
  return (
    <ul className="job-lines">
      {jobs.map(job => {
        const { summary, execution } = job.report
        const failed = unsuccessful(summary)
        return (
          <li key={job.id}>
            <Link href={`/jobs/${job.id}`} className="cut">
              <span className="strong">{String(job.request.name)}</span>{' '}
              <span className="quiet small">{String(job.request.userNotes ?? '') || job.id}</span>
            </Link>
            <StackedBar shares={sharesOf(job.report)} />
            <span className="figure right">
              {failures ? (
                <span className="bad strong">
                  {count(failed)} <span className="small">of {count(summary.total)}</span>
                </span>
              ) : (
                percent(summary.total - summary.inProgress.total, summary.total)
              )}
            </span>
            <span className="figure right quiet small">
              {failures ? (
                <Status word={summary.status} />
              ) : (
                execution.startedDate && <Since at={execution.startedDate} />
              )}
            </span>
          </li>
        )
      })}
    </ul>
  )
}

interface Waiting {
  readonly jobs: readonly JobView[]
  readonly deliveries: readonly { readonly id: string; readonly receiver: string; readonly finishedDate: string }[]
  readonly isRead: boolean
}

function NeedsPerson({ jobs, deliveries, isRead }: Waiting) {
  if (!isRead) return <Loading what="what waits" />
  if (jobs.length + deliveries.length === 0) {
    return (
      <p className="good row">
        <Icon name="done" /> Nothing waits for a person.
      </p>
    )
  }
  return (
    <ul className="stack">
      {jobs.map(job => (
        <li key={job.id} className="row spread">
          <span className="row">
            <Status word={job.report.summary.status} />
            <Link href={`/jobs/${job.id}`}>{String(job.request.name)}</Link>
          </span>
          <span className="quiet small figure">{counted(job.report.summary.inProgress.total, 'operation')} wait</span>
        </li>
      ))}
      {deliveries.map(({ id, receiver, finishedDate }) => (
        <li key={id} className="row spread">
          <span className="row">
            <Status word="GIVEN_UP" />
            <Link href="/deliveries?state=GIVEN_UP" className="cut">
              {receiver}
            </Link>
          </span>
          <span className="quiet small">
            <Instant at={finishedDate} />
          </span>
        </li>
      ))}
    </ul>
  )
}
