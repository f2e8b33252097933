import { describe, expect, test } from 'vitest'
import { sql } from '../../src/store/statement.ts'
import { dueTasks } from '../../src/store/tasks.ts'
import { at, MINUTE, runLoops, sleepThrough, stand, startWithoutKeeper } from './task-stand.ts'
import { EPOCH, jobRequest } from './workbench.ts'

describe('a task', () => {
  test('makes its first job at once, which waits and is listed', async () => {
    await using s = await stand()
    await s.create({ start: { date: at(5 * MINUTE) }, repeating: { period: { each: 5, unit: 'MINUTES' } } })
    const [job, ...others] = await s.jobs()
    expect(others).toEqual([])
    expect(job).toMatchObject({ status: 'SCHEDULED', taskId: 't1', startAt: new Date(at(5 * MINUTE)) })
  })

  test('runs a job at every occurrence until its executions are used up, and is FINISHED when the last has ended', async () => {
    await using s = await stand()
    await s.create({ stop: { executions: 3 }, repeating: { period: { each: 1, unit: 'MINUTES' } } })
    await s.bench.advance(5 * MINUTE)
    expect((await s.jobs()).map(job => [job.status, job.counters.successful])).toEqual([
      ['FINISHED', 2],
      ['FINISHED', 2],
      ['FINISHED', 2],
    ])
    expect(await s.task()).toMatchObject({ state: 'FINISHED', executions: 3, waitingJob: null })
  })

  test('of seconds keeps its pace', async () => {
    await using s = await stand()
    await s.create({ repeating: { period: { each: 2, unit: 'SECONDS' } } })
    await s.bench.advance(20_000)
    const started = (await s.jobs()).flatMap(job => (job.startedAt ? [job.startedAt.getTime() - EPOCH.getTime()] : []))
    expect(started.reverse()).toEqual([0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20].map(second => second * 1_000))
  })

  test('whose runs overlap finds its devices busy: what the run before still does ends ALREADY_IN_PROGRESS', async () => {
    await using at = await stand()
    at.bench.device = (request, report) => {
      report({ seen: 'sent' })
      report({ seen: 'answered', message: { ...request.device, operationId: request.id, steps: [] } })
    }
    await at.create({ repeating: { period: { each: 30, unit: 'SECONDS' } } })
    await at.bench.advance(31_000)
    const [waiting, second, first] = await at.jobs()
    expect([waiting, second, first].map(job => job?.status)).toEqual([
      'SCHEDULED',
      'FINISHED_WITH_ERRORS',
      'IN_PROGRESS',
    ])
    expect(first?.counters.started).toBe(2)
    expect(second?.counters.by_already_in_progress).toBe(2)
  })

  test('is FINISHED when its stop has passed', async () => {
    await using s = await stand()
    await s.create({ stop: { date: at(90_000) }, repeating: { period: { each: 1, unit: 'MINUTES' } } })
    await s.bench.advance(3 * MINUTE)
    expect(await s.jobs()).toHaveLength(2)
    expect((await s.task()).state).toBe('FINISHED')
  })

  test('whose job stop is not shorter than its period is refused, and the field is named', async () => {
    await using s = await stand()
    const refused = s.create({ repeating: { period: { each: 1, unit: 'MINUTES' } } }, { stopMs: MINUTE })
    await expect(refused).rejects.toMatchObject({ context: [{ name: 'task.job.request.schedule.stop.delayed' }] })
  })

  test('with a filter on a field that does not exist is refused at once, and the field is named', async () => {
    await using s = await stand()
    const asked = {
      active: true,
      schedule: s.schedule({}),
      request: jobRequest({ target: { filter: { eq: { 'no.such.field': 1 } } } }),
    }
    await expect(s.tasks.create(s.bench.caller, asked)).rejects.toMatchObject({ entry: { code: '0x050014' } })
  })

  test('with parameters of one entity that its type does not allow is refused, and the field is named', async () => {
    await using s = await stand()
    const entitiesWithParameters = [{ id: 'd1' }, { id: 'd2', parameters: { type: 'LIQUID' } }]
    const request = jobRequest({ target: { append: { entitiesWithParameters } } })
    const asked = { id: 't1', active: true, schedule: s.schedule({}), request }
    await expect(s.tasks.create(s.bench.caller, asked)).rejects.toMatchObject({
      context: [{ name: 'task.job.request.target.append.entitiesWithParameters[1].parameters.type' }],
    })
  })

  test('with an id that exists is refused', async () => {
    await using s = await stand()
    await s.create({})
    await expect(s.create({})).rejects.toMatchObject({ entry: { code: '0x010114' } })
  })

  test('that is INACTIVE launches nothing, and goes on from its next occurrence once it is active', async () => {
    await using s = await stand()
    await s.create({ repeating: { period: { each: 1, unit: 'MINUTES' } } }, { active: false })
    expect((await s.jobs())[0]!.status).toBe('IDLE')
    await s.bench.advance(3 * MINUTE + 30_000)
    expect(await s.jobs()).toMatchObject([{ status: 'IDLE', startAt: new Date(at(4 * MINUTE)) }])
    await s.tasks.change(s.bench.caller, 't1', { active: true })
    await s.bench.advance(MINUTE)
    expect((await s.jobs()).map(job => job.status)).toEqual(['SCHEDULED', 'FINISHED'])
  })

  test('that is INACTIVE and does not repeat waits past its start, and runs once it is active', async () => {
    await using s = await stand()
    await s.create({}, { active: false })
    await s.bench.advance(5 * MINUTE)
    expect([await s.task(), await s.jobs()]).toMatchObject([
      { state: 'INACTIVE', executions: 0, skipped: 0 },
      [{ status: 'IDLE' }],
    ])
    // Nobody looks at it again and again meanwhile.
    expect(await dueTasks(s.database, s.bench.clock.now(), 0n, 10)).toEqual([])
    await s.tasks.change(s.bench.caller, 't1', { active: true })
    await s.bench.advance(MINUTE)
    expect([await s.task(), await s.jobs()]).toMatchObject([
      { state: 'FINISHED', executions: 1 },
      [{ status: 'FINISHED', startedAt: new Date(at(5 * MINUTE)) }],
    ])
  })

  test('that is INACTIVE and does not repeat is FINISHED at its stop', async () => {
    await using s = await stand()
    await s.create({ stop: { date: at(5 * MINUTE) } }, { active: false })
    await s.bench.advance(4 * MINUTE)
    expect(await s.task()).toMatchObject({ state: 'INACTIVE' })
    await s.bench.advance(2 * MINUTE)
    // It looks around every few seconds.
    await runLoops(s.bench, ['task-keeper'])
    expect([await s.task(), await s.jobs()]).toMatchObject([{ state: 'FINISHED', executions: 0 }, []])
  })

  test('whose template is not active has each job wait for somebody to let it go', async () => {
    await using s = await stand()
    const repeating = { period: { each: 5, unit: 'MINUTES' } }
    await s.create({ start: { date: at(5 * MINUTE) }, repeating }, { jobsActive: false })
    await s.bench.advance(6 * MINUTE)
    expect([await s.task(), await s.jobs(), s.bench.sent]).toMatchObject([
      { state: 'ACTIVE', executions: 0, skipped: 1 },
      [{ status: 'IDLE', request: { active: false } }],
      [],
    ])
    const [waiting] = await s.jobs()
    await s.bench.jobs.change(s.bench.caller, waiting!.job, { active: true })
    await s.bench.advance(5 * MINUTE)
    expect((await s.jobs()).map(job => job.status)).toEqual(['IDLE', 'FINISHED'])
  })

  test('moves its waiting job with a new schedule, the id kept', async () => {
    await using s = await stand()
    await s.create({ start: { date: at(5 * MINUTE) }, repeating: { period: { each: 5, unit: 'MINUTES' } } })
    const [before] = await s.jobs()
    const schedule = s.schedule({ start: { date: at(60 * MINUTE) }, repeating: { period: { each: 1, unit: 'HOURS' } } })
    await s.tasks.change(s.bench.caller, 't1', { schedule })
    expect(await s.jobs()).toMatchObject([{ job: before!.job, startAt: new Date(at(60 * MINUTE)) }])
  })

  test('keeps its waiting job held back where the user did that, whatever else of it is changed', async () => {
    await using made = await stand()
    const { bench, tasks, create, task, jobs } = made
    await create({ repeating: { period: { each: 10, unit: 'MINUTES' } }, start: { date: at(MINUTE) } })
    const [waiting] = await jobs()
    await bench.jobs.change(bench.caller, waiting!.job, { active: false })
    await tasks.change(bench.caller, 't1', { name: 'other words', description: 'and more' })
    await tasks.change(bench.caller, 't1', { request: before => ({ ...before, userNotes: 'changed' }), active: true })
    expect(await jobs()).toMatchObject([{ job: waiting!.job, status: 'IDLE', startAt: waiting!.startAt }])
    expect((await jobs())[0]!.request).toMatchObject({ active: false, userNotes: 'changed' })
    await bench.advance(5 * MINUTE)
    expect(bench.sent).toEqual([])
    expect(await task()).toMatchObject({ name: 'other words', executions: 0, skipped: 1 })
    // Switched off and on, it runs as ever.
    await tasks.change(bench.caller, 't1', { active: false })
    await tasks.change(bench.caller, 't1', { active: true })
    expect((await jobs())[0]!.status).toBe('SCHEDULED')
  })

  test('whose waiting job is held back and let go again runs it at its occurrence, not before', async () => {
    await using s = await stand()
    await s.create({ start: { date: at(5 * MINUTE) }, repeating: { period: { each: 5, unit: 'MINUTES' } } })
    const [waiting] = await s.jobs()
    await s.bench.jobs.change(s.bench.caller, waiting!.job, { active: false })
    await s.bench.advance(MINUTE)
    await s.bench.jobs.change(s.bench.caller, waiting!.job, { active: true })
    await s.bench.advance(MINUTE)
    expect(await s.jobs()).toMatchObject([{ status: 'SCHEDULED', startAt: new Date(at(5 * MINUTE)) }])
    await s.bench.advance(3 * MINUTE)
    expect((await s.jobs()).map(job => [job.status, job.startedAt])).toEqual([
      ['SCHEDULED', null],
      ['FINISHED', new Date(at(5 * MINUTE))],
    ])
  })

  test('whose waiting job is given a start of its own runs it then, as one execution', async () => {
    await using s = await stand()
    await s.create({ start: { date: at(5 * MINUTE) }, repeating: { period: { each: 5, unit: 'MINUTES' } } })
    const [waiting] = await s.jobs()
    await s.bench.jobs.change(s.bench.caller, waiting!.job, { active: false })
    await s.bench.jobs.change(s.bench.caller, waiting!.job, { active: true, schedule: { start: { delayed: MINUTE } } })
    await s.bench.advance(2 * MINUTE)
    expect((await s.jobs()).map(job => [job.status, job.startedAt])).toEqual([
      ['SCHEDULED', null],
      ['FINISHED', new Date(at(MINUTE))],
    ])
    expect(await s.task()).toMatchObject({ executions: 1, waitingAt: new Date(at(10 * MINUTE)) })
  })

  test('whose last job still runs is left alone until that has ended', async () => {
    await using s = await stand()
    s.bench.device = (_, report) => report({ seen: 'sent' })
    await s.create({})
    // Comes to rest only where nobody goes on looking.
    await s.bench.settle()
    expect(await s.jobs()).toMatchObject([{ status: 'IN_PROGRESS' }])
    expect(await s.task()).toMatchObject({ state: 'ACTIVE', waitingJob: null })
    expect(await s.bench.engine.loops.get('task-keeper')!.runOnce(s.bench.clock.now())).toBeNull()
    await s.bench.advance(2 * MINUTE)
    expect((await s.task()).state).toBe('FINISHED')
  }, 30_000)

  test('whose jobs start a while after their occurrences is left alone meanwhile, beside more of them than are read at a time', async () => {
    await using s = await stand()
    const request = jobRequest({
      target: { append: { entities: ['d1'] } },
      schedule: { start: { delayed: 5 * MINUTE } },
    })
    for (let n = 0; n < 120; n += 1) {
      const schedule = s.schedule({ repeating: { period: { each: 1, unit: 'HOURS' } } })
      await s.tasks.create(s.bench.caller, { id: `delayed-${n}`, active: true, schedule, request })
    }
    await s.create({ start: { date: at(MINUTE) } })
    await s.bench.advance(2 * MINUTE)
    expect(await s.jobs()).toMatchObject([{ status: 'FINISHED', startedAt: new Date(at(MINUTE)) }])
    expect((await s.task()).state).toBe('FINISHED')
  }, 60_000)

  test('that is changed just after its job has started leaves that job alone, and counts it', async () => {
    await using made = await stand()
    const { bench, tasks, create, task, jobs } = made
    bench.device = () => {}
    await create({ repeating: { period: { each: 10, unit: 'MINUTES' } }, start: { date: at(MINUTE) } })
    const [first] = await jobs()
    await startWithoutKeeper(bench)
    await tasks.change(bench.caller, 't1', { request: before => ({ ...before, userNotes: 'changed' }) })
    const [next, started] = await jobs()
    expect(started).toMatchObject({ job: first!.job, status: 'IN_PROGRESS' })
    expect(next).toMatchObject({ status: 'SCHEDULED', startAt: new Date(at(11 * MINUTE)) })
    expect(next!.request.userNotes).toBe('changed')
    expect(await task()).toMatchObject({ executions: 1 })
  })

  test('resolves its target anew at each run', async () => {
    await using s = await stand()
    await s.create({ repeating: { period: { each: 1, unit: 'MINUTES' } } })
    await s.bench.advance(1_000)
    await s.database.query(sql`delete from entity where identifier = 'd2'`)
    await s.bench.advance(MINUTE)
    const ended = (await s.jobs()).filter(job => job.status === 'FINISHED')
    expect(ended.map(job => [job.counters.successful, job.refused])).toEqual([
      [1, { notProvisioned: ['d2'] }],
      [2, {}],
    ])
  })

  test('keeps a run that is being made ready for longer than a period, and runs it; what it could not make up for is skipped', async () => {
    await using s = await stand()
    const { bench } = s
    const run = (...loops: string[]) => runLoops(bench, loops)
    const goOn = async (ms: number) => {
      await bench.clock.advanceBy(ms)
      await bench.beat()
      await run('node-keeper')
    }
    await s.create({ repeating: { period: { each: 1, unit: 'MINUTES' } } })
    await run('target-resolver')
    await goOn(150_000)
    await run('task-keeper')
    expect(await s.task()).toMatchObject({ executions: 0, skipped: 0, waitingAt: new Date(at(0)) })
    await run('job-keeper', 'task-keeper')
    expect((await s.jobs()).map(job => [job.status, job.counters.scheduled])).toEqual([
      ['SCHEDULED', 0],
      ['IN_PROGRESS', 2],
    ])
    expect(await s.task()).toMatchObject({ executions: 1, skipped: 2, waitingAt: new Date(at(3 * MINUTE)) })
  })

  test('that is put off while its job is about to be resolved has nothing resolved before its time', async () => {
    await using s = await stand()
    const { bench } = s
    await s.create({ start: { date: at(MINUTE) }, repeating: { period: { each: 1, unit: 'HOURS' } } })
    await bench.clock.advanceBy(MINUTE)
    await bench.beat()
    const { transaction } = bench.database
    bench.database.transaction = async (...asked) => {
      bench.database.transaction = transaction
      const schedule = s.schedule({
        start: { date: at(60 * MINUTE) },
        repeating: { period: { each: 1, unit: 'HOURS' } },
      })
      await s.tasks.change(bench.caller, 't1', { schedule })
      return await transaction(...asked)
    }
    await runLoops(bench, ['target-resolver'])
    expect(await s.jobs()).toMatchObject([
      { status: 'SCHEDULED', startAt: new Date(at(60 * MINUTE)), counters: { scheduled: 0 } },
    ])
    expect((await s.jobs())[0]!.unresolved).not.toEqual([])
  })

  test('passes over what it missed in an outage of more than a period', async () => {
    await using s = await stand()
    await s.create({ repeating: { period: { each: 1, unit: 'MINUTES' } } })
    await s.bench.advance(1_000)
    await sleepThrough(s.bench, 10 * MINUTE)
    await s.bench.settle()
    expect((await s.jobs()).map(job => job.status)).toEqual(['SCHEDULED', 'FINISHED'])
    expect(await s.task()).toMatchObject({ executions: 1, skipped: 10, waitingAt: new Date(at(11 * MINUTE)) })
  })

  test('runs what it missed by less than a period once', async () => {
    await using s = await stand()
    await s.create({ repeating: { period: { each: 10, unit: 'MINUTES' } } })
    await s.bench.advance(1_000)
    await sleepThrough(s.bench, 12 * MINUTE)
    await s.bench.settle()
    expect((await s.jobs()).map(job => job.status)).toEqual(['SCHEDULED', 'FINISHED', 'FINISHED'])
    expect(await s.task()).toMatchObject({ executions: 2, skipped: 0 })
  })
})

test('at its instant the job of a task is left to those who resolve and start it: they would leave it where it is held', async () => {
  await using s = await stand()
  await s.create({ start: { date: at(MINUTE) }, repeating: { period: { each: 1, unit: 'HOURS' } } })
  const waiting = (await s.task()).waitingJob!
  const keeper = s.bench.engine.loops.get('task-keeper')!
  const due = new Date(EPOCH.getTime() + MINUTE)
  await s.database.transaction(async tx => {
    await tx.query(sql`select from job where job = ${waiting} for update`)
    await keeper.runOnce(due)
  })
  expect((await s.task()).waitingJob).toBe(waiting)
})
