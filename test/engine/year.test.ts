/** Long times in short: a year of tasks and months of windows, each run held to a calendar that this file reckons by itself. */
import { describe, expect, test } from 'vitest'
import { firstOccurrence, nextOccurrence } from '../../src/domain/recurrence.ts'
import { parseTaskSchedule } from '../../src/domain/task-schedule.ts'
import { createTasks } from '../../src/engine/tasks.ts'
import { compileEntityFilter } from '../../src/store/entity-filter.ts'
import { readJobsOfTask, readTask } from '../../src/store/tasks.ts'
import { createTestDatabase } from '../database.ts'
import { createVirtualClock } from '../virtual-clock.ts'
import { answered, HOUR, ids, MINUTE, summaryOfJob } from './scenario.ts'
import { createWorkbench, jobRequest, type Workbench } from './workbench.ts'

const DAY = 24 * HOUR
const LONG_MS = 240_000
/** No time to acknowledge, and an answer at once: nothing is left to look after. */
const rules = { ackTimeout: 0, timeout: MINUTE, retries: 0, retriesDelay: 0, retryResultList: [] }

async function standAt(startAt: Date) {
  const { database, close } = await createTestDatabase()
  const bench = await createWorkbench(database, { clock: createVirtualClock(startAt) })
  return { database, bench, [Symbol.asyncDispose]: close }
}

/** Goes to an instant, stopping where the loops that move jobs say that they have work, as a living process. Answers how often it stopped. */
async function goTo(bench: Workbench, until: Date): Promise<number> {
  const { clock } = bench
  for (let stops = 1; ; stops += 1) {
    await bench.beat()
    const nextAt = await bench.settle(stops === 1)
    if (clock.now() >= until) return stops
    await clock.advanceTo(new Date(Math.min(until.getTime(), nextAt?.getTime() ?? until.getTime())))
  }
}

describe('a year of tasks', () => {
  const startAt = new Date('2027-06-01T00:00:00Z')
  const endAt = new Date('2028-06-01T00:00:00Z')
  /** Every instant of the year at a time of day on a clock that stands so far from UTC, on the days that match. */
  function days(time: { hour: number; minute: number; offsetMs: number }, matches: (local: Date) => boolean): Date[] {
    const found: Date[] = []
    for (let day = startAt.getTime() - DAY; day <= endAt.getTime() + DAY; day += DAY) {
      const local = new Date(day + time.hour * HOUR + time.minute * MINUTE)
      const at = new Date(local.getTime() - time.offsetMs)
      if (at >= startAt && at < endAt && matches(local)) found.push(at)
    }
    return found
  }
  const patterns = {
    weekly: {
      pattern: { time: '08:30:00-05:00', weekly: { days: ['MON', 'FRI'] } },
      due: days({ hour: 8, minute: 30, offsetMs: -5 * HOUR }, local => [1, 5].includes(local.getUTCDay())),
      count: 104,
    },
    // Two hours before midnight UTC of the 30th: the 31st has begun where the task's clock stands.
    monthly: {
      pattern: {
        time: '00:00:00+02:00',
        monthly: {
          day: 31,
          months: ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'],
        },
      },
      due: days({ hour: 0, minute: 0, offsetMs: 2 * HOUR }, local => local.getUTCDate() === 31),
      count: 7,
    },
    yearly: {
      pattern: { time: '12:00:00Z', yearly: { day: 29, month: 'FEB' } },
      due: [new Date('2028-02-29T12:00:00Z')],
      count: 1,
    },
    daily: {
      pattern: { time: '06:15:00+05:30' },
      due: days({ hour: 6, minute: 15, offsetMs: 5.5 * HOUR }, () => true).slice(0, 60),
      count: 60,
      stop: { executions: 60 },
    },
  }

  test(
    'weekly, monthly on day 31, yearly on 29 February and daily: every run starts at its very instant, and no other',
    async () => {
      await using stand = await standAt(startAt)
      const { database, bench } = stand
      await bench.provision(Object.keys(patterns))
      bench.device = (request, report) => {
        report({ seen: 'sent' })
        report(answered(request, 'SUCCESSFUL'))
      }
      const tasks = createTasks({
        compile: compileEntityFilter,
        database,
        now: () => bench.clock.now(),
        nextNumber: bench.nextNumber,
        findType: async (_tx, _organization, name) => ({
          name,
          profiles: null,
          applicability: { resourceTypes: ['entity.device'], models: [] },
          judgeParameters: own => ({ ...own }),
        }),
        onCommit: bench.engine.wake,
      })
      const schedules = new Map(
        Object.entries(patterns).map(([id, { pattern, ...rest }]) => {
          const stop = 'stop' in rest ? rest.stop : { date: endAt.toISOString() }
          const json = { stop, repeating: { pattern } }
          const read = parseTaskSchedule(json, startAt.getTime())
          if (!read.ok) throw new Error(JSON.stringify(read.problems))
          return [id, read.value] as const
        }),
      )
      for (const [id, { source: schedule }] of schedules) {
        const request = jobRequest({ target: { append: { entities: [id] } }, operationParameters: rules })
        await tasks.create(bench.caller, { id, active: true, schedule, request })
      }

      const beganMs = performance.now()
      const stops = await goTo(bench, endAt)
      const seconds = Math.round(performance.now() - beganMs) / 1_000
      process.stdout.write(
        `a year of four tasks: ${bench.sent.length} operations, ${stops} stops of the clock, ${seconds} s\n`,
      )

      for (const [id, { due, count }] of Object.entries(patterns)) {
        expect(due, id).toHaveLength(count)
        const task = (await readTask(database, bench.caller.organization, id))!
        const { jobs } = await readJobsOfTask(database, task.task, 0, 1_000)
        expect(jobs.map(job => job.startedAt).reverse(), id).toEqual(due)
        expect(new Set(jobs.map(job => `${job.status} ${job.counters.successful}`)), id).toEqual(
          new Set(['FINISHED 1']),
        )
        expect(task, id).toMatchObject({ state: 'FINISHED', executions: count, skipped: 0 })

        const schedule = schedules.get(id)!
        const told: Date[] = []
        for (
          let at = firstOccurrence(schedule, startAt.getTime());
          at !== null && told.length < count;
          at = nextOccurrence(schedule, at, false)
        ) {
          told.push(new Date(at))
        }
        expect(told, id).toEqual(due)
      }
    },
    LONG_MS,
  )
})

