/** A fold ends a few jobs and no large one: whoever has nothing open left is ended, and holds up no other. */
import { beforeEach, expect, test } from 'vitest'
import { createCounterFolding } from '../../src/engine/counter-folder.ts'
import type { Loop } from '../../src/engine/loop.ts'
import { sql } from '../../src/store/statement.ts'
import { testDatabase } from '../database.ts'
import { answered, ids, obedient, summaryOfJob } from './scenario.ts'
import { createWorkbench, EPOCH, jobRequest } from './workbench.ts'

const { database } = await testDatabase()
const bench = await createWorkbench(database)
const FLEET = ids('d', 6)
await bench.provision(FLEET)
// Folded here, and by nobody else.
for (const name of ['counter-folder', 'job-settler']) (bench.engine.loops as Map<string, Loop>).delete(name)
const signal = new AbortController().signal

const large: string[] = []
const foldingOf = () =>
  createCounterFolding({
    database,
    settling: bench.engine.settling,
    onEnd: () => {},
    onLarge: () => void large.push('large'),
    largeFrom: 4,
    endedAtOnce: 2,
  })
const statusOf = async (job: bigint) => (await summaryOfJob(bench, job)).status

/** A job all of whose operations have ended, that nobody has counted. */
async function overOn(entities: readonly string[]): Promise<bigint> {
  const { job } = await bench.jobs.create(bench.caller, jobRequest({ target: { append: { entities: [...entities] } } }))
  await bench.settle()
  return job
}

beforeEach(() => {
  large.length = 0
  bench.device = obedient()
})

test('a large job is ended by itself, and a fold that finds it ends the others', async () => {
  bench.device = (request, report) => report(answered(request, 'ERROR_PROCESSING'))
  const folding = foldingOf()
  const [whale, minnow] = [await overOn(FLEET), await overOn(['d-0'])]
  await folding.fold(EPOCH)
  expect([await statusOf(whale), await statusOf(minnow)]).toEqual(['IN_PROGRESS', 'FINISHED_WITH_ERRORS'])
  expect(large).toHaveLength(1)
  // What only tells of the end of the other is folded, and the large one left alone.
  while ((await folding.fold(EPOCH)) !== null);
  expect(large).toHaveLength(1)
  expect(await folding.endLarge(EPOCH, signal)).toBeNull()
  expect(await summaryOfJob(bench, whale)).toMatchObject({
    status: 'FINISHED_WITH_ERRORS',
    errorDescription: 'ERROR_PROCESSING: 6',
  })
  expect(bench.told.filter(({ kind, job }) => kind === 'finished' && job === whale)).toHaveLength(1)
  while ((await folding.fold(EPOCH)) !== null);
  expect(await database.query(sql`select from job_counter_delta`)).toEqual([])
})

test('a large job whose end was left to a process that died is found and ended by another', async () => {
  const whale = await overOn(FLEET)
  await foldingOf().fold(EPOCH)
  expect(await statusOf(whale)).toBe('IN_PROGRESS')
  const other = foldingOf()
  await other.fold(EPOCH)
  await other.endLarge(EPOCH, signal)
  expect(await statusOf(whale)).toBe('FINISHED')
})

test('a large job is looked at again later while its places are being written, and holds up no other', async () => {
  const folding = foldingOf()
  const [whale, other] = [await overOn(FLEET), await overOn(FLEET)]
  await folding.fold(EPOCH)
  await database.transaction(async ranking => {
    await ranking.query(sql`select pg_advisory_xact_lock(${whale}::bigint)`)
    expect(await folding.endLarge(EPOCH, signal)).toEqual(new Date(EPOCH.getTime() + 1_000))
    expect([await statusOf(whale), await statusOf(other)]).toEqual(['IN_PROGRESS', 'FINISHED'])
  })
  expect(await folding.endLarge(EPOCH, signal)).toBeNull()
  expect(await statusOf(whale)).toBe('FINISHED')
})

test('many jobs that are over at once are ended a few in each transaction, and most of them are folded but once more', async () => {
  const folding = foldingOf()
  const jobs: bigint[] = []
  for (const device of ids('d', 5)) for (let i = 0; i < 5; i += 1) jobs.push(await overOn([device]))
  const ended = () =>
    database.query<{ count: number }>(
      sql`select count(*)::int as count from job where job = any(${jobs}::bigint[]) and status = 'FINISHED' group by xmin`,
    )
  const sum = (counts: readonly { readonly count: number }[]) => counts.reduce((all, { count }) => all + count, 0)
  expect(await folding.fold(EPOCH)).toEqual(EPOCH)
  // Ten transactions of two; the rest is found by its notes.
  expect(sum(await ended())).toBe(20)
  expect(await folding.fold(EPOCH)).toEqual(EPOCH)
  expect(sum(await ended())).toBe(25)
  expect(Math.max(...(await ended()).map(({ count }) => count))).toBe(2)
  while ((await folding.fold(EPOCH)) !== null);
  expect(bench.told.filter(({ kind, job }) => kind === 'finished' && jobs.includes(job))).toHaveLength(jobs.length)
})
