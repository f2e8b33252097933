/** `drover tasks`: jobs that repeat. Serves: Task, Endpoints (Tasks). */
import type { Command } from 'commander'
import type { TaskScheduleSchema, TaskView } from '../contract/client/client.ts'
import { command, group, type Run } from './command.ts'
import { CommandFailed } from './exit-codes.ts'
import { anyValue, declareFilter, filterOf } from './filters.ts'
import { collected, foundRows } from './found-rows.ts'
import { declareJob, readJob } from './job-options.ts'
import { JOB_TITLES, jobRow } from './job-words.ts'
import { type Cell, facts, type Output, table } from './output.ts'
import type { Surroundings } from './surroundings.ts'
import { readInstant, readSpan, shownSpan } from './times.ts'
import { count, words } from './values.ts'

const LISTED = 20

/** The group of commands. */
export function tasksCommand(surroundings: Surroundings): Command {
  return group({ usage: 'tasks', description: 'jobs that repeat', examples: [] }, [
    createCommand(surroundings),
    listCommand(surroundings),
    showCommand(surroundings),
    jobsCommand(surroundings),
    entitiesCommand(surroundings),
    changeCommand(surroundings, 'pause', false),
    changeCommand(surroundings, 'resume', true),
    deleteCommand(surroundings),
  ])
}

function createCommand(surroundings: Surroundings): Command {
  return command(
    surroundings,
    {
      usage: 'create',
      description: 'repeat a job: at a time of day, on days of the week or the month, or every so often',
      examples: [
        {
          meaning: 'every weekday at half past two',
          line: 'drover tasks create REFRESH_INFO --tag meters --name "Nightly refresh" --at 02:30 --on MON,TUE,WED,THU,FRI --timeout 60s --stop 1h',
        },
        {
          meaning: 'every six hours, ten times',
          line: 'drover tasks create EQUIPMENT_DIAGNOSTIC -e meter-1 --every 6h --times 10 --timeout 60s --stop 1h',
        },
      ],
      declare: made => {
        declareJob(made)
        made
          .option('--id <id>', "the task's id; left out, the service makes one")
          .option('--name <text>', "the task's name")
          .option('--description <text>', 'what it is for')
          .option('--first <time>', 'not before this time; left out, now')
          .option('--every <time>', 'repeat after each so much: 90s, 15m, 6h, 1d')
          .option('--at <hh:mm>', 'repeat at this time of day, on the clock of this machine, or UTC with --utc')
          .option('--on <days>', 'only on these days of the week: MON,FRI', words)
          .option('--day <n>', 'only on this day of the month', count)
          .option('--months <months>', 'only in these months: JAN,JUL', words)
          .option('--times <n>', 'end after so many jobs', count)
          .option('--until <time>', 'end at this time')
          .option('--inactive', 'make the task without starting it')
      },
    },
    async (run, type) => {
      const { options, out } = run
      const { request, entities, query } = await readJob(run, type)
      const target = entities.length > 0 ? { target: { append: { entities: [...entities] } } } : {}
      const given = options as Readonly<Record<string, string | undefined>>
      const task = {
        ...(given.id !== undefined && { id: given.id }),
        ...(given.name !== undefined && { name: given.name }),
        ...(given.description !== undefined && { description: given.description }),
        active: options.inactive !== true,
        schedule: readSchedule(run),
        job: { request: { ...request, ...target } },
      }
      const { client } = await run.session()
      const made = await client.call('POST /operation/tasks', { query, body: { task } })
      await out.answer(made.task, () => taskWords(made.task, out))
      return undefined
    },
  )
}

const PERIODS = [
  ['DAYS', 86_400_000],
  ['HOURS', 3_600_000],
  ['MINUTES', 60_000],
  ['SECONDS', 1_000],
] as const

