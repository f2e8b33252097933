/** Tasks in the words for people. */
import type { TaskView } from '../../../contract/client/client.ts'
import { type Cell, facts, type Output } from '../../frame/output.ts'
import { repeats } from './task-schedule.ts'

export const TASK_TITLES = ['id', 'name', 'state', 'type', 'repeats', 'next', 'jobs', 'skipped', 'user']

export function taskRow({ id, name, state, job, schedule, report, user }: TaskView, out: Output): Cell[] {
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

export function taskWords(task: TaskView, out: Output): string {
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

/** What became of a task that was changed. */
export function changedTaskWords({ id, state, report }: TaskView, out: Output): string {
  return `Task ${id} is ${state}${report.nextDate === '' ? '' : `, next at ${out.instant(report.nextDate)}`}.`
}
