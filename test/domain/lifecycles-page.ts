/** Prints the lifecycles of operations, jobs and tasks from their tables, as the page that people read. */
import { JOB_LIFECYCLE, type JobEvent } from '../../src/domain/job.ts'
import { decide, OPERATION_LIFECYCLE, type OperationEvent, type OperationPhase } from '../../src/domain/operation.ts'
import { TASK_LIFECYCLE, type TaskEvent } from '../../src/domain/task.ts'

const OPERATION_EVENTS: Readonly<Record<OperationEvent, string>> = {
  launch: 'it is due: the job is active and started, the window open, its place reached',
  refusedAtLaunch: 'at launch the operation type no longer applies to the entity',
  unsupportedAtLaunch: 'at launch no device carries the entity, and no function does',
  slotTaken: 'at launch the entity has an operation of the same name under way',
  postpone: 'as before, where `ALREADY_IN_PROGRESS` is listed and retries are left',
  resent: 'its request is taken in hand again, same attempt',
  sent: 'the request has left',
  away: 'the device is to ask for it, or is not connected over MQTT',
  senderLost: 'the node that had the request in hand has died, or could not send it',
  connected: 'the device connects',
  reconnected: 'the device connects again over MQTT before it has acknowledged',
  handedOut: 'the device asks, and gets it',
  askedInstead: 'the device asks for what was sent to it over MQTT, and gets it',
  acknowledged: 'the device acknowledges',
  part: 'the device reports steps without a result',
  final: 'the device reports a result',
  retry: 'a result or failure that is to be tried again, with retries left',
  ackTimeoutOver: '`ackTimeout` is over, no retries are left',
  timeoutOver: '`timeout` is over, no retries are left',
  unreachable: 'no connection to the device, no retries are left',
  deviceFailed: 'the device answers 5xx, 408 or 429, no retries are left',
  deviceRefused: 'the device answers another 4xx',
  userCancel: 'a user cancels the job',
  stopReached: "the job's stop is reached",
  deleted: 'the entity or the operation type is deleted',
  externalCancel: 'the device says CANCELLED or CANCELLED_INTERNAL',
  externalTimeout: 'the device says TIMEOUT_CANCELLED',
  lateFinal: 'the device reports a result after the end',
  stray: 'any other message after the end',
}

const JOB_EVENTS: Readonly<Record<JobEvent, string>> = {
  activateLater: '`active` is set to true, the start lies ahead or the target is still to be resolved',
  activateNow: '`active` is set to true, the start is now',
  deactivate: '`active` is set to false',
  change: 'another field is changed',
  startReached: 'the start is reached and the target resolved',
  stopReached: 'the stop is reached',
  userCancel: 'DELETE',
  allSuccessful: 'every operation is final, all were successful',
  allEnded: 'every operation is final, some were not successful',
}

const TASK_EVENTS: Readonly<Record<TaskEvent, string>> = {
  activate: '`active` is set to true',
  deactivate: '`active` is set to false',
  change: 'another field is changed',
  cancel: 'DELETE, no job of it is running',
  cancelRunning: 'DELETE while a job of it is running',
  runningEnded: 'its running jobs have ended',
  exhausted: 'the stop has passed or the executions are used up, and no job of it is open',
}

interface Edge {
  readonly from: string
  readonly event: string
  readonly to: string
}

/** One arrow for each pair of states, with every event that leads along it; what changes nothing is left to the table. */
function diagram(edges: readonly Edge[], begins: string): string {
  const arrows = Map.groupBy(
    edges.filter(({ from, to }) => from !== to),
    ({ from, to }) => `${from} --> ${to}`,
  )
  const lines = [...arrows].map(([arrow, along]) => `  ${arrow}: ${along.map(({ event }) => event).join(', ')}`)
  return ['```mermaid', 'stateDiagram-v2', `  [*] --> ${begins}`, ...lines, '```'].join('\n')
}

