/** A task's row as clients read it. Refuses to read anything itself. Serves: Task. */
import type { TaskView } from '../contract/task.ts'
import { dateText } from '../domain/job-report.ts'
import type { TaskRow } from '../store/tasks.ts'

/** The task, unwrapped. */
export function taskView(task: TaskRow): TaskView {
  return {
    id: task.id,
    ...(task.name !== null && { name: task.name }),
    ...(task.description !== null && { description: task.description }),
    user: task.userEmail,
    active: task.active,
    state: task.state,
    status: task.state,
    schedule: { ...task.schedule },
    job: { request: { ...task.request } },
    report: { executions: task.executions, skipped: task.skipped, nextDate: dateText(task.waitingAt) },
  }
}
