import { expect, test } from 'vitest'
import { openHouse } from '../house.ts'
import { asking, FAR, JOBS, on } from './asking.ts'
import { shownBy } from './shown-by.ts'

const house = await openHouse()
const { make, readJob, refuses, untilJob } = asking(house)
const SCHEDULE = 'job.request.schedule'
for (const id of ['m1', 'm2', 'm3', 'm4']) await house.provision(id)

const idle = (schedule: object) => make(on(['m1'], { active: false, schedule }))
const scheduled = (schedule: object) => ({ job: { request: on(['m1'], { active: false, schedule }) } })
const daily = (start: string, stop: string) => ({ window: { weekly: [{ daily: { start, stop } }] } })
const scattering = (members: object) => ({ scattering: { maxSpread: 10, ...members } })
const strategy = (members: object) => scattering({ strategy: { field: 'subscription.collected.cellInfo', ...members } })

test('`start.date` is an instant in ISO 8601: the job waits until then.', async () => {
  const { report, request } = await make(on(['m1'], { schedule: { start: { date: FAR } } }))
  expect(report.summary.status).toBe('SCHEDULED')
  expect(request.schedule).toMatchObject({ start: { date: expect.stringMatching(/^2100-01-01T00:00:00(\.000)?Z$/) } })
})

test('`start.delayed` is a number of milliseconds after which the job starts.', async () => {
  const { id, report } = await make(on(['m2'], { schedule: { start: { delayed: 300 } } }))
  expect(report.summary.status).toBe('SCHEDULED')
  const { execution } = (await untilJob(id, 'IN_PROGRESS')).report
  expect(Date.parse(execution.startedDate) - Date.parse(execution.activatedDate)).toBeGreaterThanOrEqual(300)
})

test('`start` is a date or a delay, and not both.', async () => {
  await refuses(JOBS, scheduled({ start: { date: FAR, delayed: 5 } }), '0x010001', `${SCHEDULE}.start`)
  await refuses(JOBS, scheduled({ start: { date: 'tomorrow' } }), '0x010001', `${SCHEDULE}.start.date`)
  await refuses(JOBS, scheduled({ start: { delayed: 'soon' } }), '0x010001', `${SCHEDULE}.start.delayed`)
})

test('`stop` has the form of `start`: a date or a delay.', async () => {
  expect((await idle({ stop: { date: FAR } })).request.schedule).toHaveProperty('stop.date')
  expect((await idle({ stop: { delayed: 60_000 } })).request.schedule).toMatchObject({ stop: { delayed: 60_000 } })
})

test('At `stop` what is pending is cancelled.', async () => {
  const { id } = await make(on(['m3'], { schedule: { stop: { delayed: 300 } } }))
  const { report } = await untilJob(id, 'TIMEOUT_CANCELLED')
  expect(report.summary.finished.cancelled).toMatchObject({ total: 1, byEngine: 1 })
})

test('`window` restricts the job to weekdays and a daily range: outside it nothing is sent.', async () => {
  const hour = (shift: number) => `${String((new Date().getUTCHours() + shift) % 24).padStart(2, '0')}:00:00Z`
  const { id } = await make(on(['m4'], { schedule: daily(hour(2), hour(3)) }))
  await untilJob(id, 'IN_PROGRESS')
  expect((await readJob(id)).report.summary.inProgress).toMatchObject({ total: 1, scheduled: 1 })
})

shownBy(
  'A window opens on its days and at its times, and what it leaves is launched when it opens again.',
  'test/engine/window.test.ts',
  'what a closing window leaves is launched when it opens again, on the days it opens',
)

test('The times of a window have the form hh:mm:ssZ.', async () => {
  await idle(daily('22:00:00Z', '06:00:00Z'))
  await refuses(JOBS, scheduled(daily('22 Uhr', '06:00:00Z')), '0x010001', `${SCHEDULE}.window.weekly[0].daily.start`)
  await refuses(
    JOBS,
    scheduled(daily('25:00:00Z', '06:00:00Z')),
    '0x010001',
    `${SCHEDULE}.window.weekly[0].daily.start`,
  )
})

test('A window from 09:00 to 15:00 is accepted.', async () => {
  expect((await idle(daily('09:00:00Z', '15:00:00Z'))).request.schedule).toHaveProperty('window')
})

test('A window from 09:30 to 15:30 is accepted.', async () => {
  expect((await idle(daily('09:30:00Z', '15:30:00Z'))).request.schedule).toHaveProperty('window')
})

test('A window from 09:00 to 15:30 is refused: it is no whole number of hours.', () =>
  refuses(JOBS, scheduled(daily('09:00:00Z', '15:30:00Z')), '0x010001', `${SCHEDULE}.window.weekly[0].daily.stop`))

test('`scattering.maxSpread` is a whole number from 0 to 100.', async () => {
  for (const maxSpread of [0, 100]) await idle({ scattering: { maxSpread } })
  for (const maxSpread of [-1, 101, 1.5]) {
    await refuses(JOBS, scheduled({ scattering: { maxSpread } }), '0x010001', `${SCHEDULE}.scattering.maxSpread`)
  }
})

test('`scattering.maxSpread` is 0 where it is not said: as fast as possible.', async () => {
  const { request } = await idle({ scattering: {} })
  expect(request.schedule).toMatchObject({ scattering: { maxSpread: 0 } })
})

shownBy(
  '`scattering.maxSpread` is the share of the effective time over which operations are spread.',
  'test/engine/scattering.test.ts',
  'operation k of N is sent at spread × k / N, and the last early enough to finish before the stop',
)

shownBy(
  'With a window, operations are spread over the open time of the window.',
  'test/engine/scattering.test.ts',
  'a spread runs along open window time only',
)

test('`strategy.field` groups by subscription.collected.cellInfo, and by nothing else.', async () => {
  await idle(strategy({}))
  const other = scattering({ strategy: { field: 'provision.device.name' } })
  await refuses(JOBS, scheduled(other), '0x010001', `${SCHEDULE}.scattering.strategy.field`)
})

test('`strategy.factor` is a whole number from 0 to 100.', async () => {
  for (const factor of [0, 100]) await idle(strategy({ factor }))
  for (const factor of [-1, 101]) {
    await refuses(JOBS, scheduled(strategy({ factor })), '0x010001', `${SCHEDULE}.scattering.strategy.factor`)
  }
})

test('`strategy.factor` is 0 where it is not said.', async () => {
  expect((await idle(strategy({}))).request.schedule).toHaveProperty('scattering.strategy.factor', 0)
})

shownBy(
  'A factor of 0 clusters each group, 100 scatters it.',
  'test/engine/scattering.test.ts',
  'a strategy with factor 0 launches cell after cell, with factor 100 all cells mixed',
)

test('`strategy.warningMaxRate` is a rate in operations per second: above it the job carries a warning with both figures.', async () => {
  const schedule = { ...strategy({ warningMaxRate: 0.000_001 }), stop: { delayed: 3_600_000 } }
  const { id } = await make(on(['m1', 'm2', 'm3'], { name: 'REFRESH_INFO', schedule }))
  for (;;) {
    const { warnings = [] } = (await readJob(id)).report
    if (warnings.length === 0) continue
    expect(JSON.stringify(warnings)).toContain('0.000001')
    break
  }
})
