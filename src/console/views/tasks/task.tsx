/** One task: when it repeats, what it makes, the jobs it made; pause, resume and delete. */
import { useMemo, useState } from 'react'
import { Link, useParams } from 'wouter'
import type { JobView, TaskView } from '../../../contract/client/client.ts'
import { count, Instant } from '../../figures.tsx'
import { useAsked } from '../../live.ts'
import { Action } from '../../parts/action.tsx'
import { AsOf } from '../../parts/as-of.tsx'
import { TakeAway } from '../../parts/csv.tsx'
import { CurlButton } from '../../parts/curl.tsx'
import { Page, Panel } from '../../parts/page.tsx'
import type { PageAsked } from '../../parts/row-places.ts'
import { StackedBar } from '../../parts/stacked-bar.tsx'
import { Empty, Failed, Loading } from '../../parts/states.tsx'
import { Status } from '../../parts/status.tsx'
import { type Column, VirtualTable } from '../../parts/virtual-table.tsx'
import { ask, asking } from '../../request.ts'
import { useMay } from '../../session.ts'
import { sharesOf } from '../../words.ts'
import { targetWords } from '../job/job-facts.tsx'
import { windowWords } from '../job/window-words.ts'
import { Ends } from './ends.tsx'
import { repeatWords, taskTitle } from './schedule-words.ts'

const JOBS: readonly Column<JobView>[] = [
  {
    key: 'job',
    title: 'Job',
    width: '190px',
    fills: true,
    cell: job => (
      <Link href={`/jobs/${job.id}`} className="mono">
        {job.id}
      </Link>
    ),
    under: job => <Instant at={job.report.execution.startedDate} none="not yet" />,
  },
  {
    key: 'status',
    title: 'Status',
    width: '180px',
    cell: job => <Status word={job.report.summary.status} />,
    under: job => <StackedBar shares={sharesOf(job.report)} />,
  },
  { key: 'bar', title: 'Operations', wide: true, cell: job => <StackedBar shares={sharesOf(job.report)} /> },
  {
    key: 'total',
    title: 'Total',
    width: '90px',
    align: 'right',
    wide: true,
    cell: job => count(job.report.summary.total),
  },
  {
    key: 'started',
    title: 'Started',
    width: '136px',
    align: 'right',
    wide: true,
    cell: job => <Instant at={job.report.execution.startedDate} none="not yet" />,
  },
]

export default function Task() {
  const { id = '' } = useParams<{ id: string }>()
  const taskId = decodeURIComponent(id)
  const asked = asking('GET /operation/tasks/{taskId}', { path: { taskId } })
  const found = useAsked(asked, { live: true })
  const entities = useAsked(asking('GET /operation/tasks/{taskId}/entities', { path: { taskId }, query: { size: 1 } }))
  const [told, setTold] = useState({ dataUpdatedAt: 0, isError: false, total: 0 })
  const rows = useMemo(
    () => ({
      key: ['jobs', 'list', 'task', taskId],
      live: true,
      read: async ({ number, size }: PageAsked, signal: AbortSignal) => {
        const page = await ask(
          asking('GET /operation/tasks/{taskId}/jobs', { path: { taskId }, query: { start: number, size } }),
          signal,
        )
        return { rows: page?.jobs ?? [], of: page?.page.of ?? 1 }
      },
    }),
    [taskId],
  )
  const task = found.data?.task
  const whole = asking('POST /search/jobs', { body: { filter: { eq: { 'jobs.taskId': taskId } } } })
  const touched = entities.data === null ? 0 : entities.data?.page.of
  if (!task) {
    return (
      <Page title="Task" above={<Link href="/tasks">Tasks</Link>}>
        {found.isError ? (
          <Failed error={found.error} retry={() => void found.refetch()} />
        ) : (
          <Loading what="the task" />
        )}
      </Page>
    )
  }
  return (
    <Page
      title={taskTitle(task)}
      above={
        <>
          <Link href="/tasks">Tasks</Link> / <span className="mono">{task.id}</span>
        </>
      }
      facts={
        <>
          <Status word={task.state} />
          <AsOf of={found} live={false} />
        </>
      }
      actions={
        <>
          <CurlButton ask={asked} what="This task" />
          <TaskActions task={task} touches={touched} />
        </>
      }
    >
      <div className="columns">
        <div className="span-4">
          <Panel title="Schedule">
            <Facts task={task} touches={touched} />
          </Panel>
        </div>
        <div className="span-8">
          <Panel
            title="Jobs"
            facts={<AsOf of={told} />}
            actions={<TakeAway ask={whole} name={`jobs-of-${task.id}`} what="These jobs" />}
          >
            <div className="table-tall table-middle">
              <VirtualTable
                label="Jobs of the task"
                columns={JOBS}
                rows={rows}
                rowKey={job => job.id}
                onState={setTold}
                empty={<Empty>It has made no job yet.</Empty>}
              />
            </div>
          </Panel>
        </div>
      </div>
    </Page>
  )
}

