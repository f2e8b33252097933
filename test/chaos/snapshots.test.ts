import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { jobId } from '../../src/domain/identity.ts'
import { sql } from '../../src/store/statement.ts'
import { testDatabase } from '../database.ts'
import { createWorkbench, jobRequest } from '../engine/workbench.ts'
import { createSnapshots } from './snapshots.ts'

const { database, url } = await testDatabase()
const bench = await createWorkbench(database)
const client = new pg.Client({ connectionString: url })
beforeAll(async () => {
  await client.connect()
})
afterAll(() => client.end())

async function endedJob(device: string): Promise<bigint> {
  await bench.provision([device])
  const request = jobRequest({ target: { append: { entities: [device] } } })
  const { job } = await bench.jobs.create(bench.caller, request)
  await bench.jobs.cancel(bench.caller, job)
  await bench.settle()
  return job
}

test('an end that turns into one out of time is no fault, and any other change of an end is', async () => {
  const job = await endedJob('changing')
  const snapshots = createSnapshots()
  await snapshots.lookAtAllEnds(client)
  await database.query(
    sql`update operation_ended set status = 'FINISHED_OUT_OF_TIME', result = 'SUCCESSFUL' where job = ${job}`,
  )
  await snapshots.lookAtAllEnds(client)
  expect(snapshots.wrong).toEqual([])
  expect(snapshots.lateEnds()).toBe(1)
  await database.query(sql`update operation_ended set status = 'FINISHED' where job = ${job}`)
  await snapshots.lookAtAllEnds(client)
  await database.query(sql`delete from operation_ended where job = ${job}`)
  await snapshots.lookAtAllEnds(client)
  expect(snapshots.wrong).toEqual([
    expect.stringMatching(/^1: .* had ended FINISHED_OUT_OF_TIME SUCCESSFUL, and then FINISHED SUCCESSFUL$/),
    expect.stringMatching(/^1: 1 operations had ended and have not any more/),
  ])
})

test('counters are held to a recount of the rows of every organization', async () => {
  const job = await endedJob('counted')
  await database.query(sql`delete from job_counter where job <> ${job}`)
  const snapshots = createSnapshots()
  await snapshots.look(client)
  expect(snapshots.wrong).toEqual([])
  await database.query(sql`insert into job_counter_delta (job, scheduled) values (${job}, 2)`)
  await snapshots.look(client)
  const difference = { job: jobId(job).replace(/^0+/, ''), counter: 'scheduled', counted: 2, rows: 0 }
  expect(snapshots.wrong).toEqual([`2: while it ran: ${JSON.stringify(difference)}`])
})
