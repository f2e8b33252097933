/**
 * What is about to be launched, as it is being filled in, and the request of the interface that comes of it. Pure: it asks nobody.
 */
import type {
  JobRequestSchema,
  JobScheduleSchema,
  OperationParametersSchema,
  TaskScheduleSchema,
  WindowSchema,
} from '../../../contract/client/client.ts'
import type { ResourceType } from '../../../contract/words.ts'
import { viewerZone } from '../../figures.tsx'

export interface Condition {
  /** tells it from the others of its draft */
  readonly id: number
  readonly field: string
  readonly operator: 'eq' | 'neq' | 'like' | 'exists' | 'missing' | 'in'
  readonly value: string
}

/** Open hours by day (Monday first) and hour, in the viewer's zone. */
export type Week = readonly (readonly boolean[])[]

export interface Draft {
  readonly name: string
  readonly parameters: Readonly<Record<string, unknown>>
  readonly target: 'list' | 'tag' | 'filter'
  readonly list: readonly string[]
  readonly tag: string
  readonly conditions: readonly Condition[]
  readonly every: boolean
  readonly resourceType: ResourceType | ''
  readonly start: 'now' | 'date' | 'never'
  /** local time as the browser writes it */
  readonly startDate: string
  readonly stop: 'none' | 'after' | 'date'
  readonly stopAfterMin: number
  readonly stopDate: string
  readonly week: Week | null
  readonly maxSpread: number
  /** dispersion within a cell; null: not by cell */
  readonly factor: number | null
  readonly warningMaxRate: number | null
  readonly ackTimeoutS: number
  readonly timeoutS: number
  readonly retries: number
  readonly retriesDelayS: number
  readonly retryResults: readonly string[]
  readonly userNotes: string
  readonly callback: string
  readonly notify: boolean
  /** of a task alone */
  readonly taskName: string
  readonly repeat: 'once' | 'period' | 'daily' | 'weekly' | 'monthly'
  readonly each: number
  readonly unit: 'SECONDS' | 'MINUTES' | 'HOURS' | 'DAYS'
  readonly time: string
  readonly days: readonly Day[]
  readonly day: number
  readonly months: readonly Month[]
  readonly executions: number | null
}

export const DAYS = ['MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT', 'SUN'] as const
export type Day = (typeof DAYS)[number]
export const MONTHS = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'] as const
export type Month = (typeof MONTHS)[number]

export const EMPTY: Draft = {
  name: '',
  parameters: {},
  target: 'list',
  list: [],
  tag: '',
  conditions: [],
  every: true,
  resourceType: '',
  start: 'now',
  startDate: '',
  stop: 'after',
  stopAfterMin: 240,
  stopDate: '',
  week: null,
  maxSpread: 0,
  factor: null,
  warningMaxRate: null,
  ackTimeoutS: 0,
  timeoutS: 60,
  retries: 0,
  retriesDelayS: 0,
  retryResults: [],
  userNotes: '',
  callback: '',
  notify: false,
  taskName: '',
  repeat: 'daily',
  each: 1,
  unit: 'HOURS',
  time: '02:00',
  days: ['MON', 'TUE', 'WED', 'THU', 'FRI'],
  day: 1,
  months: [...MONTHS],
  executions: null,
}

/** Identifiers in pasted text, each once: apart by lines, commas, semicolons, tabs or blanks; quotes of CSV are taken off. */
export function readList(text: string): string[] {
  const all = text.split(/[\s,;]+/).map(each => each.replace(/^"|"$/g, ''))
  return [...new Set(all)].filter(each => each !== '')
}

/** The filter of the interface that the conditions say. */
export function filterOf({ conditions, every }: Pick<Draft, 'conditions' | 'every'>): Record<string, unknown> {
  const parts = conditions.flatMap(({ field, operator, value }): Record<string, unknown>[] => {
    if (field === '') return []
    if (operator === 'exists' || operator === 'missing') return [{ exists: { [field]: operator === 'exists' } }]
    if (operator === 'in') return [{ in: { [field]: readList(value) } }]
    return [{ [operator]: { [field]: value } }]
  })
  if (parts.length === 0) return {}
  return parts.length === 1 ? (parts[0] ?? {}) : { [every ? 'and' : 'or']: parts }
}

/** The most identifiers that one request may list, and that one condition of a filter may. */
export const LISTED_MAX = 100
const IN_ONE_CONDITION = 1_000

