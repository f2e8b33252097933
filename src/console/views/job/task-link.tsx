/** The task that made a job, by its name. */
import { Link } from 'wouter'
import { useAsked } from '../../live.ts'
import { asking } from '../../request.ts'
import { taskTitle } from '../tasks/schedule-words.ts'

/** Until the task is known, and where it is no more, its id stands there. */
export function TaskLink({ taskId }: { readonly taskId: string }) {
  const { data } = useAsked(asking('GET /operation/tasks/{taskId}', { path: { taskId } }))
  return (
    <Link href={`/tasks/${encodeURIComponent(taskId)}`} title={taskId}>
      {data ? taskTitle(data.task) : taskId}
    </Link>
  )
}
