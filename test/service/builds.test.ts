/** Two builds on one schema while nodes are replaced one by one: the present and one to come, and the present and one from the history. */
import { spawnSync } from 'node:child_process'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, expect, onTestFinished, test, vi } from 'vitest'
import type { VerifyView } from '../../src/contract/verify.ts'
import { freePort } from '../../src/store/postmaster.ts'
import { sql } from '../../src/store/statement.ts'
import { createNode } from '../chaos/nodes.ts'
import { createTestDatabase } from '../database.ts'
import { openBalancer } from './balancer.ts'
import { createClient } from './client.ts'
import { bringUpFleet } from './fleet.ts'
import { createJob, readJob, readOperations } from './jobs.ts'

const LONG_MS = 300_000
const DEVICES = 400
const root = path.resolve(import.meta.dirname, '../..')
const apiKey = 'a-key-of-both-of-the-builds'
const folder = await mkdtemp(path.join(tmpdir(), 'drover-builds-'))
afterAll(() => rm(folder, { recursive: true, force: true }))

const NEXT_VERSION = '99.0.0'

/** A build as the next one will be: this one, a migration more, and statements that write what that adds and this build does not know. */
async function nextBuild(): Promise<string> {
  const next = path.join(folder, 'next')
  await mkdir(next)
  for (const name of ['src', 'migrations', 'package.json']) {
    await cp(path.join(root, name), path.join(next, name), { recursive: true })
  }
  await symlink(path.join(root, 'node_modules'), path.join(next, 'node_modules'))
  const last = (await readdir(path.join(next, 'migrations'))).toSorted().at(-1)!
  const number = String(Number(last.slice(0, 4)) + 1).padStart(4, '0')
  await writeFile(
    path.join(next, 'migrations', `${number}_next.sql`),
    [
      'alter table operation add column note text;',
      'alter table operation_ended add column note text;',
      "alter table job add column colour text not null default 'green';",
      'create index operation_ended_note on operation_ended (note) where note is not null;',
    ].join('\n'),
  )
  await change(path.join(next, 'package.json'), /"version": "[^"]+"/, `"version": "${NEXT_VERSION}"`)
  const store = path.join(next, 'src/store')
  await change(
    path.join(store, 'jobs.ts'),
    /insert into job \(job,(.*?)values \(\$1,/s,
    "insert into job (colour, job,$1values ('blue', $$1,",
  )
  await change(
    path.join(store, 'operations.ts'),
    /insert into operation_ended \(job,(.*?)select g\.job,/s,
    "insert into operation_ended (note, job,$1select 'next', g.job,",
  )
  return next
}

async function change(file: string, what: RegExp, to: string): Promise<void> {
  const text = await readFile(file, 'utf8')
  const changed = text.replace(what, to)
  if (changed === text) throw new Error(`${file} no longer says ${what}`)
  await writeFile(file, changed)
}

const git = (...args: string[]) => spawnSync('git', args, { cwd: root, encoding: 'utf8' })

/** The commit before the one that brought the last migration; undefined where the history is not there, as in a shallow clone. */
function commitBefore(): string | undefined {
  const { stdout } = git('ls-files', 'migrations')
  const last = (stdout ?? '').trim().split('\n').at(-1)!
  const added = git('log', '-1', '--format=%H', '--diff-filter=A', '--', last)
  const before = git('rev-parse', '--verify', `${(added.stdout ?? '').trim()}^`)
  return before.status === 0 ? before.stdout.trim() : undefined
}

/** The build as it was at a commit, with the packages of this one. */
async function buildAt(commit: string): Promise<string> {
  const old = path.join(folder, 'old')
  await mkdir(old)
  const archive = path.join(folder, 'old.tar')
  expect(git('archive', '-o', archive, commit, 'src', 'migrations', 'package.json').status).toBe(0)
  expect(spawnSync('tar', ['-xf', archive, '-C', old]).status).toBe(0)
  await symlink(path.join(root, 'node_modules'), path.join(old, 'node_modules'))
  return old
}

interface Builds {
  /** folders; this build unless named */
  readonly old?: string
  readonly next?: string
}

/** Both builds on one schema, the next one started in the middle of a job of the old one. Answers their database. */
async function sideBySide(name: string, { old: oldRoot, next: nextRoot }: Builds) {
  const { database, url: databaseUrl, close } = await createTestDatabase({ migrated: false })
  onTestFinished(close)
  const ports = await Promise.all([freePort(), freePort(), freePort()])
  const log = (index: number) => path.join(folder, `${name}-${index}.log`)
  const node = (index: number, build?: string) =>
    createNode({
      name: `node-${index}`,
      port: ports[index]!,
      logFile: log(index),
      variables: {
        DATABASE_URL: databaseUrl,
        DROVER_DATA_DIR: path.join(folder, `${name}-${index}`),
        DROVER_MQTT_PORT: '0',
        DROVER_SECRET: 'a-secret-that-every-node-is-given-alike',
        DROVER_ADMIN_API_KEY: apiKey,
        DROVER_DATABASE_CONNECTIONS_MAX: '8',
        DROVER_MIN_OPERATION_TIMEOUT_MS: '0',
      },
      ...(build !== undefined && { root: build }),
    })
  const [old, next, late] = [node(0, oldRoot), node(1, nextRoot), node(2, oldRoot)]
  const balancer = await openBalancer([ports[0]!])
  onTestFinished(async () => {
    balancer.close()
    await Promise.all([old.kill(), next.kill(), late.kill()])
  })
  old.start()
  await old.ready(120_000)
  const client = createClient(old.url, apiKey)
  let seen = 0
  const enough = Promise.withResolvers<void>()
  const fleet = await bringUpFleet(
    { client: { ...client, url: balancer.url }, mqtt: 'mqtt://127.0.0.1:1' },
    {
      devices: DEVICES,
      flows: { 'http-async': 1, 'http-sync': 1 },
      latency: { shape: 'uniform', minMs: 20, maxMs: 200 },
    },
    ({ what }) => {
      if (what === 'executed' && ++seen === DEVICES / 4) enough.resolve()
    },
  )
  onTestFinished(() => fleet.stop())
  const request = (operation: string) => ({
    name: operation,
    parameters: {},
    active: true,
    target: { append: { tags: ['sim'] } },
    operationParameters: { ackTimeout: 20_000, timeout: 20_000, retries: 3 },
  })
  const ended = async (job: string, by = client) => {
    for (;;) {
      const { report } = await readJob(by, job)
      if (report.execution.finishedDate !== '') return report.summary.finished.successful
      await sleep(100)
    }
  }
  const migrations = async () =>
    (await database.query<{ name: string }>(sql`select name from schema_migration_checksum order by name`)).length

  // The first job is under way when the next build migrates.
  const first = await createJob(client, request('REBOOT_EQUIPMENT'))
  await enough.promise
  const before = await migrations()
  next.start()
  await next.ready(120_000)
  expect(await migrations()).toBeGreaterThan(before)
  expect(await ended(first.id)).toBe(DEVICES)

  // Each is asked for a job, and both work on both.
  const newer = createClient(next.url, apiKey)
  const [second, third] = await Promise.all([
    createJob(client, request('DISCOVER')),
    createJob(newer, request('REFRESH_INFO')),
  ])
  expect([await ended(second.id, newer), await ended(third.id)]).toEqual([DEVICES, DEVICES])
  const { body } = await newer.call<VerifyView>('GET', '/north/v80/operation/verify')
  expect(body.differences).toEqual([])
  for (const { id } of [first, second, third]) {
    const operations = await readOperations(newer, id)
    expect([operations.length, new Set(operations.map(({ entityId }) => entityId)).size]).toEqual([DEVICES, DEVICES])
  }
  expect(fleet.counters).toMatchObject({ doubled: 0, executed: DEVICES * 3 })
  expect([old.deaths, next.deaths]).toEqual([[], []])

  // Whoever starts the old build again is told why it does not start, while that which runs goes on.
  late.start()
  const refusal = await vi.waitUntil(
    async () => {
      const text = await readFile(log(2), 'utf8').catch(() => '')
      return text.includes('cannot start') && text
    },
    { timeout: 120_000, interval: 100 },
  )
  await late.kill()
  expect(refusal).toMatch(/schema is newer than this build, which does not know \d{4}_/)
  const fourth = await createJob(client, request('POWER_ON_EQUIPMENT'))
  expect(await ended(fourth.id)).toBe(DEVICES)

  await old.stop(30_000)
  expect(old.stops).toEqual([0])
  await createJob(newer, request('POWER_OFF_EQUIPMENT'))
  return { database }
}

test(
  'the next build migrates the schema under a running one: both move jobs side by side, each in its own way, and the old one is then refused a new start',
  async () => {
    const { database } = await sideBySide('next', { next: await nextBuild() })
    const jobs = await database.query<{ name: string; colour: string }>(
      sql`select name, colour from job where name in ('DISCOVER', 'REFRESH_INFO') order by name`,
    )
    // What the old build makes has the default of the new column, also after it was there.
    expect(jobs).toEqual([
      { name: 'DISCOVER', colour: 'green' },
      { name: 'REFRESH_INFO', colour: 'blue' },
    ])
    const notes = await database.query<{ note: string | null }>(
      sql`select distinct note from operation_ended order by note`,
    )
    expect(notes).toEqual([{ note: 'next' }, { note: null }])
  },
  LONG_MS,
)

const before = commitBefore()
test.runIf(before !== undefined)(
  'this build migrates the schema under the one before its last migration, as it lies in the history, in the same way',
  async () => {
    await sideBySide('before', { old: await buildAt(before!) })
  },
  LONG_MS,
)
