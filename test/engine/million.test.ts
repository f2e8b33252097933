/**
 * A job of very many operations: its target built by PUTs of lists, then launching, then paused, and jobs of one device beside it. Held
 * by rows and turns, never by time, so that what it shows of 200,000 holds of a million; `DROVER_TEST_TARGET` says how many.
 */
import { afterAll, expect, test } from 'vitest'
import { createTestDatabase } from '../database.ts'
import { ids, silent, summaryOfJob } from './scenario.ts'
import { createWorkbench, jobRequest } from './workbench.ts'

const OPERATIONS = Number(process.env.DROVER_TEST_TARGET ?? 200_000)
const LIST = 20_000
const LONG_MS = 600_000

// With one connection what was read is told by it alone, and at once.
const { database, close } = await createTestDatabase({ max: 1, statementTimeoutMs: LONG_MS })
afterAll(close)
const bench = await createWorkbench(database)
bench.device = silent
bench.capacity = 100
const { jobs, caller } = bench
const devices = ids('m', OPERATIONS)
const lists = Array.from({ length: OPERATIONS / LIST }, (_, i) => devices.slice(i * LIST, (i + 1) * LIST))
let large = 0n

/** Rows and index entries that the server has read of the tables so far. */
async function readSoFar(): Promise<number> {
  await database.executeSql('select pg_stat_force_next_flush()')
  const { rows } = await database.executeSql(`
    select ((select sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) from pg_stat_user_tables)
          + (select sum(idx_tup_read) from pg_stat_user_indexes))::float8 as read`)
  return rows[0]!.read as number
}

async function rowsReadBy(work: () => Promise<unknown>): Promise<number> {
  const before = await readSoFar()
  await work()
  return (await readSoFar()) - before
}

/** How many operations of each job the next turn sends. */
async function turn(): Promise<Map<bigint, number>> {
  bench.sent.length = 0
  await bench.engine.loops.get('operation-dispatcher')!.runOnce(bench.clock.now())
  const counts = new Map<bigint, number>()
  for (const { key } of bench.sent) counts.set(key.job, (counts.get(key.job) ?? 0) + 1)
  return counts
}

async function jobOfOne(device: string): Promise<bigint> {
  await bench.provision([device])
  return (await jobs.create(caller, jobRequest({ target: { append: { entities: [device] } } }))).job
}

test(
  `a target of ${OPERATIONS} entities is built by PUTs, each of which reads as much however many there are already`,
  async () => {
    const startedAt = performance.now()
    for (const list of lists) await bench.provision(list)
    await database.executeSql('analyze')
    large = (await jobs.create(caller, jobRequest({ active: false, target: {} }))).job
    const reads: number[] = []
    for (const entities of lists) {
      reads.push(await rowsReadBy(() => jobs.change(caller, large, { target: { append: { entities } } })))
      await bench.engine.loops.get('counter-folder')!.runOnce(bench.clock.now())
    }
    const figures = {
      seconds: (performance.now() - startedAt) / 1_000,
      lists: lists.length,
      readByTheFirst: reads[0],
      readByTheLast: reads.at(-1),
    }
    process.stdout.write(`a target of ${OPERATIONS} by PUTs of ${LIST}: ${JSON.stringify(figures)}\n`)
    // Its entity in the index and in the table, and the look whether it is there already.
    expect(Math.max(...reads)).toBeLessThan(LIST * 3)
    expect(await jobs.change(caller, large, { active: true })).toMatchObject({ status: 'SCHEDULED' })
    for (const loop of ['job-keeper', 'large-job-keeper'])
      await bench.engine.loops.get(loop)!.runOnce(bench.clock.now())
    expect(await summaryOfJob(bench, large)).toMatchObject({
      status: 'IN_PROGRESS',
      places: OPERATIONS,
      inProgress: { scheduled: OPERATIONS },
    })
  },
  LONG_MS,
)

test(`a job of one device beside one of ${OPERATIONS} that is launching is sent in the next turn`, async () => {
  expect(await turn()).toEqual(new Map([[large, 100]]))
  const small = await jobOfOne('beside-launching')
  expect(await turn()).toEqual(
    new Map([
      [large, 99],
      [small, 1],
    ]),
  )
})

test(`a job of one device beside one of ${OPERATIONS} that is paused is sent in the next turn, alone, and little is read for it`, async () => {
  await jobs.change(caller, large, { active: false })
  expect(await turn()).toEqual(new Map())
  const small = await jobOfOne('beside-paused')
  expect(await rowsReadBy(async () => expect(await turn()).toEqual(new Map([[small, 1]])))).toBeLessThan(1_000)
  await jobs.change(caller, large, { active: true })
  expect(await turn()).toEqual(new Map([[large, 100]]))
})
