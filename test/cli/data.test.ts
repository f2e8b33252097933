/** `drover backup`, `restore` and `prune` as processes: what they end with, what they tell programs, and the bar that people see. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { firstNumberAt } from '../../src/domain/identity.ts'
import { readyMonths } from '../../src/engine/housekeeper.ts'
import { sql } from '../../src/store/statement.ts'
import { createTestDatabase } from '../database.ts'

const root = path.resolve(import.meta.dirname, '../..')
const folder = await mkdtemp(path.join(tmpdir(), 'drover-data-'))
afterAll(() => rm(folder, { recursive: true, force: true }))
const { database, url, close } = await createTestDatabase()
afterAll(close)
const inFolder = (name: string) => path.join(folder, name)
const RUN_MS = 120_000
await writeFile(inFolder('taken'), 'mine')
await writeFile(inFolder('damaged'), 'no backup')

async function ended(program: string, args: readonly string[], variables: Record<string, string>) {
  const env = { PATH: process.env.PATH, TERM: 'xterm', DATABASE_URL: url, ...variables }
  const child = spawn(program, args, { cwd: root, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  // Whatever it started is of its group, and does not outlive the test.
  onTestFinished(() => void (child.exitCode === null && process.kill(-child.pid!, 'SIGKILL')))
  const closed = new Promise<number | null>(resolve => child.once('close', resolve))
  const [code, stdout, stderr] = await Promise.all([closed, text(child.stdout), text(child.stderr)])
  return { code, stdout, stderr }
}

const drover = (line: string, variables: Record<string, string> = {}) =>
  ended(process.execPath, ['src/cli/drover.ts', ...line.split(' ')], variables)

/** An address at which nobody listens. */
const NOWHERE = 'postgres://drover:drover@127.0.0.1:1/drover'

describe('what fails ends with the code of its kind, and programs are told in JSON', () => {
  test.each<[string, string, number, string, string, Record<string, string>?]>([
    ['a file that is there already', `backup ${inFolder('taken')}`, 2, 'usage', 'is there already'],
    ['a folder that is not there', `backup ${inFolder('no/where')}`, 2, 'usage', 'cannot be written'],
    ['a backup that is not there', `restore ${inFolder('nothing')}`, 2, 'usage', 'is not there'],
    ['months that nobody named', 'prune', 2, 'usage', 'How much is to be kept?'],
    ['a variable that cannot be read', 'prune --months 2', 2, 'usage', 'DROVER_PORT', { DROVER_PORT: 'none' }],
    ['a database that is away', 'prune --months 2', 3, 'unreachable', 'cannot be reached', { DATABASE_URL: NOWHERE }],
    ['a file that is no backup', `restore ${inFolder('damaged')}`, 4, 'refused', 'no backup'],
    [
      'a folder without a database',
      `backup ${inFolder('of-nothing')}`,
      6,
      'notFound',
      'There is no database',
      { DATABASE_URL: '', DROVER_DATA_DIR: inFolder('empty') },
    ],
  ])(
    '%s',
    async (_, line, exitCode, kind, words, variables) => {
      const { code, stdout, stderr } = await drover(`${line} --json`, variables)
      expect([code, stdout]).toEqual([exitCode, ''])
      expect(JSON.parse(stderr)).toEqual({ error: { kind, exitCode, message: expect.stringContaining(words) } })
    },
    RUN_MS,
  )

  test(
    'people are told in a line, and a service that cannot start ends with the same codes',
    async () => {
      const [backup, service] = await Promise.all([
        drover(`backup ${inFolder('taken')}`),
        drover('serve', { DATABASE_URL: NOWHERE }),
      ])
      expect(backup).toEqual({
        code: 2,
        stdout: '',
        stderr: `drover: ${inFolder('taken')} is there already: name another file, or move it away\n`,
      })
      expect(await readFile(inFolder('taken'), 'utf8')).toBe('mine')
      expect(service.code).toBe(3)
      expect(service.stderr).toContain('drover cannot start: The database cannot be reached')
    },
    RUN_MS,
  )
})

test(
  'a service whose port is taken says which, by which variable it is chosen, and ends with 2',
  async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    onTestFinished(() => void taken.close())
    const { port } = taken.address() as AddressInfo
    const empty = await createTestDatabase()
    onTestFinished(empty.close)
    const variables = { DATABASE_URL: empty.url, DROVER_PORT: String(port), DROVER_MQTT_PORT: '0' }
    const { code, stderr } = await drover('serve', variables)
    expect([code, stderr]).toEqual([
      2,
      `drover cannot start: 127.0.0.1:${port} is taken by somebody else: free it, or choose another by DROVER_PORT\n`,
    ])
  },
  RUN_MS,
)

