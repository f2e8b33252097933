/** One job: all its entities in one bar, what can be done to it, what was asked, and every operation of it. */
import './job.css'
import { Link, useParams } from 'wouter'
import type { JobView } from '../../../contract/client/client.ts'
import { count, Since } from '../../figures.tsx'
import { useAsked } from '../../live.ts'
import { AsOf } from '../../parts/as-of.tsx'
import { CurlButton } from '../../parts/curl.tsx'
import { Page, Panel } from '../../parts/page.tsx'
import { Legend, StackedBar } from '../../parts/stacked-bar.tsx'
import { Failed, Loading } from '../../parts/states.tsx'
import { Status } from '../../parts/status.tsx'
import { asking } from '../../request.ts'
import { isFinal, sharesOf, unsuccessful } from '../../words.ts'
import { JobActions } from './job-actions.tsx'
import { JobFacts } from './job-facts.tsx'
import { JobFailures } from './job-failures.tsx'
import { JobOperations, useChosen } from './job-operations.tsx'
import { JobProgress, useProgress } from './job-progress.tsx'
import { JobWaiting } from './job-waiting.tsx'
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
  const { userNotes } = job.request
  const shares = sharesOf(job.report)
  const entities = shares.reduce((sum, each) => sum + each.count, 0)
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
          {typeof userNotes === 'string' && userNotes !== '' && <span className="page-note">{userNotes}</span>}
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
      <Panel title="Entities" facts={<span className="figure">{count(entities)}</span>}>
        <StackedBar shares={shares} tall />
        <Legend
          shares={shares}
          picked={share ?? undefined}
          onPick={each => choose(each.key === share ? {} : { share: each.key })}
        />
        {!isFinal(summary.status) && <Waiting job={job} />}
      </Panel>
      <div className="columns">
        <div className="span-8 stack">
          <JobProgress jobId={job.id} status={summary.status} />
          {unsuccessful(summary) > 0 && (
            <JobFailures jobId={job.id} isLive={!isFinal(summary.status)} choose={failure => choose({ failure })} />
          )}
        </div>
        <div className="span-4">
          <JobFacts job={job} />
        </div>
      </div>
      <div className="columns">
        <div className={operation ? 'span-7' : 'span-12'}>
          <JobOperations job={job} picked={operation} />
        </div>
        {operation && (
          <div className="span-5">
            <OperationPanel
              jobId={job.id}
              operationId={operation}
              back={`/jobs/${job.id}${query}`}
              isLive={!isFinal(summary.status)}
            />
          </div>
        )}
      </div>
    </Page>
  )
}

function Waiting({ job: { id, report } }: { readonly job: JobView }) {
  const { data } = useProgress(id, report.summary.status)
  return <JobWaiting inProgress={report.summary.inProgress} progress={data} />
}
