import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, expect, test } from 'vitest'
import type { VerifyView } from '../../src/contract/verify.ts'
import type { FleetEvent } from '../../src/simulator/device-run.ts'
import { openDatabase } from '../../src/store/database.ts'
import { sql } from '../../src/store/statement.ts'
import { type CallbackReceiver, createCallbackReceiver } from '../callback-receiver.ts'
import { createTestDatabase, silentLog } from '../database.ts'
import { openBalancer } from './balancer.ts'
import { createClient } from './client.ts'
import { bringUpFleet } from './fleet.ts'
import { countersOf, createJob, readJob, readOperations, recount, updateRequest } from './jobs.ts'
import { dataFolder, launchService, type ServiceProcess } from './service-process.ts'

const DEVICES = Number(process.env.DROVER_TEST_OPERATIONS ?? 20_000)
const LONG_MS = 600_000
/** A request that a lost node had sent may lie unread at its device for so long, and for as long again as this process stood still. */
const UNREAD_MS = 5_000
/** A node that is silent for so long is taken for dead. */
const DEAD_AFTER_MS = 5_000
/** The work of a node that was killed goes on elsewhere within this time. */
const GOES_ON_WITHIN_MS = 10_000
/** How often to look whether what it had in hand has been taken from it. */
const LOOK_MS = 50
/** After so long without a word from it a device that asks is offered its request again. */
const REDELIVERY_MS = 30_000
/** Requests that reach devices from other nodes while one stands still, before it goes on. */
const DONE_MEANWHILE = 200
const apiKey = 'a-key-of-every-node'
const { url: databaseUrl, close } = await createTestDatabase({ migrated: false })
afterAll(close)
const database = openDatabase({ url: databaseUrl, max: 1, log: silentLog })
afterAll(() => database.close())
const folder = await dataFolder()

/** All that reached the devices and was done by them, by operation, on the clock of this process. */
function watchFleet() {
  const received = new Map<string, number[]>()
  const executedAt: number[] = []
  const receivedAt: number[] = []
  let waiting: { readonly isDone: () => boolean; readonly resolve: () => void }[] = []
  const until = (isDone: () => boolean) =>
    isDone() ? Promise.resolve() : new Promise<void>(resolve => waiting.push({ isDone, resolve }))
  const receivedAfter = (atMs: number) => receivedAt.length - receivedAt.findLastIndex(at => at <= atMs) - 1
  return {
    received,
    executedAt,
    note({ what, operationId, at }: FleetEvent) {
      if (what === 'received') {
        received.set(operationId, [...(received.get(operationId) ?? []), at])
        receivedAt.push(at)
      }
      if (what === 'executed') executedAt.push(at)
      const done = waiting.filter(({ isDone }) => isDone())
      waiting = waiting.filter(each => !done.includes(each))
      for (const { resolve } of done) resolve()
    },
    executed: (count: number) => until(() => executedAt.length >= count),
    /** Resolves once so many requests were received later than an instant. */
    receivedLater: (count: number, atMs: number) => until(() => receivedAfter(atMs) >= count),
  }
}

/** From when until when a node was silent, as the others said in their logs: starved of the processor one may be, though nobody meant it. */
function silencesOf(nodes: readonly ServiceProcess[], endedAt: number): (readonly [number, number])[] {
  return nodes.flatMap(node => {
    const changes = node
      .stdout()
      .split('\n')
      .filter(line => line.includes('"msg":"the living nodes changed"'))
      .map(line => JSON.parse(line) as { time: number; living: number[] })
    return changes.slice(1).flatMap(({ time, living }, index) => {
      const gone = changes[index]!.living.filter(each => !living.includes(each))
      const back = changes.slice(index + 2).find(later => gone.every(each => later.living.includes(each)))
      return gone.length > 0 ? [[time - 2 * DEAD_AFTER_MS, back?.time ?? endedAt] as const] : []
    })
  })
}

