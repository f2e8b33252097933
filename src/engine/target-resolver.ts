/**
 * Resolves tags and filters into operations, a stretch of partitions in a transaction: whoever wants the job meanwhile, to cancel it
 * above all, gets it between two of them, and a job that is new has its first before a large one goes on. A target that cannot be
 * resolved is given up. Refuses to start anything.
 */
import { DroverError, ERRORS } from '../domain/errors.ts'
import { addRefusals } from '../domain/target.ts'
import { type Database, sqlState, type Transaction } from '../store/database.ts'
import { lockFreeJobs, lockJobs, type StoredJob, type UnresolvedTarget, updateJob } from '../store/jobs.ts'
import { isListedNext, nextUnresolvedAt, unresolvedJobs } from '../store/jobs-due.ts'
import { type Applicability, addSelectedOperations, countEntities, takeBackOperations } from '../store/targets.ts'
import { addListed, conditionOf, countScheduled, type FilterCompiler, narrowed } from './job-targets.ts'
import { oneByOne } from './one-by-one.ts'

export interface TargetResolverParts {
  readonly database: Database
  /** what the job's type applies to, or undefined where its user may not run it, or it is gone */
  readonly applicabilityOf: (tx: Transaction, job: StoredJob) => Promise<Applicability | undefined>
  readonly compile: FilterCompiler
  readonly onCommit: () => void
  /** entities of an organization from which on its fleet is gone through in stretches */
  readonly largeFrom?: number
  /** operations that a job is given before others have their turn; what adds fewer goes on with its next stretch */
  readonly atATime?: number
}

const JOBS_PER_TURN = 20
const LAST_PARTITION = 255
/** Partitions of a large fleet that are gone through at a time: a sixteenth of it. */
const STRETCH = 16
const LARGE_FROM = 100_000
const AT_A_TIME = 10_000
/** One stretch may still be large; a stop cancels it. */
const RESOLVE_MS = 600_000
/** After so many failures a target counts as one that cannot be resolved. */
const FAILURES_MAX = 3

/** What became of a stretch: the operations that it added, and whether more of the job is to be resolved. */
interface Stretch {
  readonly added: number
  readonly more: boolean
}

/**
 * One turn: begins with what is new, then goes on with one of those that are resolved in part, which take turns; answers `now` while
 * there is more, else when the job of a task will be resolved.
 */
