/**
 * The one connection of a process that listens for NOTIFY. It reconnects by itself and then wakes every handler once, since
 * something may have been missed; it is a wake-up, never a queue: whoever relies on it also polls.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { Logger } from 'pino'
import { growingPauses } from '../domain/growing-pauses.ts'

/** Called with the payload of a notification, or with null after a reconnect, when any number may have been missed. */
export type NotificationHandler = (payload: string | null) => void

export interface Listener {
  /** Resolves once the server listens on the channel; the function it gives ends this handler. Fails if the server is away. */
  listen(channel: string, handler: NotificationHandler): Promise<() => Promise<void>>
  /** Ends the connection for good. */
  close(): Promise<void>
}

const PAUSES = { firstPauseMs: 50, longestPauseMs: 5_000, steadyMs: Number.POSITIVE_INFINITY, random: Math.random }

/** Makes a listener that connects on its first channel. `config` is that of the pool, without its time-out for statements. */
export function createListener(config: pg.ClientConfig, log: Logger): Listener {
  const handlers = new Map<string, Set<NotificationHandler>>()
  const closing = new AbortController()
  let connection: Promise<pg.Client> | null = null

  function call(handler: NotificationHandler, payload: string | null): void {
    try {
      handler(payload)
    } catch (error) {
      log.error({ err: error }, 'a notification handler failed')
    }
  }

  async function connect(): Promise<pg.Client> {
    const client = new pg.Client(config)
    let lost = false
    client.on('error', error => log.warn({ err: error }, 'the listening connection failed'))
    client.on('notification', ({ channel, payload }) => {
      for (const handler of handlers.get(channel) ?? []) call(handler, payload ?? '')
    })
    client.on('end', () => {
      lost = true
    })
    try {
      await client.connect()
      for (const channel of handlers.keys()) await client.query(`listen ${pg.escapeIdentifier(channel)}`)
      if (lost) throw new Error('the listening connection was lost while it was being set up')
    } catch (error) {
      await client.end().catch(() => {})
      throw error
    }
    client.once('end', () => {
      connection = null
      if (!closing.signal.aborted) void reconnect()
    })
    return client
  }

  /** The connection, made when there is none; a failure is not kept. */
  function connected(): Promise<pg.Client> {
    if (connection) return connection
    const making = connect()
    connection = making
    making.catch(() => {
      if (connection === making) connection = null
    })
    return making
  }

  async function reconnect(): Promise<void> {
    const nextPause = growingPauses(PAUSES)
    while (!closing.signal.aborted) {
      await sleep(nextPause(0), undefined, { signal: closing.signal, ref: false }).catch(() => {})
      if (closing.signal.aborted || handlers.size === 0) return
      try {
        await connected()
      } catch (error) {
        log.warn({ err: error }, 'the listening connection cannot be made again yet')
        continue
      }
      for (const each of handlers.values()) for (const handler of each) call(handler, null)
      return
    }
  }

  async function listen(channel: string, handler: NotificationHandler): Promise<() => Promise<void>> {
    if (closing.signal.aborted) throw new Error('the database is closed')
    const known = handlers.get(channel)
    const handlersOfChannel = known ?? new Set()
    handlersOfChannel.add(handler)
    handlers.set(channel, handlersOfChannel)
    const stop = async () => {
      handlersOfChannel.delete(handler)
      if (handlersOfChannel.size > 0 || handlers.get(channel) !== handlersOfChannel) return
      handlers.delete(channel)
      const client = await connection?.catch(() => null)
      await client?.query(`unlisten ${pg.escapeIdentifier(channel)}`).catch(() => {})
    }
    try {
      const client = await connected()
      await client.query(`listen ${pg.escapeIdentifier(channel)}`)
    } catch (error) {
      await stop()
      throw error
    }
    return stop
  }

  async function close(): Promise<void> {
    closing.abort()
    handlers.clear()
    const client = await connection?.catch(() => null)
    connection = null
    await client?.end().catch(() => {})
  }

  return { listen, close }
}