async function hearsTheEnd(receiver: CallbackReceiver): Promise<void> {
  for (let count = 1; ; count += 1) {
    const heard = await receiver.hears(count)
    if (heard.some(({ path }) => path === '/jobFinished')) return
  }
}

/** The number by which a node is known to the others. */
function numberOf(node: ServiceProcess): number {
  const line = node
    .stdout()
    .split('\n')
    .find(each => each.includes('"msg":"the living nodes changed"'))
  return (JSON.parse(line!) as { node: number }).node
}

/** Resolves once nothing is in the hands of a node any more, with after how many looks that was: on a machine that stands still they do, too. */
async function nothingInHandOf(node: number): Promise<number> {
  for (let looks = 1; ; looks += 1) {
    const held = await database.query(sql`select from operation where status = 'QUEUED' and sender = ${node} limit 1`)
    if (held.length === 0) return looks
    await sleep(LOOK_MS)
  }
}

/** The longest pause between two of the instants of a stretch, its ends included. */
function longestPause(atMs: readonly number[], fromMs: number, toMs: number): number {
  const after = [fromMs, ...atMs.filter(at => at > fromMs && at < toMs), toMs]
  return Math.max(...after.slice(1).map((at, index) => at - after[index]!))
}

test(
  `three nodes on one database do a job of ${DEVICES} operations though one is killed and one stands still in the middle of it`,
  async () => {
    const nodes = Array.from({ length: 3 }, () =>
      launchService(folder, {
        DATABASE_URL: databaseUrl,
        DROVER_DATABASE_CONNECTIONS_MAX: '8',
        DROVER_SECRET: 'a-secret-that-every-node-is-given-alike',
        DROVER_ADMIN_API_KEY: apiKey,
        DROVER_CALLBACK_ALLOW_LOOPBACK: 'true',
        DROVER_PULL_REDELIVERY_MS: String(REDELIVERY_MS),
        DROVER_LOG_LEVEL: 'info',
      }),
    )
    const ready = await Promise.all(nodes.map(node => node.ready()))
    const [, killed, stopped] = nodes
    const client = createClient(ready[0]!.url, apiKey)
    const balancer = await openBalancer(ready.map(({ url }) => Number(new URL(url).port)))
    const seen = watchFleet()
    const standstills = monitorEventLoopDelay()
    standstills.enable()
    const fleet = await bringUpFleet(
      { client: { ...client, url: balancer.url }, mqtt: `mqtt://127.0.0.1:${ready[0]!.mqttPort}` },
      {
        devices: DEVICES,
        flows: { 'http-sync': 10, 'http-async': 9, pull: 1 },
        latency: { shape: 'uniform', minMs: 50, maxMs: 500 },
        parts: 0,
        pullWaitS: 5,
        // Devices answer beside each other; with few connections they would wait for each other until they are asked again.
        postConnections: 1_000,
      },
      seen.note,
    )
    try {
      const receiver = await createCallbackReceiver()
      const createdAt = Date.now()
      const { id } = await createJob(
        client,
        updateRequest('sim', {
          callback: receiver.url,
          // Over half a minute: sooner than the devices in this process can answer would only have them asked again.
          schedule: { stop: { delayed: 900_000 }, scattering: { maxSpread: 4 } },
          operationParameters: { ackTimeout: 15_000, timeout: 60_000, retries: 20 },
        }),
      )

      await seen.executed(DEVICES * 0.3)
      const killedAt = Date.now()
      await killed!.end('SIGKILL')
      const takenOver = nothingInHandOf(numberOf(killed!))
      takenOver.catch(() => {})
      await seen.executed(DEVICES * 0.5)
      const stoppedAt = Date.now()
      process.kill(stopped!.pid, 'SIGSTOP')
      // Long enough to be taken for dead; and what reaches a device so late, no node that stands still has sent.
      await Promise.race([seen.receivedLater(DONE_MEANWHILE, stoppedAt + UNREAD_MS), hearsTheEnd(receiver)])
      process.kill(stopped!.pid, 'SIGCONT')
      const continuedAt = Date.now()
      await hearsTheEnd(receiver)
      const endedAt = Date.now()

      const job = await readJob(client, id)
      const operations = await readOperations(client, id)
      const { status, body: verified } = await client.call<VerifyView>('GET', '/north/v80/operation/verify')
      const repeated = [...seen.received].filter(([, at]) => at.length > 1)
      const silences = silencesOf(nodes, endedAt)
      const standstillMs = Math.round(standstills.max / 1e6)
      const figures = {
        operations: operations.length,
        seconds: (endedAt - createdAt) / 1_000,
        perSecondBeforeTheKill: Math.round((DEVICES * 300) / (killedAt - createdAt)),
        longestPauseAfterTheKillMs: longestPause(seen.executedAt, killedAt, stoppedAt),
        takenOverWithinMs: (await takenOver) * LOOK_MS,
        longestPauseWhileOneStoodStillMs: longestPause(seen.executedAt, stoppedAt, continuedAt),
        stoodStillMs: continuedAt - stoppedAt,
        silences: silences.length,
        longestStandstillOfTheTestMs: standstillMs,
        deliveredAgain: repeated.length,
        deliveredMoreThanTwice: repeated.filter(([, at]) => at.length > 2).length,
      }
      process.stdout.write(`three nodes, one killed, one stopped: ${JSON.stringify(figures)}\n`)

      expect(job.report.summary).toMatchObject({
        status: 'FINISHED',
        total: DEVICES,
        inProgress: { total: 0 },
        finished: { total: DEVICES, successful: DEVICES },
      })
      expect(countersOf(job)).toEqual(recount(operations))
      expect([status, verified]).toEqual([200, { jobs: 1, differences: [] }])
      expect(new Set(operations.map(({ entityId }) => entityId)).size).toBe(DEVICES)

      // Nothing waited for the node that was killed: neither the rest of the job, nor what that node had in hand.
      const withinMs = GOES_ON_WITHIN_MS + 2 * standstillMs
      expect(figures.longestPauseAfterTheKillMs).toBeLessThan(withinMs)
      expect(figures.takenOverWithinMs).toBeLessThan(withinMs)
      expect(figures.longestPauseWhileOneStoodStillMs).toBeLessThan(withinMs)

      // Every device did it once. It was asked again only for a further attempt, or where a node was lost or silent between the two times; one
      // that asks by itself also where nothing had been heard of it for so long.
      expect(fleet.counters).toMatchObject({ executed: DEVICES, doubled: 0 })
      const rows = new Map(operations.map(row => [row.operationId, row]))
      const pulling = new Set(fleet.devices.filter(({ flow }) => flow === 'pull').map(({ id }) => id))
      const unreadMs = UNREAD_MS + 2 * standstillMs
      const losses = [[killedAt, killedAt] as const, [stoppedAt, continuedAt] as const, ...silences]
      const isExplained = (operationId: string, beforeAt: number, againAt: number) =>
        losses.some(([from, to]) => beforeAt <= to + unreadMs && againAt >= from) ||
        (pulling.has(rows.get(operationId)!.entityId) && againAt - beforeAt > REDELIVERY_MS / 2)
      const unexplained = repeated.filter(([operationId, at]) => {
        const pairs = at.slice(1).map((againAt, index) => [at[index]!, againAt] as const)
        const again = pairs.filter(([beforeAt, againAt]) => !isExplained(operationId, beforeAt, againAt))
        return again.length > rows.get(operationId)!.attempts.current - 1
      })
      expect(unexplained.map(([operationId, at]) => [operationId, at.map(each => each - createdAt)])).toEqual([])
    } finally {
      standstills.disable()
      await fleet.stop()
      balancer.close()
      for (const node of nodes) await node.end('SIGKILL')
    }
  },
  LONG_MS,
)