/** A target as a filter, to count and sample it; a list becomes the identifiers in it. */
export function countingFilter(draft: Draft): Record<string, unknown> | null {
  if (draft.target === 'tag') return draft.tag === '' ? null : { eq: { 'provision.administration.tags': draft.tag } }
  if (draft.target === 'filter') return filterOf(draft)
  if (draft.list.length === 0) return null
  const parts: Record<string, unknown>[] = []
  for (let from = 0; from < draft.list.length; from += IN_ONE_CONDITION) {
    parts.push({ in: { 'provision.administration.identifier': draft.list.slice(from, from + IN_ONE_CONDITION) } })
  }
  return parts.length === 1 ? (parts[0] ?? {}) : { or: parts }
}

/** Whether the list is longer than one request may hold: it is then made in parts. */
export const isLong = ({ target, list }: Draft): boolean => target === 'list' && list.length > LISTED_MAX

function targetOf(draft: Draft): NonNullable<JobRequestSchema['target']> {
  if (draft.target === 'tag') return { append: { tags: [draft.tag] } }
  if (draft.target === 'filter') return { append: { filter: filterOf(draft) } }
  return { append: { entities: draft.list.slice(0, LISTED_MAX) } }
}

const instantOf = (local: string): string => {
  const at = new Date(local)
  return Number.isNaN(at.getTime()) ? '' : at.toISOString()
}

const clock = (hour: number): string => `${String(hour % 24).padStart(2, '0')}:00:00Z`

/** Open hours as entries of a window: runs of hours, over midnight where they go on, the same hours of several days together. */
export function windowOf(week: Week): WindowSchema | null {
  const open = (day: number, hour: number) => week[(day + Math.floor(hour / 24)) % 7]?.[hour % 24] === true
  const runs = new Map<string, { start: string; stop: string; days: Set<Day> }>()
  const isFull = week.every(day => day.every(Boolean))
  for (let day = 0; day < 7; day++) {
    for (let hour = 0; hour < 24; hour++) {
      const beforeIsOpen = open(hour === 0 ? (day + 6) % 7 : day, hour === 0 ? 23 : hour - 1)
      const starts = open(day, hour) && (!beforeIsOpen || (isFull && hour === 0))
      if (!starts) continue
      let length = 1
      while (length < 7 * 24 && open(day, hour + length)) length++
      for (let from = 0; from < length && from < 7 * 24; from += 24) {
        const stop = Math.min(from + 24, length)
        const on = DAYS[(day + Math.floor((hour + from) / 24)) % 7] ?? 'MON'
        const entry = { start: clock(hour + from), stop: clock(hour + stop) }
        const key = `${entry.start}${entry.stop}`
        const known = runs.get(key) ?? { ...entry, days: new Set<Day>() }
        known.days.add(on)
        runs.set(key, known)
        if (isFull) break
      }
    }
  }
  if (runs.size === 0) return null
  const weekly = [...runs.values()].map(({ start, stop, days }) => ({
    ...(days.size < 7 && { days: DAYS.filter(day => days.has(day)) }),
    daily: { start, stop },
  }))
  return { weekly, timezone: viewerZone }
}

/** Where a window is drawn, hours that are open; 22 to 6 for example. */
export function hoursOpen(from: number, to: number, days: readonly number[]): Week {
  const week = Array.from({ length: 7 }, () => Array.from({ length: 24 }, () => false))
  for (const day of days) {
    for (let hour = from; hour !== to; hour = (hour + 1) % 24) {
      const row = week[hour < from ? (day + 1) % 7 : day]
      if (row) row[hour] = true
    }
  }
  return week
}

function scheduleOf(draft: Draft, isTask: boolean): JobScheduleSchema {
  const window = draft.week ? windowOf(draft.week) : null
  const strategy =
    draft.factor === null ? null : { field: 'subscription.collected.cellInfo' as const, factor: draft.factor }
  return {
    ...(!isTask && draft.start === 'date' && { start: { date: instantOf(draft.startDate) } }),
    ...(draft.stop === 'after' && { stop: { delayed: Math.round(draft.stopAfterMin * 60_000) } }),
    ...(!isTask && draft.stop === 'date' && { stop: { date: instantOf(draft.stopDate) } }),
    ...(window && { window }),
    ...((draft.maxSpread > 0 || strategy || draft.warningMaxRate !== null) && {
      scattering: {
        maxSpread: draft.maxSpread,
        ...(strategy && { strategy }),
        ...(draft.warningMaxRate !== null && { warningMaxRate: draft.warningMaxRate }),
      },
    }),
  }
}

