import { expect, test } from 'vitest'
import type { TaskView } from '../../../src/contract/task.ts'
import { ADMIN, openHouse } from '../house.ts'
import { asking, FAR, on, TASKS, task } from './asking.ts'
import { shownBy } from './shown-by.ts'

const house = await openHouse()
const { call } = house
const { jobsOf, makeTask, refuses } = asking(house)
await house.provision('d1', { 'provision.administration.tags': ['t1'] })

const request = on(['d1'])
const readTask = async (id: string) => (await call<{ task: TaskView }>('GET', `${TASKS}/${id}`)).body.task
const pattern = (members: object) => ({ schedule: { repeating: { pattern: { time: '02:30:00Z', ...members } } } })
const period = (each: number, unit: string) => ({ schedule: { repeating: { period: { each, unit } } } })
const PATTERN = 'task.schedule.repeating.pattern'
const MONTHS = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC']
const inJob = (members: object) => task(on(['d1'], { ...members }))
const IN_JOB = 'task.job.request'

test('A task wraps a whole job request and adds a schedule.', async () => {
  const whole = on(['d1'], { parameters: { type: 'SOFTWARE' }, notify: true, userNotes: 'n' })
  const made = await makeTask(whole, { ...period(2, 'DAYS'), active: false })
  expect(made.job.request).toMatchObject(whole)
  expect(made.schedule).toMatchObject({ repeating: { period: { each: 2, unit: 'DAYS' } } })
})

test('`id` is a UUID where the request brings none.', async () => {
  expect((await makeTask(request, { active: false })).id).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
})

test('`id` is that of the request where it brings one, and unique.', async () => {
  expect((await makeTask(request, { id: 'nightly', active: false })).id).toBe('nightly')
  await refuses(TASKS, task(request, { id: 'nightly' }), '0x010114', 'task.id')
})

test('`name` and `description` are free text.', async () => {
  const words = { name: 'Jede Nacht', description: 'alle Zähler\nim Süden' }
  const { id } = await makeTask(request, { ...words, active: false })
  expect(await readTask(id)).toMatchObject(words)
})

test('`active` false launches no job.', async () => {
  const { id, state } = await makeTask(request, { schedule: { start: { date: FAR } }, active: false })
  expect(state).toBe('INACTIVE')
  expect((await jobsOf(id)).map(({ report }) => report.summary.status)).toEqual(['IDLE'])
})

test('`state` is the state of the task.', async () => {
  const { id } = await makeTask(request)
  expect((await readTask(id)).state).toBe('ACTIVE')
})

test('`schedule.start.date` is the first execution.', async () => {
  const { id, report } = await makeTask(request, { schedule: { start: { date: FAR } } })
  expect(report.nextDate).toBe(FAR)
  expect((await jobsOf(id)).map(({ report }) => report.summary.status)).toEqual(['SCHEDULED'])
})

test('Without `schedule.start` the first execution is now, whatever repeats it.', async () => {
  for (const schedule of [{}, period(1, 'DAYS').schedule]) {
    const { id } = await makeTask(request, { schedule })
    let started = ''
    while (started === '') started = (await jobsOf(id)).at(-1)!.report.execution.startedDate
    expect(Date.now() - Date.parse(started)).toBeLessThan(60_000)
  }
})

shownBy('`schedule.stop.date` ends the task.', 'test/engine/tasks.test.ts', 'is FINISHED when its stop has passed')

shownBy(
  '`schedule.stop.executions` ends the task after so many jobs.',
  'test/engine/tasks.test.ts',
  'runs a job at every occurrence until its executions are used up, and is FINISHED when the last has ended',
)

test('`schedule.stop.executions` is a whole number.', async () => {
  const schedule = { ...period(1, 'HOURS').schedule, stop: { executions: 3 } }
  expect((await makeTask(request, { schedule, active: false })).schedule).toMatchObject({ stop: { executions: 3 } })
  await refuses(
    TASKS,
    task(request, { schedule: { stop: { executions: 1.5 } } }),
    '0x010001',
    'task.schedule.stop.executions',
  )
})

test('Without `schedule.stop` a task never stops.', async () => {
  const { schedule, report } = await makeTask(request, period(1, 'DAYS'))
  expect(schedule).not.toHaveProperty('stop')
  expect(report.nextDate).not.toBe('')
})

