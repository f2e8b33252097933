/** The operations of a job as a table for any number of them: all, or those that the bar or a group of failures points to. */
import { ActionIcon, Button, TextInput } from '@mantine/core'
import { useMemo, useState } from 'react'
import { Link, useSearchParams } from 'wouter'
import type { JobView, OperationView } from '../../../contract/client/client.ts'
import { count, Instant } from '../../figures.tsx'
import { AsOf } from '../../parts/as-of.tsx'
import { TakeAway } from '../../parts/csv.tsx'
import { Icon } from '../../parts/icons.tsx'
import { Panel } from '../../parts/page.tsx'
import { Empty } from '../../parts/states.tsx'
import { OperationStatus, Status } from '../../parts/status.tsx'
import { type Column, VirtualTable } from '../../parts/virtual-table.tsx'
import { isFinal, readable, sharesOf } from '../../words.ts'
import { beside, type Chosen, type FailureChosen, readOperations, searchOf, wholeOf } from './operation-filter.ts'

const columns = (jobId: string, query: string): readonly Column<OperationView>[] => [
  {
    key: 'entity',
    title: 'Device',
    width: '20%',
    fills: true,
    cell: each => (
      <Link href={`/jobs/${jobId}/operations/${each.operationId}${query}`} title={each.entityId}>
        {each.entityId}
      </Link>
    ),
    under: each => each.description || each.steps.at(-1)?.name,
  },
  {
    key: 'status',
    title: 'Status',
    width: '190px',
    cell: each => <OperationStatus of={each} />,
    under: each => each.result !== 'OPERATION_PENDING' && readable(each.result),
  },
  {
    key: 'result',
    title: 'Result',
    width: '170px',
    wide: true,
    cell: each =>
      each.result === 'OPERATION_PENDING' ? <span className="quiet">–</span> : <Status word={each.result} />,
  },
  {
    key: 'attempts',
    title: 'Attempt',
    width: '88px',
    align: 'right',
    wide: true,
    cell: each => `${each.attempts.current} of ${each.attempts.total}`,
  },
  {
    key: 'step',
    title: 'Last step',
    width: '14%',
    wide: true,
    cell: each => {
      const last = each.steps.at(-1)
      return last ? <span title={last.name}>{last.title ?? last.name}</span> : <span className="quiet">–</span>
    },
  },
  {
    key: 'description',
    title: 'Description',
    wide: true,
    cell: each => <span title={each.description}>{each.description}</span>,
  },
  {
    key: 'finished',
    wide: true,
    title: 'Finished',
    width: '130px',
    align: 'right',
    cell: each => <Instant at={each.execution.finishedDate} />,
  },
]

/** The columns that stay beside an opened operation. */
const BESIDE_ONE = new Set(['entity', 'status', 'result', 'finished'])

/** What the address says is shown. */
export function useChosen(): Chosen & { readonly choose: (chosen: Partial<Chosen>) => void; readonly query: string } {
  const [params, setParams] = useSearchParams()
  const result = params.get('result')
  const failure =
    result === null
      ? null
      : {
          status: params.get('status') ?? 'FINISHED',
          result,
          step: params.get('step'),
          stepDescription: params.get('stepDescription') ?? '',
          description: params.get('description') ?? '',
          counter: params.get('counter'),
        }
  const choose = ({ share = null, failure: next = null, entity = '' }: Partial<Chosen>) => {
    const set = new URLSearchParams()
    if (share !== null) set.set('show', share)
    if (next) {
      set.set('result', next.result)
      if (next.status !== 'FINISHED') set.set('status', next.status)
      if (next.step !== null) set.set('step', next.step)
      if (next.stepDescription !== '') set.set('stepDescription', next.stepDescription)
      if (next.description !== '') set.set('description', next.description)
      if (next.counter !== null) set.set('counter', next.counter)
    }
    if (entity !== '') set.set('entity', entity)
    setParams(set, { replace: true })
  }
  const query = params.size > 0 ? `?${params}` : ''
  return { share: params.get('show'), failure, entity: params.get('entity') ?? '', choose, query }
}

export function JobOperations({ job, picked }: { readonly job: JobView; readonly picked: string | undefined }) {
  const { share, failure, entity, choose, query } = useChosen()
  const [state, setState] = useState({ dataUpdatedAt: 0, isError: false, total: 0 })
  const search = useMemo(() => searchOf(job.id, { share, failure, entity }), [job.id, share, failure, entity])
  const isLive = !isFinal(job.report.summary.status)
  const { total } = job.report.summary
  const rows = useMemo(
    () => ({
      key: ['jobs', 'operations', job.id, search],
      live: isLive,
      total: search ? undefined : total,
      read: (page: { number: number; size: number; cursor?: string }, signal: AbortSignal) =>
        readOperations(job.id, search, page, signal),
    }),
    [job.id, search, isLive, total],
  )
  const isNarrow = picked !== undefined
  const table = useMemo(() => {
    const all = columns(job.id, query)
    // Beside an opened operation there is room for what leads to the others.
    return isNarrow ? all.filter(each => BESIDE_ONE.has(each.key)) : all
  }, [job.id, query, isNarrow])
  const label = share === null ? null : sharesOf(job.report).find(each => each.key === share)?.label
  const whole = wholeOf(job.id, search)

  return (
    <Panel
      title="Operations"
      className="operations"
      facts={
        <span className="row">
          <span className="figure">{count(state.total)}</span>
          <AsOf of={state} live={isLive} />
        </span>
      }
      actions={
        <>
          <form
            onSubmit={event => {
              event.preventDefault()
              choose({ entity: String(new FormData(event.currentTarget).get('entity') ?? '').trim() })
            }}
          >
            <TextInput
              key={entity}
              name="entity"
              size="xs"
              aria-label="Find a device of this job by its id"
              placeholder="Device id"
              defaultValue={entity}
              rightSection={
                <ActionIcon type="submit" variant="subtle" color="gray" size="sm" aria-label="Find the device">
                  <Icon name="search" size={14} />
                </ActionIcon>
              }
            />
          </form>
          <TakeAway ask={whole} name={`operations-${job.id}`} what="These operations" />
        </>
      }
    >
      {search && (
        <div className="chosen">
          <span>
            Shown:{' '}
            <strong>{failure ? failureWords(failure) : entity !== '' ? `device ${entity}` : (label ?? share)}</strong>
          </span>
          <Button size="compact-xs" variant="default" onClick={() => choose({})}>
            Show all
          </Button>
        </div>
      )}
      <div className="table-tall">
        <VirtualTable
          label="Operations of the job"
          columns={table}
          rows={rows}
          rowKey={each => each.operationId}
          rowClass={each => (each.operationId === picked ? 'row-picked' : '')}
          onState={setState}
          empty={<Empty>{search ? 'No operation is like this now.' : 'The job has no operations.'}</Empty>}
        />
      </div>
    </Panel>
  )
}

const failureWords = ({ status, result, step, stepDescription, description }: FailureChosen): string =>
  [readable(result), beside(status, result), step && `at ${step}`, description, stepDescription]
    .filter(Boolean)
    .join(' · ')
