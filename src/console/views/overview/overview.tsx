/** What runs, what fails, what needs a person; how fast operations end, and how many devices are there. */
import './overview.css'
import { lazy, type ReactNode, Suspense, useMemo } from 'react'
import { Link } from 'wouter'
import { count, rate, useNow } from '../../figures.tsx'
import { useAsked } from '../../live.ts'
import { AsOf, oldest } from '../../parts/as-of.tsx'
import { CurlButton } from '../../parts/curl.tsx'
import { Page, Panel } from '../../parts/page.tsx'
import { StackedBar } from '../../parts/stacked-bar.tsx'
import { Loading } from '../../parts/states.tsx'
import { persistent } from '../../persistent.ts'
import { asking } from '../../request.ts'
import { useSession } from '../../session.ts'
import { useSeconds } from '../../stream.ts'
import { jobFilter, OPEN, RUNNING, STATUS } from '../job-filter.ts'
import { JobLines, LINES } from './job-lines.tsx'
import { NeedsPerson } from './needs-person.tsx'
import { countsOf, NEWEST, readStanding, STANDING } from './standing.ts'

const Chart = lazy(persistent(() => import('../../parts/chart.tsx')))

const newest = (shown: string) =>
  asking('POST /search/jobs', { body: { ...NEWEST, filter: jobFilter(shown), limit: { size: LINES } } })
const RUNS = newest('running')
const FAILS = newest('failing')
const FAILS_COUNT = asking('POST /search/jobs/summary', {
  body: { filter: jobFilter('failing'), group: { parameters: [{ name: STATUS }] } },
})

export default function Overview() {
  const session = useSession()
  const found = useAsked(STANDING, { live: true })
  const standing = useMemo(() => readStanding(found.data), [found.data])
  const running = useAsked(RUNS, { live: true })
  const failing = useAsked(FAILS, { live: true })
  const failingCount = useAsked(FAILS_COUNT, { live: true })
  const devices = useAsked(
    asking('GET /provision/organizations/{organization}/connectedDevices', {
      path: { organization: session?.organization ?? '' },
    }),
    { every: 5_000 },
  )
  const failures = failingCount.data?.summary.count
  const jobs = standing?.jobs
  const runs = jobs && RUNNING.reduce((sum, status) => sum + (jobs.get(status) ?? 0), 0)

  return (
    <Page
      title="Overview"
      facts={<AsOf of={oldest(found, running, failing, failingCount, devices)} />}
      actions={<CurlButton ask={STANDING} what="What is open" />}
    >
      <div className="columns">
        <Tile
          label={runs === 1 ? 'job runs' : 'jobs run'}
          href="/jobs?show=running"
          beside={jobs && `${count(jobs.get('SCHEDULED') ?? 0)} scheduled, ${count(waiting(jobs))} idle or paused`}
        >
          {runs !== undefined && count(runs)}
        </Tile>
        <Tile
          label={standing?.open === 1 ? 'operation is open' : 'operations are open'}
          href="/jobs?show=open"
          beside={standing && <StackedBar shares={standing.shares} />}
        >
          {standing && `${standing.isWhole ? '' : 'over '}${count(standing.open)}`}
        </Tile>
        <Tile
          label={failures === 1 ? 'job has failures' : 'jobs have failures'}
          href="/jobs?show=failing"
          beside={failingCount.data && `${count(runningIn(failingCount.data.summary))} of them not ended`}
        >
          {failures !== undefined && count(failures)}
        </Tile>
        <Tile
          label={devices.data?.connected === 1 ? 'device is connected' : 'devices are connected'}
          href="/devices?connection=connected"
          beside={
            devices.data && `of ${count(devices.data.devices)}; ${count(devices.data.seenLately)} heard of in 5 minutes`
          }
        >
          {devices.data && count(devices.data.connected)}
        </Tile>
      </div>
      <div className="columns">
        <div className="span-8">
          <Throughput />
        </div>
        <div className="span-4">
          <Panel title="What needs a person">
            <NeedsPerson jobs={jobs} />
          </Panel>
        </div>
        <div className="span-6">
          <Panel
            title="What runs"
            facts={ofAll(running.data?.jobs.length, runs)}
            actions={<Link href="/jobs?show=open">All that has not ended</Link>}
          >
            <JobLines found={running} none="No job runs now." />
          </Panel>
        </div>
        <div className="span-6">
          <Panel
            title="What fails"
            facts={ofAll(failing.data?.jobs.length, failures)}
            actions={<Link href="/jobs?show=failing">All with failures</Link>}
          >
            <JobLines found={failing} none="No job has failures." failures />
          </Panel>
        </div>
      </div>
    </Page>
  )
}

/** Of the jobs in an answer grouped by status, those that have not ended. */
const runningIn = (summary: unknown) =>
  (countsOf(summary).get(STATUS)?.list ?? [])
    .filter(each => OPEN.some(status => status === each.name))
    .reduce((sum, each) => sum + each.count, 0)

const waiting = (jobs: ReadonlyMap<string, number>) => (jobs.get('IDLE') ?? 0) + (jobs.get('PAUSED') ?? 0)

const ofAll = (shown = 0, all = 0): string => (all > shown ? `the newest ${shown} of ${count(all)}` : '')

function Tile({
  label,
  href,
  beside,
  children,
}: {
  readonly label: string
  readonly href: string
  readonly beside: ReactNode
  readonly children: ReactNode
}) {
  return (
    <Link href={href} className="panel tile tile-link span-3">
      <span className="tile-value">{children || '–'}</span>
      <span className="tile-label">{label}</span>
      <span className="tile-beside">{beside || ' '}</span>
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
          height={180}
          told={rate}
        />
      </Suspense>
    </Panel>
  )
}
