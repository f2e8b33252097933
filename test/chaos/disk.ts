/**
 * A database whose disk is full: on a small file system in memory, jobs are made until there is no room, then room is made again. Clients
 * must be told clearly meanwhile, and afterwards everything that was answered is there and goes on. Needs root, to mount.
 */
import { spawnSync } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { JobView } from '../../src/contract/job.ts'
import { judge } from './judge.ts'
import type { RunEnd } from './page.ts'
import { judgeRowsAtTheEnd } from './rows.ts'
import type { Story } from './stories.ts'
import { openWorld, type World } from './world.ts'

export interface DiskOptions {
  readonly megabytes: number
  readonly devices: number
  readonly tell: (line: string) => void
}

const FULL_MS = 10_000
const FULL_WITHIN_MS = 180_000
const ENDED_WITHIN_MS = 240_000
const QUIET_MS = 25_000
/** Left free for a while, so that the service can start; the rest is taken by one file. */
const ROOM_MB = 60

/** Whether a file system can be mounted here. */
function canMount(): boolean {
  return process.platform === 'linux' && process.getuid?.() === 0 && spawnSync('mount', ['--version']).status === 0
}

/** Runs it. Answers what did not hold, and its figures; null where nothing can be mounted. */
export async function runDiskFull({ megabytes, devices, tell }: DiskOptions): Promise<RunEnd | null> {
  const disk = await mkdtemp(path.join(tmpdir(), 'drover-disk-'))
  const options = ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=711`, 'tmpfs', disk]
  if (!canMount() || spawnSync('mount', options).status !== 0) {
    tell('nothing can be mounted here (root only): the full disk is left out')
    await rm(disk, { recursive: true })
    return null
  }
  try {
    const world = await openWorld({
      seed: 3,
      nodes: 2,
      devices,
      broker: 'embedded',
      disk,
      fleet: { silent: 0, late: 0 },
    })
    try {
      return await fill(world, disk, tell)
    } finally {
      await world.close()
    }
  } finally {
    spawnSync('umount', ['-l', disk])
    await rm(disk, { recursive: true, force: true })
  }
}

async function fill(world: World, disk: string, tell: (line: string) => void): Promise<RunEnd> {
  const [party] = world.parties
  const { client } = party
  const ballast = path.join(disk, 'ballast')
  await mkdir(disk, { recursive: true })
  await writeFile(ballast, Buffer.alloc(Math.max(1, freeMb(disk) - ROOM_MB) * 1_000_000))
  tell(`${freeMb(disk)} MB are left`)
  const made: { id: string; askedAt: number }[] = []
  let refusedSince = 0
  for (const until = Date.now() + FULL_WITHIN_MS; Date.now() < until; await sleep(50)) {
    if (refusedSince > 0 && Date.now() - refusedSince > FULL_MS) break
    const key = { 'idempotency-key': `disk-${made.length}` }
    const answer = await client.once<JobView>('POST', '/north/v80/operation/jobs', body(world, made.length), key)
    if (answer.status === 201) made.push({ id: answer.body.id, askedAt: Date.now() })
    else if (refusedSince === 0) {
      refusedSince = Date.now()
      tell(
        `after ${made.length} jobs a client was told ${answer.status} ${JSON.stringify(answer.body)}; ${freeMb(disk)} MB are left`,
      )
    }
  }
  const wrong = refusedSince === 0 ? ['the disk never was full'] : []
  await rm(ballast)
  tell(`room again: ${freeMb(disk)} MB`)
  const roomAt = Date.now()

  const stories: Story[] = []
  for (const { id } of made) {
    const path = `/north/v80/operation/jobs/${id}`
    for (;;) {
      const { body: end } = await client.call<JobView>('GET', path)
      if (end.report.summary.inProgress.total === 0 && end.report.execution.finishedDate !== '') {
        stories.push({
          kind: 'plain',
          party,
          id,
          devices: party.devices.map(device => device.id),
          retries: 3,
          closed: [],
          end,
        })
        break
      }
      if (Date.now() - roomAt > ENDED_WITHIN_MS) throw new Error(`${path} is ${JSON.stringify(end.report.summary)}`)
      await sleep(200)
    }
  }
  const recoveredS = Math.round((Date.now() - roomAt) / 1_000)
  tell(`all ${made.length} jobs had ended ${recoveredS} s later`)
  for (const until = Date.now() + QUIET_MS; Date.now() < until; await sleep(500)) {
    const { body: open } = await client.call<{ deliveries: { id: string }[] } | undefined>(
      'GET',
      '/north/v80/deliveries?state=OPEN&size=200',
    )
    for (const { id } of open?.deliveries ?? []) await client.call('POST', `/north/v80/deliveries/${id}/repeat`)
  }
  const fault = {
    fault: 'stop the database',
    afterMs: 0,
    forMs: 0,
    node: 0,
    onTop: false,
    fromMs: refusedSince,
    toMs: roomAt,
  } as const
  const judged = await judge(world, stories, [fault])
  const refused = client.statuses.get(503) ?? 0
  const rows = await world.database.on(db => judgeRowsAtTheEnd(db, stories))
  return {
    wrong: [...wrong, ...judged.wrong, ...rows],
    figures: {
      jobs: made.length,
      ...judged.figures,
      refused,
      recoveredS,
      statuses: Object.fromEntries(client.statuses),
    },
  }
}

function body(world: World, n: number) {
  const names = ['REBOOT_EQUIPMENT', 'REFRESH_INFO', 'DISCOVER', 'EQUIPMENT_DIAGNOSTIC', 'SYNCHRONIZE_CLOCK']
  const request = {
    name: names[n % names.length],
    parameters: {},
    active: true,
    target: { append: { tags: ['sim'] } },
    callback: world.receiver.url,
    userNotes: 'x'.repeat(1_000),
    operationParameters: { ackTimeout: 15_000, timeout: 15_000, retries: 3 },
  }
  return { job: { request } }
}

function freeMb(disk: string): number {
  const { stdout } = spawnSync('df', ['--output=avail', '-B1000000', disk], { encoding: 'utf8' })
  return Number(stdout.split('\n')[1])
}
