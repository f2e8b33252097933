/** What two nodes do at the same moment, held apart and put together step by step: the races that lose rows where they are lost. */
import { expect, test } from 'vitest'
import type { Happening, Word } from '../../src/engine/operation-draft.ts'
import { applyHappenings } from '../../src/engine/operation-transitions.ts'
import { keyText, readOpenOperations } from '../../src/store/operations.ts'
import { testDatabase } from '../database.ts'
import { deviceOf, operationOf, SECOND, say, silent, summaryOfJob } from './scenario.ts'
import { createWorkbench, jobRequest } from './workbench.ts'

const { database } = await testDatabase()
const bench = await createWorkbench(database)
const { jobs, caller, engine } = bench
let made = 0

async function jobOnNew(more: { retries?: number; flow?: 'http' | 'mqtt' } = {}) {
  made += 1
  const device = `raced-${made}`
  await bench.provision([device], { flow: more.flow ?? 'http' })
  bench.sent.length = 0
  const { job } = await jobs.create(
    caller,
    jobRequest({
      target: { append: { entities: [device] } },
      operationParameters: {
        ackTimeout: 60_000,
        timeout: 60_000,
        retries: more.retries ?? 0,
        retriesDelay: 0,
        retryResultList: ['ERROR_PROCESSING'],
      },
    }),
  )
  await bench.settle()
  return { job, device, key: { job, ...(await deviceOf(bench, device)) } }
}

/** Applies happenings and holds the transaction open until `during` is done. */
async function applyHolding(happenings: Happening[], during: () => Promise<unknown>, wait = true) {
  let meanwhile: Promise<unknown> = Promise.resolve()
  await database.transaction(async tx => {
    await applyHappenings(tx, happenings, bench.clock.now())
    meanwhile = during()
    // What waits for this transaction's locks cannot end within it.
    if (wait) await meanwhile
    else await new Promise(resolve => setTimeout(resolve, 50))
  })
  await meanwhile
}
const claim = () => engine.loops.get('operation-dispatcher')!.runOnce(bench.clock.now())

test('a claim beside a retry being written does not take the retry away', async () => {
  bench.device = silent
  const { job, device, key } = await jobOnNew({ retries: 1, flow: 'mqtt' })
  await jobs.change(caller, job, { active: false })
  await engine.presence.connected(key, 'c1')
  await bench.settle()
  expect(await operationOf(bench, job, device)).toMatchObject({ status: 'QUEUED', attempt: 1 })
  await jobs.change(caller, job, { active: true })
  const failed = { key, word: { resultCode: 'ERROR_PROCESSING', steps: [] } }
  await applyHolding([failed], claim)
  await bench.settle()
  expect(await operationOf(bench, job, device)).toMatchObject({ status: 'WAITING_FOR_ACK', attempt: 2 })
  await say(bench, job, device, { resultCode: 'SUCCESSFUL' })
})

test('an acknowledgement that comes in the last moment is not timed out', async () => {
  bench.device = silent
  const { job, device, key } = await jobOnNew()
  await bench.clock.advanceBy(60 * SECOND)
  await engine.loops.get('node-keeper')!.runOnce(bench.clock.now())
  const judging = () => engine.loops.get('deadline-keeper')!.runOnce(bench.clock.now())
  await applyHolding([{ key, word: { steps: [] } }], judging, false)
  expect(await operationOf(bench, job, device)).toMatchObject({ status: 'IN_PROGRESS', attempt: 1 })
  await bench.advance(61 * SECOND)
  expect(await operationOf(bench, job, device)).toMatchObject({ status: 'TIMEOUT_CANCELLED' })
})

test('an answer and a deadline at the same moment: the answer that is committed first stands', async () => {
  bench.device = silent
  const { job, device, key } = await jobOnNew({ retries: 1 })
  await bench.clock.advanceBy(60 * SECOND)
  await engine.loops.get('node-keeper')!.runOnce(bench.clock.now())
  const judging = () => engine.loops.get('deadline-keeper')!.runOnce(bench.clock.now())
  await applyHolding([{ key, word: { resultCode: 'ERROR_PROCESSING', steps: [] } }], judging, false)
  await bench.settle()
  expect(await operationOf(bench, job, device)).toMatchObject({ status: 'WAITING_FOR_ACK', attempt: 2 })
})

