/**
 * Explains one operation: reads in one snapshot all that can hold it, and asks the domain what does. Refuses to change anything.
 */
import type { GatedJob } from '../domain/gates.ts'
import { type OperationKey, operationId, jobId as publicJobId } from '../domain/identity.ts'
import { type OperationPhase, type OperationStatus, phaseOf } from '../domain/operation.ts'
import { type Explanation, type HeldOperation, whyHeld } from '../domain/why.ts'
import type { Database, Transaction } from '../store/database.ts'
import { readEndedOperations } from '../store/ended-operations.ts'
import { readJob, type StoredJob } from '../store/jobs.ts'
import { readLaunchSubjects } from '../store/operation-devices.ts'
import { liveHolder, presenceOf, readyPlace, retryDueAt } from '../store/operation-explaining.ts'
import { type OperationRow, readOpenOperations } from '../store/operations.ts'
import { launchingOf, toldJobOf } from './job-launching.ts'

/** An explanation, and of what. */
export interface ExplainedOperation extends Explanation {
  readonly status: OperationStatus
  readonly attempt: number
  readonly attemptsMax: number
  readonly explainedAt: Date
}

export interface WhyParts {
  readonly database: Database
  readonly now: () => Date
  /** what was handed out is offered again after this long without a word of it */
  readonly redeliveryMs: number
}

export interface Why {
  /** Why an operation of an organization is where it is; undefined where there is none. */
  explain(organization: number, key: OperationKey): Promise<ExplainedOperation | undefined>
}

export function createWhy({ database, now, redeliveryMs }: WhyParts): Why {
  return {
    async explain(organization, key) {
      const explainedAt = now()
      const view = await database.transaction(tx => read(tx, organization, key, redeliveryMs), { snapshot: true })
      if (!view) return undefined
      return {
        status: view.phase === 'BETWEEN_ATTEMPTS' ? 'PENDING' : view.phase,
        attempt: view.everLaunched ? view.attempt : 0,
        attemptsMax: view.rules.retries + 1,
        explainedAt,
        ...whyHeld(view, explainedAt.getTime()),
      }
    },
  }
}

async function read(
  tx: Transaction,
  organization: number,
  key: OperationKey,
  redeliveryMs: number,
): Promise<HeldOperation | undefined> {
  const job = await readJob(tx, organization, key.job)
  if (!job) return undefined
  const [open] = await readOpenOperations(tx, [key])
  if (open) {
    const phase = phaseOf(open.status, open.startedAt !== null)
    const told = await toldJobOf(tx, job)
    return { ...(await standing(tx, open, phase, job)), ...figures(open, phase, job, told, redeliveryMs) }
  }
  const [ended] = await readEndedOperations(tx, [key])
  if (!ended) return undefined
  const row = { ...ended, flow: null, heardAt: null, deadlineAt: null }
  return { ...nothingAround, ...figures(row, ended.status, job, await toldJobOf(tx, job), redeliveryMs) }
}

type Around = Pick<HeldOperation, 'place' | 'retryAt' | 'holder' | 'device'>

const nothingAround: Around = { place: null, retryAt: null, holder: null, device: { connected: false, seenAt: null } }

/** What stands around an open operation, as far as its phase asks for it. */
async function standing(tx: Transaction, row: OperationRow, phase: OperationPhase, job: StoredJob): Promise<Around> {
  const waits = phase === 'PENDING' || phase === 'BETWEEN_ATTEMPTS'
  const place = (waits || phase === 'QUEUED') && job.launchAt ? await readyPlace(tx, row) : null
  const retryAt = waits && place === null && job.launchAt ? await retryDueAt(tx, row) : null
  const holder = phase === 'PENDING' ? await liveHolder(tx, row, job.name) : null
  const other = holder !== null && holder !== row.job ? { ...row, job: holder } : null
  return {
    place,
    retryAt: retryAt?.getTime() ?? null,
    holder: other && { jobId: publicJobId(other.job), operationId: operationId(other) },
    device: phase === 'WAITING_FOR_CONNECTION' ? await deviceOf(tx, row) : nothingAround.device,
  }
}

async function deviceOf(tx: Transaction, key: OperationKey): Promise<Around['device']> {
  const [subject] = await readLaunchSubjects(tx, [key])
  if (!subject?.device || subject.devicePartition === null) return nothingAround.device
  const presence = await presenceOf(tx, { partition: subject.devicePartition, entity: subject.device })
  return { connected: presence?.connected ?? false, seenAt: presence?.seenAt.getTime() ?? null }
}

function figures(
  row: Pick<OperationRow, 'attempt' | 'startedAt' | 'flow' | 'heardAt' | 'deadlineAt'>,
  phase: OperationPhase,
  job: StoredJob,
  told: GatedJob,
  redeliveryMs: number,
): Omit<HeldOperation, keyof Around> {
  const { window } = job.request.schedule
  return {
    phase,
    attempt: row.attempt,
    everLaunched: row.startedAt !== null,
    flow: row.flow,
    deadlineAt: row.deadlineAt?.getTime() ?? null,
    heardAt: row.heardAt?.getTime() ?? null,
    rules: { ...job, retryResults: new Set(job.retryResults) },
    redeliveryMs,
    job: {
      ...told,
      launching: job.launchAt && launchingOf({ ...job, launchAt: job.launchAt, window }),
    },
  }
}
