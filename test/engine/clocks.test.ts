/** Nodes whose machines disagree about the time: the database's clock is the one they go by. */
import { expect, test } from 'vitest'
import { databaseClock } from '../../src/engine/clock.ts'
import { livingNodes } from '../../src/store/nodes.ts'
import { sql } from '../../src/store/statement.ts'
import { testDatabase } from '../database.ts'
import { createVirtualClock } from '../virtual-clock.ts'
import { MINUTE, obedient, SECOND, sentTo, summaryOfJob } from './scenario.ts'
import { createWorkbench, EPOCH, jobRequest } from './workbench.ts'

const { database } = await testDatabase()
const never = new AbortController().signal

/** A node on a machine whose own clock stands so far from that of the test's machine. */
async function nodeOn(node: number, aheadMs: number) {
  const machine = { aheadMs }
  const clock = await databaseClock(database, () => performance.now() + machine.aheadMs)
  const bench = await createWorkbench(database, {
    node,
    clock: { ...createVirtualClock(EPOCH), ...clock },
    measureClock: clock.measure,
  })
  bench.device = obedient()
  return Object.assign(bench, { measure: clock.measure, machine })
}

const ahead = await nodeOn(1, 10 * MINUTE)
const behind = await nodeOn(2, -10 * MINUTE)
const databaseNow = async () => {
  const [row] = await database.query<{ at: Date }>(sql`select clock_timestamp() as at`)
  return row!.at.getTime()
}

test('two nodes whose machines differ by twenty minutes give the same instant, which is the database’s', async () => {
  const before = await databaseNow()
  const instants = [ahead.clock.now().getTime(), behind.clock.now().getTime()]
  const after = await databaseNow()
  // Each knows the database's time to half the round trip of its measurement.
  for (const instant of instants) {
    expect(instant).toBeGreaterThan(before - SECOND)
    expect(instant).toBeLessThan(after + SECOND)
  }
  expect(Math.abs(await ahead.measure())).toBeLessThan(SECOND)
})

test('a job made on one of them starts on the other at its instant, and neither takes the other for dead', async () => {
  await ahead.provision(['d'])
  const { job } = await ahead.jobs.create(
    ahead.caller,
    jobRequest({ schedule: { start: { delayed: 4 * SECOND } }, target: { append: { entities: ['d'] } } }),
  )
  const startAt = (await summaryOfJob(ahead, job)).startAt!
  await behind.settle()
  if (behind.clock.now() < startAt) expect(sentTo(behind)).toEqual([])
  await behind.clock.sleepUntil(startAt, never)
  await behind.settle()
  expect(sentTo(behind)).toEqual(['d'])
  const { status, startedAt, finishedAt } = await summaryOfJob(ahead, job)
  expect(status).toBe('FINISHED')
  const now = await databaseNow()
  for (const at of [startedAt, finishedAt]) {
    expect(at!.getTime()).toBeGreaterThanOrEqual(startAt.getTime())
    expect(at!.getTime()).toBeLessThan(now + SECOND)
  }

  await ahead.engine.loops.get('node-keeper')!.runOnce(ahead.clock.now())
  const living = await livingNodes(database, new Date(behind.clock.now().getTime() - 4 * SECOND))
  expect(living.map(({ node }) => node)).toEqual([1, 2])
})

/** Far from the minutes that the clock is wrong by, and room for a machine that lets a process wait. */
const NEAR = 20 * SECOND

test('a machine whose clock runs wrong is put right at every heartbeat', async () => {
  const heart = behind.engine.loops.get('node-keeper')!
  behind.machine.aheadMs -= 10 * MINUTE
  // No instant is earlier than one that was given before.
  const standing = behind.clock.now()
  expect(standing.getTime()).toBeLessThanOrEqual((await databaseNow()) + NEAR)
  await heart.runOnce(behind.clock.now())
  expect(Math.abs(behind.clock.now().getTime() - (await databaseNow()))).toBeLessThan(NEAR)
  behind.machine.aheadMs += MINUTE
  await heart.runOnce(standing)
  behind.machine.aheadMs -= MINUTE
  await heart.runOnce(standing)
  expect(Math.abs(behind.clock.now().getTime() - (await databaseNow()))).toBeLessThan(NEAR)
})