export function createTargetResolving(
  parts: TargetResolverParts,
): (now: Date, signal: AbortSignal) => Promise<Date | null> {
  const { database, applicabilityOf, compile, onCommit, largeFrom = LARGE_FROM, atATime = AT_A_TIME } = parts
  /** Jobs that are resolved in part, the one that has waited longest first. Whoever does not know of them takes them for new. */
  const halfway: bigint[] = []

  /** Resolves the next stretch of a job. */
  async function resolveStretch(tx: Transaction, number: bigint, now: Date): Promise<Stretch> {
    const [job] = await lockFreeJobs(tx, [number])
    const [part, ...further] = job?.unresolved ?? []
    // It was cancelled, somebody else is at it, or it has become the job of a later run of its task.
    const isEarly = job !== undefined && job.task !== null && (job.status !== 'SCHEDULED' || job.startAt! > now)
    if (!job || part === undefined || isEarly) return { added: 0, more: false }
    const applicable = (await applicabilityOf(tx, job)) ?? { resourceTypes: [], models: [] }
    const { added, rest } =
      'listed' in part
        ? { added: await addListed(tx, job, part.listed, applicable), rest: undefined }
        : await resolvePart(tx, job, part, applicable)
    job.unresolved = rest === undefined ? further : [rest, ...further]
    await updateJob(tx, job)
    return { added, more: job.unresolved.length > 0 }
  }

  /** Adds what a part selects in its next partitions; answers how many, and what is left of it. */
  async function resolvePart(
    tx: Transaction,
    job: StoredJob,
    part: Exclude<UnresolvedTarget, { listed: unknown }>,
    applicable: Applicability,
  ): Promise<{ added: number; rest: UnresolvedTarget | undefined }> {
    const from = part.fromPartition ?? 0
    const isLarge = (await countEntities(tx, job.organization, largeFrom)) === largeFrom
    const to = isLarge ? Math.min(from + STRETCH - 1, LAST_PARTITION) : LAST_PARTITION
    const condition = await conditionOf(tx, job.organization, part, compile)
    const scope = narrowed(applicable, part.resourceType)
    const resolved = await addSelectedOperations(tx, job.job, job.organization, condition, scope, { from, to })
    // A filter selects what the operation applies to; a tag names entities, and a job never covers fewer in silence.
    if ('tag' in part) {
      job.refused = addRefusals(job.refused, { notAllowed: { ids: resolved.refused, count: resolved.refusedCount } })
    }
    await countScheduled(tx, job.job, resolved.added)
    return { added: resolved.added, rest: to < LAST_PARTITION ? { ...part, fromPartition: to + 1 } : undefined }
  }

  async function noteFailure(tx: Transaction, number: bigint, error: unknown): Promise<void> {
    const [job] = await lockJobs(tx, [number])
    if (!job || job.unresolved.length === 0) return
    // What we refuse today we refuse tomorrow.
    job.resolveFailures = error instanceof DroverError ? FAILURES_MAX : job.resolveFailures + 1
    if (job.resolveFailures >= FAILURES_MAX) await giveUp(tx, job, error)
    await updateJob(tx, job)
  }

  /** Gives a job its turn; where there is more of it afterwards, it waits for the next one. */
  async function resolve(number: bigint, now: Date, signal: AbortSignal): Promise<void> {
    let left = atATime
    let more = true
    try {
      while (more && left > 0 && !signal.aborted) {
        // A list is looked up by its keys; what a tag or a filter finds is left to the planner.
        const stretch = await database.transaction(tx => resolveStretch(tx, number, now), {
          statementTimeoutMs: RESOLVE_MS,
          signal,
          byKey: await isListedNext(database, number),
        })
        left -= stretch.added
        more = stretch.more
      }
      if (more) halfway.push(number)
    } catch (error) {
      if (!isFaultOfTarget(error)) throw error
      await database.transaction(tx => noteFailure(tx, number, error), {
        statementTimeoutMs: RESOLVE_MS,
        signal,
      })
    }
    onCommit()
  }

  return async (now, signal) => {
    const asked = { failuresMax: FAILURES_MAX, limit: JOBS_PER_TURN, except: halfway }
    const fresh = await unresolvedJobs(database, now, asked)
    await oneByOne([...fresh, ...halfway.splice(0, 1)], signal, job => resolve(job, now, signal))
    return halfway.length > 0 || fresh.length >= JOBS_PER_TURN ? now : await nextUnresolvedAt(database, now)
  }
}

/** Whether it lies with the target, and not with the database or the way to it: data, limits and syntax, or no end in sight. */
function isFaultOfTarget(error: unknown): boolean {
  return error instanceof DroverError || /^(22|42|54)|^57014$/.test(sqlState(error) ?? '')
}

/**
 * A job whose target cannot be resolved never runs on a part of it: it ends with no operation when it is started, and says why. An
 * inactive one keeps its target, is warned of, and tried again when it is activated.
 */
async function giveUp(tx: Transaction, job: StoredJob, error: unknown): Promise<void> {
  const description = error instanceof DroverError ? error.message : ERRORS.targetUnresolvable.message
  job.warnings = [...job.warnings.filter(({ code }) => code !== WARNING), { code: WARNING, description }]
  if (job.status !== 'SCHEDULED') return
  await countScheduled(tx, job.job, -(await takeBackOperations(tx, job.job)))
  job.unresolved = []
  job.errorCode = ERRORS.targetUnresolvable.code
  job.errorDescription = description
}

const WARNING = 'target-unresolvable'
