/** When a task makes no further job: after so many, at an instant, or never. */
import { counted, Instant } from '../../figures.tsx'

export function Ends({ schedule }: { readonly schedule: Readonly<Record<string, unknown>> }) {
  const { date, executions } = (schedule.stop ?? {}) as { readonly date?: string; readonly executions?: number }
  return executions === undefined ? <Instant at={date} none="never" /> : `after ${counted(executions, 'job')}`
}