describe('a month of windows in Europe/Madrid', () => {
  const clockOf = new Intl.DateTimeFormat('en-GB', {
    timeZone: 'Europe/Madrid',
    hourCycle: 'h23',
    weekday: 'short',
    hour: '2-digit',
    minute: '2-digit',
  })
  function isOpen(at: Date): boolean {
    const parts = new Map(clockOf.formatToParts(at).map(({ type, value }) => [type, value]))
    const hour = Number(parts.get('hour'))
    return hour >= 22 || hour < 4 || (parts.get('weekday') === 'Sun' && hour >= 12 && hour < 14)
  }
  const window = {
    weekly: [
      { daily: { start: '22:00:00', stop: '04:00:00' } },
      { days: ['SUN'], daily: { start: '12:00:00', stop: '14:00:00' } },
    ],
    timezone: 'Europe/Madrid',
  } as const

  test.each([
    ['is put back', '2026-10-10T09:00:00Z', '2026-10-25T00:00:00Z', 7],
    ['is put forward', '2027-03-14T09:00:00Z', '2027-03-27T23:00:00Z', 5],
  ])(
    'around the night in which the clock %s, nothing is sent outside the window and the job uses all of it',
    async (_, from, changeEve, hoursOfTheNight) => {
      await using stand = await standAt(new Date(from))
      const { bench } = stand
      const devices = ids('meter', 100)
      await bench.provision(devices)
      const sentAt: Date[] = []
      bench.device = (request, report) => {
        sentAt.push(bench.clock.now())
        report({ seen: 'sent' })
        report(answered(request, 'SUCCESSFUL'))
      }
      const { job } = await bench.jobs.create(
        bench.caller,
        jobRequest({
          target: { append: { entities: devices } },
          operationParameters: rules,
          schedule: { window, stop: { delayed: 30 * DAY }, scattering: { maxSpread: 100 } },
        }),
      )
      const beganMs = performance.now()
      const stops = await goTo(bench, new Date(new Date(from).getTime() + 30 * DAY))
      const seconds = Math.round(performance.now() - beganMs) / 1_000
      process.stdout.write(
        `a month of windows: ${sentAt.length} operations, ${stops} stops of the clock, ${seconds} s\n`,
      )

      expect(await summaryOfJob(bench, job)).toMatchObject({ status: 'FINISHED', finished: { successful: 100 } })
      expect(sentAt.filter(at => !isOpen(at))).toEqual([])
      // The operations are spread over open time: the month's open hours, reckoned quarter by quarter, are all in use.
      let openMs = 0
      for (let at = new Date(from).getTime(); at < new Date(from).getTime() + 30 * DAY; at += 15 * MINUTE) {
        if (isOpen(new Date(at))) openMs += 15 * MINUTE
      }
      const perHour = (100 / openMs) * HOUR
      const eve = new Date(changeEve).getTime()
      const night: Date[] = []
      for (let at = eve - 6 * HOUR; at < eve + 10 * HOUR; at += 15 * MINUTE) {
        if (isOpen(new Date(at))) night.push(new Date(at))
      }
      expect(night.length / 4).toBe(hoursOfTheNight)
      const inTheNight = sentAt.filter(at => at >= night[0]! && at.getTime() < night.at(-1)!.getTime() + 15 * MINUTE)
      expect(Math.abs(inTheNight.length - perHour * hoursOfTheNight)).toBeLessThanOrEqual(1.5)
    },
    LONG_MS,
  )
})
