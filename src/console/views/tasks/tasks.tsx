/** The tasks of the organization, as a list and as a calendar of what comes and what was. */
import { Button, SegmentedControl, Select } from '@mantine/core'
import { lazy, Suspense, useState } from 'react'
import { Link } from 'wouter'
import type { TaskView } from '../../../contract/client/client.ts'
import { TASK_STATES } from '../../../contract/words.ts'
import { count, Instant } from '../../figures.tsx'
import { useAddressed } from '../../parts/address.ts'
import { AsOf } from '../../parts/as-of.tsx'
import { TakeAway } from '../../parts/csv.tsx'
import { Find } from '../../parts/find.tsx'
import { Icon } from '../../parts/icons.tsx'
import { Page } from '../../parts/page.tsx'
import { anywhere, searchRows } from '../../parts/search-rows.ts'
import { Empty, Loading } from '../../parts/states.tsx'
import { Status } from '../../parts/status.tsx'
import { type Column, VirtualTable } from '../../parts/virtual-table.tsx'
import { persistent } from '../../persistent.ts'
import { asking } from '../../request.ts'
import { useMay } from '../../session.ts'
import { readable } from '../../words.ts'
import { repeatWords, taskTitle } from './schedule-words.ts'

const Calendar = lazy(persistent(() => import('./calendar.tsx')))

const COLUMNS: readonly Column<TaskView>[] = [
  {
    key: 'task',
    title: 'Task',
    width: '26%',
    fills: true,
    cell: each => (
      <Link href={`/tasks/${encodeURIComponent(each.id)}`} title={each.id}>
        {taskTitle(each)}
      </Link>
    ),
    under: each => repeatWords(each.schedule),
  },
  { key: 'state', title: 'State', width: '130px', wide: true, cell: each => <Status word={each.state} /> },
  { key: 'operation', title: 'Operation', width: '20%', wide: true, cell: each => String(each.job.request.name) },
  { key: 'repeats', title: 'Repeats', wide: true, cell: each => repeatWords(each.schedule) },
  {
    key: 'jobs',
    title: 'Jobs',
    width: '80px',
    align: 'right',
    wide: true,
    cell: each => count(each.report.executions),
  },
  {
    key: 'next',
    title: 'Next',
    width: '156px',
    align: 'right',
    cell: each => <Instant at={each.report.nextDate} none="none" />,
    under: each => <Status word={each.state} />,
  },
]

export default function Tasks() {
  const mayRun = useMay('execute')
  const [view, setView] = useAddressed('view')
  const [state, setState] = useAddressed('state')
  const [words, setWords] = useAddressed('words')
  const [told, setTold] = useState({ dataUpdatedAt: 0, isError: false, total: 0 })
  const parts = [
    ...(state === '' ? [] : [{ eq: { 'tasks.state': state } }]),
    ...(words === ''
      ? []
      : [
          {
            or: ['tasks.name', 'tasks.id', 'tasks.job.request.name'].map(field => ({
              like: { [field]: anywhere(words) },
            })),
          },
        ]),
  ]
  const filter = parts.length === 0 ? {} : parts.length === 1 ? (parts[0] ?? {}) : { and: parts }
  const rows = searchRows<TaskView>(
    'tasks',
    { filter },
    body => asking('POST /search/tasks', { query: { caseSensitive: false }, body }),
    'tasks',
    true,
  )
  return (
    <Page
      title="Tasks"
      fills={view !== 'calendar'}
      facts={view !== 'calendar' && <AsOf of={told} live={false} />}
      actions={
        <>
          <SegmentedControl
            size="xs"
            aria-label="How tasks are shown"
            data={[
              { value: '', label: 'List' },
              { value: 'calendar', label: 'Calendar' },
            ]}
            value={view}
            onChange={setView}
          />
          {view !== 'calendar' && <TakeAway ask={rows.whole} name="tasks" />}
          {mayRun && (
            <Button component={Link} href="/tasks/new/what" size="xs" leftSection={<Icon name="plus" size={14} />}>
              New task
            </Button>
          )}
        </>
      }
    >
      {view === 'calendar' ? (
        <Suspense fallback={<Loading what="the calendar" />}>
          <Calendar />
        </Suspense>
      ) : (
        <>
          <div className="filters">
            <Select
              label="State"
              data={[{ value: '', label: 'All' }, ...TASK_STATES.map(value => ({ value, label: readable(value) }))]}
              value={state}
              onChange={value => setState(value ?? '')}
              allowDeselect={false}
              size="xs"
              w={160}
            />
            <Find what="Name, id or operation" value={words} onFind={setWords} />
          </div>
          <VirtualTable
            label="Tasks"
            columns={COLUMNS}
            rows={rows}
            rowKey={each => each.id}
            onState={setTold}
            empty={<Empty>{parts.length > 0 ? 'No task fits this filter.' : 'No task has been made yet.'}</Empty>}
          />
        </>
      )}
    </Page>
  )
}
