/** The key of a device: made anew and shown once, or taken away. */
import { useState } from 'react'
import { Action } from '../../parts/action.tsx'
import { Notice } from '../../parts/notice.tsx'
import { Panel } from '../../parts/page.tsx'
import { type Ask, asking, open } from '../../request.ts'
import { useMay } from '../../session.ts'
import type { DevicePath } from './device.tsx'

export function DeviceKey({ path }: { readonly path: DevicePath }) {
  const allowed = useMay('manageDevices')
  const [key, setKey] = useState<string | null>(null)
  const renewing: Ask<void> = asking('POST /provision/organizations/{organization}/devices/{identifier}/key', { path })
  const revoking = asking('DELETE /provision/organizations/{organization}/devices/{identifier}/key', { path })
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
          <Action
            name="Make a new key"
            icon="key"
            ask={renewing}
            send={async () => setKey((await open(renewing, 'application/json')).headers.get('x-apikey'))}
            touches={1}
          >
            <p>The device can no longer use its present key.</p>
          </Action>
          <Action name="Take the key away" danger ask={revoking} touches={1} onDone={() => setKey(null)}>
            <p>The device can no longer use its present key, and has no other until one is made.</p>
          </Action>
        </div>
      </div>
    </Panel>
  )
}
