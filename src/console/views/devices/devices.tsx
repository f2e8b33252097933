/** The devices of the organization: found by words or by any field, each leading to its own view. */
import { Button, Select } from '@mantine/core'
import { useState } from 'react'
import { Link } from 'wouter'
import { useAddressed } from '../../parts/address.ts'
import { AsOf } from '../../parts/as-of.tsx'
import { TakeAway } from '../../parts/csv.tsx'
import { Find } from '../../parts/find.tsx'
import { Page } from '../../parts/page.tsx'
import { anywhere, searchRows } from '../../parts/search-rows.ts'
import { Empty } from '../../parts/states.tsx'
import { type Column, VirtualTable } from '../../parts/virtual-table.tsx'
import { asking } from '../../request.ts'
import { CONNECTION_FIELDS, ConnectionCell } from './connection-cell.tsx'
import { CONNECTIONS, connectionFilter } from './connection-filter.ts'
import { textOf } from './flattened.ts'

/** The values of an entity that are shown, by their fields. */
type Entity = Readonly<Record<string, unknown>>

const IDENTIFIER = 'provision.administration.identifier'
const identifierOf = (row: Entity): string => textOf(row[IDENTIFIER])

const KINDS = [
  { value: '', label: 'Devices' },
  { value: 'entity.asset', label: 'Assets' },
  { value: 'entity.subscription', label: 'Subscriptions' },
  { value: 'entity.subscriber', label: 'Subscribers' },
  { value: 'entity.commsModule', label: 'Communications modules' },
]

const column = (key: string, title: string, field: string, width: string, wide = true): Column<Entity> => ({
  key,
  title,
  width,
  wide,
  cell: row => textOf(row[field]) || <span className="quiet">–</span>,
})

const COLUMNS: readonly Column<Entity>[] = [
  {
    key: 'identifier',
    title: 'Identifier',
    width: '22%',
    fills: true,
    cell: row => <Link href={`/devices/${encodeURIComponent(identifierOf(row))}`}>{identifierOf(row)}</Link>,
    under: row => textOf(row['provision.device.name']) || textOf(row['provision.device.model']),
  },
  column('name', 'Name', 'provision.device.name', '15%'),
  column('model', 'Model', 'provision.device.model', '12%'),
  column('flow', 'Reached by', 'provision.device.operation.flow', '110px'),
  column('status', 'Status', 'provision.device.operationalStatus', '10%'),
]

/** Devices alone have a connection. */
const CONNECTION: Column<Entity> = {
  key: 'connection',
  title: 'Connection',
  width: '256px',
  wide: true,
  cell: row => <ConnectionCell row={row} />,
}
const TAGS = column('tags', 'Tags', 'provision.administration.tags', '', false)

const OF_ENTITIES = [...COLUMNS, TAGS]
const OF_DEVICES = [...COLUMNS, CONNECTION, { ...TAGS, under: (row: Entity) => <ConnectionCell row={row} none="" /> }]

const SHOWN = [
  IDENTIFIER,
  'provision.device.name',
  'provision.device.model',
  'provision.device.operationalStatus',
  'provision.administration.tags',
  ...CONNECTION_FIELDS,
].map(name => ({ name }))

export default function Devices() {
  const [words, setWords] = useAddressed('words')
  const [tag, setTag] = useAddressed('tag')
  const [kind, setKind] = useAddressed('kind')
  const [connection, setConnection] = useAddressed('connection')
  // As of when it was opened: a bound that moved on would be another list each time.
  const [openedAt] = useState(Date.now)
  const [job] = useAddressed('unsuccessfulIn')
  const [state, setState] = useState({ dataUpdatedAt: 0, isError: false, total: 0 })
  const parts = [
    ...(words === ''
      ? []
      : [
          {
            or: ['provision.administration.identifier', 'provision.device.name', 'provision.device.serialNumber'].map(
              field => ({ like: { [field]: anywhere(words) } }),
            ),
          },
        ]),
    ...(tag === '' ? [] : [{ eq: { 'provision.administration.tags': tag } }]),
    ...(kind === '' ? [] : [{ eq: { resourceType: kind } }]),
    ...(kind === '' ? connectionFilter(connection, openedAt) : []),
    ...(job === '' ? [] : [{ eq: { 'operations.unsuccessfulIn': job } }]),
  ]
  const filter = parts.length === 0 ? {} : parts.length === 1 ? (parts[0] ?? {}) : { and: parts }
  const query = { flattened: true, caseSensitive: false }
  const asked = (body: object) =>
    kind === '' ? asking('POST /search/devices', { query, body }) : asking('POST /search/entities', { query, body })
  const rows = searchRows<Entity>('devices', { filter }, asked, kind === '' ? 'devices' : 'entities', false, SHOWN)
  const isFiltered = parts.length > 0
  return (
    <Page
      title="Devices"
      fills
      facts={<AsOf of={state} live={false} />}
      actions={<TakeAway ask={rows.whole} name="devices" />}
    >
      <div className="filters">
        <Select
          label="Kind"
          data={KINDS}
          value={kind}
          onChange={value => setKind(value ?? '')}
          allowDeselect={false}
          size="xs"
          w={190}
        />
        {kind === '' && (
          <Select
            label="Connection"
            data={CONNECTIONS}
            value={connection}
            onChange={value => setConnection(value ?? '')}
            allowDeselect={false}
            size="xs"
            w={190}
          />
        )}
        <Find what="Identifier, name or serial number" value={words} onFind={setWords} />
        <Find label="Tag" what="Of the devices shown" value={tag} onFind={setTag} />
      </div>
      <VirtualTable
        label="Devices"
        columns={kind === '' ? OF_DEVICES : OF_ENTITIES}
        rows={rows}
        rowKey={identifierOf}
        onState={setState}
        empty={
          <Empty
            action={
              isFiltered && (
                <Button component={Link} href="/devices" size="xs" variant="default">
                  Show all
                </Button>
              )
            }
          >
            {isFiltered ? 'Nothing fits this filter.' : 'No device has been provisioned yet.'}
          </Empty>
        }
      />
    </Page>
  )
}
