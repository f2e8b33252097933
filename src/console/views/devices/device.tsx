/** One device: where it is, what it says of itself, its operations, and its key. */
import { Button, Modal } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { type ReactNode, useMemo, useState } from 'react'
import { Link, useParams } from 'wouter'
import type { OperationView } from '../../../contract/client/client.ts'
import { Instant } from '../../figures.tsx'
import { useAsked } from '../../live.ts'
import { AsOf } from '../../parts/as-of.tsx'
import { CsvButton } from '../../parts/csv.tsx'
import { Curl, CurlButton } from '../../parts/curl.tsx'
import { Icon } from '../../parts/icons.tsx'
import { Notice } from '../../parts/notice.tsx'
import { Page, Panel } from '../../parts/page.tsx'
import { useSearchRows } from '../../parts/search-rows.ts'
import { Empty, Failed, Loading } from '../../parts/states.tsx'
import { Status } from '../../parts/status.tsx'
import { type Column, VirtualTable } from '../../parts/virtual-table.tsx'
import { asking, open } from '../../request.ts'
import { useMay, useSession } from '../../session.ts'
import { boxed, textIn } from './flattened.ts'

const OPERATIONS: readonly Column<OperationView>[] = [
  {
    key: 'name',
    title: 'Operation',
    width: '34%',
    cell: each => <Link href={`/jobs/${each.jobId}/operations/${each.operationId}`}>{each.name}</Link>,
  },
  { key: 'status', title: 'Status', width: '180px', cell: each => <Status word={each.status} /> },
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
    cell: each => <Instant at={each.execution.finishedDate || each.date} />,
  },
]

export default function Device() {
  const { id = '' } = useParams<{ id: string }>()
  const identifier = decodeURIComponent(id)
  const session = useSession()
  const organization = session?.organization ?? ''
  const mayRun = useMay('execute')
  const path = { organization, identifier }
  // The search tells what was collected last beside what was provisioned.
  const asked = asking('POST /search/entities', {
    query: { flattened: true },
    body: { filter: { eq: { 'provision.administration.identifier': identifier } } },
  })
  const found = useAsked(asked, { every: 10_000 })
  const entities = (found.data as { entities?: readonly Readonly<Record<string, unknown>>[] } | null | undefined)
    ?.entities
  const entity = entities?.[0]
  const isDevice = textIn(entity?.resourceType) === 'entity.device'
  return (
    <Page
      title={identifier}
      above={<Link href="/devices">Devices</Link>}
      facts={<AsOf of={found} live={false} />}
      actions={
        <>
          <CurlButton ask={asked} what="This device" />
          {mayRun && entity && (
            <Button
              component={Link}
              href={`/launch?device=${encodeURIComponent(identifier)}`}
              size="xs"
              leftSection={<Icon name="launch" size={14} />}
            >
              Launch a job on it
            </Button>
          )}
        </>
      }
    >
      {found.isPending && <Loading what="the device" />}
      {found.isError && !entity && <Failed error={found.error} retry={() => void found.refetch()} />}
      {found.isSuccess && !entity && <Empty>The organization has nothing of this identifier.</Empty>}
      {entity && (
        <div className="columns">
          <div className="span-5 stack">
            {isDevice && <Connection path={path} />}
            <Values entity={entity} />
            {isDevice && <Key path={path} />}
          </div>
          <div className="span-7 stack">
            <Operations identifier={identifier} />
          </div>
        </div>
      )}
    </Page>
  )
}

interface Path {
  readonly organization: string
  readonly identifier: string
}

function Connection({ path }: { readonly path: Path }) {
  const asked = asking('GET /provision/organizations/{organization}/devices/{identifier}/connection', { path })
  const { data, isError, error } = useAsked(asked, { every: 5_000 })
  return (
    <Panel title="Connection" actions={<CurlButton ask={asked} what="The connection" />}>
      {isError && !data && <Failed error={error} />}
      {data && (
        <dl className="facts">
          <Fact name="Over MQTT">
            {data.connected ? (
              <span className="status tone-good">
                <span className="status-dot" aria-hidden="true" />
                connected
              </span>
            ) : (
              <span className="quiet">not connected</span>
            )}
          </Fact>
          <Fact name="Connected">
            <Instant at={data.connectedDate} none="never" />
          </Fact>
          <Fact name="Disconnected">
            <Instant at={data.disconnectedDate} none="never" />
          </Fact>
          <Fact name="Last heard of">
            <Instant at={data.seenDate} none="never" />
          </Fact>
        </dl>
      )}
    </Panel>
  )
}

