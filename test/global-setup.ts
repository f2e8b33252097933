/**
 * One PostgreSQL per test run, started when the first test asks for a database and removed at the end. A run that was killed leaves
 * its server behind; the next run clears it away.
 */
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import pg from 'pg'
import { pino } from 'pino'
import type { TestProject } from 'vitest/node'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../src/store/embedded-postgres.ts'
import { migrate } from '../src/store/migrate.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** Who connects to this socket is sent a `TestServer` as JSON once the server is up. */
    databaseSocket: string
  }
}

/** What a test needs to make databases of its own. */
export type TestServer = { url: string; template: string } | { error: string }

const prefix = 'drover-test-'
const log = pino({ level: 'error' })
// Nothing in a test database outlives the run.
const settings = { fsync: 'off', full_page_writes: 'off', synchronous_commit: 'off', max_connections: '300' }

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

async function clearLeftovers(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    if (!name.startsWith(prefix)) continue
    const folder = path.join(tmpdir(), name)
    // What another user left is theirs to clear, and whether their run still lives cannot be seen from here.
    if ((await stat(folder).catch(() => null))?.uid !== process.getuid?.()) continue
    const owner = Number(await readFile(path.join(folder, 'owner'), 'utf8').catch(() => 'NaN'))
    if (!(owner > 0) || isAlive(owner)) continue
    const postmaster = await readFile(path.join(folder, 'postgres', 'data', 'postmaster.pid'), 'utf8').catch(() => '')
    const pid = Number(postmaster.split('\n')[0])
    if (pid > 0 && isAlive(pid)) process.kill(pid, 'SIGQUIT')
    await rm(folder, { recursive: true, force: true })
  }
}

async function makeTemplate(url: string): Promise<TestServer> {
  const template = `drover_template_${process.pid}`
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(`drop database if exists ${template} with (force)`)
    await client.query(`create database ${template}`)
  } finally {
    await client.end()
  }
  const templateUrl = new URL(url)
  templateUrl.pathname = `/${template}`
  await migrate({ url: templateUrl.href, log })
  return { url, template }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  await clearLeftovers()
  const folder = await mkdtemp(path.join(tmpdir(), prefix))
  await writeFile(path.join(folder, 'owner'), String(process.pid))
  let postgres: EmbeddedPostgres | null = null
  let starting: Promise<TestServer> | null = null

  async function startServer(): Promise<TestServer> {
    const given = process.env.DROVER_TEST_DATABASE_URL
    if (given) return makeTemplate(given)
    await mkdir(folder, { recursive: true })
    postgres = await startEmbeddedPostgres({ dataDir: folder, log, settings })
    return makeTemplate(postgres.url)
  }

  const socketFile = path.join(folder, 'socket')
  const server = createServer(socket => {
    starting ??= startServer().catch(error => ({ error: String(error?.stack ?? error) }))
    socket.on('error', () => {})
    void starting.then(answer => socket.end(JSON.stringify(answer)))
  })
  await new Promise<void>(resolve => server.listen(socketFile, resolve))
  project.provide('databaseSocket', socketFile)

  return async () => {
    server.close()
    await starting
    await postgres?.stop()
    await rm(folder, { recursive: true, force: true })
  }
}
