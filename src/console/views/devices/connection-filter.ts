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

const FLOW = 'provision.device.operation.flow'
const ADDRESSES = ['provision.device.operation.url', 'provision.device.communicationModules[].subscription.address']
const hasOne = (field: string) => ({ exists: { [field]: true } })
const hasNone = (field: string) => ({ exists: { [field]: false } })

/** What is asked over HTTP keeps no connection, as does what asks for its work: neither is said to be without one. */
const MAY_KEEP_ONE = { nin: { [FLOW]: ['http', 'pull'] } }
/** Of what is told no way, that is known only once it has connected. */
const KEEPS_ONE = { or: [hasOne(FLOW), hasOne('connection.connectedDate')] }
/** What is asked over HTTP is not heard of otherwise: what is told so, and what is told no way and has an address. */
const IS_HEARD_OF = [{ neq: { [FLOW]: 'http' } }, { or: [hasOne(FLOW), { and: ADDRESSES.map(hasNone) }] }]

/** The conditions of what was chosen, at an instant; none where nothing was. */
export function connectionFilter(chosen: string, now: number): readonly Record<string, unknown>[] {
  const isConnected = (value: boolean) => ({ eq: { 'connection.connected': value } })
  switch (chosen) {
    case 'connected':
      return [isConnected(true)]
    case 'away':
      return [isConnected(false), MAY_KEEP_ONE, KEEPS_ONE]
    case 'gone':
      return [isConnected(false), hasOne('connection.connectedDate'), MAY_KEEP_ONE]
    case 'silent':
      // What is connected is there, however little it says.
      return [{ lt: { 'connection.seenDate': new Date(now - DAY_MS).toISOString() } }, isConnected(false)]
    case 'never':
      return [hasNone('connection.seenDate'), ...IS_HEARD_OF]
    default:
      return []
  }
}
