/**
 * Queries read batch by batch by readers that nobody can hurry. Each holds a connection, so that there are few at once, and one that
 * asks for nothing more loses it. Refuses to know what is read.
 */
import type pg from 'pg'
import { DroverError } from '../domain/errors.ts'
import { asked } from './asking.ts'
import { render, type SqlFragment, sql } from './statement.ts'

export interface StreamOptions {
  /** Rows per batch. */
  batchRows?: number
  /** How long the server may take to find all rows. */
  timeoutMs?: number
}

/** A query for which the client itself stops waiting after a time of its own. */
export function bounded(text: string, timeoutMs: number): pg.QueryConfig {
  const config: pg.QueryConfig & { query_timeout: number } = { text, query_timeout: timeoutMs }
  return config
}

/**
 * Makes the streams of a pool: `atOnceMax` of them, beyond which the first batch fails with `tooMany`; one whose reader asks for nothing
 * for `unaskedMs` ends, and the next batch fails.
 */
export function createStreaming(pool: pg.Pool, { atOnceMax, unaskedMs }: { atOnceMax: number; unaskedMs: number }) {
  let open = 0

  return async function* stream<Row>(
    fragment: SqlFragment,
    { batchRows = 1_000, timeoutMs = 60_000 }: StreamOptions = {},
  ): AsyncGenerator<Row[], void, void> {
    if (open >= atOnceMax) throw new DroverError('tooMany', [], 'Too many large answers are being read.')
    open += 1
    let client: pg.PoolClient | undefined
    let isOver = false
    const end = (broken: boolean) => {
      if (isOver) return
      isOver = true
      open -= 1
      client?.release(broken)
    }
    try {
      client = await asked(pool.connect())
      const declare = render(sql`declare streamed no scroll cursor with hold for ${fragment}`)
      await client.query('begin read only')
      await client.query(`set local statement_timeout = ${Math.trunc(timeoutMs)}`)
      await client.query(declare)
      await client.query(bounded('commit', timeoutMs + 5_000))
      for (;;) {
        const { rows } = await client.query<Row & pg.QueryResultRow>(`fetch ${Math.trunc(batchRows)} from streamed`)
        if (rows.length > 0) {
          const unasked = setTimeout(end, unaskedMs, true)
          try {
            yield rows
          } finally {
            clearTimeout(unasked)
          }
          if (isOver) throw new Error('A stream was ended, since its reader asked for nothing more for too long')
        }
        if (rows.length < batchRows) break
      }
      await client.query('close streamed')
      end(false)
    } finally {
      // A reader that leaves early leaves a cursor behind: ending the connection is the surest way to be rid of it.
      end(true)
    }
  }
}
