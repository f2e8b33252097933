import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, cp, lstat, mkdir, mkdtemp, readFile, readlink, rm, stat, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openDatabase } from '../../src/store/database.ts'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/store/embedded-postgres.ts'
import { accountToRunAs, canEnter, findBinaries, installedFolder, runToEnd } from '../../src/store/postgres-binaries.ts'
import { sql } from '../../src/store/statement.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { silentLog } from '../database.ts'

const root = process.getuid?.() === 0
const settings = { fsync: 'off' }

let folder: string
let dataDir: string
const started: EmbeddedPostgres[] = []

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'drover-embedded-'))
  await chmod(folder, 0o711)
  dataDir = path.join(folder, 'data')
})
afterEach(async () => {
  for (const each of started.splice(0)) await each.stop()
  const outside = await readlink(path.join(dataDir, 'postgres')).catch(() => null)
  if (outside) await rm(outside, { recursive: true, force: true })
  await rm(folder, { recursive: true, force: true })
})

async function start(): Promise<EmbeddedPostgres> {
  const postgres = await startEmbeddedPostgres({ dataDir, log: silentLog, settings })
  started.push(postgres)
  return postgres
}

async function ask<Row>(url: string, question = sql`select 1 as answer`): Promise<Row[]> {
  const database = openDatabase({ url, log: silentLog, max: 1 })
  try {
    return await database.query<Row>(question)
  } finally {
    await database.close()
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

describe('the embedded database', () => {
  test('what was written is there after a stop and a start', async () => {
    const first = await start()
    await ask(first.url, sql`create table kept as select 7 as n`)
    await first.stop()
    expect(isAlive(first.pid())).toBe(false)
    const second = await start()
    expect(await ask(second.url, sql`select n from kept`)).toEqual([{ n: 7 }])
  })

  test('it listens on the loopback only, and its password is kept where only the owner reads', async () => {
    const { url } = await start()
    expect(
      await ask(
        url,
        sql`select current_setting('listen_addresses') as a, current_setting('unix_socket_directories') as s`,
      ),
    ).toEqual([{ a: '127.0.0.1', s: '' }])
    const file = path.join(dataDir, 'postgres-password')
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect(new URL(url).password).toBe((await readFile(file, 'utf8')).trim())
    const wrong = new URL(url)
    wrong.password = 'guessed'
    await expect(ask(wrong.href)).rejects.toThrow('password authentication failed')
  })

  test('a database whose parent was killed goes on running and is adopted by the next start', async () => {
    const starting = `
      import { startEmbeddedPostgres } from ${JSON.stringify(path.resolve('src/store/embedded-postgres.ts'))}
      import { pino } from ${JSON.stringify(createRequire(import.meta.url).resolve('pino'))}
      const postgres = await startEmbeddedPostgres({ dataDir: process.argv[1], log: pino({ level: 'silent' }) })
      console.log(JSON.stringify({ url: postgres.url, pid: postgres.pid() }))
    `
    const parent = spawn(process.execPath, ['--input-type=module', '-e', starting, dataDir], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [line] = await once(parent.stdout, 'data')
    const orphan: { url: string; pid: number } = JSON.parse(String(line))
    parent.kill('SIGKILL')
    await once(parent, 'exit')
    await ask(orphan.url, sql`create table kept as select 7 as n`)

    const lines: string[] = []
    const log = createLog('warn', { write: line => void lines.push(line) })
    const adopted = await startEmbeddedPostgres({ dataDir, log, settings })
    started.push(adopted)
    expect({ url: adopted.url, pid: adopted.pid() }).toEqual(orphan)
    expect(lines.map(each => JSON.parse(each))).toMatchObject([{ pid: process.pid, databasePid: orphan.pid }])
    expect(await ask(adopted.url, sql`select n from kept`)).toEqual([{ n: 7 }])
    await adopted.stop()
    expect(isAlive(orphan.pid)).toBe(false)
  })

  test('a database that dies alone is started again under the same address', async () => {
    const postgres = await start()
    await ask(postgres.url, sql`create table kept as select 7 as n`)
    const pid = postgres.pid()
    process.kill(pid, 'SIGKILL')
    await expect
      .poll(() => ask(postgres.url, sql`select n from kept`).catch(() => null), { timeout: 20_000 })
      .toEqual([{ n: 7 }])
    await expect.poll(() => postgres.pid()).not.toBe(pid)
  })

  test('a stop during the starting again leaves nothing running', async () => {
    const postgres = await start()
    process.kill(postgres.pid(), 'SIGKILL')
    await postgres.stop()
    expect(isAlive(postgres.pid())).toBe(false)
  })

  test('a process number left behind that now belongs to somebody else does not keep it from starting', async () => {
    const first = await start()
    await first.stop()
    const home = path.join(dataDir, 'postgres', 'data')
    await writeFile(path.join(home, 'postmaster.pid'), `${process.pid}\n${home}\n1\n5432\n\n127.0.0.1\n1 1\nready   \n`)
    const second = await start()
    expect(await ask(second.url)).toEqual([{ answer: 1 }])
  })

  test('data of another major version are refused with what to do', async () => {
    const first = await start()
    await first.stop()
    await writeFile(path.join(dataDir, 'postgres', 'data', 'PG_VERSION'), '15\n')
    await expect(start()).rejects.toThrow('was written by PostgreSQL 15')
  })

  test('a server that cannot start says why', async () => {
    await start().then(postgres => postgres.stop())
    const wrong = startEmbeddedPostgres({ dataDir, log: silentLog, settings: { max_connections: 'many' } })
    await expect(wrong).rejects.toThrow('invalid value for parameter "max_connections"')
  })

  test.runIf(root)('a data folder behind a door that only root passes has its database outside', async () => {
    await chmod(folder, 0o700)
    const first = await start()
    await ask(first.url, sql`create table kept as select 7 as n`)
    await first.stop()
    expect((await lstat(path.join(dataDir, 'postgres'))).isSymbolicLink()).toBe(true)
    const second = await start()
    expect(await ask(second.url, sql`select n from kept`)).toEqual([{ n: 7 }])
    await second.stop()
    await rm(await readlink(path.join(dataDir, 'postgres')), { recursive: true })
    await expect(start()).rejects.toThrow('which is gone')
  })
})

describe('its binaries', () => {
  test('a program that cannot be started is an error and holds nothing', async () => {
    const timers = () => process.getActiveResourcesInfo().filter(each => each === 'Timeout').length
    const before = timers()
    await expect(runToEnd(path.join(folder, 'nowhere'), [], {})).rejects.toThrow('ENOENT')
    expect(timers()).toBe(before)
  })

  const installed = path.dirname(installedFolder())

  test.runIf(root)('binaries that the account cannot reach are copied where it can', async () => {
    const account = await accountToRunAs()
    const hidden = path.join(folder, 'hidden')
    await mkdir(hidden, { mode: 0o700 })
    await cp(installed, path.join(hidden, 'package'), { recursive: true, verbatimSymlinks: true })
    expect(await canEnter(account, hidden)).toBe(false)
    const { folder: found, version } = await findBinaries(account, folder, path.join(hidden, 'package', 'native'))
    expect(path.dirname(found)).toBe(folder)
    expect(version).toMatch(/^\d+\.\d+$/)
    expect(await findBinaries(account, folder, path.join(hidden, 'package', 'native'))).toEqual({
      folder: found,
      version,
    })
  })

  test('links that a blocked install script did not make are made', async () => {
    const bare = path.join(folder, 'package')
    await cp(installed, bare, { recursive: true, verbatimSymlinks: true })
    const list: { target: string }[] = JSON.parse(await readFile(path.join(bare, 'native', 'pg-symlinks.json'), 'utf8'))
    for (const { target } of list) await rm(path.join(bare, target), { force: true })
    const { folder: found } = await findBinaries(await accountToRunAs(), folder, path.join(bare, 'native'))
    expect(found).toBe(path.join(bare, 'native'))
    for (const { target } of list) expect((await lstat(path.join(bare, target))).isSymbolicLink()).toBe(true)
  })
})
