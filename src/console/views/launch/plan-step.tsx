/** The last step: what the plan says will happen, and the launch beside it. */
import { lazy, Suspense, useMemo } from 'react'
import type { PlanView } from '../../../contract/client/client.ts'
import { whyNothingRuns } from '../../../contract/client/plan-words.ts'
import { count, counted, Instant, rate, span } from '../../figures.tsx'
import { useAsked } from '../../live.ts'
import { Fact } from '../../parts/fact.tsx'
import { Icon } from '../../parts/icons.tsx'
import { NothingRunsBox } from '../../parts/nothing-runs.tsx'
import { Notice } from '../../parts/notice.tsx'
import { useOnce } from '../../parts/once.ts'
import { Panel } from '../../parts/page.tsx'
import { Failed, Loading } from '../../parts/states.tsx'
import { persistent } from '../../persistent.ts'
import { type Ask, asking } from '../../request.ts'
import { warningWords } from '../job/job-facts.tsx'
import { type Draft, plannedRequestOf, resourceTypeOf } from './draft.ts'
import { Go } from './go.tsx'
import { nextRunAt } from './next-run.ts'
import { Recap } from './recap.tsx'

const Chart = lazy(persistent(() => import('../../parts/chart.tsx')))
const ChartKey = lazy(persistent(() => import('../../parts/chart.tsx').then(module => ({ default: module.ChartKey }))))

/** Asks for the plan of the job, or of the next job that the task makes. */
export function planOf(draft: Draft, isTask: boolean): Ask<PlanView> {
  return asking('POST /operation/jobs/plan', {
    query: resourceTypeOf(draft),
    body: { job: { request: plannedRequestOf(draft, isTask, isTask ? nextRunAt(draft, Date.now()) : null) } },
  })
}

export default function PlanStep({ draft, isTask }: { readonly draft: Draft; readonly isTask: boolean }) {
  const asked = useMemo(() => planOf(draft, isTask), [draft, isTask])
  const found = useAsked(asked)
  // Here, since what stands below goes away while the service does.
  const once = useOnce()
  if (found.isPending) return <Loading what="the plan" />
  if (found.isError) return <Failed error={found.error} retry={() => void found.refetch()} />
  const plan = found.data
  if (!plan) return null
  return (
    <div className="columns">
      <div className="span-8 stack">
        <NothingRunsBox plan={plan} isLaunched={isTask || draft.start !== 'never'} />
        <Recap draft={draft} isTask={isTask} />
        <Curve plan={plan} isTask={isTask} />
        <Refusals plan={plan} />
      </div>
      <div className="span-4 stack">
        <Risk plan={plan} />
        <Go draft={draft} plan={plan} isTask={isTask} once={once} />
      </div>
    </div>
  )
}

/** How the launches lie in time, in figures and hour by hour. */
export function Curve({ plan, isTask }: { readonly plan: PlanView; readonly isTask: boolean }) {
  const { launch, scattering } = plan
  const runs = whyNothingRuns(plan) === null
  const shown = useMemo(() => {
    const hours = launch.perHour.map(({ date, launches }) => ({ at: Date.parse(date), launches }))
    const first = hours[0]?.at ?? 0
    const last = (hours.at(-1)?.at ?? 0) + 3_600_000
    const byHour = new Map(hours.map(each => [each.at, each.launches]))
    const at: number[] = []
    for (let hour = first; hour <= last && at.length < 1_000; hour += 3_600_000) at.push(hour)
    return { at, values: at.map(each => byHour.get(each) ?? 0), isOne: hours.length <= 1 }
  }, [launch.perHour])
  return (
    <Panel title={isTask ? 'Launches of the next run' : 'Launches'}>
      <dl className="facts facts-wide">
        {isTask && (
          <Fact name="Next run">
            <Instant at={launch.startDate} />
          </Fact>
        )}
        <dt>First</dt>
        <dd>
          <Instant at={launch.firstLaunchDate} none="nothing is launched" />
        </dd>
        {runs && (
          <>
            <dt>Last</dt>
            <dd>
              <Instant at={launch.lastLaunchDate} />
            </dd>
            <dt>Rate</dt>
            <dd className="figure">
              {scattering.operationsPerSecond === null
                ? 'all at once, as fast as they can be sent'
                : `${rate(scattering.operationsPerSecond)} per second over ${span(scattering.spreadMs)}`}
            </dd>
            <dt>Expected end</dt>
            <dd>
              <Instant at={launch.expectedEndDate} /> <span className="quiet">where each uses up its time</span>
            </dd>
          </>
        )}
        <dt>Stop</dt>
        <dd>
          <Instant at={launch.stopDate} none="none" />
        </dd>
      </dl>
      {!shown.isOne && runs && (
        <Suspense fallback={<Loading what="the curve" />}>
          <Chart
            label={`Launches per hour, ${launch.perHour.length} hours`}
            at={shown.at}
            lines={[{ label: 'Launches in the hour', tone: 'running', values: shown.values, filled: true }]}
            stepped
          />
          <ChartKey lines={[{ label: 'Launches in each hour', tone: 'running' }]} />
          {launch.launchesLater > 0 && (
            <p className="quiet small">{count(launch.launchesLater)} launched later than is drawn here.</p>
          )}
        </Suspense>
      )}
      {launch.windows.length > 0 && (
        <details className="more">
          <summary>{counted(launch.windows.length, 'window')} used</summary>
          <ul>
            {launch.windows.map(({ opensDate, closesDate }) => (
              <li key={opensDate}>
                <Instant at={opensDate} /> – <Instant at={closesDate} />
              </li>
            ))}
          </ul>
        </details>
      )}
    </Panel>
  )
}

function Refusals({ plan: { target } }: { readonly plan: PlanView }) {
  if (target.refusals.length === 0) return null
  return (
    <Panel title="Refused">
      <ul className="stack">
        {target.refusals.map(({ reason, words, count: number, entities }) => (
          <li key={reason}>
            <span className="strong figure">{count(number)}</span> {words}
            <details className="more">
              <summary>Which</summary>
              <code>{entities.join(', ')}</code>
            </details>
          </li>
        ))}
      </ul>
    </Panel>
  )
}

function Risk({ plan }: { readonly plan: PlanView }) {
  const { target, launch, warnings, scattering } = plan
  const runs = whyNothingRuns(plan) === null
  const quiet = runs && warnings.length === 0 && launch.notLaunched === 0 && launch.mayNotEnd === 0
  return (
    <Panel title="Devices and risk">
      <div className="stack">
        <div className="tile">
          <span className="tile-value">{count(target.total)}</span>
          <span className="tile-label">
            {target.total === 1 ? 'device gets an operation' : 'devices get an operation'}
          </span>
        </div>
        {runs && launch.notLaunched > 0 && (
          <Notice>
            {counted(launch.notLaunched, 'operation')} of {count(target.total)} would be cancelled by the stop before
            they are launched.
          </Notice>
        )}
        {launch.mayNotEnd > 0 && (
          <Notice>
            {counted(launch.mayNotEnd, 'operation')} are launched so late that the stop may cancel them before their
            time is over.
          </Notice>
        )}
        {warnings.map(warning => (
          <Notice key={String(warning.code)}>{warningWords(warning)}</Notice>
        ))}
        {scattering.groupCount !== undefined && (
          <p className="quiet">{counted(scattering.groupCount, 'cell')} in all.</p>
        )}
        {quiet && (
          <p className="good row">
            <Icon name="done" /> Nothing speaks against it.
          </p>
        )}
      </div>
    </Panel>
  )
}
