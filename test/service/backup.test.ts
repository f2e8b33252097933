import { spawn } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, expect, test } from 'vitest'
import type { VerifyView } from '../../src/contract/verify.ts'
import type { Fleet } from '../../src/simulator/fleet.ts'
import { type Client, createClient } from './client.ts'
import { bringUpFleet } from './fleet.ts'
import { createJob, readJob, readOperations } from './jobs.ts'
import { dataFolder, launchService } from './service-process.ts'

const LONG_MS = 300_000
const DEVICES = 60
const root = path.resolve(import.meta.dirname, '../..')
const apiKey = 'a-key-that-outlives-the-service'
const folder = await dataFolder()
const other = await dataFolder()
const file = path.join(other, 'drover.backup')
let fleet: Fleet | undefined
afterAll(() => fleet?.stop())

/** Runs the command line on a data folder; fails with its last words when it ends with anything but 0. */
async function drover(dataDir: string, ...args: string[]): Promise<Record<string, unknown>> {
  const child = spawn(process.execPath, ['src/cli/drover.ts', ...args, '--json'], {
    cwd: root,
    env: { PATH: process.env.PATH, DROVER_DATA_DIR: dataDir },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = new Promise(resolve => child.once('close', resolve))
  const [code, stdout, stderr] = await Promise.all([ended, text(child.stdout), text(child.stderr)])
  if (code !== 0) throw new Error(`${args[0]} ended with ${code}: ${stderr}`)
  return JSON.parse(stdout)
}

async function serve(
  dataDir: string,
  ports: Record<string, string> = {},
): Promise<{ client: Client; stop: () => Promise<unknown>; ports: Record<string, string> }> {
  const service = launchService(dataDir, {
    DROVER_ADMIN_API_KEY: apiKey,
    DROVER_MIN_OPERATION_TIMEOUT_MS: '0',
    ...ports,
  })
  const { url, mqttPort } = await service.ready()
  const listening = { DROVER_PORT: new URL(url).port, DROVER_MQTT_PORT: String(mqttPort) }
  return { client: createClient(url, apiKey), stop: () => service.end('SIGTERM'), ports: listening }
}

async function ended(client: Client, job: string): Promise<string> {
  for (;;) {
    const { report } = await readJob(client, job)
    if (report.summary.inProgress.total === 0 && report.execution.finishedDate !== '') return report.summary.status
    await new Promise(resolve => setTimeout(resolve, 100))
  }
}

const request = (name: string, more: Record<string, unknown> = {}) => ({
  name,
  parameters: {},
  active: true,
  target: { append: { tags: ['sim'] } },
  operationParameters: { ackTimeout: 20_000, timeout: 20_000, retries: 3 },
  ...more,
})

test(
  'a backup taken while jobs run is restored into an empty folder, verifies, and its jobs go on with the same devices',
  async () => {
    const first = await serve(folder)
    fleet = await bringUpFleet(
      { client: first.client, mqtt: `mqtt://127.0.0.1:${first.ports.DROVER_MQTT_PORT}` },
      {
        devices: DEVICES,
        flows: { pull: 1, 'http-async': 1 },
        latency: { shape: 'uniform', minMs: 0, maxMs: 50 },
        pullWaitS: 2,
      },
    )
    const done = await createJob(first.client, request('REFRESH_INFO'))
    expect(await ended(first.client, done.id)).toBe('FINISHED')
    const paused = await createJob(first.client, request('DISCOVER', { schedule: { start: { delayed: 3_600_000 } } }))
    const before = await readOperations(first.client, done.id)
    const running = await createJob(first.client, request('REBOOT_EQUIPMENT'))

    const taken = await drover(folder, 'backup', file)
    expect(taken).toMatchObject({ file, schema: expect.stringMatching(/^\d{4}_/) })
    await expect(drover(folder, 'backup', file)).rejects.toThrow('is there already')
    await first.stop()

    const data = path.join(other, 'data')
    await mkdir(data, { mode: 0o711 })
    const restored = await drover(data, 'restore', file)
    expect(restored).toMatchObject({ rows: taken.rows, migrated: [] })
    await expect(drover(data, 'restore', file)).rejects.toThrow('The database is not empty')

    // The devices know the service by its address: the restored one takes the place of the other.
    const second = await serve(data, first.ports)
    const verify = async () =>
      (await second.client.call<VerifyView>('GET', '/north/v80/operation/verify')).body.differences
    expect(await readOperations(second.client, done.id)).toEqual(before)
    expect(await verify()).toEqual([])
    expect(await ended(second.client, running.id)).toBe('FINISHED')
    expect((await readOperations(second.client, running.id)).map(({ result }) => result)).toEqual(
      Array(DEVICES).fill('SUCCESSFUL'),
    )
    expect((await readJob(second.client, paused.id)).report.summary.status).toBe('SCHEDULED')
    const fresh = await createJob(second.client, request('EQUIPMENT_DIAGNOSTIC'))
    expect(await ended(second.client, fresh.id)).toBe('FINISHED')
    expect(await verify()).toEqual([])

    const pruned = await drover(data, 'prune', '--months', '1', '--dry-run')
    expect(pruned).toMatchObject({ months: [], jobs: 0, dryRun: true })
    await second.stop()
    expect(await drover(data, 'prune', '--months', '1')).toMatchObject({ months: [], jobs: 0 })
  },
  LONG_MS,
)

test('a folder without a database has nothing to back up, and is left as it is', async () => {
  await expect(drover(path.join(other, 'nothing'), 'backup', path.join(other, 'x'))).rejects.toThrow(
    'There is no database',
  )
})
