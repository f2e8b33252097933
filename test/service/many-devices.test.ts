/**
 * Many devices that are there and have nothing to do, on one node: held for as long as they stay, and each reached when there is work.
 * `npm run bench -- crowd-mqtt crowd-pull` has the figures for ten thousand of each.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { Fleet } from '../../src/simulator/fleet.ts'
import { bringUpFleet } from './fleet.ts'
import { openHouse } from './house.ts'
import { countersOf, createJob, readJob, readOperations, recount } from './jobs.ts'

const EACH = Number(process.env.DROVER_TEST_DEVICES ?? 1_000)
/** Far above what a machine needs that is busy with other tests, far below what a lost wake would take. */
const REACHED_MS = 4_000
const house = await openHouse()
const { client } = house

async function metric(name: string): Promise<number> {
  const page = await (await fetch(`${house.url}/metrics`)).text()
  const line = page.split('\n').find(each => each.startsWith(`${name} `))
  return Number(line?.split(' ').at(-1))
}

async function ended(job: string) {
  for (;;) {
    const view = await readJob(client, job)
    if (view.report.summary.status.startsWith('FINISHED')) return view
    await sleep(10)
  }
}

const request = (append: object) => ({
  name: 'REBOOT_EQUIPMENT',
  active: true,
  target: { append },
  operationParameters: { ackTimeout: 60_000, timeout: 60_000 },
})

describe(`${EACH} devices over MQTT and ${EACH} with their question held, on one node`, () => {
  let fleet: Fleet
  beforeAll(async () => {
    fleet = await bringUpFleet(house, {
      devices: EACH * 2,
      flows: { mqtt: 1, pull: 1 },
      pullConcurrency: EACH,
      pullWaitS: 30,
      latency: { shape: 'uniform', minMs: 0, maxMs: 0 },
      parts: 1,
    })
    afterAll(() => fleet.stop())
  })

  test('are all there', async () => {
    await expect.poll(() => metric('drover_connected_devices'), { timeout: 30_000 }).toBe(EACH)
    expect(fleet.counters).toMatchObject({ connected: EACH, refused: 0 })
  })

  test('do one job on all of them, each once', async () => {
    const { id } = await createJob(client, request({ tags: ['sim'] }))
    const job = await ended(id)
    expect(job.report.summary.finished).toMatchObject({ total: EACH * 2, successful: EACH * 2 })
    expect(countersOf(job)).toEqual(recount(await readOperations(client, id)))
    expect(fleet.counters).toMatchObject({ received: EACH * 2, repeated: 0, executed: EACH * 2 })
  })

  test.for([
    ['over MQTT', 0],
    ['by its held question', 1],
  ] as const)('and any single one is reached at once %s', async ([, offset]) => {
    const latencies: number[] = []
    for (let k = 0; k < 10; k += 1) {
      const since = performance.now()
      const { id } = await createJob(client, request({ entities: [`sim-${((k * 379) % EACH) * 2 + offset}`] }))
      expect((await ended(id)).report.summary.status).toBe('FINISHED')
      latencies.push(performance.now() - since)
    }
    expect(latencies.toSorted((a, b) => a - b)[5]).toBeLessThan(REACHED_MS)
  })
})

test('with all places for held questions taken, each further device is told a time of its own to come again', async () => {
  const small = await openHouse({ DROVER_PULL_CALLS_MAX: '5' })
  const keys = await Promise.all(Array.from({ length: 25 }, (_, k) => small.provision(`asking-${k}`)))
  const leaving = new AbortController()
  onTestFinished(() => leaving.abort())
  const ask = (k: number) =>
    fetch(`${small.url}/south/v80/devices/asking-${k}/operation/pending?wait=60`, {
      headers: { 'x-apikey': keys[k]! },
      signal: leaving.signal,
    })
  const held = keys.slice(0, 5).map((_, k) => ask(k))
  // Answered at once while there is a place, and refused when the five have come.
  const busy = async () => (await small.south('asking-5', keys[5]!, 'operation/pending')).status
  await expect.poll(busy, { timeout: 30_000 }).toBe(429)
  const told = await Promise.all(keys.slice(5).map((_, k) => ask(k + 5)))
  expect(told.map(({ status }) => status)).toEqual(Array(20).fill(429))
  const seconds = told.map(({ headers }) => Number(headers.get('retry-after')))
  expect(Math.min(...seconds)).toBeGreaterThanOrEqual(5)
  expect(Math.max(...seconds)).toBeLessThanOrEqual(25)
  expect(new Set(seconds).size).toBeGreaterThan(3)
  const job = await small.start('asking-0')
  expect((await held[0]!).status).toBe(200)
  expect((await small.operationOf(job))?.status).toBe('IN_PROGRESS')
  leaving.abort()
  await Promise.allSettled(held)
})
