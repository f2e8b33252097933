/**
 * A database for a test file: cloned from the migrated template of the run, opened, and dropped when the file is done. Call
 * `testDatabase()` once at the top of a file, `createTestDatabase()` where a test needs one more.
 */
import { randomUUID } from 'node:crypto'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import pg from 'pg'
import { pino } from 'pino'
import { afterAll, inject } from 'vitest'
import { type Database, type DatabaseOptions, openDatabase } from '../src/store/database.ts'
import type { TestServer } from './global-setup.ts'

export interface TestDatabase {
  database: Database
  url: string
  /** Closes the pool and drops the database. Idempotent. */
  close(): Promise<void>
}

export interface TestDatabaseOptions extends Partial<DatabaseOptions> {
  /** False gives an empty database, without the schema. */
  migrated?: boolean
}

export const silentLog = pino({ level: 'silent' })

async function testServer(): Promise<{ url: string; template: string }> {
  const answer = JSON.parse(await text(connect(inject('databaseSocket')))) as TestServer
  if ('error' in answer) throw new Error(`the test server could not be started: ${answer.error}`)
  return answer
}

async function onServer(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}

/** Makes one more database; the caller closes it. */
export async function createTestDatabase(options: TestDatabaseOptions = {}): Promise<TestDatabase> {
  const { migrated = true, ...rest } = options
  const server = await testServer()
  const name = `test_${randomUUID().replaceAll('-', '')}`
  await onServer(server.url, `create database ${name} template ${migrated ? server.template : 'template0'}`)
  const url = new URL(server.url)
  url.pathname = `/${name}`
  const database = openDatabase({ url: url.href, max: 5, log: silentLog, ...rest })
  let closed: Promise<void> | null = null
  const close = async () => {
    await database.close()
    await onServer(server.url, `drop database if exists ${name} with (force)`)
  }
  return {
    database,
    url: url.href,
    close() {
      closed ??= close()
      return closed
    },
  }
}

/** The database of this test file, closed and dropped after its last test. */
export async function testDatabase(options: TestDatabaseOptions = {}): Promise<TestDatabase> {
  const made = createTestDatabase(options)
  afterAll(async () => (await made.catch(() => null))?.close())
  return made
}
