/** Operations as people read them: a row of a list, one in full, and why it is where it is. */
import type { Client, OperationView, StepView, WhyView } from '../../../contract/client/client.ts'
import { CommandFailed } from '../../frame/exit-codes.ts'
import { type Cell, facts, type Output, table } from '../../frame/output.ts'
import { foundRows } from '../../rows/found-rows.ts'

/** The titles of a list of operations. */
export const OPERATION_TITLES = [
  'job',
  'entity',
  'type',
  'status',
  'result',
  'attempt',
  'started',
  'finished',
  'description',
]

/** A row under these titles. */
export function operationRow(operation: OperationView, out: Output): Cell[] {
  const { jobId, entityId, name, status, result, attempts, execution, description } = operation
  return [
    jobId,
    entityId,
    name,
    status,
    result,
    `${attempts.current}/${attempts.total}`,
    out.instant(execution.startedDate),
    out.instant(execution.finishedDate),
    description,
  ]
}

/** An operation in full, with the steps of every attempt. */
export function operationWords(operation: OperationView, out: Output): string {
  const { attempts, execution } = operation
  const about = facts([
    ['Operation', operation.operationId],
    ['Job', operation.jobId],
    ['Entity', `${operation.entityId} (${operation.resourceType})`],
    ['Type', operation.name],
    ['Status', operation.status],
    ['Result', operation.result],
    ['Description', operation.description],
    ['Attempt', `${attempts.current} of ${attempts.total}`],
    ['Parameters', JSON.stringify(operation.parameters)],
    ['Activated', out.instant(execution.activatedDate)],
    ['Started', out.instant(execution.startedDate)],
    ['Finished', out.instant(execution.finishedDate)],
  ])
  const earlier = (attempts.history ?? []).map(
    ({ attempt, result, description, steps }) =>
      `\nAttempt ${attempt}: ${result}${description ? ` (${description})` : ''}\n${stepsTable(steps, out)}`,
  )
  const steps = operation.steps.length === 0 ? '' : `\n${stepsTable(operation.steps, out)}`
  return [about, ...earlier, steps].join('')
}

function stepsTable(steps: readonly StepView[], out: Output): string {
  if (steps.length === 0) return ''
  const rows = steps.map(({ timestamp, name, result, description }) => [
    out.instant(timestamp),
    name,
    result,
    description,
  ])
  return table(['time', 'step', 'result', 'description'], rows)
}

/** What holds an operation, and what comes next. */
export function whyWords({ operationId, jobId, status, attempts, held, next }: WhyView, out: Output): string {
  const about = facts([
    ['Operation', operationId],
    ['Status', status],
    ['Attempt', `${attempts.current} of ${attempts.total}`],
  ])
  const gates = held.map(({ reason, liftsAt }) => `  ${reason}${liftsAt ? ` Opens ${out.instant(liftsAt)}.` : ''}\n`)
  const moves = next.map(({ event, words, at }) => {
    // The service says how by the interface; whoever reads this sits at a shell.
    const told = event === 'activateNow' ? `Activating the job opens it: drover jobs resume ${jobId}` : words
    return `  ${told}${at ? ` (${out.instant(at)})` : ''}\n`
  })
  return [
    about,
    gates.length === 0 ? '\nNothing holds it.\n' : `\nHeld by\n${gates.join('')}`,
    moves.length === 0 ? '' : `\nNext\n${moves.join('')}`,
  ].join('')
}

/** Where an operation is found: by its own id, which begins with its job's, or by job and entity. */
export async function operationOf(
  client: Client,
  first: string,
  entity: string | undefined,
): Promise<{ jobId: string; operationId: string } | undefined> {
  if (first.includes('-')) return { jobId: first.split('-')[0]!, operationId: first }
  if (entity === undefined) throw new CommandFailed('usage', 'Say of which entity, or give the id of the operation.')
  const filter = { and: [{ eq: { jobId: first } }, { eq: { entityId: entity } }] }
  for (const name of ['POST /search/entities/operations', 'POST /search/entities/operations/history'] as const) {
    for await (const { jobId, operationId } of foundRows(client, name, { filter }, 1)) return { jobId, operationId }
  }
  return undefined
}
