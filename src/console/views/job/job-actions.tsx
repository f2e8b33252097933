/** What can be done to a job in its present status. Each says beforehand how many devices it touches. */
import { useLocation } from 'wouter'
import type { JobView } from '../../../contract/client/client.ts'
import { count, counted } from '../../figures.tsx'
import { Action } from '../../parts/action.tsx'
import { Notice } from '../../parts/notice.tsx'
import { asking } from '../../request.ts'
import { useMay } from '../../session.ts'
import { isFinal, unsuccessful } from '../../words.ts'
import { RetryAction } from './retry-action.tsx'

export function JobActions({ job }: { readonly job: JobView }) {
  const allowed = useMay('execute')
  const [, go] = useLocation()
  if (!allowed) return null
  const { id: jobId } = job
  const { summary } = job.report
  const { status, inProgress } = summary
  const path = { jobId }
  const launched = inProgress.total - inProgress.scheduled
  return (
    <>
      {(status === 'IN_PROGRESS' || status === 'SCHEDULED') && (
        <Action
          name="Pause"
          icon="pause"
          atOnce
          ask={asking('PUT /operation/jobs/{jobId}', { path, body: { job: { request: { active: false } } } })}
          touches={inProgress.total}
        >
          <p>
            Nothing more is sent until the job is resumed: {counted(inProgress.scheduled, 'operation')} wait.
            {launched > 0 && ` What has been launched, ${count(launched)}, may still end.`}
          </p>
        </Action>
      )}
      {(status === 'PAUSED' || status === 'IDLE') && (
        <Action
          name={status === 'PAUSED' ? 'Resume' : 'Activate'}
          icon="play"
          primary
          ask={asking('PUT /operation/jobs/{jobId}', { path, body: { job: { request: { active: true } } } })}
          touches={inProgress.total}
        >
          <p>The job goes on as its schedule says. What became overdue meanwhile is spread anew over the time left.</p>
        </Action>
      )}
      {!isFinal(status) && !status.startsWith('CANCELLING') && (
        <Action
          name="Cancel the job"
          icon="stop"
          danger
          ask={asking('DELETE /operation/jobs/{jobId}', { path })}
          touches={inProgress.total}
        >
          <p>Every operation that has not ended is cancelled. This cannot be taken back.</p>
          {launched > 0 && (
            <Notice>
              {counted(launched, 'operation')} may already be running on a device. Steps that were done there stay done.
            </Notice>
          )}
        </Action>
      )}
      {unsuccessful(summary) > 0 && <RetryAction job={job} onLaunched={id => go(`/jobs/${id}`)} />}
    </>
  )
}