/** Everything known of the entity: what was provisioned, and the latest of what it said of itself. */
function Values({ entity }: { readonly entity: Readonly<Record<string, unknown>> }) {
  const names = useMemo(() => Object.keys(entity).sort(), [entity])
  const provisioned = names.filter(name => name.startsWith('provision.') || name === 'resourceType')
  const collected = names.filter(name => !provisioned.includes(name))
  return (
    <>
      <Panel title="Latest values">
        {collected.length === 0 ? (
          <p className="quiet">It has not sent any.</p>
        ) : (
          <ValueTable entity={entity} names={collected} />
        )}
      </Panel>
      <Panel title="Provisioned">
        <ValueTable entity={entity} names={provisioned} />
      </Panel>
    </>
  )
}

function ValueTable({
  entity,
  names,
}: {
  readonly entity: Readonly<Record<string, unknown>>
  readonly names: readonly string[]
}) {
  return (
    <table className="small-table value-table">
      <thead className="sr-only">
        <tr>
          <th scope="col">Name</th>
          <th scope="col">Value</th>
          <th scope="col">Of</th>
        </tr>
      </thead>
      <tbody>
        {names.map(name => {
          const { at } = boxed(entity[name])
          return (
            <tr key={name}>
              <td className="quiet">{name.replace(/^provision\.(device|administration)\./, '')}</td>
              <td>{textIn(entity[name])}</td>
              <td className="right small quiet">{at && <Instant at={at} />}</td>
            </tr>
          )
        })}
      </tbody>
    </table>
  )
}

function Operations({ identifier }: { readonly identifier: string }) {
  const [state, setState] = useState({ dataUpdatedAt: 0, isError: false, total: 0 })
  const filter = { eq: { 'operations.entityId': identifier } }
  const sort = { parameters: [{ name: 'operations.operationId', type: 'DESCENDING' as const }] }
  const open = useSearchRows<OperationView>(
    'jobs',
    { filter, sort },
    body => asking('POST /search/entities/operations', { body }),
    'operations',
    true,
  )
  const ended = useSearchRows<OperationView>(
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
        actions={
          <>
            <CurlButton ask={open.whole} what="Open operations" />
            <CsvButton ask={open.whole} name={`open-${identifier}`} />
          </>
        }
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
        actions={
          <>
            <CurlButton ask={ended.whole} what="Ended operations" />
            <CsvButton ask={ended.whole} name={`ended-${identifier}`} />
          </>
        }
      >
        <div className="table-tall table-middle">
          <VirtualTable
            label="Ended operations"
            columns={OPERATIONS}
            rows={ended}
            rowKey={each => each.operationId}
            empty={<Empty>None has ended yet.</Empty>}
          />
        </div>
      </Panel>
    </>
  )
}

/** The device's key: made anew and shown once, or taken away. */
function Key({ path }: { readonly path: Path }) {
  const allowed = useMay('manageDevices')
  const [doing, setDoing] = useState<'renew' | 'revoke' | null>(null)
  const [key, setKey] = useState<string | null>(null)
  const renewing = asking('POST /provision/organizations/{organization}/devices/{identifier}/key', { path })
  const revoking = asking('DELETE /provision/organizations/{organization}/devices/{identifier}/key', { path })
  const asked = doing === 'revoke' ? revoking : renewing
  const done = useMutation({
    mutationFn: () => open(asked, 'application/json'),
    onSuccess: answer => {
      setKey(answer.headers.get('x-apikey'))
      setDoing(null)
    },
  })
  if (!allowed) return null
  return (
    <Panel title="API key">
      <div className="stack">
        {key ? (
          <Notice calm>
            <p>The new key. It is not shown again.</p>
            <pre className="code">{key}</pre>
          </Notice>
        ) : (
          <p className="quiet">It proves who the device is. The service tells it only when it is made.</p>
        )}
        <div className="row">
          <Button
            size="xs"
            variant="default"
            leftSection={<Icon name="key" size={14} />}
            onClick={() => setDoing('renew')}
          >
            Make a new key
          </Button>
          <Button size="xs" variant="default" className="button-danger" onClick={() => setDoing('revoke')}>
            Take the key away
          </Button>
        </div>
      </div>
      <Modal
        opened={doing !== null}
        onClose={() => setDoing(null)}
        title={doing === 'revoke' ? 'Take the key away' : 'Make a new key'}
        closeButtonProps={{ 'aria-label': 'Close' }}
      >
        <div className="stack">
          <p>The device can no longer use its present key.</p>
          {done.isError && <Failed error={done.error} />}
          <details className="more">
            <summary>The same with curl</summary>
            <Curl ask={asked} />
          </details>
          <div className="row row-end">
            <Button variant="default" onClick={() => setDoing(null)}>
              Leave it
            </Button>
            <Button color="red" loading={done.isPending} onClick={() => done.mutate()}>
              {doing === 'revoke' ? 'Take it away' : 'Make a new key'}
            </Button>
          </div>
        </div>
      </Modal>
    </Panel>
  )
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  )
}
