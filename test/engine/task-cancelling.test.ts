import { describe, expect, test } from 'vitest'
import { readJob } from '../../src/store/jobs.ts'
import { sql } from '../../src/store/statement.ts'
import { at, MINUTE, stand, startWithoutKeeper } from './task-stand.ts'

describe('cancelling a task', () => {
  test('with no job running leaves it CANCELLED and its waiting job as if never made', async () => {
    await using s = await stand()
    await s.create({ start: { date: at(MINUTE) }, repeating: { period: { each: 1, unit: 'MINUTES' } } })
    const [waiting] = await s.jobs()
    expect((await s.tasks.cancel(s.bench.caller, 't1')).state).toBe('CANCELLED')
    expect(await readJob(s.database, s.bench.caller.organization, waiting!.job)).toBeUndefined()
    await s.bench.advance(3 * MINUTE)
    expect(s.bench.told).toEqual([])
  })

  test('while a job is running is CANCELLING until that job has cancelled its operations', async () => {
    await using s = await stand()
    s.bench.device = (_, report) => report({ seen: 'sent' })
    await s.create({ repeating: { period: { each: 1, unit: 'HOURS' } } })
    await s.bench.advance(1_000)
    expect((await s.tasks.cancel(s.bench.caller, 't1')).state).toBe('CANCELLING')
    await s.bench.settle()
    expect((await s.task()).state).toBe('CANCELLED')
    expect(await s.jobs()).toMatchObject([{ status: 'CANCELLED', counters: { by_user: 2 } }])
  })

  test('just after its job has started cancels that job, and leaves nothing of what it had resolved', async () => {
    await using made = await stand()
    const { bench, tasks, create, task, jobs } = made
    bench.device = () => {}
    await create({ repeating: { period: { each: 10, unit: 'MINUTES' } }, start: { date: at(MINUTE) } })
    await startWithoutKeeper(bench)
    expect((await tasks.cancel(bench.caller, 't1')).state).toBe('CANCELLING')
    await bench.settle()
    expect(await task()).toMatchObject({ state: 'CANCELLED' })
    expect(await jobs()).toMatchObject([{ status: 'CANCELLED' }])
  })

  test('whose job has its target but has not started leaves neither the job nor its operations', async () => {
    await using made = await stand()
    const { database, bench, tasks, create } = made
    await create({ repeating: { period: { each: 10, unit: 'MINUTES' } }, start: { date: at(MINUTE) } })
    await bench.advance(MINUTE - 1)
    await bench.clock.advanceBy(1)
    await bench.engine.loops.get('target-resolver')!.runOnce(bench.clock.now())
    const rows = async () =>
      (
        await database.query<{ count: number }>(sql`
        select ((select count(*) from operation) + (select count(*) from job) + (select count(*) from job_counter)
                + (select count(*) from job_counter_delta))::int as count`)
      )[0]!.count
    expect(await rows()).toBeGreaterThan(2)
    await tasks.cancel(bench.caller, 't1')
    expect(await rows()).toBe(0)
  })

  test('a final task refuses every change', async () => {
    await using s = await stand()
    await s.create({ start: { date: at(MINUTE) } })
    await s.tasks.cancel(s.bench.caller, 't1')
    await expect(s.tasks.change(s.bench.caller, 't1', { active: false })).rejects.toThrow(
      'Task state transition error.',
    )
    await expect(s.tasks.cancel(s.bench.caller, 't1')).rejects.toThrow('Task state transition error.')
  })

  test('its waiting job alone counts as an execution, and the next is made', async () => {
    await using s = await stand()
    await s.create({ start: { date: at(MINUTE) }, repeating: { period: { each: 1, unit: 'MINUTES' } } })
    const [waiting] = await s.jobs()
    await s.bench.jobs.cancel(s.bench.caller, waiting!.job)
    await s.bench.settle()
    expect((await s.jobs()).map(job => job.status)).toEqual(['SCHEDULED', 'CANCELLED'])
    expect(await s.task()).toMatchObject({ executions: 1, waitingAt: new Date(at(2 * MINUTE)) })
  })
})