function readSchedule({ options, out }: Run): TaskScheduleSchema {
  const { first, every, at, on, day, months, times, until } = options
  const instant = (option: string, value: unknown) => {
    if (typeof value !== 'string') return undefined
    const read = readInstant(value, new Date(), out.utc)
    if (!read)
      throw new CommandFailed('usage', `${option} must be a time such as 22:00 or 2026-03-02T22:00, not "${value}".`)
    return { date: read.toISOString() }
  }
  const start = instant('--first', first)
  const stop = typeof times === 'number' ? { executions: times } : instant('--until', until)
  const patterned = [at, on, day, months].some(value => value !== undefined)
  if (every !== undefined && patterned)
    throw new CommandFailed('usage', 'Give --every, or --at with --on, --day and --months.')
  // The service is the judge of the words for days and months.
  const calendar = {
    ...(typeof at === 'string' && { time: timeOfDay(at, out.utc) }),
    ...(Array.isArray(on) && { weekly: { days: on } }),
    ...(typeof day === 'number' &&
      (Array.isArray(months) ? { yearly: { day, months } } : { monthly: { day, months: MONTHS } })),
  } as Pattern
  const repeating =
    typeof every === 'string' ? { period: periodOf(every) } : patterned ? { pattern: calendar } : undefined
  return { ...(start && { start }), ...(stop && { stop }), ...(repeating && { repeating }) }
}

const MONTHS = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC']
type Pattern = Extract<NonNullable<TaskScheduleSchema['repeating']>, { pattern: unknown }>['pattern']

function periodOf(text: string): { each: number; unit: (typeof PERIODS)[number][0] } {
  const span = readSpan(text)
  const [unit, length] = PERIODS.find(([, ms]) => span !== undefined && span > 0 && span % ms === 0) ?? []
  if (span === undefined || unit === undefined) {
    throw new CommandFailed('usage', `--every must be whole seconds, such as 90s, 15m or 6h, not "${text}".`)
  }
  return { each: span / length, unit }
}

/** A time of day with the offset that this machine has now: a pattern keeps the offset it came with. */
function timeOfDay(text: string, utc: boolean): string {
  const clock = /^(\d{1,2}:\d{2})(:\d{2})?$/.exec(text)
  if (!clock) throw new CommandFailed('usage', `--at must be a time of day such as 02:30, not "${text}".`)
  const time = `${clock[1]!.padStart(5, '0')}${clock[2] ?? ':00'}`
  const offset = utc ? 0 : -new Date().getTimezoneOffset()
  if (offset === 0) return `${time}Z`
  const digits = (value: number) => String(value).padStart(2, '0')
  return `${time}${offset < 0 ? '-' : '+'}${digits(Math.floor(Math.abs(offset) / 60))}:${digits(Math.abs(offset) % 60)}`
}

const TITLES = ['id', 'name', 'state', 'type', 'repeats', 'next', 'jobs', 'skipped', 'user']

function taskRow({ id, name, state, job, schedule, report, user }: TaskView, out: Output): Cell[] {
  const { executions, skipped, nextDate } = report
  return [
    id,
    name,
    state,
    String(job.request.name),
    repeats(schedule),
    out.instant(nextDate),
    executions,
    skipped,
    user,
  ]
}

function taskWords(task: TaskView, out: Output): string {
  return facts([
    ['Task', task.id],
    ['Name', task.name],
    ['Description', task.description],
    ['State', task.state],
    ['User', task.user],
    ['Repeats', repeats(task.schedule)],
    ['Next', out.instant(task.report.nextDate)],
    ['Jobs', task.report.executions],
    ['Skipped', task.report.skipped || undefined],
    ['Type', String(task.job.request.name)],
    ['Request', JSON.stringify(task.job.request)],
  ])
}

function repeats(schedule: TaskView['schedule']): string {
  const { repeating } = schedule as TaskScheduleSchema
  if (!repeating) return 'once'
  if ('period' in repeating) {
    const { each, unit } = repeating.period
    return `every ${shownSpan(each * PERIODS.find(([name]) => name === unit)![1])}`
  }
  const { time, weekly, monthly, yearly } = repeating.pattern
  const days =
    weekly?.days.join(',') ??
    (monthly ? `day ${monthly.day}` : yearly ? `day ${yearly.day} of ${yearly.months?.join(',')}` : 'daily')
  return time === undefined ? days : `${days} at ${time}`
}

function listCommand(surroundings: Surroundings): Command {
  return command(
    surroundings,
    {
      usage: 'list',
      description: 'tasks, with what they do next',
      examples: [{ meaning: 'those that launch jobs', line: 'drover tasks list --state ACTIVE' }],
      declare: made => {
        made
          .option('--state <words>', 'only in these states', words)
          .option('--limit <n>', 'at most so many', count, LISTED)
        declareFilter(made)
      },
    },
    async run => {
      const { out, options } = run
      const { client } = await run.session()
      const filter = await filterOf(options, surroundings, anyValue('tasks.state', options.state))
      const tasks = await collected(
        foundRows(client, 'POST /search/tasks', filter ? { filter } : {}, Number(options.limit)),
      )
      await out.answer(tasks, () =>
        tasks.length === 0
          ? 'No tasks.'
          : table(
              TITLES,
              tasks.map(task => taskRow(task, out)),
            ),
      )
      return undefined
    },
  )
}

