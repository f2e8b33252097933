/** One job: all its entities in one bar, what can be done to it, what was asked, and every operation of it. */
import { Link, useParams } from 'wouter'
import { count, Since } from '../../figures.tsx'
import { useAsked } from '../../live.ts'
import { AsOf } from '../../parts/as-of.tsx'
import { CurlButton } from '../../parts/curl.tsx'
import { Page, Panel } from '../../parts/page.tsx'
import { Legend, StackedBar } from '../../parts/stacked-bar.tsx'
import { Failed, Loading } from '../../parts/states.tsx'
import { Status } from '../../parts/status.tsx'
import { asking } from '../../request.ts'
import { isFinal, sharesOf } from '../../words.ts'
import { JobActions } from './job-actions.tsx'
import { JobFacts } from './job-facts.tsx'
import { JobOperations, useChosen } from './job-operations.tsx'
import { OperationPanel } from './operation.tsx'

export default function Job() {
  const { id = '', operation } = useParams<{ id: string; operation?: string }>()
  const asked = asking('GET /operation/jobs/{jobId}', { path: { jobId: id } })
  const found = useAsked(asked, { live: true })
  const { share, choose, query } = useChosen()
  const job = found.data
  if (!job) {
    return (
      <Page title="Job" above={<Link href="/jobs">Jobs</Link>}>
        {found.isError ? <Failed error={found.error} retry={() => void found.refetch()} /> : <Loading what="the job" />}
      </Page>
    )
  }
  const { summary, execution } = job.report
  const shares = sharesOf(job.report)
  const asked_ = shares.reduce((sum, each) => sum + each.count, 0)
  return (
    <Page
      title={String(job.request.name)}
      above={
        <>
          <Link href="/jobs">Jobs</Link> / <span className="mono">{job.id}</span>
        </>
      }
      facts={
        <>
          <Status word={summary.status} />
          {execution.startedDate !== '' && (
            <span>
              started <Since at={execution.startedDate} />
            </span>
          )}
          {summary.errorDescription && <span className="bad">{summary.errorDescription}</span>}
          <AsOf of={found} />
        </>
      }
      actions={
        <>
          <CurlButton ask={asked} what="This job" />
          <JobActions job={job} />
        </>
      }
    >
      <Panel title="Entities" facts={<span className="figure">{count(asked_)}</span>}>
        <StackedBar shares={shares} tall />
        <Legend
          shares={shares}
          picked={share ?? undefined}
          onPick={each => choose(each.key === share ? {} : { share: each.key })}
        />
      </Panel>
      <div className="columns">
        <div className={operation ? 'span-7' : 'span-8'}>
          <JobOperations job={job} picked={operation} />
        </div>
        <div className={operation ? 'span-5' : 'span-4'}>
          {operation ? (
            <OperationPanel
              jobId={job.id}
              operationId={operation}
              back={`/jobs/${job.id}${query}`}
              isLive={!isFinal(summary.status)}
            />
          ) : (
            <JobFacts job={job} />
          )}
        </div>
      </div>
    </Page>
  )
}
