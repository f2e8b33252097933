/** What operations are told of stands in their rows; what a build before migration 0023 has put beside them is not lost. */
import { pino } from 'pino'
import { expect, test } from 'vitest'
import type { Happening } from '../../src/engine/operation-draft.ts'
import { createOperationGatherer } from '../../src/engine/operation-gatherer.ts'
import { createOperationMemory } from '../../src/engine/operation-memory.ts'
import { readOperation, readOperationPage } from '../../src/store/operation-reading.ts'
import { keyText } from '../../src/store/operations.ts'
import { sql } from '../../src/store/statement.ts'
import { testDatabase } from '../database.ts'
import { cancelOpen, deviceOf, ids, operationOf, SECOND, say, silent } from './scenario.ts'
import { createWorkbench, jobRequest } from './workbench.ts'

const { database } = await testDatabase()
const bench = await createWorkbench(database)
const { jobs, caller } = bench
bench.device = silent
let made = 0

const step = (name: string) => ({ name, result: 'SUCCESSFUL' })
const named = (steps: readonly { readonly name: string }[] | null) => steps?.map(({ name }) => name) ?? null

async function launched(count: number, own: Record<string, unknown> = {}) {
  made += 1
  const devices = ids(`told-${made}`, count)
  await bench.provision(devices)
  const { job } = await jobs.create(
    caller,
    jobRequest({
      target: { append: { entities: devices } },
      operationParameters: {
        ackTimeout: 0,
        timeout: 600_000,
        retries: 1,
        retriesDelay: 0,
        retryResultList: ['ERROR_PROCESSING'],
      },
      ...own,
    }),
  )
  await bench.settle()
  return { job, devices }
}

/** As the build before this one has kept what it was told of, in a node that it wrote with. */
async function toldBefore(job: bigint, device: string): Promise<void> {
  const { partition, entity } = await deviceOf(bench, device)
  await database.query(sql`
    insert into operation_detail (job, partition, entity, steps, messages, description)
    values (${job}, ${partition}, ${entity}, ${JSON.stringify([{ ...step('BEFORE'), timestamp: 0 }])}::jsonb,
            ${JSON.stringify([{ at: '2026-01-01T00:00:00.000Z', attempt: 1, raw: 'before' }])}::jsonb, 'told before')`)
  await database.query(
    sql`update operation set heard_at = heard_at + interval '1 ms' where job = ${job} and partition = ${partition} and entity = ${entity}`,
  )
}

const details = async (job: bigint) =>
  (
    await database.query<{ count: number }>(sql`select count(*)::int as count from operation_detail where job = ${job}`)
  )[0]!.count

test('what the build before was told of goes on with what this one is told, and nothing of it is left beside', async () => {
  const { job, devices } = await launched(1)
  const device = devices[0]!
  await toldBefore(job, device)
  await say(bench, job, device, { steps: [step('AFTER')], raw: 'after' })
  const { partition, entity } = await deviceOf(bench, device)
  expect(await readOperationPage(database, job, { after: { partition, entity: entity - 1n } }, 1)).toMatchObject([
    { steps: [{ name: 'BEFORE' }, { name: 'AFTER' }], description: 'told before' },
  ])
  await say(bench, job, device, { resultCode: 'SUCCESSFUL', raw: 'last' })
  const ended = await operationOf(bench, job, device)
  expect(ended).toMatchObject({ status: 'FINISHED', description: 'told before' })
  expect(named(ended.steps)).toEqual(['BEFORE', 'AFTER'])
  expect(ended.messages?.map(({ raw }) => raw)).toEqual(['before', 'after', 'last'])
  expect(await details(job)).toBe(0)
})

