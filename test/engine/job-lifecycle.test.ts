/** The lifecycle of jobs against the engine and the database: every row is driven by what a client or the clock does. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, expect, test, vi } from 'vitest'
import { FINAL_JOB_STATUSES, JOB_LIFECYCLE, type JobEvent, type JobStatus } from '../../src/domain/job.ts'
import { cancelChunk } from '../../src/engine/operation-canceller.ts'
import { sql } from '../../src/store/statement.ts'
import { testDatabase } from '../database.ts'
import { answered, cancelOpen, MINUTE, SECOND, summaryOfJob } from './scenario.ts'
import { createWorkbench, jobRequest } from './workbench.ts'

/** The rows that the engine itself has read, whoever drove it to that. */
const asked = vi.hoisted(() => new Set<string>())
vi.mock('../../src/domain/job.ts', async original => {
  const job = await original<typeof import('../../src/domain/job.ts')>()
  const decideJob: typeof job.decideJob = (status, event) => {
    asked.add(`${status} ${event}`)
    return job.decideJob(status, event)
  }
  return { ...job, decideJob }
})

const { database } = await testDatabase()
const bench = await createWorkbench(database)
const { jobs, caller, clock, engine } = bench
const exercised = new Set<string>()
let made = 0

const run = (...loops: string[]) => loops.reduce((before, loop) => before.then(() => turn(loop)), Promise.resolve())
const turn = async (loop: string) => {
  await engine.loops.get(loop)!.runOnce(clock.now())
}
const close = (job: bigint) => jobs.change(caller, job, { active: false })

/** A job that has come to a status by what leads there. */
async function jobIn(status: JobStatus, event: JobEvent): Promise<bigint> {
  made += 1
  const device = `d-${made}`
  await bench.provision([device])
  const stop = event === 'stopReached' ? { stop: { delayed: 10 * SECOND } } : {}
  const start = status === 'SCHEDULED' || event === 'activateLater' ? { start: { delayed: SECOND } } : {}
  const launches = status !== 'IDLE' && status !== 'SCHEDULED'
  const { job } = await jobs.create(
    caller,
    jobRequest({
      active: status !== 'IDLE',
      target: { append: { entities: [device] } },
      schedule: { ...start, ...stop },
      operationParameters: { ackTimeout: 0, timeout: 60 * MINUTE, retries: 0, retriesDelay: 0, retryResultList: [] },
    }),
  )
  if (!launches) return job
  const ends = status === 'FINISHED' || status === 'FINISHED_WITH_ERRORS'
  bench.device = (request, report) => {
    report({ seen: 'sent' })
    if (ends) report(answered(request, status === 'FINISHED' ? 'SUCCESSFUL' : 'ERROR_PROCESSING'))
  }
  if (ends) await bench.settle()
  else {
    await run('node-keeper', 'operation-dispatcher')
    // That its request has left is gathered for a few milliseconds of real time, and then written.
    do await sleep(6)
    while (bench.database.underWay() > 0)
  }
  if (status === 'PAUSED') await close(job)
  if (status === 'CANCELLING_BY_USER' || status === 'CANCELLED') await jobs.cancel(caller, job)
  if (status === 'CANCELLING_BY_ENGINE' || status === 'TIMEOUT_CANCELLED') {
    await database.query(sql`update job set stop_at = ${clock.now()} where job = ${job}`)
    await run('job-keeper')
  }
  if (status === 'CANCELLED' || status === 'TIMEOUT_CANCELLED') await cancelOpen(bench)
  return job
}

/** Ends what is open of a job, and lets it be counted. */
async function endAll(job: bigint, successful: boolean): Promise<void> {
  const status = (await summaryOfJob(bench, job)).status
  if (status.startsWith('CANCELLING')) {
    const event = status === 'CANCELLING_BY_USER' ? 'userCancel' : 'stopReached'
    if (successful) await answerAll(job, 'SUCCESSFUL')
    else await database.transaction(tx => cancelChunk(tx, job, event, clock.now()))
  } else await answerAll(job, successful ? 'SUCCESSFUL' : 'ERROR_PROCESSING')
  await run('counter-folder')
}

async function answerAll(job: bigint, resultCode: string): Promise<void> {
  const open = await database.query<{ partition: number; entity: bigint }>(
    sql`select partition, entity from operation where job = ${job}`,
  )
  for (const key of open) await engine.gatherer.submit({ key: { job, ...key }, word: { resultCode, steps: [] } })
}

const EVENTS: Record<JobEvent, (job: bigint) => Promise<unknown>> = {
  activateLater: job => jobs.change(caller, job, { active: true }),
  activateNow: job => jobs.change(caller, job, { active: true }),
  deactivate: close,
  change: job => jobs.change(caller, job, { userNotes: 'changed' }),
  userCancel: job => jobs.cancel(caller, job),
  async startReached() {
    await clock.advanceBy(SECOND)
    await bench.beat()
    await run('job-keeper')
  },
  async stopReached() {
    await clock.advanceBy(20 * SECOND)
    await bench.beat()
    await run('job-keeper')
  },
  allSuccessful: job => endAll(job, true),
  allEnded: job => endAll(job, false),
}

/** Where what follows is done before the call returns. */
const AT_ONCE: Readonly<Record<string, JobStatus>> = {
  'IDLE userCancel': 'CANCELLED',
  'SCHEDULED userCancel': 'CANCELLED',
}
const isFinal = (status: JobStatus) => (FINAL_JOB_STATUSES as readonly JobStatus[]).includes(status)

test.each(JOB_LIFECYCLE.map(row => [row.from, row.event, row] as const))('%s, %s', async (from, event, row) => {
  const job = await jobIn(from, event)
  expect((await summaryOfJob(bench, job)).status).toBe(from)
  const told = bench.told.length
  const happening = EVENTS[event](job)
  if (row.to === 'refused') {
    await expect(happening).rejects.toThrow('Job state transition error.')
    expect((await summaryOfJob(bench, job)).status).toBe(from)
  } else {
    await happening
    const to = AT_ONCE[`${from} ${event}`] ?? row.to
    const after = await summaryOfJob(bench, job)
    expect(after.status).toBe(to)
    expect(after.finishedAt !== null).toBe(isFinal(to))
    const kinds = bench.told.slice(told).flatMap(each => (each.job === job ? [each.kind] : []))
    const begins = row.effects.includes('start')
    const ended = isFinal(to) && !isFinal(from)
    expect(kinds).toEqual([...(begins ? ['started'] : []), ...(ended ? ['finished'] : [])])
  }
  exercised.add(`${from} ${event}`)
  await leave(job)
})

/** The next row begins without this one. */
async function leave(job: bigint): Promise<void> {
  if ((await summaryOfJob(bench, job)).finishedAt === null) await jobs.cancel(caller, job)
  await cancelOpen(bench)
}

afterAll(() => {
  const rows = JOB_LIFECYCLE.map(({ from, event }) => `${from} ${event}`).sort()
  expect([...exercised].sort()).toEqual(rows)
  expect(rows.filter(row => !asked.has(row))).toEqual([])
})
