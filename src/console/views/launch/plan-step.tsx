/** The last step: what the plan says will happen, and the launch itself. */
import { Button, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { lazy, Suspense, useMemo, useState } from 'react'
import { useLocation } from 'wouter'
import type { PlanView } from '../../../contract/client/client.ts'
import { count, counted, Instant, rate, span } from '../../figures.tsx'
import { useAsked } from '../../live.ts'
import { LARGE } from '../../parts/action.tsx'
import { Curl } from '../../parts/curl.tsx'
import { Fact } from '../../parts/fact.tsx'
import { Icon } from '../../parts/icons.tsx'
import { Notice } from '../../parts/notice.tsx'
import { Panel } from '../../parts/page.tsx'
import { Failed, Loading } from '../../parts/states.tsx'
import { persistent } from '../../persistent.ts'
import { type Ask, asking, save } from '../../request.ts'
import { warningWords } from '../job/job-facts.tsx'
import { type Draft, isLong, LISTED_MAX, plannedRequestOf, resourceTypeOf } from './draft.ts'
import { forgetDraft } from './kept-draft.ts'
import { jobMaking, makeJob, makingScript, taskMaking } from './making.ts'
import { nextRunAt } from './next-run.ts'
import { Recap, useTitle } from './recap.tsx'

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
  if (found.isPending) return <Loading what="the plan" />
  if (found.isError) return <Failed error={found.error} retry={() => void found.refetch()} />
  const plan = found.data
  if (!plan) return null
  return (
    <div className="columns">
      <div className="span-8 stack">
        <Recap draft={draft} isTask={isTask} />
        <Curve plan={plan} isTask={isTask} />
        <Refusals plan={plan} />
      </div>
      <div className="span-4 stack">
        <Risk plan={plan} />
        <Go draft={draft} plan={plan} isTask={isTask} />
      </div>
    </div>
  )
}

/** How the launches lie in time, in figures and hour by hour. */
export function Curve({
  plan: { launch, scattering, target },
  isTask,
}: {
  readonly plan: PlanView
  readonly isTask: boolean
}) {
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
          <Instant at={launch.firstLaunchDate} />
        </dd>
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
        <dt>Stop</dt>
        <dd>
          <Instant at={launch.stopDate} none="none" />
        </dd>
      </dl>
      {!shown.isOne && target.total > 0 && (
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

function Risk({ plan: { target, launch, warnings, scattering } }: { readonly plan: PlanView }) {
  const quiet = warnings.length === 0 && launch.notLaunched === 0 && launch.mayNotEnd === 0
  return (
    <Panel title="Devices and risk">
      <div className="stack">
        <div className="tile">
          <span className="tile-value">{count(target.total)}</span>
          <span className="tile-label">
            {target.total === 1 ? 'device gets an operation' : 'devices get an operation'}
          </span>
        </div>
        {launch.notLaunched > 0 && (
          <Notice>
            {counted(launch.notLaunched, 'operation')} would be cancelled by the stop before they are launched.
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

function Go({ draft, plan, isTask }: { readonly draft: Draft; readonly plan: PlanView; readonly isTask: boolean }) {
  const [, go] = useLocation()
  const queries = useQueryClient()
  const [typed, setTyped] = useState('')
  const [done, setDone] = useState(0)
  const { total } = plan.target
  const mustType = total >= LARGE
  const isRight = !mustType || Number(typed.replace(/[\s,.']/g, '')) === total
  const making = useMutation({
    mutationFn: () => makeJob(draft, isTask, setDone),
    onSuccess: async path => {
      forgetDraft(isTask)
      await queries.invalidateQueries()
      go(path)
    },
  })
  const title = useTitle(draft.name)
  const verb = isTask ? 'Create the task' : draft.start === 'never' ? 'Create the job' : title
  return (
    <Panel title={isTask ? 'Create' : 'Launch'}>
      <form
        className="stack"
        onSubmit={event => {
          event.preventDefault()
          if (isRight && total > 0) making.mutate()
        }}
      >
        {plan.error && <Notice>{plan.error.message}</Notice>}
        {mustType && (
          <TextInput
            label={`Type ${count(total)} to confirm`}
            value={typed}
            inputMode="numeric"
            autoComplete="off"
            onChange={event => setTyped(event.currentTarget.value)}
          />
        )}
        {making.isError && <Failed error={making.error} />}
        {making.isPending && done > 0 && <p className="figure">{count(done)} devices listed…</p>}
        <Button
          type="submit"
          className="launch-button"
          disabled={!isRight || total === 0}
          loading={making.isPending}
          leftSection={<Icon name="launch" size={15} />}
        >
          {verb} on {counted(total, 'device')}
        </Button>
        <details className="more">
          <summary>The same with curl</summary>
          <TheSame draft={draft} isTask={isTask} />
        </details>
      </form>
    </Panel>
  )
}

/** The same with curl: one command, or a script where the list takes several. */
function TheSame({ draft, isTask }: { readonly draft: Draft; readonly isTask: boolean }) {
  if (isTask) return <Curl ask={taskMaking(draft)} />
  if (!isLong(draft)) return <Curl ask={jobMaking(draft)} />
  const name = `launch-on-${draft.list.length}.sh`
  return (
    <div className="stack">
      <p className="small">
        {counted(draft.list.length, 'identifier')} take several requests of at most {LISTED_MAX}: this script makes them
        all.
      </p>
      <pre className="code">{`DROVER_URL=${location.origin} DROVER_API_KEY=… sh ${name}`}</pre>
      <div>
        <Button
          size="compact-sm"
          variant="default"
          leftSection={<Icon name="down" size={14} />}
          onClick={() => save(new Blob([makingScript(draft)], { type: 'text/x-shellscript' }), name)}
        >
          Download {name}
        </Button>
      </div>
    </div>
  )
}