test('a cancel and an answer at the same moment: the operation ends once, and the counters agree', async () => {
  bench.device = silent
  const { job, device, key } = await jobOnNew()
  await jobs.cancel(caller, job)
  const cancelling = () => engine.loops.get('operation-canceller')!.runOnce(bench.clock.now())
  await applyHolding([{ key, word: { resultCode: 'SUCCESSFUL', steps: [] } }], cancelling, false)
  await bench.settle()
  expect(await operationOf(bench, job, device)).toMatchObject({ status: 'FINISHED', result: 'SUCCESSFUL' })
  expect(await summaryOfJob(bench, job)).toMatchObject({ status: 'CANCELLED', finished: { total: 1, successful: 1 } })
})

test('a cancel and a part at the same moment: the canceller comes again for what moved under it', async () => {
  bench.device = silent
  const { job, key } = await jobOnNew()
  await jobs.cancel(caller, job)
  const cancelling = () => engine.loops.get('operation-canceller')!.runOnce(bench.clock.now())
  await applyHolding([{ key, word: { steps: [{ name: 'A', result: 'SUCCESSFUL' }] } }], cancelling, false)
  await bench.settle()
  expect(await summaryOfJob(bench, job)).toMatchObject({ status: 'CANCELLED', finished: { cancelled: { byUser: 1 } } })
})

test('what is remembered of an operation that another node has moved is neither written nor believed', async () => {
  bench.device = silent
  const { job, device, key } = await jobOnNew({ retries: 1 })
  await say(bench, job, device, {})
  const [remembered] = await readOpenOperations(database, [key])
  const memory = { recall: () => remembered }
  const hear = (word: Word) =>
    database.transaction(tx => applyHappenings(tx, [{ key, word }], bench.clock.now(), { memory }))
  await say(bench, job, device, { resultCode: 'ERROR_PROCESSING' })
  await bench.settle()
  expect(await operationOf(bench, job, device)).toMatchObject({ status: 'WAITING_FOR_ACK', attempt: 2 })

  // By memory the first attempt was acknowledged already, and there would be nothing to do.
  await hear({ steps: [] })
  expect(await operationOf(bench, job, device)).toMatchObject({ status: 'IN_PROGRESS', attempt: 2 })
  // By memory an attempt would be left.
  await hear({ steps: [], resultCode: 'ERROR_PROCESSING' })
  await bench.settle()
  expect(await operationOf(bench, job, device)).toMatchObject({ status: 'FINISHED', result: 'ERROR_PROCESSING' })
  // By memory it would still be open.
  const { answers, written, ended } = await hear({ steps: [], resultCode: 'SUCCESSFUL' })
  expect({ answers, written, ended }).toEqual({ answers: ['stray'], written: [], ended: [keyText(key)] })
})

test('a job whose target cannot be resolved does not stop those behind it', async () => {
  await bench.provision(['fine'], { tags: ['fine'] })
  await jobs.create(caller, jobRequest({ target: { append: { tags: ['broken'] } } }))
  const fine = await jobs.create(caller, jobRequest({ target: { append: { tags: ['fine'] } } }))
  bench.database.failNext(new Error('this one cannot be resolved'))
  const resolving = engine.loops.get('target-resolver')!.runOnce(bench.clock.now())
  await expect(resolving).rejects.toThrow('this one cannot be resolved')
  expect((await summaryOfJob(bench, fine.job)).total).toBe(1)
})

test('what could not have happened to an operation as it is remembered is decided by its row', async () => {
  bench.device = silent
  const { job, device, key } = await jobOnNew()
  const [row] = await readOpenOperations(database, [key])
  const memory = { recall: () => ({ ...row!, status: 'PENDING' as const, startedAt: null }) }
  const { answers } = await database.transaction(tx =>
    applyHappenings(tx, [{ key, seen: 'deviceFailed' }], bench.clock.now(), { memory }),
  )
  expect(answers).toEqual(['taken'])
  await bench.settle()
  expect(await operationOf(bench, job, device)).toMatchObject({ status: 'FINISHED', result: 'ERROR_PROCESSING' })
})
