/** The operations of one device: those that are open, and those that have ended. */
import { useState } from 'react'
import { Link } from 'wouter'
import type { OperationView } from '../../../contract/client/client.ts'
import { Instant } from '../../figures.tsx'
import { AsOf } from '../../parts/as-of.tsx'
import { TakeAway } from '../../parts/csv.tsx'
import { Panel } from '../../parts/page.tsx'
import { searchRows } from '../../parts/search-rows.ts'
import { Empty } from '../../parts/states.tsx'
import { OperationStatus, Status } from '../../parts/status.tsx'
import { type Column, VirtualTable } from '../../parts/virtual-table.tsx'
import { asking } from '../../request.ts'
import { readable } from '../../words.ts'

const dated = (each: OperationView) => <Instant at={each.execution.finishedDate || each.date} />

const OPERATIONS: readonly Column<OperationView>[] = [
  {
    key: 'name',
    title: 'Operation',
    width: '26%',
    fills: true,
    cell: each => <Link href={`/jobs/${each.jobId}/operations/${each.operationId}`}>{each.name}</Link>,
    under: each => each.result !== 'OPERATION_PENDING' && readable(each.result),
  },
  {
    key: 'status',
    title: 'Status',
    width: '180px',
    cell: each => <OperationStatus of={each} />,
    under: dated,
  },
  {
    key: 'result',
    title: 'Result',
    wide: true,
    cell: each =>
      each.result === 'OPERATION_PENDING' ? <span className="quiet">–</span> : <Status word={each.result} />,
  },
  {
    key: 'date',
    title: 'Date',
    width: '136px',
    align: 'right',
    wide: true,
    cell: dated,
  },
]

const NOT_YET = { dataUpdatedAt: 0, isError: false, total: 0 }

export function DeviceOperations({ identifier }: { readonly identifier: string }) {
  const [state, setState] = useState(NOT_YET)
  const [endedState, setEndedState] = useState(NOT_YET)
  const filter = { eq: { 'operations.entityId': identifier } }
  const sort = { parameters: [{ name: 'operations.operationId', type: 'DESCENDING' as const }] }
  const open = searchRows<OperationView>(
    'jobs',
    { filter, sort },
    body => asking('POST /search/entities/operations', { body }),
    'operations',
    true,
  )
  const ended = searchRows<OperationView>(
    'jobs',
    { filter, sort },
    body => asking('POST /search/entities/operations/history', { body }),
    'operations',
    true,
  )
  return (
    <>
      <Panel
        title="Open operations"
        facts={<AsOf of={state} />}
        actions={<TakeAway ask={open.whole} name={`open-${identifier}`} what="Open operations" />}
      >
        <div className="table-tall table-short">
          <VirtualTable
            label="Open operations"
            columns={OPERATIONS}
            rows={open}
            rowKey={each => each.operationId}
            onState={setState}
            empty={<Empty>None is open.</Empty>}
          />
        </div>
      </Panel>
      <Panel
        title="Ended operations"
        facts={<AsOf of={endedState} />}
        actions={<TakeAway ask={ended.whole} name={`ended-${identifier}`} what="Ended operations" />}
      >
        <div className="table-tall table-middle">
          <VirtualTable
            label="Ended operations"
            columns={OPERATIONS}
            rows={ended}
            rowKey={each => each.operationId}
            onState={setEndedState}
            empty={<Empty>None has ended yet.</Empty>}
          />
        </div>
      </Panel>
    </>
  )
}
