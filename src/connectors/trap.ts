/**
 * Tells the end of a job by an SNMP trap, version 2c or 3, to the receiver of the operator. A trap has no answer: taken means that it has
 * left. Serves: Job request (`notify`).
 */
import { isIP } from 'node:net'
import snmp from 'net-snmp'
import type { DeliveryOutcome, JobNotice } from '../domain/delivery.ts'
import type { DeliveryMessage, SendDelivery } from '../engine/connector.ts'
import { withinAttempt } from './attempt.ts'

/** Protocols by the names that operators write. */
const TRAP_AUTH_PROTOCOLS = ['md5', 'sha', 'sha224', 'sha256', 'sha384', 'sha512'] as const
const TRAP_PRIV_PROTOCOLS = ['des', 'aes', 'aes256b', 'aes256r'] as const

/** Who sends a trap of version 3. Without keys it is neither signed nor encrypted; encryption needs both. */
export interface TrapUser {
  readonly name: string
  readonly auth?: { readonly protocol: (typeof TRAP_AUTH_PROTOCOLS)[number]; readonly key: string }
  readonly priv?: { readonly protocol: (typeof TRAP_PRIV_PROTOCOLS)[number]; readonly key: string }
}

export interface TrapOptions {
  readonly host: string
  readonly port: number
  /** under which the trap and its objects are numbered */
  readonly oid: string
  readonly credentials:
    | { readonly version: '2c'; readonly community: string }
    /** `engineId` in hexadecimal digits: the same in every process, known to the receiver */
    | { readonly version: '3'; readonly user: TrapUser; readonly engineId: string }
  /** for all of an attempt */
  readonly attemptMs?: number
}

export interface TrapConnector {
  readonly send: SendDelivery
  close(): void
}

/** The beginning of the one run that the sender's engine has: the epoch of its clock. */
const engineEpochMs = Date.UTC(2020, 0, 1)
const textBytesMax = 255

/** Makes the connector of the channel `trap`. */
export function createTrapConnector(options: TrapOptions): TrapConnector {
  const { attemptMs = 10_000 } = options
  let sentAt = new Date(engineEpochMs)
  const session = openSession(options, () => sentAt)
  session.on('error', () => {})

  async function send(message: DeliveryMessage, stopping: AbortSignal): Promise<DeliveryOutcome> {
    sentAt = message.at
    const varbinds = varbindsOf(options.oid, message.id, JSON.parse(message.body) as JobNotice)
    const sending = new Promise<void>((resolve, reject) => {
      session.trap(`${options.oid}.0.1`, varbinds, error => (error ? reject(error) : resolve()))
    })
    try {
      await withinAttempt(sending, attemptMs, stopping)
      return { taken: true }
    } catch (error) {
      return {
        taken: false,
        error: `the trap did not leave: ${error instanceof Error ? error.message : String(error)}`,
      }
    }
  }

  return { send, close: () => void session.close() }
}

function openSession({ host, port, credentials }: TrapOptions, now: () => Date): snmp.Session {
  const common = { trapPort: port, transport: isIP(host) === 6 ? ('udp6' as const) : ('udp4' as const) }
  if (credentials.version === '2c') {
    return snmp.createSession(host, credentials.community, { ...common, version: snmp.Version2c })
  }
  const session = snmp.createV3Session(host, securityOf(credentials.user), {
    ...common,
    version: snmp.Version3,
    engineID: credentials.engineId,
  })
  return keepingTime(session, now)
}

/**
 * The sender of a trap is the authority on its time, and the library says 0 for ever, which a receiver takes for a replay after 150
 * seconds. All processes share one engine that was started once, and the database's clock: its time always goes on.
 */
function keepingTime(session: snmp.Session, now: () => Date): snmp.Session {
  const send = session.send.bind(session)
  session.send = (request, noWait) => {
    const security = request.message.msgSecurityParameters
    if (security) {
      security.msgAuthoritativeEngineBoots = 1
      security.msgAuthoritativeEngineTime = Math.floor((now().getTime() - engineEpochMs) / 1_000)
    }
    return send(request, noWait)
  }
  return session
}

function securityOf({ name, auth, priv }: TrapUser): snmp.User {
  if (!auth) return { name, level: snmp.SecurityLevel.noAuthNoPriv }
  const authenticated = { name, authProtocol: snmp.AuthProtocols[auth.protocol], authKey: auth.key }
  if (!priv) return { ...authenticated, level: snmp.SecurityLevel.authNoPriv }
  return {
    ...authenticated,
    level: snmp.SecurityLevel.authPriv,
    privProtocol: snmp.PrivProtocols[priv.protocol],
    privKey: priv.key,
  }
}

/** The objects of a trap, `<oid>.1.1.0` and on, in the order of the reference. */
function varbindsOf(oid: string, delivery: string, { id, name, user, execution, summary }: JobNotice): snmp.Varbind[] {
  const { finished } = summary
  const values: (string | number)[] = [
    delivery,
    id,
    name,
    user,
    summary.status,
    execution.startedDate,
    execution.finishedDate,
    summary.total,
    finished.successful,
    finished.error,
    finished.cancelled.total,
    summary.errorCode ?? '',
    summary.errorDescription ?? '',
  ]
  return values.map((value, index) => ({
    oid: `${oid}.1.${index + 1}.0`,
    ...(typeof value === 'number'
      ? { type: snmp.ObjectType.Gauge, value }
      : { type: snmp.ObjectType.OctetString, value: boundedText(value) }),
  }))
}

/** At most 255 bytes of UTF-8, cut between characters: a datagram must not be split. */
function boundedText(text: string): string {
  const bytes = Buffer.from(text)
  if (bytes.length <= textBytesMax) return text
  return new TextDecoder().decode(bytes.subarray(0, textBytesMax)).replace(/\uFFFD+$/, '')
}
