/** Turns what the steps of the model test ask for, told from the beginning of the world and by number, into requests of clients. */
import type { JobChange, JobRequest, JobTarget, ScheduleMoment, TargetSelection } from '../../src/domain/job.ts'
import { type DailyWindow, localHour } from './model-schedule.ts'
import type { TaskPlan, TaskRhythm } from './model-tasks.ts'

const WEEK = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT']
const NOBODY = 'nobody'

export type PlannedMoment = { readonly delayed: number } | { readonly inMs: number }
export type PlannedSelection = { readonly devices: readonly number[] } | { readonly tag: string }
export type PlannedTarget = PlannedSelection | { readonly filter: Record<string, unknown>; readonly beside: boolean }

interface PlannedWindow {
  readonly zone: string | null
  readonly opensIn: number
  readonly hours: number
  readonly days: string
}

interface PlannedSchedule {
  readonly start?: PlannedMoment
  readonly stop?: PlannedMoment
  readonly window?: PlannedWindow
  readonly scattering?: unknown
}

/** A job as the steps ask for it. */
export interface JobPlan extends Pick<JobRequest, 'active' | 'name' | 'callback' | 'operationParameters'> {
  readonly target: PlannedTarget
  readonly schedule: PlannedSchedule
}

/** A PUT as the steps ask for it. */
export interface ChangePlan extends Pick<JobChange, 'active' | 'notify' | 'callback'> {
  readonly schedule?: Pick<PlannedSchedule, 'start' | 'stop'>
  readonly append?: PlannedSelection
  readonly remove?: PlannedSelection
}

/** A task, or what of it changes, as the steps ask for it. */
export interface TaskPlanned extends Pick<TaskPlan, 'active' | 'rhythm'> {
  readonly request: Omit<JobPlan, 'active'>
}
export type TaskTurnPlanned =
  | { readonly active: boolean }
  | { readonly name: string; readonly target?: PlannedTarget }
  | { readonly rhythm: TaskRhythm }

export type ModelPlans = ReturnType<typeof createModelPlans>

export function createModelPlans(identifiers: readonly string[], beginsAt: Date) {
  /** Now and then one that nobody has provisioned. */
  const names = [...identifiers, NOBODY]

  function momentOf(moment: PlannedMoment): ScheduleMoment {
    return 'delayed' in moment ? moment : { date: new Date(beginsAt.getTime() + moment.inMs).toISOString() }
  }

  function windowOf({ zone, opensIn, hours, days }: PlannedWindow): DailyWindow {
    const { day, hour } = localHour(zone ?? 'UTC', beginsAt.getTime())
    const from = (hour + opensIn + 24) % 24
    const clock = (at: number) => `${String(at % 24).padStart(2, '0')}:00:00Z`
    const others = WEEK.filter((_, index) => index !== day)
    return {
      ...(zone !== null && { timezone: zone }),
      weekly: [
        {
          ...(days !== 'every' && { days: days === 'first' ? [WEEK[day]!] : others }),
          daily: { start: clock(from), stop: clock(from + hours) },
        },
      ],
    }
  }

  function selectionOf(selection: PlannedSelection): TargetSelection {
    if ('tag' in selection) return { tags: [selection.tag] }
    return { entities: [...new Set(selection.devices.map(index => names[index % names.length]!))] }
  }

  function targetOf(target: PlannedTarget): JobTarget {
    if (!('filter' in target)) return { append: selectionOf(target) }
    return target.beside ? { filter: target.filter } : { append: { filter: target.filter } }
  }

  const scheduleOf = ({ start, stop, window, scattering }: PlannedSchedule) => ({
    ...(start && { start: momentOf(start) }),
    ...(stop && { stop: momentOf(stop) }),
    ...(window && { window: windowOf(window) }),
    ...(scattering !== undefined && { scattering }),
  })

  const requestOf = <Plan extends Omit<JobPlan, 'active'>>({ target, schedule, ...rest }: Plan) => ({
    ...rest,
    target: targetOf(target),
    schedule: scheduleOf(schedule),
  })

  return {
    job: (plan: JobPlan) => requestOf(plan),
    change({ schedule, append, remove, ...plain }: ChangePlan): JobChange {
      const put = schedule && scheduleOf(schedule)
      return {
        ...plain,
        ...(put && Object.keys(put).length > 0 && { schedule: put }),
        ...((append || remove) && {
          target: { ...(append && { append: selectionOf(append) }), ...(remove && { remove: selectionOf(remove) }) },
        }),
      }
    },
    task: ({ request, ...task }: TaskPlanned): TaskPlan => ({ ...task, request: requestOf(request) }),
    taskTurn: (turn: TaskTurnPlanned) =>
      'target' in turn && turn.target ? { request: { name: turn.name, target: targetOf(turn.target) } } : turn,
  }
}
