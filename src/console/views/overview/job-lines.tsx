/** The newest jobs of a kind, two lines each: what it is and how far, and its bar. */
import { Link } from 'wouter'
import type { JobView } from '../../../contract/client/client.ts'
import { count, percent, Since } from '../../figures.tsx'
import { StackedBar } from '../../parts/stacked-bar.tsx'
import { Empty, Failed, Loading } from '../../parts/states.tsx'
import { Status } from '../../parts/status.tsx'
import { sharesOf, unsuccessful } from '../../words.ts'

/** As many are shown. */
export const LINES = 6

interface Found {
  readonly data: { readonly jobs: readonly JobView[] } | null | undefined
  readonly isPending: boolean
  readonly isError: boolean
  readonly error: unknown
}

export function JobLines({
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
      {jobs.map(job => (
        <li key={job.id}>
          <Link href={`/jobs/${job.id}`} className="cut">
            <span className="strong">{String(job.request.name)}</span>{' '}
            <span className="quiet small">{String(job.request.userNotes ?? '') || job.id}</span>
          </Link>
          <span className="small">{failures ? <HowMuchFailed job={job} /> : <HowFar job={job} />}</span>
          <StackedBar shares={sharesOf(job.report)} />
        </li>
      ))}
    </ul>
  )
}

function HowFar({ job: { report } }: { readonly job: JobView }) {
  const { total, inProgress } = report.summary
  return (
    <>
      <span className="figure strong">{percent(total - inProgress.total, total)}</span>{' '}
      <span className="quiet">
        of {count(total)}
        {report.execution.startedDate && (
          <>
            , <Since at={report.execution.startedDate} />
          </>
        )}
      </span>
    </>
  )
}

function HowMuchFailed({ job: { report } }: { readonly job: JobView }) {
  const { byUser } = report.summary.finished.cancelled
  return (
    <span className="row nowrap">
      <span>
        <span className="figure strong bad">{count(unsuccessful(report.summary) - byUser)}</span>{' '}
        <span className="quiet">
          failed{byUser > 0 && ` · ${count(byUser)} cancelled`} of {count(report.summary.total)}
        </span>
      </span>
      <Status word={report.summary.status} />
    </span>
  )
}
