/** What is gathered is written in all lanes, whatever numbers the entities have, and one batch behind the other. */
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { numberSource, partitionOf } from '../../src/domain/identity.ts'
import { createOperationGatherer } from '../../src/engine/operation-gatherer.ts'
import { createOperationMemory } from '../../src/engine/operation-memory.ts'
import type { AtOnce, Database } from '../../src/store/database.ts'
import type { JobRules } from '../../src/store/jobs.ts'
import type { Line } from '../../src/store/line.ts'
import { keyText, type OperationRow } from '../../src/store/operations.ts'
import { createVirtualClock } from '../virtual-clock.ts'
import { EPOCH } from './workbench.ts'

test.each([2, 3, 4])(
  'operations of devices that were provisioned one by one are written in all of %d lanes',
  async lanes => {
    let writing = 0
    const database = {
      transaction() {
        writing += 1
        return new Promise(() => {})
      },
      line: () => ({ atOnce: () => new Promise(() => {}) }),
    } as unknown as Database
    const gatherer = createOperationGatherer({
      database,
      clock: createVirtualClock(EPOCH),
      log: pino({ level: 'silent' }),
      memory: createOperationMemory(),
      onCommit: () => {},
      lanes,
    })
    let now = EPOCH.getTime()
    const nextNumber = numberSource(() => now++, 1)
    for (let i = 0; i < 100; i += 1) {
      void gatherer.submit({
        key: { job: 1n, partition: partitionOf(1, `d-${i}`), entity: nextNumber() },
        seen: 'sent',
      })
    }
    await expect.poll(() => writing, { timeout: 2_000 }).toBe(lanes)
  },
)

const SENT: Omit<OperationRow, 'job' | 'partition' | 'entity'> = {
  status: 'WAITING_FOR_ACK',
  attempt: 1,
  flow: 'http',
  hasDetailRow: false,
  startedAt: EPOCH,
  launchedAt: EPOCH,
  heardAt: EPOCH,
  deadlineAt: null,
  sender: null,
  parameters: null,
  steps: null,
  attempts: null,
  messages: null,
  description: null,
}
const RULES: Omit<JobRules, 'job'> = {
  organization: 1,
  name: 'REBOOT_EQUIPMENT',
  status: 'IN_PROGRESS',
  ackTimeoutMs: 1_000,
  timeoutMs: 1_000,
  retries: 0,
  retriesDelayMs: 0,
  retryResults: [],
  version: 'as it is',
}

/** A gatherer of one lane whose batches are answered when the test says so, and what each was about. */
function oneLane() {
  const batches: { readonly entities: bigint[]; readonly answer: () => void }[] = []
  const memory = createOperationMemory()
  const keys = Array.from({ length: 30 }, (_, i) => ({ job: 1n, partition: 0, entity: BigInt(i) }))
  memory.note({
    written: keys.map(key => ({ text: keyText(key), row: { ...SENT, ...key } })),
    ended: [],
    rules: [{ ...RULES, job: 1n }],
  })
  const atOnce: Line['atOnce'] = work =>
    new Promise(resolve => {
      const entities: bigint[] = []
      const tx: AtOnce = {
        run(statement, params) {
          if (statement.name === 'operations_update_all') entities.push(...(params[2] as bigint[]))
          return new Promise(() => {})
        },
        behind() {},
      }
      const result = work(tx)
      batches.push({ entities, answer: () => resolve(result) })
    })
  const gatherer = createOperationGatherer({
    database: { line: () => ({ atOnce }) } as unknown as Database,
    clock: createVirtualClock(EPOCH),
    log: pino({ level: 'silent' }),
    memory,
    onCommit: () => {},
    lanes: 1,
    batchMax: 10,
  })
  const say = (from: number, to: number) =>
    Promise.all(keys.slice(from, to).map(key => gatherer.submit({ key, word: { steps: [] } })))
  return { say, batches }
}

const entities = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => BigInt(from + i))

test('while a batch is being written one more is sent behind it, and no third', async () => {
  const { say, batches } = oneLane()
  const said = say(0, 30)
  await expect.poll(() => batches.map(batch => batch.entities)).toEqual([entities(0, 10), entities(10, 20)])
  batches[0]!.answer()
  await expect.poll(() => batches.length).toBe(3)
  expect(batches[2]!.entities).toEqual(entities(20, 30))
  for (const { answer } of batches.slice(1)) answer()
  expect(await said).toHaveLength(30)
})

test('what is said of an operation of which something is being written waits until that is', async () => {
  const { say, batches } = oneLane()
  const first = say(0, 10)
  await expect.poll(() => batches.length).toBe(1)
  const more = [say(0, 10), say(10, 20)]
  await expect.poll(() => batches.map(batch => batch.entities)).toEqual([entities(0, 10), entities(10, 20)])
  batches[0]!.answer()
  await first
  await expect.poll(() => batches.length).toBe(3)
  expect(batches[2]!.entities).toEqual(entities(0, 10))
  for (const { answer } of batches.slice(1)) answer()
  await Promise.all(more)
})

test('a few that come while a batch is being written wait for the next, since a batch has its price', async () => {
  const { say, batches } = oneLane()
  const first = say(0, 10)
  await expect.poll(() => batches.length).toBe(1)
  const few = say(10, 12)
  batches[0]!.answer()
  await first
  await expect.poll(() => batches.length).toBe(2)
  expect(batches[1]!.entities).toEqual(entities(10, 12))
  batches[1]!.answer()
  await few
})
