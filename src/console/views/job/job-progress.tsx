/** The plan of a job against what happened: launches as planned and as they were, what ended, and when the end is expected. */
import { lazy, Suspense, useMemo } from 'react'
import { count, Instant, Since } from '../../figures.tsx'
import { useAsked } from '../../live.ts'
import { AsOf } from '../../parts/as-of.tsx'
import { CurlButton } from '../../parts/curl.tsx'
import { Panel } from '../../parts/page.tsx'
import { Empty, Failed, Loading } from '../../parts/states.tsx'
import { persistent } from '../../persistent.ts'
import { asking } from '../../request.ts'
import { isFinal } from '../../words.ts'

const Chart = lazy(persistent(() => import('../../parts/chart.tsx')))
const ChartKey = lazy(persistent(() => import('../../parts/chart.tsx').then(module => ({ default: module.ChartKey }))))

/** It reads the whole job, so it is asked seldom. */
const EVERY_MS = 10_000

const askingProgress = (jobId: string) => asking('GET /operation/jobs/{jobId}/progress', { path: { jobId } })

/** The progress of a job as it is known, in whatever part of the view. */
export const useProgress = (jobId: string, status: string) =>
  useAsked(askingProgress(jobId), { every: isFinal(status) ? false : EVERY_MS })

export function JobProgress({ jobId, status }: { readonly jobId: string; readonly status: string }) {
  const asked = askingProgress(jobId)
  const found = useProgress(jobId, status)
  const progress = found.data
  const isPaused = status === 'PAUSED'
  const shown = useMemo(() => {
    if (!progress) return null
    const values = (name: 'planned' | 'launched' | 'ended' | 'successful') => progress.points.map(point => point[name])
    return {
      at: progress.points.map(point => Date.parse(point.date)),
      lines: [
        {
          label: isPaused ? 'Planned, without the pause' : 'Planned launches',
          tone: 'scheduled' as const,
          values: values('planned'),
          dashed: true,
        },
        { label: 'Launched', tone: 'running' as const, values: values('launched') },
        { label: 'Ended', tone: 'quiet' as const, values: values('ended') },
        { label: 'Successful', tone: 'good' as const, values: values('successful'), filled: true },
      ],
    }
  }, [progress, isPaused])
  const end = progress?.expectedEndDate
  const pausedDate = progress?.held.find(({ gate }) => gate === 'paused')?.fields.pausedDate
  const now = progress ? Date.parse(progress.date) : 0
  const last = (values: readonly (number | null)[]) => values.findLast(value => value !== null) ?? 0
  const planned = progress?.points.findLast(point => Date.parse(point.date) <= now)?.planned ?? null

  return (
    <Panel
      title="Plan and progress"
      facts={
        <span className="row">
          {end && !isPaused ? (
            <span>
              {isFinal(status) ? 'Ended ' : 'Expected end '}
              <Instant at={end} />
              {!isFinal(status) && (
                <>
                  , <Since at={end} />
                </>
              )}
            </span>
          ) : isPaused ? (
            <span className="warn strong">
              Paused
              {typeof pausedDate === 'string' && (
                <>
                  {' '}
                  since <Instant at={pausedDate} />
                </>
              )}
              : nothing more is launched until it is resumed
            </span>
          ) : (
            progress && 'When it ends cannot be told yet'
          )}
          <AsOf of={found} live={false} />
        </span>
      }
      actions={<CurlButton ask={asked} what="Progress" />}
    >
      {found.isError && !progress && <Failed error={found.error} retry={() => void found.refetch()} />}
      {found.isPending && <Loading what="the curve" />}
      {progress && progress.total === 0 && <Empty>There are no operations yet.</Empty>}
      {shown && progress && progress.total > 0 && (
        <Suspense fallback={<Loading what="the curve" />}>
          <Chart
            label={`Operations over time${isPaused ? ', paused' : ''}: ${shown.lines.map(line => `${line.label} ${count(last(line.values))}`).join(', ')} of ${count(progress.total)}`}
            at={shown.at}
            lines={shown.lines}
            marks={isFinal(status) ? [] : [{ at: now, words: isPaused ? 'paused' : 'now' }]}
          />
          <ChartKey
            lines={shown.lines.map(({ label, tone, values }, index) => ({
              label,
              tone,
              value: count(index === 0 ? (planned ?? 0) : last(values)),
            }))}
          />
        </Suspense>
      )}
    </Panel>
  )
}
