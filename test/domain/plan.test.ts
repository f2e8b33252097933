import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { hourMs, type Instant, minuteMs } from '../../src/domain/instants.ts'
import { nextReachAt, reachedRanges } from '../../src/domain/launching.ts'
import { layOut, planGroups, planLaunches } from '../../src/domain/plan.ts'
import { rankPlaces } from '../../src/domain/scattering-rank.ts'
import { parseSchedule } from '../../src/domain/schedule.ts'

const launchAt = Date.parse('2026-03-02T10:20:00Z')
const limits = { ackTimeoutMs: 10_000, timeoutMs: 60_000 }
function schedule(json: object) {
  const read = parseSchedule(json)
  if (!read.ok) throw new Error(JSON.stringify(read.problems))
  return read.value
}
const planned = (json: object, places: number) => planLaunches(layOut(schedule(json), limits, launchAt, places), limits)
const evenings = { weekly: [{ daily: { start: '18:00:00Z', stop: '20:00:00Z' } }], timezone: 'Europe/Madrid' }

/** What the dispatcher launches, hour by hour, going from one of its turns to the next until the stop. */
function stepped(layout: ReturnType<typeof layOut>): { at: Instant; launches: number }[] {
  const hours = new Map<number, number>()
  const { launching, stopAt } = layout
  let launched = 0
  for (let now: Instant | null = launching.launchAt; now !== null && (stopAt === null || now < stopAt); ) {
    // The first place is always reached, for retries, also where there is no operation.
    const reached = Math.min(launching.places, reachedRanges(launching, now).at(-1)?.reached ?? 0)
    if (reached > launched) {
      const hour = Math.floor(now / hourMs) * hourMs
      hours.set(hour, (hours.get(hour) ?? 0) + reached - launched)
      launched = reached
    }
    now = nextReachAt(launching, now)
  }
  return [...hours].map(([at, launches]) => ({ at, launches }))
}

test('the planned curve is what the dispatcher reaches, step by step', () => {
  const schedules = fc.record({
    places: fc.integer({ min: 0, max: 80 }),
    stopMs: fc.option(fc.integer({ min: minuteMs, max: 60 * hourMs }), { nil: undefined }),
    window: fc.constantFrom(undefined, evenings),
    maxSpread: fc.integer({ min: 0, max: 100 }),
  })
  fc.assert(
    fc.property(schedules, ({ places, stopMs, window, maxSpread }) => {
      const stop = stopMs === undefined ? {} : { stop: { delayed: stopMs } }
      const layout = layOut(
        schedule({ ...stop, ...(window && { window }), scattering: { maxSpread } }),
        limits,
        launchAt,
        places,
      )
      const plan = planLaunches(layout, limits)
      expect(plan.perHour).toEqual(stepped(layout))
      const launches = plan.perHour.reduce((sum, each) => sum + each.launches, 0)
      expect(launches + plan.launchesLater + plan.notLaunched).toBe(places)
      if (plan.lastLaunchAt !== null && window) {
        expect(plan.windows.at(-1)!.opensAt).toBeLessThanOrEqual(plan.lastLaunchAt)
      }
    }),
  )
})

describe('a plan says', () => {
  test('when a job without a schedule launches and ends: at once, and after its time limits', () => {
    expect(planned({}, 5)).toEqual({
      firstLaunchAt: launchAt,
      lastLaunchAt: launchAt,
      perHour: [{ at: launchAt - 20 * minuteMs, launches: 5 }],
      launchesLater: 0,
      windows: [],
      notLaunched: 0,
      mayNotEnd: 0,
      endsAt: launchAt + 70_000,
    })
  })

  test('which windows are used, on the clock of their zone', () => {
    const { windows, perHour } = planned(
      { window: evenings, stop: { delayed: 48 * hourMs }, scattering: { maxSpread: 100 } },
      1_000,
    )
    const day = Date.parse('2026-03-02T00:00:00Z')
    expect(windows).toEqual([
      { opensAt: day + 17 * hourMs, closesAt: day + 19 * hourMs },
      { opensAt: day + 41 * hourMs, closesAt: day + 43 * hourMs },
    ])
    expect(perHour.map(({ at }) => (at - day) / hourMs)).toEqual([17, 18, 41, 42])
  })

  test('what does not fit before the stop: where no window opens before it, nothing does', () => {
    expect(planned({ window: evenings, stop: { delayed: hourMs } }, 7)).toMatchObject({
      firstLaunchAt: null,
      notLaunched: 7,
      endsAt: launchAt + hourMs,
    })
    expect(planned({ stop: { delayed: 60_000 }, scattering: { maxSpread: 100 } }, 100)).toMatchObject({
      notLaunched: 0,
      mayNotEnd: 100,
      endsAt: launchAt + 60_000,
    })
  })

  test('much about a million operations in little time', () => {
    const plan = planned({ stop: { delayed: 30 * 24 * hourMs }, scattering: { maxSpread: 100 } }, 1_000_000)
    expect(plan.perHour.length).toBe(30 * 24 + 1)
  })
})

test('the first and last launch of each group are those of the ranking, but for equal scores', () => {
  const groupings = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 6 })
  fc.assert(
    fc.property(groupings, fc.integer({ min: 0, max: 100 }), (sizes, factor) => {
      const groups = sizes.map((operations, index) => ({ value: `g${index}`, operations }))
      const rows = groups.flatMap(({ value, operations }, g) =>
        Array.from({ length: operations }, (_, i) => ({ entity: BigInt(g * 100 + i + 1), group: value })),
      )
      const layout = layOut(
        schedule({ stop: { delayed: 10 * hourMs }, scattering: { maxSpread: 100 } }),
        limits,
        launchAt,
        rows.length,
      )
      const stepMs = layout.launching.spreadMs / rows.length
      const places = rankPlaces(rows, 1n, factor)
      const plans = planGroups(layout, groups, { field: 'subscription.collected.cellInfo', factor })
      for (const [index, { firstLaunchAt, lastLaunchAt }] of plans.entries()) {
        const own = rows.filter(({ group }) => group === groups[index]!.value).map(({ entity }) => places.get(entity)!)
        // Equal scores, at most one of each group, change places among themselves.
        const tieMs = groups.length * stepMs
        expect(Math.abs(firstLaunchAt - launchAt - Math.min(...own) * stepMs)).toBeLessThan(tieMs + 1)
        expect(Math.abs(lastLaunchAt - launchAt - Math.max(...own) * stepMs)).toBeLessThan(tieMs + 1)
      }
    }),
  )
})
