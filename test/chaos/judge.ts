/**
 * Holds what clients, devices and receivers saw of a run against what must always hold. It knows the service by its doors alone.
 * Each fault found begins with the number of the rule in ARCHITECTURE.md that it breaks.
 */
import type { JobView } from '../../src/contract/job.ts'
import type { OperationView } from '../../src/contract/operation.ts'
import type { VerifyView } from '../../src/contract/verify.ts'
import { performOperation } from '../../src/simulator/operations.ts'
import type { Flow } from '../../src/simulator/options.ts'
import { countersOf, recount } from '../service/jobs.ts'
import type { StubbornClient } from './client.ts'
import type { DoneFault } from './faults.ts'
import { BUSY_MS, type Happened, IN_HAND_MS, judgeRepeats, LAG_COUNTS } from './repeats.ts'
import { clock, judgeTurns, readEvents, type Seen, type Turn, turnOf } from './seen.ts'
import type { Story } from './stories.ts'
import { readTold } from './told.ts'
import type { World } from './world.ts'

/** What a frozen fleet has not read yet is read for so long after it goes on. */
const UNREAD_MS = 4_000
/** A broker that is killed forgets what it has not saved: it saves every second. */
const UNSAVED_MS = 3_000
/** And Mosquitto, started again, takes and drops what comes before a node has subscribed again: shared subscriptions are not kept. */
const SUBSCRIBED_MS = 10_000

export interface Judgement {
  readonly wrong: string[]
  readonly figures: Readonly<Record<string, number>>
}

export async function judge(world: World, stories: readonly Story[], faults: readonly DoneFault[]): Promise<Judgement> {
  const wrong: string[] = []
  const seen = readEvents(world)
  const { lag, nodes, broker } = world
  const happened: Happened = { faults, lag, told: await readTold(nodes), embedded: broker === null }
  const brokerAway = faults.filter(({ fault }) => fault === 'kill the broker' || fault === 'restart the broker')
  const flowOf = new Map(world.parties.flatMap(({ devices }) => devices.map(({ id, flow }) => [id, flow] as const)))
  const figures = {
    operations: 0,
    successful: 0,
    outOfTime: 0,
    timedOut: 0,
    retried: 0,
    receivedAgain: 0,
    answersTaken: 0,
    partsTaken: 0,
  }
  const known = new Set<string>()
  const turns = new Map<string, Turn[]>()

  for (const story of stories) {
    const operations = await listOperations(story.party.client, story.id)
    const name = `the ${story.kind} job ${story.id}`
    const { body: job } = await story.party.client.call<JobView>('GET', `/north/v80/operation/jobs/${story.id}`)
    figures.operations += operations.length
    wrong.push(...judgeTarget(name, story, operations), ...judgeJob(name, story, job, operations))
    for (const operation of operations) {
      known.add(operation.operationId)
      const of = seen.get(operation.operationId)
      figures.successful += Number(operation.status === 'FINISHED' && operation.result === 'SUCCESSFUL')
      figures.outOfTime += Number(operation.status === 'FINISHED_OUT_OF_TIME')
      figures.timedOut += Number(operation.status === 'TIMEOUT_CANCELLED')
      figures.retried += Number(operation.attempts.current > 1)
      if (of) {
        const turn = `${operation.name} on ${of.device}`
        turns.set(turn, [...(turns.get(turn) ?? []), turnOf(operation, of)])
        figures.receivedAgain += of.receivedAt.length - of.launches.size
        const flow = flowOf.get(of.device)
        const isKept = (at: number) =>
          flow !== 'http-sync' &&
          !(
            flow === 'mqtt' &&
            brokerAway.some(({ fromMs, toMs }) => at > fromMs - UNSAVED_MS && at < toMs + SUBSCRIBED_MS)
          )
        const taken = of.takenAt.filter(isKept)
        figures.answersTaken += taken.length
        wrong.push(
          ...judgeRepeats(name, operation.operationId, of, flowOf.get(of.device), happened),
          ...judgeOperation(name, operation, of, flowOf.get(of.device), taken),
          ...judgeGates(name, story, operation, of, flowOf.get(of.device), faults, world),
        )
        figures.partsTaken += of.partsAt.length
        // An external broker takes a part before the service does, which may by then have seen the end.
        if (flow !== 'mqtt' || broker === null) wrong.push(...judgeParts(name, operation, of, flow, isKept))
      }
      if (isByDevice(operation) && !Number.isFinite(of?.finalSentAt ?? Number.NaN)) {
        wrong.push(
          `1: ${operation.operationId} of ${name} is ${operation.status} ${operation.result}, and its device ${of ? 'never said so' : 'never had it'}`,
        )
      }
    }
    wrong.push(...judgeCalls(name, world, story))
  }
  for (const [what, of] of turns) wrong.push(...judgeTurns(what, of))
  for (const [id, { device }] of seen) if (!known.has(id)) wrong.push(`8: ${device} was sent ${id}, which no job has`)
  for (const party of world.parties)
    wrong.push(
      ...(await judgeOrganization(
        party.client,
        stories.filter(story => story.party === party),
        stories.filter(story => story.party !== party),
      )),
    )
  return { wrong, figures }
}