test('`schedule.repeating.period` is a whole number of SECONDS, MINUTES, HOURS or DAYS.', async () => {
  for (const unit of ['SECONDS', 'MINUTES', 'HOURS', 'DAYS']) {
    const { schedule } = await makeTask(request, { ...period(30, unit), active: false })
    expect(schedule).toMatchObject({ repeating: { period: { each: 30, unit } } })
  }
  await refuses(TASKS, task(request, period(1, 'WEEKS')), '0x010001', 'task.schedule.repeating.period.unit')
  await refuses(TASKS, task(request, period(1.5, 'HOURS')), '0x010001', 'task.schedule.repeating.period.each')
})

shownBy('A period keeps its pace.', 'test/engine/tasks.test.ts', 'of seconds keeps its pace')

test('`schedule.repeating.pattern.time` has the form hh:mm:ss with a time zone designator, which it keeps.', async () => {
  for (const time of ['02:30:00Z', '02:30:00+01:00']) {
    const { schedule } = await makeTask(request, { ...pattern({ time, weekly: { days: ['MON'] } }), active: false })
    expect(schedule).toMatchObject({ repeating: { pattern: { time } } })
  }
  await refuses(
    TASKS,
    task(request, pattern({ time: '2:30', weekly: { days: ['MON'] } })),
    '0x010001',
    `${PATTERN}.time`,
  )
})

test('`schedule.repeating.pattern.time` may be left out.', async () => {
  const schedule = { repeating: { pattern: { weekly: { days: ['MON'] } } } }
  expect((await makeTask(request, { schedule, active: false })).report.nextDate).not.toBe('')
})

test('A pattern is one of weekly, monthly and yearly.', async () => {
  const two = { weekly: { days: ['MON'] }, monthly: { day: 1, months: ['JAN'] } }
  await refuses(TASKS, task(request, pattern(two)), '0x010001', PATTERN)
})

test('`weekly.days` holds at least one day, MON to SUN.', async () => {
  const days = ['MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT', 'SUN']
  expect((await makeTask(request, { ...pattern({ weekly: { days } }), active: false })).schedule).toMatchObject({
    repeating: { pattern: { weekly: { days } } },
  })
  await refuses(TASKS, task(request, pattern({ weekly: { days: [] } })), '0x010001', `${PATTERN}.weekly.days`)
  await refuses(TASKS, task(request, pattern({ weekly: { days: ['Mon'] } })), '0x010001', `${PATTERN}.weekly.days[0]`)
})

test('`monthly` has a day from 1 to 31 and months from JAN to DEC.', async () => {
  for (const day of [1, 31]) {
    const { schedule } = await makeTask(request, { ...pattern({ monthly: { day, months: MONTHS } }), active: false })
    expect(schedule).toMatchObject({ repeating: { pattern: { monthly: { day, months: MONTHS } } } })
  }
  for (const day of [0, 32]) {
    await refuses(
      TASKS,
      task(request, pattern({ monthly: { day, months: ['JAN'] } })),
      '0x010001',
      `${PATTERN}.monthly.day`,
    )
  }
  const wrong = task(request, pattern({ monthly: { day: 1, months: ['MAI'] } }))
  await refuses(TASKS, wrong, '0x010001', `${PATTERN}.monthly.months[0]`)
})

test('`yearly` has a day from 1 to 31 and months from JAN to DEC.', async () => {
  const { schedule } = await makeTask(request, { ...pattern({ yearly: { day: 24, months: ['DEC'] } }), active: false })
  expect(schedule).toMatchObject({ repeating: { pattern: { yearly: { day: 24, months: ['DEC'] } } } })
  for (const day of [0, 32]) {
    await refuses(
      TASKS,
      task(request, pattern({ yearly: { day, months: ['JAN'] } })),
      '0x010001',
      `${PATTERN}.yearly.day`,
    )
  }
})

shownBy(
  'Every occurrence of a pattern is where a calendar of its own puts it, over a year and through changes of the clock.',
  'test/engine/year.test.ts',
  'a year of tasks',
)

