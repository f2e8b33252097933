/**
 * A connection to an external MQTT broker that is made again whenever it is lost, after growing pauses that differ from process to
 * process. It knows no topic; what is published and subscribed is its users' affair.
 */
import { getCACertificates } from 'node:tls'
import { connect, type IClientOptions, type IConnackPacket, type MqttClient } from 'mqtt'
import type { Logger } from 'pino'
import { growingPauses } from '../domain/growing-pauses.ts'

export interface MqttClientSettings {
  /** with user name and password, as the broker asks for them */
  readonly url: string
  /** the same at every start: the broker keeps the session of this name while the connection is lost */
  readonly clientId: string
  /** certificates (PEM) that are trusted beside the system's */
  readonly certificates?: readonly string[]
  /** 5, or 4 for a broker that speaks 3.1.1 only */
  readonly protocolVersion?: 4 | 5
  /** how long the broker keeps the session of a process that does not come back; 3.1.1 has no word for it */
  readonly sessionMs?: number
  readonly connectMs?: number
  readonly firstPauseMs?: number
  readonly longestPauseMs?: number
  /** how long a connection holds before its loss is the first again, whatever was before */
  readonly steadyMs?: number
  readonly random?: () => number
  readonly timers?: Timers
}

/** What passes the time. */
export interface Timers {
  /** ms since some instant */
  now(): number
  /** does something later; answers how to leave it */
  after(ms: number, act: () => void): () => void
}

/** A connection from its opening to its loss. */
export interface MqttConnection {
  readonly client: MqttClient
  /** aborted when the connection is lost or ended */
  readonly lost: AbortSignal
}

/** A connection that is made. */
export interface LiveMqttConnection extends MqttConnection {
  /** messages at QoS 1 that the broker takes before it has acknowledged one */
  readonly receiveMax: number
  /** bytes of a packet that the broker takes */
  readonly packetMax: number
}

/** What is done with each connection. */
export interface MqttConnectionUser {
  /** before anything is sent or received */
  onOpen?(connection: MqttConnection): void
  onConnect?(connection: LiveMqttConnection): void
}

export interface KeptMqttClient {
  /** the connection, while there is one */
  live(): LiveMqttConnection | undefined
  /** disconnects, and connects no more */
  stop(): Promise<void>
}

/** What a broker takes at once that does not say. */
const RECEIVE_MAX_DEFAULT = 65_535

/** How long a stop waits for what the broker has not acknowledged yet. */
const END_MS = 2000

const REAL_TIMERS: Timers = {
  now: () => performance.now(),
  after(ms, act) {
    const timer = setTimeout(act, ms)
    return () => clearTimeout(timer)
  },
}

/** Keeps a connection. */
export function keepMqttClient(settings: MqttClientSettings, user: MqttConnectionUser, log: Logger): KeptMqttClient {
  const { firstPauseMs = 250, longestPauseMs = 15_000, steadyMs = 30_000, random = Math.random } = settings
  const { timers = REAL_TIMERS } = settings
  const pauseAfter = growingPauses({ firstPauseMs, longestPauseMs, steadyMs, random })
  let live: LiveMqttConnection | undefined
  let current: MqttClient | undefined
  let openNoMore = () => {}
  let stopping = false

  function open(): void {
    // A client is made anew each time: one that reconnects by itself would send what the engine has given up meanwhile.
    const client = connect(settings.url, optionsOf(settings))
    const lost = new AbortController()
    let madeAt: number | undefined
    current = client
    user.onOpen?.({ client, lost: lost.signal })
    client.once('connect', packet => {
      madeAt = timers.now()
      log.info('connected to the MQTT broker')
      live = { client, ...boundsOf(packet), lost: lost.signal }
      user.onConnect?.(live)
    })
    const onLost = (error?: Error) => {
      if (lost.signal.aborted) return
      lost.abort()
      live = undefined
      client.end(true)
      if (stopping) return
      const pauseMs = pauseAfter(madeAt === undefined ? 0 : timers.now() - madeAt)
      log.warn({ err: error, pauseMs }, 'no connection to the MQTT broker')
      openNoMore = timers.after(pauseMs, open)
    }
    // Listening for as long as the client lives: an error without a listener would end the process.
    client.on('error', onLost)
    client.on('close', () => onLost())
  }
  open()

  return {
    live: () => live,
    async stop() {
      stopping = true
      openNoMore()
      const { promise, resolve } = Promise.withResolvers<void>()
      const over = setTimeout(resolve, END_MS)
      await Promise.race([current?.endAsync(live === undefined), promise])
      clearTimeout(over)
      current?.stream.destroy()
    },
  }
}

function optionsOf(settings: MqttClientSettings): IClientOptions {
  const { clientId, certificates = [], protocolVersion = 5, sessionMs = 3_600_000, connectMs = 10_000 } = settings
  return {
    clientId,
    clean: false,
    protocolVersion,
    reconnectPeriod: 0,
    resubscribe: false,
    connectTimeout: connectMs,
    keepalive: 30,
    ...(certificates.length > 0 && { ca: [...getCACertificates(), ...certificates] }),
    ...(protocolVersion === 5 && {
      properties: { sessionExpiryInterval: Math.ceil(sessionMs / 1000), receiveMaximum: 1000 },
    }),
  }
}

function boundsOf({ properties }: IConnackPacket): Pick<LiveMqttConnection, 'receiveMax' | 'packetMax'> {
  return {
    receiveMax: properties?.receiveMaximum ?? RECEIVE_MAX_DEFAULT,
    packetMax: properties?.maximumPacketSize ?? Number.POSITIVE_INFINITY,
  }
}
