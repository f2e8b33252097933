/** Whatever is made while its operation type gets another name, or goes, is under the new name, or goes with it. */
import { beforeEach, expect, test } from 'vitest'
import { closeType, drainType } from '../../src/engine/closing.ts'
import type { ExecutableType } from '../../src/engine/job-judging.ts'
import { createJobs } from '../../src/engine/jobs.ts'
import { createOperationTypes } from '../../src/engine/operation-types.ts'
import { createTasks } from '../../src/engine/tasks.ts'
import { findType } from '../../src/service/types.ts'
import type { Transaction } from '../../src/store/database.ts'
import { sql } from '../../src/store/statement.ts'
import { testDatabase } from '../database.ts'
import { createWorkbench, EPOCH, jobRequest } from './workbench.ts'

const { database } = await testDatabase({ max: 8 })
const bench = await createWorkbench(database)
const { caller, nextNumber } = bench
await bench.provision(['d1'])
const types = createOperationTypes({ database, now: () => EPOCH, drainType, closeType, onCommit: () => {} })

/** Whoever makes something has read its type, and goes on when he is let. */
let read = Promise.withResolvers<void>()
let goOn = Promise.withResolvers<void>()
const parts = {
  database,
  now: () => EPOCH,
  nextNumber,
  compile: () => Promise.resolve(sql`true`),
  async findType(tx: Transaction, organization: number, name: string): Promise<ExecutableType | undefined> {
    const type = await findType(tx, organization, name)
    read.resolve()
    await goOn.promise
    return type
  },
  onCommit: () => {},
}
const { engine } = bench
const notices = { started: async () => {}, finished: async () => {} }
const jobs = createJobs({ ...parts, notices, settling: engine.settling, cancelAtOnceMax: 100 })
const tasks = createTasks(parts)

let name = 'OLD-0'
let count = 0
beforeEach(async () => {
  name = `OLD-${++count}`
  await types.create(caller, { name })
  read = Promise.withResolvers()
  goOn = Promise.withResolvers()
})

const request = () => jobRequest({ name, active: false, target: { append: { entities: ['d1'] } } })

/** Lets `change` begin when `making` has read the type, and `making` go on when `change` waits for it or is over. */
async function besides<T>(making: Promise<T>, change: () => Promise<unknown>): Promise<T> {
  await read.promise
  let isOver = false
  const changed = change().finally(() => {
    isOver = true
  })
  changed.catch(() => {})
  await expect
    .poll(async () => {
      const waiting = await database.query(
        sql`select from pg_stat_activity where datname = current_database() and cardinality(pg_blocking_pids(pid)) > 0`,
      )
      return isOver || waiting.length > 0
    })
    .toBe(true)
  goOn.resolve()
  const [made] = await Promise.all([making, changed])
  return made
}

test('a job', async () => {
  const { job } = await besides(jobs.create(caller, request()), () => types.change(caller, name, { name: 'NEW-JOB' }))
  const [row] = await database.query(sql`select name, request ->> 'name' as asked from job where job = ${job}`)
  expect(row).toEqual({ name: 'NEW-JOB', asked: 'NEW-JOB' })
})

test('a task, with the job that waits for its first run', async () => {
  const schedule = { repeating: { period: { each: 1, unit: 'HOURS' } } }
  const asked = { active: true, schedule, request: request() } as unknown as Parameters<typeof tasks.create>[1]
  const { task } = await besides(tasks.create(caller, asked, EPOCH), () =>
    types.change(caller, name, { name: 'NEW-TASK' }),
  )
  const [row] = await database.query(
    sql`select t.request ->> 'name' as task, j.name as job from task t join job j on j.task = t.task where t.task = ${task}`,
  )
  expect(row).toEqual({ task: 'NEW-TASK', job: 'NEW-TASK' })
})

test('a job whose type goes', async () => {
  const { job } = await besides(jobs.create(caller, request()), () => types.remove(caller, name))
  expect(await database.query(sql`select from operation where job = ${job}`)).toEqual([])
  expect(await database.query(sql`select result from operation_ended where job = ${job}`)).toEqual([
    { result: 'CANCELLED_INTERNAL' },
  ])
})
