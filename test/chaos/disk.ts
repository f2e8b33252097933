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
import { comesToRest, stopNodes } from './ending.ts'
import { judge } from './judge.ts'
import { judgeRowsAtTheEnd } from './rows.ts'
import type { Story } from './stories.ts'
import type { RunEnd } from './verdict.ts'
import { openWorld, type World } from './world.ts'

export interface DiskOptions {
  readonly megabytes: number
  readonly devices: number
  /** left free at first, so that the service can start; the rest is taken by one file */
  readonly roomMb?: number
  readonly tell: (line: string) => void
}

const FULL_MS = 10_000
const FULL_WITHIN_MS = 180_000
const ENDED_WITHIN_MS = 240_000
/** The space that PostgreSQL takes at once for its log: with less than that and a little the disk is full to it. */
const SEGMENT_MB = 20

/** What a client must be told: the service cannot take this now, ask again. */
const CLEAR = '503 0x010206'
/** And may be told or not told: a server whose log is full ends, and a node whose database is away is not ready. */
const MEANWHILE = new Set(['0', '503 0x010205'])

/** A refusal as a word: its status, and its code where there is one. */
function refusalOf({ status, body }: { status: number; body: unknown }): string {
  const { errors = [] } = (body ?? {}) as { errors?: { code: string }[] }
  return [status, ...errors.map(({ code }) => code)].join(' ')
}

/** Whether a file system can be mounted here. */
function canMount(): boolean {
  return process.platform === 'linux' && process.getuid?.() === 0 && spawnSync('mount', ['--version']).status === 0
}

/** Runs it. Answers what did not hold, and its figures; it is left out where nothing can be mounted. */
export async function runDiskFull({ megabytes, devices, roomMb = 60, tell }: DiskOptions): Promise<RunEnd> {
  const disk = await mkdtemp(path.join(tmpdir(), 'drover-disk-'))
  const options = ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=711`, 'tmpfs', disk]
  if (!canMount() || spawnSync('mount', options).status !== 0) {
    await rm(disk, { recursive: true })
    return { wrong: [], leftOut: ['the full disk, since nothing can be mounted here (root only)'], figures: {} }
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
      return await fill(world, disk, roomMb, tell)
    } finally {
      await world.close()
    }
  } finally {
    spawnSync('umount', ['-l', disk])
    await rm(disk, { recursive: true, force: true })
  }
}

async function fill(world: World, disk: string, leftMb: number, tell: (line: string) => void): Promise<RunEnd> {
  const [party] = world.parties
  const { client } = party
  const ballast = path.join(disk, 'ballast')
  await mkdir(disk, { recursive: true })
  await writeFile(ballast, Buffer.alloc(Math.max(1, freeMb(disk) - leftMb) * 1_000_000))
  tell(`${freeMb(disk)} MB are left`)
  const made: string[] = []
  const wrong: string[] = []
  const refusals = new Map<string, number>()
  let leastMb = freeMb(disk)
  let refusedSince = 0
  for (const until = Date.now() + FULL_WITHIN_MS; Date.now() < until; await sleep(50)) {
    if (refusedSince > 0 && Date.now() - refusedSince > FULL_MS) break
    const answer = await client.once<JobView>(...requestFor(world, made.length))
    if (answer.status === 201) {
      made.push(answer.body.id)
      continue
    }
    const refusal = refusalOf(answer)
    refusals.set(refusal, (refusals.get(refusal) ?? 0) + 1)
    leastMb = Math.min(leastMb, freeMb(disk))
    if (refusedSince > 0) continue
    refusedSince = Date.now()
    tell(`after ${made.length} jobs a client was told ${refusal}; ${freeMb(disk)} MB are left`)
  }
  await rm(ballast)
  const roomMb = freeMb(disk)
  tell(`refused ${JSON.stringify(Object.fromEntries(refusals))}; room again: ${roomMb} MB`)
  if (refusedSince === 0 || leastMb > SEGMENT_MB)
    wrong.push(`the disk never was full: ${leastMb} MB were left at least`)
  if (roomMb <= leftMb) wrong.push(`there is no room again: ${roomMb} MB`)
  if (!refusals.has(CLEAR)) wrong.push(`nobody was told ${CLEAR} while the disk was full`)
  const others = [...refusals.keys()].filter(refusal => refusal !== CLEAR && !MEANWHILE.has(refusal))
  if (others.length > 0) wrong.push(`clients were told ${others.join(', ')} while the disk was full`)
  const roomAt = Date.now()
  // The last one may have made its job and not been answered: the same key tells.
  const last = await client.call<JobView>(...requestFor(world, made.length))
  if (last.status === 201) made.push(last.body.id)
  else wrong.push(`the job that was refused for want of room was answered ${last.status} once there was room`)

  const stories: Story[] = []
  for (const id of made) {
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
          cancelTaken: false,
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
  await comesToRest(world, stories, 0)
  const judged = await judge(world, stories, [])
  const refused = client.statuses.get(503) ?? 0
  const rows = await world.database.on(db => judgeRowsAtTheEnd(db, stories))
  const unclear = world.parties.flatMap(each => each.client.faults)
  await world.endFleet()
  const stops = await stopNodes(world)
  return {
    wrong: [
      ...wrong,
      ...judged.wrong,
      ...rows,
      ...stops,
      ...unclear.map(each => `a client was answered unclearly: ${each}`),
    ],
    leftOut: [],
    figures: {
      jobs: made.length,
      ...judged.figures,
      refused,
      leastMb,
      recoveredS,
      statuses: Object.fromEntries(client.statuses),
    },
  }
}

/** The nth job, and the same one whenever it is asked for again. */
function requestFor(world: World, n: number): Parameters<World['parties'][0]['client']['call']> {
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
  return ['POST', '/north/v80/operation/jobs', { job: { request } }, { 'idempotency-key': `disk-${n}` }]
}

function freeMb(disk: string): number {
  const { stdout } = spawnSync('df', ['--output=avail', '-B1000000', disk], { encoding: 'utf8' })
  return Number(stdout.split('\n')[1])
}