function limitsOf(draft: Draft): OperationParametersSchema {
  return {
    ...(draft.ackTimeoutS > 0 && { ackTimeout: draft.ackTimeoutS * 1000 }),
    timeout: draft.timeoutS * 1000,
    ...(draft.retries > 0 && { retries: draft.retries }),
    ...(draft.retriesDelayS > 0 && { retriesDelay: draft.retriesDelayS * 1000 }),
    ...(draft.retryResults.length > 0 && {
      retryResultList: [...draft.retryResults] as NonNullable<OperationParametersSchema['retryResultList']>,
    }),
  }
}

/** The request that the draft says. */
export function requestOf(draft: Draft, isTask = false): JobRequestSchema {
  const schedule = scheduleOf(draft, isTask)
  return {
    name: draft.name,
    parameters: { ...draft.parameters },
    target: targetOf(draft),
    active: isTask || draft.start !== 'never',
    ...(Object.keys(schedule).length > 0 && { schedule }),
    operationParameters: limitsOf(draft),
    ...(draft.notify && { notify: true }),
    ...(draft.callback !== '' && { callback: draft.callback }),
    ...(draft.userNotes !== '' && { userNotes: draft.userNotes }),
  }
}

/** The request as it is planned: a long list stands in as the filter that finds it, and of a task it is its run at `runAt`. */
export function plannedRequestOf(draft: Draft, isTask = false, runAt: number | null = null): JobRequestSchema {
  const asked = { ...requestOf(draft, isTask), active: true }
  const start = runAt === null ? {} : { start: { date: new Date(runAt).toISOString() } }
  const request = isTask ? { ...asked, schedule: { ...asked.schedule, ...start } } : asked
  const filter = isLong(draft) ? countingFilter(draft) : null
  return filter ? { ...request, target: { append: { filter } } } : request
}

/** Which kind of entity a filter or a tag is kept to. */
export const resourceTypeOf = ({ target, resourceType }: Draft): { resourceType?: ResourceType } =>
  target === 'list' || resourceType === '' ? {} : { resourceType }

/** When a task makes jobs. Its time of day is the viewer's, written with the offset that is in force. */
export function taskScheduleOf(draft: Draft): TaskScheduleSchema {
  const time = `${draft.time}:00${offsetNow()}`
  const pattern = {
    daily: { time },
    weekly: { time, weekly: { days: [...draft.days] } },
    monthly: { time, monthly: { day: draft.day, months: [...draft.months] } },
  }
  const repeating =
    draft.repeat === 'once'
      ? null
      : draft.repeat === 'period'
        ? { period: { each: draft.each, unit: draft.unit } }
        : { pattern: pattern[draft.repeat] }
  return {
    ...(draft.start === 'date' && draft.startDate !== '' && { start: { date: instantOf(draft.startDate) } }),
    ...(draft.executions !== null && { stop: { executions: draft.executions } }),
    ...(repeating && { repeating }),
  }
}

function offsetNow(): string {
  const minutes = -new Date().getTimezoneOffset()
  if (minutes === 0) return 'Z'
  const distance = Math.abs(minutes)
  const text = `${String(Math.floor(distance / 60)).padStart(2, '0')}:${String(distance % 60).padStart(2, '0')}`
  return `${minutes < 0 ? '-' : '+'}${text}`
}

/** What still lacks before the step after this one, in words; null where nothing does. */
export function lacksOf(draft: Draft, step: 'what' | 'whom' | 'when', isTask = false): string | null {
  if (step === 'what') return draft.name === '' ? 'Choose an operation.' : null
  if (step === 'whom') {
    if (draft.target === 'list' && draft.list.length === 0) return 'List at least one device.'
    // A job is filled in parts before it is activated; a task has its whole list at once.
    if (isTask && isLong(draft)) return `A task lists at most ${LISTED_MAX} devices: name a tag or conditions instead.`
    return draft.target === 'tag' && draft.tag === '' ? 'Name a tag.' : null
  }
  if (draft.start === 'date' && instantOf(draft.startDate) === '') return 'Say when it starts.'
  if (draft.stop === 'date' && instantOf(draft.stopDate) === '') return 'Say when it stops.'
  if (draft.week && windowOf(draft.week) === null) return 'Open at least one hour of the week, or take the window away.'
  if (draft.timeoutS + draft.ackTimeoutS <= 40)
    return 'The times to acknowledge and to finish must be longer than 40 s together.'
  return null
}
