/** `drover tasks`: jobs that repeat. Serves: Task, Endpoints (Tasks). */
import type { Command } from 'commander'
import { command, commandForEach, group } from '../../frame/command.ts'
import { tableOr } from '../../frame/output.ts'
import type { Surroundings } from '../../frame/surroundings.ts'
import { anyValue, declareFilter, filterOf } from '../../reading/filters.ts'
import { count, words } from '../../reading/values.ts'
import { listedRows } from '../../rows/found-rows.ts'
import { declareJob, readJob, requestOf } from '../jobs/job-options.ts'
import { JOB_TITLES, jobRow } from '../jobs/job-words.ts'
import { readTaskSchedule } from './task-schedule.ts'
import { changedTaskWords, TASK_TITLES, taskRow, taskWords } from './task-words.ts'

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
      const asked = await readJob(run, type)
      const given = options as Readonly<Record<string, string | undefined>>
      const task = {
        ...(given.id !== undefined && { id: given.id }),
        ...(given.name !== undefined && { name: given.name }),
        ...(given.description !== undefined && { description: given.description }),
        active: options.inactive !== true,
        schedule: readTaskSchedule(run),
        job: { request: requestOf(asked) },
      }
      const { client } = await run.session()
      const made = await client.call('POST /operation/tasks', { query: asked.query, body: { task } })
      await out.answer(made.task, () => taskWords(made.task, out))
      return undefined
    },
  )
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
      const filter = await filterOf(options, surroundings, anyValue('tasks.state', options.state))
      const tasks = await listedRows(run, 'POST /search/tasks', filter ? { filter } : {})
      await out.answer(tasks, () =>
        tableOr(
          'No tasks.',
          TASK_TITLES,
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
        tableOr(
          'No jobs.',
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
        tableOr(
          'Nothing.',
          ['id', 'kind'],
          entities.map(({ id, resourceType }) => [id, resourceType]),
        ),
      )
      return undefined
    },
  )
}

function changeCommand(surroundings: Surroundings, name: 'pause' | 'resume', active: boolean): Command {
  return commandForEach(
    surroundings,
    {
      usage: `${name} <tasks...>`,
      description: active ? 'let tasks launch jobs again' : 'launch no more jobs of these tasks; those that run go on',
      examples: [{ meaning: active ? 'go on with a task' : 'hold a task', line: `drover tasks ${name} $TASK` }],
    },
    async (client, taskId) => {
      const body = { task: { active } }
      return (await client.call('PUT /operation/tasks/{taskId}', { path: { taskId }, body })).task
    },
    changedTaskWords,
  )
}

function deleteCommand(surroundings: Surroundings): Command {
  return commandForEach(
    surroundings,
    {
      usage: 'delete <tasks...>',
      description: 'end tasks for good, and cancel what runs of them',
      examples: [{ meaning: 'end a task', line: 'drover tasks delete $TASK_TO_DELETE' }],
    },
    async (client, taskId) => (await client.call('DELETE /operation/tasks/{taskId}', { path: { taskId } })).task,
    changedTaskWords,
  )
}
