/** Which devices are shown by their connection, as it is chosen and as it is searched for. Pure. */

/** What can be chosen. */
export const CONNECTIONS = [
  { value: '', label: 'Any' },
  { value: 'connected', label: 'Connected' },
  { value: 'away', label: 'Not connected' },
  { value: 'gone', label: 'Went away' },
  { value: 'silent', label: 'Not heard of for a day' },
  { value: 'never', label: 'Never heard of' },
] as const

const DAY_MS = 86_400_000

/** What is asked over HTTP keeps no connection, as does what asks for its work: neither is said to be without one. */
const KEEPS_CONNECTION = { nin: { 'provision.device.operation.flow': ['http', 'pull'] } }
/** What is asked over HTTP is not heard of otherwise. */
const IS_HEARD_OF = { neq: { 'provision.device.operation.flow': 'http' } }

/** The conditions of what was chosen, at an instant; none where nothing was. */
export function connectionFilter(chosen: string, now: number): readonly Record<string, unknown>[] {
  const isConnected = (value: boolean) => ({ eq: { 'connection.connected': value } })
  switch (chosen) {
    case 'connected':
      return [isConnected(true)]
    case 'away':
      return [isConnected(false), KEEPS_CONNECTION]
    case 'gone':
      return [isConnected(false), { exists: { 'connection.connectedDate': true } }]
    case 'silent':
      return [{ lt: { 'connection.seenDate': new Date(now - DAY_MS).toISOString() } }]
    case 'never':
      return [{ exists: { 'connection.seenDate': false } }, IS_HEARD_OF]
    default:
      return []
  }
}
