/** What was told to clients: each notification, its attempts, and its repeat. */
import { Select } from '@mantine/core'
import { useMemo, useState } from 'react'
import { Link } from 'wouter'
import type { DeliveryView } from '../../contract/client/client.ts'
import { DELIVERY_STATES } from '../../contract/words.ts'
import { Instant } from '../figures.tsx'
import { Action } from '../parts/action.tsx'
import { useAddressed } from '../parts/address.ts'
import { AsOf } from '../parts/as-of.tsx'
import { TakeAway } from '../parts/csv.tsx'
import { Find } from '../parts/find.tsx'
import { Page } from '../parts/page.tsx'
import type { PageAsked } from '../parts/row-places.ts'
import { Empty } from '../parts/states.tsx'
import { Status } from '../parts/status.tsx'
import { type Column, VirtualTable } from '../parts/virtual-table.tsx'
import { ask, asking } from '../request.ts'
import { useMay } from '../session.ts'
import { readable } from '../words.ts'

const lastAnswer = (each: DeliveryView) => [each.lastStatus, each.lastError].filter(Boolean).join(' ') || '–'

const columns = (mayRepeat: boolean): readonly Column<DeliveryView>[] => [
  {
    key: 'state',
    title: 'State',
    width: '124px',
    cell: each => <Status word={each.state} />,
    under: each => <Link href={`/jobs/${each.jobId}`}>{each.event}</Link>,
  },
  { key: 'event', title: 'Event', width: '108px', wide: true, cell: each => each.event },
  {
    key: 'receiver',
    title: 'Receiver',
    width: '18%',
    fills: true,
    cell: each => <span title={each.receiver}>{each.receiver}</span>,
    under: lastAnswer,
  },
  { key: 'channel', title: 'Channel', width: '84px', wide: true, cell: each => each.channel },
  {
    key: 'job',
    title: 'Job',
    width: '152px',
    wide: true,
    cell: each => (
      <Link href={`/jobs/${each.jobId}`} className="mono">
        {each.jobId}
      </Link>
    ),
  },
  { key: 'attempts', title: 'Attempts', width: '86px', align: 'right', wide: true, cell: each => each.attempts },
  {
    key: 'last',
    title: 'Last answer',
    wide: true,
    cell: each => <span title={each.lastError}>{lastAnswer(each)}</span>,
  },
  {
    key: 'attempted',
    title: 'Last attempt',
    width: '136px',
    align: 'right',
    wide: true,
    cell: each => <Instant at={each.attemptedDate} />,
  },
  ...(mayRepeat
    ? [
        {
          key: 'repeat',
          title: 'Repeat',
          width: '124px',
          cell: (each: DeliveryView) => (
            <Action
              name="Repeat"
              icon="again"
              ask={asking('POST /deliveries/{deliveryId}/repeat', { path: { deliveryId: each.id } })}
              touches={null}
            >
              <p>
                {each.event} of job <span className="mono">{each.jobId}</span> is sent to {each.receiver} once more.
              </p>
            </Action>
          ),
        },
      ]
    : []),
]

export default function Deliveries() {
  const [state, setState] = useAddressed('state')
  const [job, setJob] = useAddressed('job')
  const [told, setTold] = useState({ dataUpdatedAt: 0, isError: false, total: 0 })
  const mayRepeat = useMay('execute')
  const table = useMemo(() => columns(mayRepeat), [mayRepeat])
  const query = useMemo(() => {
    const known = DELIVERY_STATES.find(each => each === state)
    return { ...(known && { state: known }), ...(job !== '' && { job }) }
  }, [state, job])
  const rows = useMemo(
    () => ({
      key: ['deliveries', 'list', query],
      live: true,
      read: async ({ number, size }: PageAsked, signal: AbortSignal) => {
        const found = await ask(asking('GET /deliveries', { query: { ...query, start: number, size } }), signal)
        return { rows: found?.deliveries ?? [], of: found?.page.of ?? 1 }
      },
    }),
    [query],
  )
  const whole = asking('GET /deliveries', { query })
  return (
    <Page
      title="Deliveries"
      fills
      facts={<AsOf of={told} live={false} />}
      actions={<TakeAway ask={whole} name="deliveries" />}
    >
      <div className="filters">
        <Select
          label="State"
          data={[{ value: '', label: 'All' }, ...DELIVERY_STATES.map(value => ({ value, label: readable(value) }))]}
          value={state}
          onChange={value => setState(value ?? '')}
          allowDeselect={false}
          size="xs"
          w={160}
        />
        <Find what="Job id" value={job} onFind={setJob} />
      </div>
      <VirtualTable
        label="Deliveries"
        columns={table}
        rows={rows}
        rowKey={each => each.id}
        onState={setTold}
        empty={
          <Empty>
            {state || job
              ? 'No delivery fits this filter.'
              : 'Nothing has been told to anyone yet. Jobs with a callback, or with notify, tell.'}
          </Empty>
        }
      />
    </Page>
  )
}
