import { expect, test } from 'vitest'
import { openHouse } from '../house.ts'
import { asking, JOBS, job, on, TASKS, task } from './asking.ts'
import { shownBy } from './shown-by.ts'

const house = await openHouse()
const other = await openHouse({ DROVER_TARGET_ENTITIES_MAX: '3', DROVER_BODY_BYTES_MAX: '2048' })
const { call } = house
const { make, operation, operations, put, refusal, refuses } = asking(house)
await house.provision('d1')
await other.provision('d1')

const REQUEST = 'job.request'
const listed = (count: number) => ['d1', ...Array.from({ length: count - 1 }, (_, i) => `none-${i}`)]
const scattering = (members: object) => job(on(['d1'], { active: false, schedule: { scattering: members } }))
const cell = 'subscription.collected.cellInfo'
const rules = (operationParameters: object) => job(on(['d1'], { active: false, operationParameters }))
const window = (start: string, stop: string) =>
  job(on(['d1'], { active: false, schedule: { window: { weekly: [{ daily: { start, stop } }] } } }))
const repeating = (pattern: object) => task(on(['d1']), { active: false, schedule: { repeating: { pattern } } })

/** A job whose body is exactly so long. */
const padded = (bytes: number) => {
  const text = JSON.stringify(job(on(['d1'], { active: false })))
  return `${' '.repeat(bytes - text.length)}${text}`
}

test('100 entities fit into one array of a target.', async () => {
  expect((await call('POST', JOBS, job(on(listed(100), { active: false })))).status).toBe(201)
  await refuses(JOBS, job(on(listed(101), { active: false })), '0x010001', `${REQUEST}.target.append.entities`)
})

test('How many entities fit is configured.', async () => {
  expect((await other.call('POST', JOBS, job(on(listed(3), { active: false })))).status).toBe(201)
  expect((await other.call('POST', JOBS, job(on(listed(4), { active: false })))).status).toBe(400)
})

test('A body of 300 KB is taken, one byte more is refused with 413.', async () => {
  expect((await call('POST', JOBS, padded(307_200))).status).toBe(201)
  expect(await refusal('POST', JOBS, padded(307_201))).toMatchObject({ status: 413, fields: ['body'] })
})

test('How large a body may be is configured.', async () => {
  expect((await other.call('POST', JOBS, padded(2_048))).status).toBe(201)
  expect((await other.call('POST', JOBS, padded(2_049))).status).toBe(413)
})

test('A target has one tag name.', async () => {
  const tags = (names: string[]) => job({ name: 'REFRESH_INFO', active: false, target: { append: { tags: names } } })
  expect((await call('POST', JOBS, tags(['one']))).status).toBe(201)
  await refuses(JOBS, tags(['one', 'two']), '0x010001', `${REQUEST}.target.append.tags`)
})

test('`timeout` and `ackTimeout` must exceed 40 seconds together.', async () => {
  const field = `${REQUEST}.operationParameters.timeout`
  expect((await call('POST', JOBS, rules({ timeout: 20_000, ackTimeout: 20_001 }))).status).toBe(201)
  await refuses(JOBS, rules({ timeout: 20_000, ackTimeout: 20_000 }), '0x010001', field)
})

test('`timeout` is 60000 ms by default.', async () => {
  const { request } = await make(on(['d1'], { active: false }))
  expect(request.operationParameters).toHaveProperty('timeout', 60_000)
})

test('`retries` is 0 by default.', async () => {
  const { id, request } = await make(on(['d1'], { active: false }))
  expect(request.operationParameters).toHaveProperty('retries', 0)
  expect((await operation(id)).attempts.total).toBe(1)
})

test('`scattering.maxSpread` is 0 to 100.', async () => {
  const field = `${REQUEST}.schedule.scattering.maxSpread`
  for (const maxSpread of [0, 100]) expect((await call('POST', JOBS, scattering({ maxSpread }))).status).toBe(201)
  for (const maxSpread of [-1, 101]) await refuses(JOBS, scattering({ maxSpread }), '0x010001', field)
})

test('`strategy.factor` is 0 to 100.', async () => {
  const field = `${REQUEST}.schedule.scattering.strategy.factor`
  const strategy = (factor: number) => scattering({ maxSpread: 1, strategy: { field: cell, factor } })
  for (const factor of [0, 100]) expect((await call('POST', JOBS, strategy(factor))).status).toBe(201)
  for (const factor of [-1, 101]) await refuses(JOBS, strategy(factor), '0x010001', field)
})

test('The period of a window is a whole number of hours.', async () => {
  const field = `${REQUEST}.schedule.window.weekly[0].daily.stop`
  for (const [start, stop] of [
    ['09:00:00Z', '10:00:00Z'],
    ['09:15:30Z', '23:15:30Z'],
    ['22:00:00Z', '06:00:00Z'],
  ] as const) {
    expect((await call('POST', JOBS, window(start, stop))).status).toBe(201)
  }
  await refuses(JOBS, window('09:00:00Z', '09:30:00Z'), '0x010001', field)
  await refuses(JOBS, window('09:00:00Z', '15:00:01Z'), '0x010001', field)
})

shownBy(
  'Whatever the times of a window, only whole hours are read.',
  'test/domain/window.test.ts',
  'what always holds of a window',
)

test('The day of a pattern is 1 to 31.', async () => {
  for (const name of ['monthly', 'yearly']) {
    const pattern = (day: number) => repeating({ time: '02:00:00Z', [name]: { day, months: ['JAN'] } })
    const field = `task.schedule.repeating.pattern.${name}.day`
    for (const day of [1, 31]) expect((await call('POST', TASKS, pattern(day))).status).toBe(201)
    for (const day of [0, 32]) await refuses(TASKS, pattern(day), '0x010001', field)
  }
})

test('A larger list is built by an inactive job and successive PUTs.', async () => {
  const { id } = await make(on(listed(100), { active: false }))
  await house.provision('d2')
  const { status, body } = await put(id, { active: true, target: { append: { entities: ['d2'] } } })
  expect([status, body.report.summary.total]).toEqual([200, 2])
  expect((await operations(id)).map(({ entityId }) => entityId).sort()).toEqual(['d1', 'd2'])
})
