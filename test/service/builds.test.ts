import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, expect, test } from 'vitest'
import type { VerifyView } from '../../src/contract/verify.ts'
import { freePort } from '../../src/store/postmaster.ts'
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
const { url: databaseUrl, close } = await createTestDatabase({ migrated: false })
afterAll(close)

/** A build as the next one will be: this one, and a migration more, which adds what the present build does not know. */
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
  return next
}

test(
  'the next build migrates the schema under a running one, both move jobs side by side, and the old one is then refused a new start',
  async () => {
    const ports = await Promise.all([freePort(), freePort(), freePort()])
    const node = (index: number, build?: string) =>
      createNode({
        name: `node-${index}`,
        port: ports[index]!,
        logFile: path.join(folder, `${index}.log`),
        variables: {
          DATABASE_URL: databaseUrl,
          DROVER_DATA_DIR: path.join(folder, `data-${index}`),
          DROVER_MQTT_PORT: '0',
          DROVER_SECRET: 'a-secret-that-every-node-is-given-alike',
          DROVER_ADMIN_API_KEY: apiKey,
          DROVER_DATABASE_CONNECTIONS_MAX: '8',
          DROVER_MIN_OPERATION_TIMEOUT_MS: '0',
        },
        ...(build !== undefined && { root: build }),
      })
    const old = node(0)
    const next = node(1, await nextBuild())
    const late = node(2)
    const balancer = await openBalancer([ports[0]!])
    old.start()
    await old.ready(120_000)
    const client = createClient(old.url, apiKey)
    const seen: string[] = []
    const enough = Promise.withResolvers<void>()
    const fleet = await bringUpFleet(
      { client: { ...client, url: balancer.url }, mqtt: 'mqtt://127.0.0.1:1' },
      {
        devices: DEVICES,
        flows: { 'http-async': 1, 'http-sync': 1 },
        latency: { shape: 'uniform', minMs: 20, maxMs: 200 },
      },
      ({ what, operationId }) => {
        if (what === 'executed' && seen.push(operationId) === DEVICES / 4) enough.resolve()
      },
    )
    const request = (name: string) => ({
      name,
      parameters: {},
      active: true,
      target: { append: { tags: ['sim'] } },
      operationParameters: { ackTimeout: 20_000, timeout: 20_000, retries: 3 },
    })
    const ended = async (job: string, by = client) => {
      for (;;) {
        const { report } = await readJob(by, job)
        if (report.execution.finishedDate !== '') return report.summary.finished.successful
        await new Promise(resolve => setTimeout(resolve, 100))
      }
    }
    try {
      // The first job is under way when the next build migrates.
      const first = await createJob(client, request('REBOOT_EQUIPMENT'))
      await enough.promise
      next.start()
      await next.ready(120_000)
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
      expect(new Set((await readOperations(newer, second.id)).map(({ entityId }) => entityId)).size).toBe(DEVICES)
      expect(fleet.counters).toMatchObject({ doubled: 0, executed: DEVICES * 3 })
      expect([old.deaths, next.deaths]).toEqual([[], []])

      // Whoever starts the old build again is told why it does not start.
      const refusal = await lastWords(late)
      expect(refusal).toMatch(/schema is newer than this build, which does not know \d{4}_next/)
      await old.stop(30_000)
      expect(old.stops).toEqual([0])
      const fourth = await createJob(newer, request('SYNCHRONIZE_CLOCK'))
      expect((await readJob(newer, fourth.id)).report.summary.status).not.toBe('FINISHED_WITH_ERRORS')
    } finally {
      await fleet.stop()
      balancer.close()
      await Promise.all([old.kill(), next.kill(), late.kill()])
    }
  },
  LONG_MS,
)

/** Starts a node that cannot start, and answers what it said. */
async function lastWords(node: ReturnType<typeof createNode>): Promise<string> {
  node.start()
  for (;;) {
    const text = await readFile(path.join(folder, '2.log'), 'utf8').catch(() => '')
    if (text.includes('cannot start')) {
      await node.kill()
      return text
    }
    await new Promise(resolve => setTimeout(resolve, 100))
  }
}
