/** The list of jobs: filtered, sorted, kept up to date, each with its bar. What is filtered stands in the address. */
import { Button, Select } from '@mantine/core'
import { useState } from 'react'
import { Link } from 'wouter'
import type { JobView } from '../../contract/client/client.ts'
import { JOB_STATUSES } from '../../contract/words.ts'
import { count, Instant } from '../figures.tsx'
import { useAddressed } from '../parts/address.ts'
import { AsOf } from '../parts/as-of.tsx'
import { TakeAway } from '../parts/csv.tsx'
import { Find } from '../parts/find.tsx'
import { Icon } from '../parts/icons.tsx'
import { Page } from '../parts/page.tsx'
import { searchRows } from '../parts/search-rows.ts'
import { StackedBar } from '../parts/stacked-bar.tsx'
import { Empty } from '../parts/states.tsx'
import { Status } from '../parts/status.tsx'
import { type Column, type Sort, VirtualTable } from '../parts/virtual-table.tsx'
import { asking } from '../request.ts'
import { useMay } from '../session.ts'
import { readable, sharesOf, unsuccessful } from '../words.ts'
import { jobFilter } from './job-filter.ts'

const SHOWN = [
  { value: '', label: 'All jobs' },
  { value: 'open', label: 'Not ended' },
  { value: 'running', label: 'Running' },
  { value: 'failing', label: 'With failures' },
  ...JOB_STATUSES.map(value => ({ value, label: readable(value) })),
]

const text = (value: unknown): string => (typeof value === 'string' ? value : '')

const COLUMNS: readonly Column<JobView>[] = [
  {
    key: 'job',
    title: 'Job',
    width: '24%',
    fills: true,
    cell: job => (
      <Link href={`/jobs/${job.id}`} className="job-link" title={`${text(job.request.name)} ${job.id}`}>
        <span className="strong">{text(job.request.name)}</span>{' '}
        <span className="quiet small wide-only">{text(job.request.userNotes) || job.id}</span>
      </Link>
    ),
    under: job => text(job.request.userNotes) || job.id,
  },
  {
    key: 'status',
    title: 'Status',
    width: '176px',
    sort: 'jobs.report.summary.status',
    cell: job => <Status word={job.report.summary.status} />,
    under: job => <StackedBar shares={sharesOf(job.report)} />,
  },
  {
    key: 'bar',
    title: 'Operations',
    width: '18%',
    wide: true,
    cell: job => <StackedBar shares={sharesOf(job.report)} />,
  },
  {
    key: 'total',
    title: 'Total',
    width: '84px',
    align: 'right',
    wide: true,
    sort: 'jobs.report.summary.total',
    cell: job => count(job.report.summary.total),
  },
  {
    key: 'open',
    title: 'Open',
    width: '84px',
    align: 'right',
    wide: true,
    sort: 'jobs.report.summary.inProgress.total',
    cell: job => count(job.report.summary.inProgress.total),
  },
  {
    key: 'failed',
    title: 'Unsuccessful',
    width: '116px',
    align: 'right',
    wide: true,
    cell: job => {
      const { summary } = job.report
      const value = unsuccessful(summary)
      const hasFailed = value > summary.finished.cancelled.byUser
      return <span className={hasFailed ? 'bad strong' : 'quiet'}>{count(value)}</span>
    },
  },
  {
    key: 'started',
    title: 'Started',
    width: '124px',
    align: 'right',
    wide: true,
    sort: 'jobs.report.execution.startedDate',
    cell: job => <Instant at={job.report.execution.startedDate} none="not yet" />,
  },
  { key: 'user', title: 'User', wide: true, cell: job => text(job.request.user) },
]

export default function Jobs() {
  const mayLaunch = useMay('execute')
  const [state, setState] = useState({ dataUpdatedAt: 0, isError: false, total: 0 })
  const [shown, setShown] = useAddressed('show')
  const [words, setWords] = useAddressed('words')
  const [sortText, setSort] = useAddressed('sort', '-jobs.id')
  const sort: Sort = { field: sortText.replace(/^-/, ''), descending: sortText.startsWith('-') }
  const type = sort.descending ? ('DESCENDING' as const) : ('ASCENDING' as const)
  const query = words === '' ? {} : { caseSensitive: false }
  const rows = searchRows<JobView>(
    'jobs',
    { filter: jobFilter(shown, words), sort: { parameters: [{ name: sort.field, type }] } },
    body => asking('POST /search/jobs', { query, body }),
    'jobs',
    true,
  )
  const isFiltered = shown !== '' || words !== ''

  return (
    <Page
      title="Jobs"
      fills
      facts={<AsOf of={state} />}
      actions={
        <>
          <TakeAway ask={rows.whole} name="jobs" />
          {mayLaunch && (
            <Button component={Link} href="/launch" size="xs" leftSection={<Icon name="launch" size={14} />}>
              Launch a job
            </Button>
          )}
        </>
      }
    >
      <div className="filters">
        <Select
          label="Show"
          data={SHOWN}
          value={shown}
          onChange={value => setShown(value ?? '')}
          allowDeselect={false}
          size="xs"
          w={190}
        />
        <Find what="Operation, note, user or job id" value={words} onFind={setWords} />
      </div>
      <VirtualTable
        label="Jobs"
        columns={COLUMNS}
        rows={rows}
        rowKey={job => job.id}
        sort={sort}
        onSort={next => setSort(`${next.descending ? '-' : ''}${next.field}`)}
        onState={setState}
        empty={
          isFiltered ? (
            <Empty
              action={
                <Button component={Link} href="/jobs" variant="default" size="xs">
                  Show all jobs
                </Button>
              }
            >
              No job fits this filter.
            </Empty>
          ) : (
            <Empty>No job has been made yet.</Empty>
          )
        }
      />
    </Page>
  )
}
