/** Whether a device is connected, and since when, in a row of a list. */
import { Instant } from '../../figures.tsx'
import { textOf } from './flattened.ts'

/** What is asked for of a device to say it. */
export const CONNECTION_FIELDS = [
  'connection.connected',
  'connection.connectedDate',
  'connection.disconnectedDate',
  'provision.device.operation.flow',
] as const

/** Of what is asked over HTTP, asks for its work or is told no way, nothing is said before it has connected: it keeps no connection. */
const KEEPS_NONE = ['', 'http', 'pull']

/** `none` stands where there is nothing to say. */
export function ConnectionCell({
  row,
  none = '–',
}: {
  readonly row: Readonly<Record<string, unknown>>
  readonly none?: string
}) {
  const [connected, connectedDate, disconnectedDate, flow] = CONNECTION_FIELDS.map(field => textOf(row[field]))
  if (connected === 'true') {
    return (
      <span className="status tone-good">
        <span className="status-dot" aria-hidden="true" />
        connected since <Instant at={connectedDate} />
      </span>
    )
  }
  if (connectedDate) {
    // Whose node has died was not seen going: what is known of an earlier time says nothing of this one.
    const isKnown = (disconnectedDate ?? '') >= connectedDate
    return (
      <span className="quiet">
        {isKnown ? 'away since ' : 'away, last came '}
        <Instant at={isKnown ? disconnectedDate : connectedDate} />
      </span>
    )
  }
  return <span className="quiet">{KEEPS_NONE.includes(flow ?? '') ? none : 'never connected'}</span>
}