function showCommand(surroundings: Surroundings): Command {
  return command(
    surroundings,
    {
      usage: 'show <task>',
      description: 'one task',
      examples: [{ meaning: 'what a task does', line: 'drover tasks show $TASK' }],
    },
    async (run, taskId) => {
      const { client } = await run.session()
      const { task } = await client.call('GET /operation/tasks/{taskId}', { path: { taskId: taskId! } })
      await run.out.answer(task, () => taskWords(task, run.out))
      return undefined
    },
  )
}

function jobsCommand(surroundings: Surroundings): Command {
  return command(
    surroundings,
    {
      usage: 'jobs <task>',
      description: 'the jobs that a task made, the newest first',
      examples: [{ meaning: 'how the last five went', line: 'drover tasks jobs $TASK --limit 5' }],
      declare: made => {
        made.option('--limit <n>', 'at most so many, up to 1000', count, LISTED)
      },
    },
    async (run, taskId) => {
      const { out, options } = run
      const { client } = await run.session()
      const query = { size: Math.min(1_000, Number(options.limit)) }
      const page = await client.call('GET /operation/tasks/{taskId}/jobs', { path: { taskId: taskId! }, query })
      const jobs = page?.jobs ?? []
      await out.answer(jobs, () =>
        jobs.length === 0
          ? 'No jobs.'
          : table(
              JOB_TITLES,
              jobs.map(job => jobRow(job, out)),
            ),
      )
      return undefined
    },
  )
}

function entitiesCommand(surroundings: Surroundings): Command {
  return command(
    surroundings,
    {
      usage: 'entities <task>',
      description: 'what the target of a task is now',
      examples: [{ meaning: 'the first twenty', line: 'drover tasks entities $TASK' }],
      declare: made => {
        made.option('--limit <n>', 'at most so many, up to 1000', count, LISTED)
      },
    },
    async (run, taskId) => {
      const { out, options } = run
      const { client } = await run.session()
      const query = { size: Math.min(1_000, Number(options.limit)) }
      const page = await client.call('GET /operation/tasks/{taskId}/entities', { path: { taskId: taskId! }, query })
      const entities = page?.entities ?? []
      await out.answer(entities, () =>
        entities.length === 0
          ? 'Nothing.'
          : table(
              ['id', 'kind'],
              entities.map(({ id, resourceType }) => [id, resourceType]),
            ),
      )
      return undefined
    },
  )
}

function changeCommand(surroundings: Surroundings, name: 'pause' | 'resume', active: boolean): Command {
  return command(
    surroundings,
    {
      usage: `${name} <tasks...>`,
      description: active ? 'let tasks launch jobs again' : 'launch no more jobs of these tasks; those that run go on',
      examples: [{ meaning: active ? 'go on with a task' : 'hold a task', line: `drover tasks ${name} $TASK` }],
    },
    async (run, ...tasks) => {
      const { client } = await run.session()
      for (const taskId of tasks) {
        const { task } = await client.call('PUT /operation/tasks/{taskId}', {
          path: { taskId },
          body: { task: { active } },
        })
        await run.out.line(task, () => changedWords(task, run.out))
      }
      return undefined
    },
  )
}

function changedWords({ id, state, report }: TaskView, out: Output): string {
  return `Task ${id} is ${state}${report.nextDate === '' ? '' : `, next at ${out.instant(report.nextDate)}`}.`
}

function deleteCommand(surroundings: Surroundings): Command {
  return command(
    surroundings,
    {
      usage: 'delete <tasks...>',
      description: 'end tasks for good, and cancel what runs of them',
      examples: [{ meaning: 'end a task', line: 'drover tasks delete $TASK_TO_DELETE' }],
    },
    async (run, ...tasks) => {
      const { client } = await run.session()
      for (const taskId of tasks) {
        const { task } = await client.call('DELETE /operation/tasks/{taskId}', { path: { taskId } })
        await run.out.line(task, () => changedWords(task, run.out))
      }
      return undefined
    },
  )
}
