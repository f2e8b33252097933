/** One device: where it is, what it says of itself, its operations, and its key. */
import { Button } from '@mantine/core'
import { Link, useParams } from 'wouter'
import { Instant } from '../../figures.tsx'
import { useAsked } from '../../live.ts'
import { AsOf } from '../../parts/as-of.tsx'
import { CurlButton } from '../../parts/curl.tsx'
import { Fact } from '../../parts/fact.tsx'
import { Icon } from '../../parts/icons.tsx'
import { Page, Panel } from '../../parts/page.tsx'
import { Empty, Failed, Loading } from '../../parts/states.tsx'
import { asking } from '../../request.ts'
import { useMay, useSession } from '../../session.ts'
import { DeviceKey } from './device-key.tsx'
import { DeviceOperations } from './device-operations.tsx'
import { DeviceValues } from './device-values.tsx'
import { textIn } from './flattened.ts'

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
            {isDevice && <Connection path={path} flow={textIn(entity['provision.device.operation.flow'])} />}
            <DeviceValues entity={entity} />
            {isDevice && <DeviceKey path={path} />}
          </div>
          <div className="span-7 stack">
            <DeviceOperations identifier={identifier} />
          </div>
        </div>
      )}
    </Page>
  )
}

/** Where a device stands in the interface. */
export interface DevicePath {
  readonly organization: string
  readonly identifier: string
}

function Connection({ path, flow }: { readonly path: DevicePath; readonly flow: string }) {
  const asked = asking('GET /provision/organizations/{organization}/devices/{identifier}/connection', { path })
  const found = useAsked(asked, { every: 5_000 })
  const { data, isError, error } = found
  // Whoever is asked over HTTP keeps no connection, and is not away for want of one.
  const isAsked = flow === 'http' && data?.connectedDate === ''
  return (
    <Panel
      title="Connection"
      facts={<AsOf of={found} live={false} />}
      actions={<CurlButton ask={asked} what="The connection" />}
    >
      {isError && !data && <Failed error={error} />}
      {data && (
        <dl className="facts">
          <Fact name="Reached by">{flow || 'MQTT while it is connected, else its address, else its own asking'}</Fact>
          {!isAsked && (
            <>
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
            </>
          )}
          <Fact name="Last heard of">
            <Instant at={data.seenDate} none="never" />
          </Fact>
        </dl>
      )}
    </Panel>
  )
}
