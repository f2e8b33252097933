/**
 * Plans a job without running it: judges the request as its creation would, counts what its target resolves to, and lays out the
 * launches as the engine would launch them. It only reads. Serves: Job request.
 */
import type { Caller } from '../domain/caller.ts'
import { ERRORS } from '../domain/errors.ts'
import type { JobRequest, TargetReport } from '../domain/job.ts'
import {
  type Group,
  type GroupPlan,
  type LaunchPlan,
  type Layout,
  layOut,
  planGroups,
  planLaunches,
} from '../domain/plan.ts'
import { startAt } from '../domain/schedule.ts'
import { addRefusals, REFUSED_IDS_MAX } from '../domain/target.ts'
import type { Database, Transaction } from '../store/database.ts'
import type { JobWarning } from '../store/jobs.ts'
import {
  type CountedType,
  countGroups,
  countSelected,
  findInapplicable,
  findProvisioned,
  listCondition,
} from '../store/target-counting.ts'
import type { Applicability } from '../store/targets.ts'
import { createJobJudging, type JobJudgingParts } from './job-judging.ts'
import { conditionOf, type FilterCompiler, narrowed, unresolvedOf } from './job-targets.ts'
import { judgeStop, scheduleOf } from './job-transitions.ts'
import { newJob } from './jobs.ts'

/** The plan of a job. */
export interface JobPlan {
  readonly total: number
  readonly types: readonly CountedType[]
  readonly refused: TargetReport
  /** why nothing of it would run; null where something would */
  readonly refusal: { readonly code: string; readonly message: string } | null
  readonly layout: Layout
  readonly launches: LaunchPlan
  /** null without a strategy; `groups` is their number, also where there are too many to tell */
  readonly strategy: { readonly groups: number; readonly list: readonly GroupPlan[] } | null
  readonly warnings: readonly JobWarning[]
}

export interface PlannerParts extends JobJudgingParts {
  readonly database: Database
  readonly now: () => Date
}

export interface Planner {
  /** Plans the job as if it were created, and activated, now. Throws a DroverError for what creation would refuse as such. */
  plan(caller: Caller, request: JobRequest): Promise<JobPlan>
}

/** Groups told one by one; beyond, only their number. */
const GROUPS_MAX = 1_000

export function createPlanner(parts: PlannerParts): Planner {
  const { executable, judged } = createJobJudging(parts)

  async function plan(tx: Transaction, caller: Caller, asked: JobRequest, at: Date): Promise<JobPlan> {
    const type = await executable(tx, caller, asked.name)
    const request = await judged(tx, caller, type, asked)
    const job = newJob(0n, caller, request, null, at)
    const schedule = scheduleOf(job)
    judgeStop(job, at)
    const strategy = schedule.scattering?.strategy
    const { groups, ...target } = await count(tx, caller.organization, request, type.applicability, {
      compile: parts.compile,
      grouped: strategy !== undefined && strategy !== null,
    })
    const layout = layOut(schedule, job, startAt(schedule, at.getTime()), target.total)
    return {
      ...target,
      refusal: target.total === 0 ? { code: ERRORS.noTarget.code, message: ERRORS.noTarget.message } : null,
      layout,
      launches: planLaunches(layout, job),
      strategy: strategy
        ? {
            groups: groups[0]?.groups ?? 0,
            list:
              groups.length > GROUPS_MAX
                ? []
                : planGroups(
                    layout,
                    groups.map(({ value, operations }) => ({ value, operations })),
                    strategy,
                  ),
          }
        : null,
      warnings: [...job.warnings, ...layout.warnings],
    }
  }

  return {
    plan: (caller, request) =>
      parts.database.transaction(tx => plan(tx, caller, request, parts.now()), { snapshot: true }),
  }
}

interface CountedTarget {
  readonly total: number
  readonly types: readonly CountedType[]
  readonly refused: TargetReport
  readonly groups: readonly (Group & { readonly groups: number })[]
}

/** Counts what a target leads to; it is one list, one tag or one filter. */
async function count(
  tx: Transaction,
  organization: number,
  request: JobRequest,
  applicability: Applicability,
  { compile, grouped }: { readonly compile: FilterCompiler; readonly grouped: boolean },
): Promise<CountedTarget> {
  const { filter, append } = request.target
  const selection = { ...(filter && { filter }), ...append }
  const [part] = unresolvedOf(selection, request.resourceType)
  const asked = [...(selection.entities ?? []), ...(selection.entitiesWithParameters ?? []).map(each => each.id)]
  const condition = part ? await conditionOf(tx, organization, part, compile) : listCondition(asked)
  const applicable = part ? narrowed(applicability, request.resourceType) : applicability
  const types = await countSelected(tx, organization, condition, applicable)
  // A filter selects what the operation applies to; a list and a tag name entities.
  const inapplicable =
    part && 'filter' in part
      ? { ids: [], count: 0 }
      : await findInapplicable(tx, organization, condition, applicable, REFUSED_IDS_MAX)
  const known = part ? new Set<string>() : await findProvisioned(tx, organization, condition)
  return {
    total: types.reduce((sum, each) => sum + each.count, 0),
    types,
    refused: addRefusals({}, { notAllowed: inapplicable, ...listRefusals(part ? [] : asked, known) }),
    groups: grouped ? await countGroups(tx, organization, condition, applicable, GROUPS_MAX + 1) : [],
  }
}

/** What of a list names nothing, or names it again. */
function listRefusals(asked: readonly string[], known: ReadonlySet<string>) {
  const distinct = new Set<string>()
  const repeated: string[] = []
  for (const id of asked) {
    if (distinct.has(id)) repeated.push(id)
    distinct.add(id)
  }
  const missing = [...distinct].filter(id => !known.has(id))
  return {
    notProvisioned: { ids: missing, count: missing.length },
    duplicated: { ids: repeated, count: repeated.length },
  }
}