test('a further attempt begins anew, also where the steps of the one before were kept beside', async () => {
  const { job, devices } = await launched(1)
  const device = devices[0]!
  await toldBefore(job, device)
  await say(bench, job, device, { resultCode: 'ERROR_PROCESSING' })
  await bench.advance(SECOND)
  const again = await operationOf(bench, job, device)
  expect(again).toMatchObject({
    attempt: 2,
    steps: null,
    description: null,
    attempts: [{ steps: [{ name: 'BEFORE' }] }],
  })
  await say(bench, job, device, { resultCode: 'SUCCESSFUL' })
  expect(await operationOf(bench, job, device)).toMatchObject({
    status: 'FINISHED',
    steps: null,
    description: null,
    attempts: [{ steps: [{ name: 'BEFORE' }] }],
  })
  expect(await details(job)).toBe(0)
})

test('a job that is cancelled keeps what its operations were told of, wherever that lay', async () => {
  const { job, devices } = await launched(2)
  const [beside, own] = devices as [string, string]
  await toldBefore(job, beside)
  await say(bench, job, own, { steps: [step('OWN')], raw: 'own' })
  await jobs.cancel(caller, job)
  await cancelOpen(bench)
  expect(await operationOf(bench, job, beside)).toMatchObject({
    status: 'CANCELLED',
    steps: [{ name: 'BEFORE' }],
    messages: [{ raw: 'before' }],
  })
  expect(await operationOf(bench, job, own)).toMatchObject({
    status: 'CANCELLED',
    steps: [{ name: 'OWN' }],
    messages: [{ raw: 'own' }],
  })
  expect(await details(job)).toBe(0)
})

test('an operation with parameters of its own ends with them, and they are not left beside', async () => {
  await bench.provision(['own-0'])
  const parameters = { type: 'SOFTWARE' }
  const { job } = await jobs.create(
    caller,
    jobRequest({ target: { append: { entitiesWithParameters: [{ id: 'own-0', parameters }] } } }),
  )
  await bench.settle()
  expect(await details(job)).toBe(1)
  await say(bench, job, 'own-0', { steps: [step('A')] })
  await say(bench, job, 'own-0', { resultCode: 'SUCCESSFUL' })
  const { partition, entity } = await deviceOf(bench, 'own-0')
  expect(await readOperation(database, { job, partition, entity })).toMatchObject({
    parameters,
    steps: [{ name: 'A' }],
  })
  expect(await details(job)).toBe(0)
})

test('of many words that wait, those that end operations are written apart from those that do not', async () => {
  const { job, devices } = await launched(300)
  const keys = await Promise.all(devices.map(async device => ({ job, ...(await deviceOf(bench, device)) })))
  const batches: (readonly Happening[])[] = []
  const gatherer = createOperationGatherer({
    database,
    clock: bench.clock,
    log: pino({ level: 'silent' }),
    memory: createOperationMemory(),
    onCommit: () => {},
    onApplied: happenings => batches.push(happenings),
    lanes: 1,
  })
  const part = (name: string) => ({ steps: [step(name)] })
  await Promise.all(
    keys.flatMap((key, i) => [
      gatherer.submit({ key, word: part('A') }),
      gatherer.submit({ key, word: part('B') }),
      ...(i % 2 === 0 ? [gatherer.submit({ key, word: { ...part('C'), resultCode: 'SUCCESSFUL' } })] : []),
    ]),
  )
  await gatherer.stop()
  const isEnding = new Map(keys.map((key, i) => [keyText(key), i % 2 === 0]))
  const kinds = batches.map(batch => [...new Set(batch.map(({ key }) => isEnding.get(keyText(key))))])
  expect(kinds).toEqual(kinds.map(() => [expect.any(Boolean)]))
  expect(kinds.flat()).toEqual(expect.arrayContaining([true, false]))
  for (const [i, device] of devices.entries()) {
    const operation = await operationOf(bench, job, device)
    expect([operation.status, named(operation.steps)]).toEqual(
      i % 2 === 0 ? ['FINISHED', ['A', 'B', 'C']] : ['IN_PROGRESS', ['A', 'B']],
    )
  }
})
