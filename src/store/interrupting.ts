/**
 * Has the server cancel what connections are at, over a connection of its own, until that is called off. Refuses to know why, and who
 * asks on those connections.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { Logger } from 'pino'

/** What was just being asked when it was cancelled for the first time is cancelled the next time. */
const AGAIN_MS = 500
const CONNECT_MS = 5_000

/** The number by which the server knows a connection. */
export function serverProcessOf(client: pg.ClientBase): number {
  return (client as pg.ClientBase & { readonly processID: number }).processID
}

/** Begins at once; resolves, once called off, when nothing more will be cancelled. */
export function beginInterrupting(
  config: pg.ClientConfig,
  processes: () => readonly number[],
  log: Logger,
): () => Promise<void> {
  const over = new AbortController()

  async function cancelUntilOver(): Promise<void> {
    const client = new pg.Client({ ...config, connectionTimeoutMillis: CONNECT_MS, query_timeout: CONNECT_MS })
    client.on('error', () => {})
    try {
      await client.connect()
      while (!over.signal.aborted) {
        await client.query('select pg_cancel_backend(process) from unnest($1::int[]) process', [[...processes()]])
        await sleep(AGAIN_MS, undefined, { signal: over.signal }).catch(() => {})
      }
    } catch (error) {
      log.warn({ err: error }, 'statements could not be cancelled; they run into their time-outs')
    } finally {
      await client.end().catch(() => {})
    }
  }

  const cancelling = cancelUntilOver()
  return async () => {
    over.abort()
    await cancelling
  }
}

/** Begins something once a signal aborts, and ends it when that is over. */
export function whenAborted(
  signal: AbortSignal | undefined,
  begin: () => () => Promise<void>,
): { readonly over: () => Promise<void> } {
  let end = async () => {}
  const onAbort = () => {
    end = begin()
  }
  if (signal?.aborted) onAbort()
  signal?.addEventListener('abort', onAbort, { once: true })
  return {
    over() {
      signal?.removeEventListener('abort', onAbort)
      return end()
    },
  }
}
