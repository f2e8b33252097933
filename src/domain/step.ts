/** The stages of an operation as its device reports them. Refuses to judge the operation by them. Serves: Step. */

export const STEP_RESULTS = ['SUCCESSFUL', 'ERROR', 'SKIPPED', 'NOT_EXECUTED'] as const
export type StepResult = (typeof STEP_RESULTS)[number]

/** Serves: Step. `timestamp` is ISO 8601 UTC. */
export interface Step {
  readonly name: string
  readonly title?: string
  readonly timestamp: string
  readonly result: StepResult
  readonly description?: string
  readonly response?: unknown
}

/** A step as a device sends it: the result any word, the timestamp epoch milliseconds or missing. */
export interface ReportedStep {
  readonly name: string
  readonly title?: string
  readonly timestamp?: number
  readonly result?: string
  readonly description?: string
  readonly response?: unknown
}

/** Most steps kept for one attempt: the first, and of the others the newest. */
export const STEPS_MAX = 200
/** How many of them are the first. */
export const FIRST_STEPS_KEPT = 100

/** A reported step as it is kept: an unknown result is ERROR with the word in the description. */
export function keptStep(reported: ReportedStep, messageAt: number): Step {
  const known = (STEP_RESULTS as readonly string[]).includes(reported.result ?? '')
  const description = known
    ? reported.description
    : [reported.description, `result ${reported.result ?? 'missing'}`].filter(Boolean).join('; ')
  return {
    name: reported.name,
    ...(reported.title !== undefined && { title: reported.title }),
    timestamp: new Date(reported.timestamp ?? messageAt).toISOString(),
    result: known ? (reported.result as StepResult) : 'ERROR',
    ...(description !== undefined && description !== '' && { description }),
    ...(reported.response !== undefined && { response: reported.response }),
  }
}

/**
 * Steps grown by a report: a repeat of a name replaces it, the order is that of first appearance. Beyond `STEPS_MAX` those in the middle
 * go: how an operation ends is told last.
 */
export function mergeSteps(kept: readonly Step[], reported: readonly ReportedStep[], messageAt: number): Step[] {
  const byName = new Map(kept.map(step => [step.name, step]))
  const later = [...byName.keys()].slice(FIRST_STEPS_KEPT)
  for (const step of reported) {
    if (!byName.has(step.name)) {
      if (byName.size >= STEPS_MAX) byName.delete(later.shift()!)
      if (byName.size >= FIRST_STEPS_KEPT) later.push(step.name)
    }
    byName.set(step.name, keptStep(step, messageAt))
  }
  return [...byName.values()]
}
