/** The list of jobs: filtered, sorted, kept up to date, each with its bar. What is filtered stands in the address. */
import { Button, Select, TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { useMemo, useState } from 'react'
import { Link, useSearchParams } from 'wouter'
import type { JobView } from '../../contract/client/client.ts'
import { JOB_STATUSES } from '../../contract/words.ts'
import { count, Instant } from '../figures.tsx'
import { AsOf } from '../parts/as-of.tsx'
import { CsvButton } from '../parts/csv.tsx'
import { CurlButton } from '../parts/curl.tsx'
import { Icon } from '../parts/icons.tsx'
import { Page } from '../parts/page.tsx'
import { StackedBar } from '../parts/stacked-bar.tsx'
import { Empty } from '../parts/states.tsx'
import { Status } from '../parts/status.tsx'
import { type Column, type Sort, VirtualTable } from '../parts/virtual-table.tsx'
import { ask, asking } from '../request.ts'
import { useMay } from '../session.ts'
import { readable, sharesOf, unsuccessful } from '../words.ts'

const OPEN = ['IDLE', 'SCHEDULED', 'IN_PROGRESS', 'PAUSED', 'CANCELLING_BY_USER', 'CANCELLING_BY_ENGINE']

const SHOWN = [
  { value: '', label: 'All jobs' },
  { value: 'open', label: 'Not ended' },
  { value: 'failing', label: 'With failures' },
  ...JOB_STATUSES.map(value => ({ value, label: readable(value) })),
]

const text = (value: unknown): string => (typeof value === 'string' ? value : '')

const COLUMNS: readonly Column<JobView>[] = [
  {
    key: 'job',
    title: 'Job',
    width: '27%',
    cell: job => (
      <Link href={`/jobs/${job.id}`} className="job-link" title={`${text(job.request.name)} ${job.id}`}>
        <span className="strong">{text(job.request.name)}</span>{' '}
        <span className="quiet small">{text(job.request.userNotes) || job.id}</span>
      </Link>
    ),
  },
  {
    key: 'status',
    title: 'Status',
    width: '158px',
    sort: 'jobs.report.summary.status',
    cell: job => <Status word={job.report.summary.status} />,
  },
  { key: 'bar', title: 'Operations', width: '22%', cell: job => <StackedBar shares={sharesOf(job.report)} /> },
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
    sort: 'jobs.report.summary.finished.error',
    cell: job => {
      const value = unsuccessful(job.report.summary)
      return <span className={value > 0 ? 'bad strong' : 'quiet'}>{count(value)}</span>
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

/** The filter of a search, from what is chosen. */
export function jobFilter(shown: string, words: string): Record<string, unknown> {
  const parts: Record<string, unknown>[] = []
  if (shown === 'open') parts.push({ in: { 'jobs.report.summary.status': OPEN } })
  else if (shown === 'failing') {
    parts.push({
      or: [
        { gt: { 'jobs.report.summary.finished.error': 0 } },
        { gt: { 'jobs.report.summary.finished.cancelled.total': 0 } },
        { gt: { 'jobs.report.summary.finishedOutOfTime.error': 0 } },
      ],
    })
  } else if (shown !== '') parts.push({ eq: { 'jobs.report.summary.status': shown } })
  const like = words.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
  if (words !== '') {
    parts.push({
      or: [
        { eq: { 'jobs.id': words } },
        ...['jobs.request.name', 'jobs.request.userNotes', 'jobs.request.user'].map(field => ({
          like: { [field]: like },
        })),
      ],
    })
  }
  return parts.length === 0 ? {} : parts.length === 1 ? (parts[0] ?? {}) : { and: parts }
}

export default function Jobs() {
  const mayLaunch = useMay('execute')
  const [params, setParams] = useSearchParams()
  const [state, setState] = useState({ dataUpdatedAt: 0, isError: false, total: 0 })
  const shown = params.get('show') ?? ''
  const words = params.get('words') ?? ''
  const sortText = params.get('sort') ?? '-jobs.id'
  const sort: Sort = { field: sortText.replace(/^-/, ''), descending: sortText.startsWith('-') }

  const set = (name: string, value: string) =>
    setParams(
      before => {
        const next = new URLSearchParams(before)
        if (value === '') next.delete(name)
        else next.set(name, value)
        return next
      },
      { replace: true },
    )
  const search = useDebouncedCallback((value: string) => set('words', value.trim()), 300)

  const body = useMemo(
    () => ({
      filter: jobFilter(shown, words),
      sort: {
        parameters: [{ name: sort.field, type: sort.descending ? ('DESCENDING' as const) : ('ASCENDING' as const) }],
      },
    }),
    [shown, words, sort.field, sort.descending],
  )
  const query = useMemo(() => (words === '' ? {} : { caseSensitive: false }), [words])
  const rows = useMemo(
    () => ({
      key: ['jobs', 'list', body],
      live: true,
      read: async (
        { number, size, cursor }: { number: number; size: number; cursor?: string },
        signal: AbortSignal,
      ) => {
        const limit = cursor === undefined ? { start: number, size } : { cursor, size }
        const found = await ask(asking('POST /search/jobs', { query, body: { ...body, limit } }), signal)
        return { rows: found?.jobs ?? [], of: found?.page.of ?? 1, cursor: found?.page.cursor }
      },
    }),
    [body, query],
  )
  const whole = asking('POST /search/jobs', { query, body })
  const isFiltered = shown !== '' || words !== ''

  return (
    <Page
      title="Jobs"
      fills
      facts={<AsOf of={state} />}
      actions={
        <>
          <CurlButton ask={whole} what="This list" />
          <CsvButton ask={whole} name="jobs" />
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
          onChange={value => set('show', value ?? '')}
          allowDeselect={false}
          size="xs"
          w={190}
        />
        <TextInput
          className="grow"
          label="Find"
          placeholder="Operation, note, user or job id"
          defaultValue={words}
          onChange={event => search(event.currentTarget.value)}
          size="xs"
          leftSection={<Icon name="search" size={14} />}
        />
      </div>
      <VirtualTable
        label="Jobs"
        columns={COLUMNS}
        rows={rows}
        rowKey={job => job.id}
        sort={sort}
        onSort={next => set('sort', `${next.descending ? '-' : ''}${next.field}`)}
        onState={setState}
        empty={
          isFiltered ? (
            <Empty
              action={
                <Button variant="default" size="xs" onClick={() => setParams({})}>
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