/** An ended job with one operation, in a month long ago. */
async function endedAt(instant: Date): Promise<void> {
  const job = firstNumberAt(instant.getTime())
  await readyMonths(database, instant)
  await database.query(sql`insert into organization (name, created_at) values ('o', ${instant}) on conflict do nothing`)
  await database.query(sql`
    insert into job (job, organization, name, user_email, request, status, created_at, timeout_ms)
    select ${job}, organization, 'REBOOT', 'a@b', '{}', 'FINISHED', ${instant}, 1 from organization`)
  await database.query(sql`
    insert into operation_ended (job, partition, entity, organization, status, result, counter, attempt, ended_at)
    select ${job}, 1, 1, organization, 'FINISHED', 'SUCCESSFUL', 'successful', 1, ${instant} from organization`)
}

test(
  'a backup that is interrupted ends with 130, without a word and without a file',
  async () => {
    await database.transaction(async tx => {
      await tx.query(sql`lock table organization in access exclusive mode`)
      const file = inFolder('interrupted')
      // A terminal interrupts the command and the process behind it alike: both are of one group.
      const child = spawn(process.execPath, ['src/cli/drover.ts', 'backup', file], {
        cwd: root,
        env: { PATH: process.env.PATH, DATABASE_URL: url },
        detached: true,
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      onTestFinished(() => void (child.exitCode === null && child.kill('SIGKILL')))
      const closed = new Promise<number | null>(resolve => child.once('close', resolve))
      const told = Promise.all([text(child.stdout), text(child.stderr)])
      const waiting = () =>
        tx.query(
          sql`select 1 from pg_locks where not granted and database = (select oid from pg_database where datname = current_database())`,
        )
      await vi.waitUntil(async () => (await waiting()).length > 0, { timeout: 60_000, interval: 200 })
      process.kill(-child.pid!, 'SIGINT')
      expect([await closed, ...(await told)]).toEqual([130, '', ''])
      expect((await readdir(folder)).filter(name => name.startsWith('interrupted'))).toEqual([])
    })
  },
  RUN_MS,
)

test(
  'a restore that is killed leaves no rows: no service starts on it, it says why, and it is restored into again',
  async () => {
    const file = inFolder('to-restore')
    await database.query(sql`insert into setting (name, value) values ('kept', 'here')`)
    expect((await drover(`backup ${file}`)).code).toBe(0)
    const target = await createTestDatabase()
    onTestFinished(target.close)
    const variables = { DATABASE_URL: target.url }
    const kept = () => target.database.query(sql`select value from setting where name = 'kept'`)
    const backends = () =>
      target.database.query(sql`
        select from pg_stat_activity where datname = current_database() and application_name = 'drover restore'`)
    await target.database.transaction(async tx => {
      // It may be looked at, and nothing may be written to it.
      await tx.query(sql`lock table setting in share mode`)
      const child = spawn(process.execPath, ['src/cli/drover.ts', 'restore', file], {
        cwd: root,
        env: { PATH: process.env.PATH, ...variables },
        detached: true,
        stdio: 'ignore',
      })
      const closed = new Promise(resolve => child.once('close', resolve))
      const waiting = () =>
        tx.query(
          sql`select 1 from pg_locks where not granted and database = (select oid from pg_database where datname = current_database())`,
        )
      await vi.waitUntil(async () => (await waiting()).length > 0, { timeout: 60_000, interval: 200 })
      process.kill(-child.pid!, 'SIGKILL')
      await closed
    })
    await vi.waitUntil(async () => (await backends()).length === 0, { timeout: 60_000, interval: 200 })
    expect(await kept()).toEqual([])
    const service = await drover('serve', { ...variables, DROVER_PORT: '0', DROVER_MQTT_PORT: '0' })
    expect([service.code, service.stderr]).toEqual([
      4,
      expect.stringContaining('drover cannot start: A restore into this database has begun and not ended'),
    ])
    const again = await drover(`restore ${file}`, variables)
    expect([again.code, again.stderr]).toEqual([0, ''])
    expect(await kept()).toEqual([{ value: 'here' }])
  },
  2 * RUN_MS,
)

// A terminal is what a bar needs; `script` of util-linux gives one.
test.runIf(spawnSync('script', ['--version']).status === 0)(
  'prune and backup show on a terminal how far they have come',
  async () => {
    await endedAt(new Date('2024-01-10T00:00:00Z'))
    await endedAt(new Date('2024-02-10T00:00:00Z'))
    const onTerminal = (line: string) =>
      ended('script', ['-qec', `'${process.execPath}' src/cli/drover.ts ${line}`, '/dev/null'], {})
    const backup = await onTerminal(`backup ${inFolder('whole')}`)
    expect([backup.code, backup.stdout]).toEqual([0, expect.stringMatching(/Backing up .*MB/s)])
    const prune = await onTerminal('prune --months 1')
    expect(prune.code).toBe(0)
    expect(prune.stdout).toMatch(/Pruning .*100% \d+ months and 2 jobs.*and 2 jobs from before .* are gone/s)
    const elsewhere = await drover('prune --months 1 --json')
    expect([elsewhere.code, elsewhere.stderr]).toEqual([0, ''])
    expect(JSON.parse(elsewhere.stdout)).toMatchObject({ months: [], jobs: 0 })
  },
  RUN_MS,
)