/** Those of a list that another does not hold. */
function without(list: readonly string[], other: readonly string[]): string[] {
  const held = new Set(other)
  return list.filter(each => !held.has(each))
}

/** 1: every device of the target has exactly one operation, in one final state. */
export function judgeTarget(
  name: string,
  { devices }: Pick<Story, 'devices'>,
  operations: readonly OperationView[],
): string[] {
  const got = operations.map(({ entityId }) => entityId)
  const missing = without(devices, got).length
  const extra = without(got, devices).length
  const doubled = got.length - new Set(got).size
  const open = operations.filter(
    ({ status }) => !/^(FINISHED|FINISHED_OUT_OF_TIME|TIMEOUT_CANCELLED|CANCELLED|NOT_ALLOWED)$/.test(status),
  )
  return [
    ...(missing + extra + doubled > 0
      ? [`1: ${name} lacks ${missing} devices, has ${extra} others and ${doubled} twice`]
      : []),
    ...(open.length > 0
      ? [`1: ${name} has ended with ${open.length} open operations, ${open[0]!.operationId} is ${open[0]!.status}`]
      : []),
  ]
}

/** 2: the counters are those of the listing; 1 and 6: the job has ended as its kind must, or as was answered to its cancel, once. */
export function judgeJob(
  name: string,
  { kind, cancelTaken, end }: Pick<Story, 'kind' | 'cancelTaken' | 'end'>,
  job: JobView,
  operations: readonly OperationView[],
): string[] {
  const [counted, recounted] = [JSON.stringify(countersOf(job)), JSON.stringify(recount(operations))]
  const { status } = job.report.summary
  // Whoever was refused a cancel may have been too late, or have cancelled it by a first try that was not answered.
  const ends: Partial<Record<Story['kind'], RegExp>> = {
    closed: /^CANCELLED$/,
    cancelled: /^(CANCELLED|FINISHED.*)$/,
    closing: /^(CANCELLED|FINISHED.*)$/,
    paused: /^(TIMEOUT_CANCELLED|FINISHED.*)$/,
    stopped: /^(TIMEOUT_CANCELLED|FINISHED.*)$/,
  }
  const [mayEnd, ended] = cancelTaken
    ? [/^CANCELLED$/, `6: the cancel of ${name} was taken, and it ended`]
    : [ends[kind] ?? /^FINISHED/, `1: ${name} ended`]
  const changed =
    status !== end.report.summary.status ||
    JSON.stringify(job.report.execution) !== JSON.stringify(end.report.execution)
  return [
    ...(changed ? [`1: ${name} had ended ${end.report.summary.status}, and is ${status}`] : []),
    ...(counted === recounted ? [] : [`2: ${name} counts ${counted}, its operations are ${recounted}`]),
    ...(mayEnd.test(status) ? [] : [`${ended} ${status}`]),
  ]
}

/** 5, 6 and 8, as the device saw it. */
export function judgeOperation(
  name: string,
  { operationId, entityId, status, attempts }: OperationView,
  { device, launches }: Seen,
  flow: Flow | undefined,
  taken: readonly number[],
): string[] {
  const wrong: string[] = []
  if (device !== entityId) wrong.push(`8: ${operationId} of ${name} is on ${entityId}, and ${device} had it`)
  if (attempts.current > attempts.total || launches.size > attempts.current) {
    const counted = `${attempts.current} of ${attempts.total} attempts`
    wrong.push(`5: ${operationId} of ${name} had ${counted}, and came to its device in ${launches.size} launches`)
  }
  if (taken.length > 0 && status !== 'FINISHED' && status !== 'FINISHED_OUT_OF_TIME') {
    wrong.push(
      `6: the answer to ${operationId} of ${name} was taken (${flow}, ${taken.map(clock).join(' ')}), and it is ${status}`,
    )
  }
  return wrong
}

/** Whether nothing but its device's word can have ended an operation so. */
function isByDevice({ status, result }: OperationView): boolean {
  return status === 'FINISHED_OUT_OF_TIME' || (status === 'FINISHED' && result === 'SUCCESSFUL')
}