/** The states alone and what leads from one to the other, as an introduction shows them: without a word on why. */
function outline(edges: readonly Edge[], begins: string, shown: (state: string) => string = state => state): string {
  const arrows = new Set(
    edges
      .map(({ from, to }) => [shown(from), shown(to)])
      .flatMap(([from, to]) => (from === to ? [] : `  ${from} --> ${to}`)),
  )
  return ['```mermaid', 'stateDiagram-v2', `  [*] --> ${begins}`, ...arrows, '```'].join('\n')
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map(cells => `| ${cells.join(' | ')} |`).join('\n')
}

const glossary = (events: Readonly<Record<string, string>>) =>
  table(
    ['event', 'what happened'],
    Object.entries(events).map(([event, words]) => [`\`${event}\``, words]),
  )

function outcomeOf(from: OperationPhase, event: OperationEvent): string {
  const { outcome } = OPERATION_LIFECYCLE.find(row => row.event === event && row.from.includes(from))!
  if (outcome === 'device') return event === 'lateFinal' ? "the device's, out of time" : "the device's"
  const { result, counter } = decide(from, event)
  return result && counter ? `${result} · ${counter}` : ''
}

const operationEdges: readonly Edge[] = OPERATION_LIFECYCLE.flatMap(({ from, event, to }) =>
  from.map(phase => ({ from: phase, event, to: to === 'same' ? phase : to })),
)
const jobEdges: readonly Edge[] = JOB_LIFECYCLE.filter(({ to }) => to !== 'refused')
const taskEdges: readonly Edge[] = TASK_LIFECYCLE.filter(({ to }) => to !== 'refused')

/** The pictures of the concepts: the statuses of an operation, a job and a task. */
export const outlines = {
  operation: outline(operationEdges, 'PENDING', phase => (phase === 'BETWEEN_ATTEMPTS' ? 'PENDING' : phase)),
  job: outline(jobEdges, 'IDLE'),
  task: outline(taskEdges, 'ACTIVE'),
}

function operations(): string {
  const rows = OPERATION_LIFECYCLE.map(({ from, event, to, effects = [] }) => [
    from.join(', '),
    `\`${event}\``,
    to === 'same' ? 'unchanged' : to,
    outcomeOf(from[0]!, event),
    effects.join(', '),
  ])
  return `## Operation

\`BETWEEN_ATTEMPTS\` reads as the status \`PENDING\`: the operation was launched, keeps its place on the device, and waits for its next
attempt. A message that names an operation which was never launched is answered 404. What the table does not name cannot happen.

${diagram(operationEdges, 'PENDING')}

${table(['from', 'event', 'to', 'result · counter', 'effects'], rows)}

${glossary(OPERATION_EVENTS)}`
}

function jobs(): string {
  const rows = JOB_LIFECYCLE.map(({ from, event, to, effects }) => [
    from,
    `\`${event}\``,
    to === from && effects.length === 0 ? 'unchanged' : to === 'refused' ? 'refused (400)' : to,
    effects.join(', '),
  ])
  return `## Job

A job begins in \`IDLE\`; one that is created active is activated in the same call.

${diagram(jobEdges, 'IDLE')}

${table(['from', 'event', 'to', 'effects'], rows)}

${glossary(JOB_EVENTS)}`
}

function tasks(): string {
  const rows = TASK_LIFECYCLE.map(({ from, event, to }) => [
    from,
    `\`${event}\``,
    to === from ? 'unchanged' : to === 'refused' ? 'refused (400)' : to,
  ])
  return `## Task

A task begins in \`ACTIVE\`, or in \`INACTIVE\` where it is created so.

${diagram(taskEdges, 'ACTIVE')}

${table(['from', 'event', 'to'], rows)}

${glossary(TASK_EVENTS)}`
}

/** The whole page. */
export function lifecyclesPage(): string {
  return `# Lifecycles

Printed from the tables in \`src/domain/operation.ts\`, \`src/domain/job.ts\` and \`src/domain/task.ts\`: change those, then run
\`npx vitest run test/domain/lifecycles.test.ts -u\`. A row is one thing that may happen and what becomes of it.

${operations()}

${jobs()}

${tasks()}
`
}