function Facts({ task, touches }: { readonly task: TaskView; readonly touches: number | undefined }) {
  const { request } = task.job as {
    request: {
      name?: string
      parameters?: object
      target?: never
      resourceType?: string
      schedule?: { window?: unknown }
    }
  }
  const start = (task.schedule.start as { date?: string } | undefined)?.date
  return (
    <dl className="facts">
      <dt>Operation</dt>
      <dd>{request.name}</dd>
      <dt>Parameters</dt>
      <dd>
        {Object.keys(request.parameters ?? {}).length === 0 ? (
          'none'
        ) : (
          <pre className="code fact-code">{JSON.stringify(request.parameters, null, 1)}</pre>
        )}
      </dd>
      <dt>Target</dt>
      <dd>
        {targetWords(request.target, request.resourceType)}
        {touches !== undefined && <span className="quiet figure"> ({count(touches)} now)</span>}
      </dd>
      <dt>Repeats</dt>
      <dd>{repeatWords(task.schedule)}</dd>
      <dt>First</dt>
      <dd>
        <Instant at={start} />
      </dd>
      <dt>Ends</dt>
      <dd>
        <Ends schedule={task.schedule} />
      </dd>
      <dt>Next</dt>
      <dd>
        <Instant at={task.report.nextDate} none="none" />
      </dd>
      {request.schedule?.window !== undefined && (
        <>
          <dt>Window</dt>
          <dd>{windowWords(request.schedule.window)}</dd>
        </>
      )}
      <dt>Jobs made</dt>
      <dd className="figure">{count(task.report.executions)}</dd>
      <dt>Skipped</dt>
      <dd className="figure">{count(task.report.skipped)}</dd>
      <dt>User</dt>
      <dd>{task.user}</dd>
    </dl>
  )
}

function TaskActions({ task, touches }: { readonly task: TaskView; readonly touches: number | undefined }) {
  const allowed = useMay('execute')
  const isOpen = task.state === 'ACTIVE' || task.state === 'INACTIVE'
  if (!allowed || !isOpen) return null
  const path = { taskId: task.id }
  const known = touches === undefined ? {} : { touches }
  return (
    <>
      {task.state === 'ACTIVE' ? (
        <Action
          name="Pause"
          icon="pause"
          atOnce
          ask={asking('PUT /operation/tasks/{taskId}', { path, body: { task: { active: false } } })}
          {...known}
        >
          <p>The task makes no further jobs until it is resumed. A job that runs goes on.</p>
        </Action>
      ) : (
        <Action
          name="Resume"
          icon="play"
          primary
          ask={asking('PUT /operation/tasks/{taskId}', { path, body: { task: { active: true } } })}
          {...known}
        >
          <p>The task makes jobs again, from its next occurrence on.</p>
        </Action>
      )}
      <Action name="Delete" icon="stop" danger ask={asking('DELETE /operation/tasks/{taskId}', { path })} {...known}>
        <p>The task ends for good, and the job that waits for it goes. A job that runs is cancelled.</p>
      </Action>
    </>
  )
}
