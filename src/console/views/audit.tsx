/** Who did what, when and from where, with which result. */
import { TextInput } from '@mantine/core'
import { useMemo, useState } from 'react'
import type { AuditLine } from '../../contract/client/client.ts'
import { Instant, viewerZone } from '../figures.tsx'
import { useAddressed } from '../parts/address.ts'
import { AsOf } from '../parts/as-of.tsx'
import { TakeAway } from '../parts/csv.tsx'
import { Find } from '../parts/find.tsx'
import { Page } from '../parts/page.tsx'
import type { PageAsked } from '../parts/row-places.ts'
import { Empty } from '../parts/states.tsx'
import { type Column, VirtualTable } from '../parts/virtual-table.tsx'
import { ask, asking } from '../request.ts'

const COLUMNS: readonly Column<AuditLine>[] = [
  { key: 'date', title: 'Date', width: '136px', cell: each => <Instant at={each.date} /> },
  {
    key: 'user',
    title: 'User',
    width: '18%',
    wide: true,
    cell: each => each.user ?? <span className="quiet">nobody</span>,
  },
  {
    key: 'method',
    title: 'Method',
    width: '84px',
    wide: true,
    cell: each => <span className="mono">{each.method}</span>,
  },
  {
    key: 'path',
    title: 'Path',
    fills: true,
    cell: each => (
      <span className="mono" title={each.path}>
        <span className="wide-only">{each.path}</span>
        <span className="narrow-only">
          {each.method} {each.path.replace(/^\/\w+\/v80\//, '')}
        </span>
      </span>
    ),
    under: each => each.user,
  },
  {
    key: 'status',
    title: 'Status',
    width: '76px',
    align: 'right',
    cell: each => <span className={each.status >= 400 ? 'bad strong' : ''}>{each.status}</span>,
  },
  {
    key: 'code',
    title: 'Error',
    width: '104px',
    wide: true,
    cell: each => <span className="mono">{each.errorCode ?? ''}</span>,
  },
  { key: 'address', title: 'From', width: '130px', wide: true, cell: each => each.address },
  {
    key: 'request',
    title: 'Request',
    width: '9%',
    wide: true,
    cell: each => (
      <span className="mono quiet" title={each.requestId}>
        {each.requestId}
      </span>
    ),
  },
]

const instant = (local: string) => (Number.isNaN(Date.parse(local)) ? undefined : new Date(local).toISOString())

export default function Audit() {
  const [user, setUser] = useAddressed('user')
  const [from, setFrom] = useAddressed('from')
  const [to, setTo] = useAddressed('to')
  const [told, setTold] = useState({ dataUpdatedAt: 0, isError: false, total: 0 })
  const query = useMemo(() => {
    const [after, before] = [instant(from), instant(to)]
    return { ...(user !== '' && { user }), ...(after && { from: after }), ...(before && { to: before }) }
  }, [user, from, to])
  const rows = useMemo(
    () => ({
      key: ['audit', 'list', query],
      read: async ({ number, size }: PageAsked, signal: AbortSignal) => {
        const found = await ask(asking('GET /audit', { query: { ...query, start: number, size } }), signal)
        return { rows: found?.audit ?? [], of: found?.page.of ?? 1 }
      },
    }),
    [query],
  )
  const whole = asking('GET /audit', { query })
  return (
    <Page title="Audit" fills facts={<AsOf of={told} live={false} />} actions={<TakeAway ask={whole} name="audit" />}>
      <div className="filters">
        <Find what="Email of who did it" value={user} onFind={setUser} />
        <TextInput
          type="datetime-local"
          size="xs"
          label={`From, ${viewerZone}`}
          value={from}
          onChange={event => setFrom(event.currentTarget.value)}
        />
        <TextInput
          type="datetime-local"
          size="xs"
          label="Before"
          value={to}
          onChange={event => setTo(event.currentTarget.value)}
        />
      </div>
      <VirtualTable
        label="Audit log"
        columns={COLUMNS}
        rows={rows}
        rowKey={each => each.requestId + each.date + each.path}
        onState={setTold}
        empty={<Empty>Nothing was done that fits this filter.</Empty>}
      />
    </Page>
  )
}
