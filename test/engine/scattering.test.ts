import { expect, test } from 'vitest'
import { placesReached } from '../../src/domain/scattering.ts'
import { parseWindow } from '../../src/domain/window.ts'
import { createTestDatabase } from '../database.ts'
import { HOUR, ids, MINUTE, obedient, SECOND, sentTo, summaryOfJob } from './scenario.ts'
import { createWorkbench, EPOCH, jobRequest } from './workbench.ts'

/** A job of devices that answer at once, spread over all of two hours but for the drain reserve, each test on its own database. */
async function spreadJob(count: number, schedule: object = {}, more: { cellInfo?: boolean } = {}) {
  const { database, close } = await createTestDatabase()
  const bench = await createWorkbench(database)
  const devices = ids('spread', count)
  for (const [i, device] of more.cellInfo ? devices.entries() : []) {
    await bench.provision([device], { cellInfo: `cell-${i % 4}` })
  }
  if (!more.cellInfo) await bench.provision(devices)
  bench.device = obedient()
  const { job } = await bench.jobs.create(
    bench.caller,
    jobRequest({
      target: { append: { entities: devices } },
      schedule: { stop: { delayed: 2 * HOUR }, scattering: { maxSpread: 100 }, ...schedule },
    }),
  )
  const spreadMs = (await summaryOfJob(bench, job)).spreadMs
  return { bench, job, spreadMs, close, count: () => bench.sent.length }
}

test('operation k of N is sent at spread × k / N, and the last early enough to finish before the stop', async () => {
  const { bench, job, spreadMs, count, close } = await spreadJob(60)
  expect(spreadMs).toBe(2 * HOUR - 70 * SECOND)
  for (let minute = 0; minute < 120; minute += 7) {
    const reached = placesReached(spreadMs, 60, EPOCH.getTime(), undefined, bench.clock.now().getTime())
    await bench.settle()
    expect(count()).toBe(reached)
    await bench.advance(7 * MINUTE)
  }
  expect(await summaryOfJob(bench, job)).toMatchObject({ status: 'FINISHED', finished: { successful: 60 } })
  expect(new Set(sentTo(bench)).size).toBe(60)
  await close()
})

test('after a resume what became overdue is spread anew over what is left, beside what comes', async () => {
  const { bench, job, spreadMs, count, close } = await spreadJob(60)
  await bench.advance(20 * MINUTE)
  await bench.jobs.change(bench.caller, job, { active: false })
  const before = count()
  await bench.advance(40 * MINUTE)
  expect(count()).toBe(before)
  await bench.jobs.change(bench.caller, job, { active: true })
  await bench.settle()
  expect(count() - before).toBeLessThanOrEqual(2)
  const left = 60 - before
  await bench.advance((spreadMs - HOUR) / 2)
  expect(Math.abs(count() - before - left / 2)).toBeLessThanOrEqual(2)
  await bench.advance((spreadMs - HOUR) / 2)
  expect(await summaryOfJob(bench, job)).toMatchObject({ status: 'FINISHED', finished: { successful: 60 } })
  await close()
})

test('after an outage of the whole service what became overdue is spread anew, too', async () => {
  const { bench, job, spreadMs, count, close } = await spreadJob(60)
  await bench.advance(20 * MINUTE)
  const before = count()
  await bench.outage(40 * MINUTE)
  await bench.settle()
  expect(count() - before).toBeLessThanOrEqual(2)
  await bench.advance(spreadMs - HOUR)
  expect(await summaryOfJob(bench, job)).toMatchObject({ status: 'FINISHED', finished: { successful: 60 } })
  await close()
})

test('the silence of one node of two is no outage', async () => {
  const { bench, job, close } = await spreadJob(60)
  await bench.advance(10 * MINUTE)
  expect(await summaryOfJob(bench, job)).toMatchObject({ overdueAt: null })
  const other = await createWorkbench(bench.database, { node: 2, clock: bench.clock })
  await other.advance(20 * MINUTE)
  await bench.settle()
  expect(await summaryOfJob(bench, job)).toMatchObject({ overdueAt: null })
  await close()
})

test('a retry that waits while a job is paused does not thin out what became overdue', async () => {
  const { bench, job, spreadMs, count, close } = await spreadJob(60, {})
  await bench.advance(60 * MINUTE)
  const before = count()
  await bench.database.executeSql('insert into operation_ready select job, 0, partition, entity from operation limit 1')
  await bench.jobs.change(bench.caller, job, { active: false })
  await bench.advance(20 * MINUTE)
  await bench.jobs.change(bench.caller, job, { active: true })
  const { overdueFrom, overduePlaces } = await summaryOfJob(bench, job)
  expect(overdueFrom).toBe(before)
  expect(overduePlaces).toBeGreaterThan(before)
  await bench.advance(spreadMs - 80 * MINUTE)
  expect(await summaryOfJob(bench, job)).toMatchObject({ finished: { successful: 60 } })
  await close()
})

test('a spread runs along open window time only', async () => {
  const source = { weekly: [{ daily: { start: '10:00:00Z', stop: '11:00:00Z' } }] }
  const read = parseWindow(source)
  const window = read.ok ? read.value : undefined
  const { bench, job, spreadMs, count, close } = await spreadJob(40, { stop: { delayed: 26 * HOUR }, window: source })
  expect(spreadMs).toBe(2 * HOUR - 70 * SECOND)
  await bench.advance(HOUR)
  const atClosing = placesReached(spreadMs, 40, EPOCH.getTime(), window, EPOCH.getTime() + HOUR - 1)
  expect(count()).toBe(atClosing)
  await bench.advance(23 * HOUR - SECOND)
  expect(count()).toBe(atClosing)
  await bench.advance(HOUR)
  expect(await summaryOfJob(bench, job)).toMatchObject({ status: 'FINISHED', finished: { successful: 40 } })
  await close()
})

test('a strategy with factor 0 launches cell after cell, with factor 100 all cells mixed', async () => {
  const cellOf = (device: string) => Number(device.split('-')[1]) % 4
  const strategy = (factor: number) => ({
    scattering: { maxSpread: 100, strategy: { field: 'subscription.collected.cellInfo', factor } },
  })
  const clustered = await spreadJob(24, strategy(0), { cellInfo: true })
  await clustered.bench.advance(2 * HOUR)
  expect(sentTo(clustered.bench).map(cellOf)).toEqual([...Array(24).keys()].map(i => Math.floor(i / 6)))
  await clustered.close()
  const mixed = await spreadJob(24, strategy(100), { cellInfo: true })
  await mixed.bench.advance(2 * HOUR)
  const order = sentTo(mixed.bench).map(cellOf)
  for (let i = 0; i < 24; i += 4) expect(new Set(order.slice(i, i + 4)).size).toBe(4)
  await mixed.close()
})