test('The `start` of the job of a task is a delay; an exact date is refused.', async () => {
  await makeTask(on(['d1'], { schedule: { start: { delayed: 5_000 } } }), { active: false })
  await refuses(TASKS, inJob({ schedule: { start: { date: FAR } } }), '0x010001', `${IN_JOB}.schedule.start.date`)
})

test('The `stop` of the job of a task is a delay; an exact date is refused.', async () => {
  await makeTask(on(['d1'], { schedule: { stop: { delayed: 5_000 } } }), { active: false })
  await refuses(TASKS, inJob({ schedule: { stop: { date: FAR } } }), '0x010001', `${IN_JOB}.schedule.stop.date`)
})

test('The target of a task follows the rules of jobs: one alternative, one tag, 100 entities.', async () => {
  const append = (members: object) => inJob({ target: { append: members } })
  const listed = Array.from({ length: 101 }, (_, i) => `e${i}`)
  await refuses(TASKS, append({ entities: ['d1'], tags: ['t1'] }), '0x010001', `${IN_JOB}.target.append`)
  await refuses(TASKS, append({ tags: ['t1', 't2'] }), '0x010001', `${IN_JOB}.target.append.tags`)
  await refuses(TASKS, append({ entities: listed }), '0x010001', `${IN_JOB}.target.append.entities`)
  for (const target of [{ entities: ['d1'] }, { tags: ['t1'] }, { filter: {} }]) {
    await makeTask({ name: 'REFRESH_INFO', target: { append: target } }, { active: false })
  }
})

test('The request of a task has the size limit of jobs.', async () => {
  const padded = `${' '.repeat(307_200)}${JSON.stringify(task(request))}`
  expect((await call('POST', TASKS, padded)).status).toBe(413)
})

test('`resourceType` in the query of a task restricts its filter.', async () => {
  const body = task({ name: 'REFRESH_INFO', target: { append: { filter: {} } } }, { active: false })
  const made = await call<{ task: TaskView }>('POST', `${TASKS}?resourceType=entity.asset`, body)
  expect(made.status).toBe(201)
  expect((await call('GET', `${TASKS}/${made.body.task.id}/entities`)).status).toBe(204)
  await refuses(`${TASKS}?resourceType=entity.person`, body, '0x010001', 'resourceType')
})

test('Every field of a task is a field of search filters, behind tasks.', async () => {
  const { id } = await makeTask(on(['d1'], { userNotes: 'sought' }), {
    name: 'sought',
    description: 'by all',
    schedule: { start: { date: FAR }, stop: { executions: 3 }, repeating: { period: { each: 7, unit: 'MINUTES' } } },
  })
  const weekly = await makeTask(request, { ...pattern({ weekly: { days: ['SAT'] } }), active: false })
  const filters: [string, unknown, string][] = [
    ['tasks.id', id, id],
    ['tasks.name', 'sought', id],
    ['tasks.description', 'by all', id],
    ['tasks.schedule.start.date', FAR, id],
    ['tasks.schedule.stop.executions', 3, id],
    ['tasks.schedule.repeating.period.each', 7, id],
    ['tasks.schedule.repeating.period.unit', 'MINUTES', id],
    ['tasks.schedule.repeating.pattern.time', '02:30:00Z', weekly.id],
    ['tasks.schedule.repeating.pattern.weekly.days', 'SAT', weekly.id],
    ['tasks.active', true, id],
    ['tasks.state', 'ACTIVE', id],
    ['tasks.user', ADMIN, id],
    ['tasks.job.request.name', 'REBOOT_EQUIPMENT', id],
    ['tasks.job.request.userNotes', 'sought', id],
    ['tasks.job.request.parameters.type', 'HARDWARE', id],
    ['tasks.job.request.operationParameters.timeout', 60_000, id],
    ['tasks.job.request.target.append.entities', 'd1', id],
  ]
  for (const [field, value, expected] of filters) {
    const { status, body } = await call<{ tasks: TaskView[] }>('POST', '/north/v80/search/tasks', {
      filter: { eq: { [field]: value } },
    })
    expect([field, status], JSON.stringify(body)).toEqual([field, 200])
    expect(
      body.tasks.map(each => each.id),
      field,
    ).toContain(expected)
  }
})