/** 6: what a part that was taken before the end named is a step of the operation, or of an earlier attempt. */
export function judgeParts(
  name: string,
  { operationId, name: type, status, execution, steps, attempts }: OperationView,
  { partsAt, finalSentAt }: Seen,
  flow: Flow | undefined,
  isKept: (at: number) => boolean,
): string[] {
  const [step] = performOperation({ name: type, parameters: {} }, new Map()).steps
  // A late answer dates the end anew: what came before that may have come after the end.
  if (step === undefined || status === 'FINISHED_OUT_OF_TIME') return []
  const endedAt = Math.min(finalSentAt, Date.parse(execution.finishedDate))
  const before = partsAt.filter(at => isKept(at) && at < endedAt)
  if (before.length === 0) return []
  if ([...steps, ...(attempts.history ?? []).flatMap(each => each.steps)].some(each => each.name === step)) return []
  return [
    `6: a part of ${operationId} of ${name} was taken (${flow}, ${before.map(clock).join(' ')}), and it has no step ${step}`,
  ]
}

/** 3: nothing comes to a device while its job may not launch, but what was in hand for two seconds more. */
export function judgeGates(
  name: string,
  { closed }: Pick<Story, 'closed'>,
  { operationId }: OperationView,
  { receivedAt }: Seen,
  flow: Flow | undefined,
  faults: readonly DoneFault[],
  { lag, reachedLateMs }: Pick<World, 'lag' | 'reachedLateMs'>,
): string[] {
  const unread = faults.filter(({ fault }) => fault === 'freeze the fleet')
  return closed.flatMap(({ why, from, to }) => {
    // What may not be launched from the beginning cannot be in hand.
    const since = from === 0 ? 0 : from + IN_HAND_MS + BUSY_MS
    const until = to ?? Number.POSITIVE_INFINITY
    const late = (at: number) => (from === 0 ? 0 : LAG_COUNTS * lag.between(from, at) + reachedLateMs(from, at))
    const bad = receivedAt.find(
      at =>
        at > since + late(at) && at < until && !unread.some(({ fromMs, toMs }) => at > fromMs && at < toMs + UNREAD_MS),
    )
    return bad === undefined
      ? []
      : [
          `3: ${operationId} of ${name} came to its device ${bad - from} ms after the job was ${why} (${flow}, at ${clock(bad)}, in all ${receivedAt.map(clock).join(' ')})`,
        ]
  })
}

/** 7: told at least once that it started and that it finished, in this order. */
export function judgeCalls(
  name: string,
  { receiver }: { readonly receiver: Pick<World['receiver'], 'heard'> },
  { id, end }: Pick<Story, 'id' | 'end'>,
): string[] {
  const heard = receiver.heard.get(id) ?? []
  const first = (event: string) => heard.findIndex(call => call.event === event && call.taken)
  const started = first('jobStarted')
  const finished = first('jobFinished')
  const wrong: string[] = []
  if (finished < 0) wrong.push(`7: the end of ${name} was never told`)
  if (end.report.execution.startedDate === '') return wrong
  if (started < 0) wrong.push(`7: the start of ${name} was never told`)
  else if (heard.slice(0, started).some(call => call.event === 'jobFinished'))
    wrong.push(`7: the end of ${name} was told before its start`)
  return wrong
}

/** 8 and 2: an organization finds its own jobs and no other, and a recount agrees. */
async function judgeOrganization(
  client: StubbornClient,
  own: readonly Story[],
  others: readonly Story[],
): Promise<string[]> {
  const { body: found } = await client.call<{ jobs: { id: string }[] } | undefined>('POST', '/north/v80/search/jobs', {
    limit: { size: 2_000 },
  })
  const ids = found?.jobs.map(({ id }) => id) ?? []
  const expected = own.map(({ id }) => id)
  const wrong: string[] = []
  if (ids.length !== expected.length || without(ids, expected).length > 0) {
    wrong.push(
      `8: ${expected.length} jobs were made, ${ids.length} are found, ${without(ids, expected).length} of them strange`,
    )
  }
  for (const { id } of others) {
    for (const path of [id, `${id}/operations`]) {
      const { status } = await client.call('GET', `/north/v80/operation/jobs/${path}`)
      if (status !== 404) wrong.push(`8: ${path} of another organization was answered ${status}`)
    }
  }
  for (let after = ''; ; ) {
    const { status, body } = await client.call<VerifyView>('GET', `/north/v80/operation/verify?size=200${after}`)
    if (status !== 200) return [...wrong, `2: verify was answered ${status}`]
    for (const difference of body.differences) wrong.push(`2: ${JSON.stringify(difference)}`)
    if (body.next === undefined) return wrong
    after = `&after=${body.next}`
  }
}

/** Every operation of a job, page by page. */
async function listOperations(client: StubbornClient, job: string): Promise<OperationView[]> {
  const operations: OperationView[] = []
  for (let page = 1, of = 1; page <= of; page += 1) {
    const { status, body } = await client.call<{ page: { of: number }; operations: OperationView[] } | undefined>(
      'GET',
      `/north/v80/operation/jobs/${job}/operations?start=${page}&size=1000`,
    )
    if (status === 204 || !body) break
    operations.push(...body.operations)
    of = body.page.of
  }
  return operations
}
