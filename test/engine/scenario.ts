/** What scenario tests say over and over: what a job and an operation read as now, and how devices answer. */
import { expect } from 'vitest'
import { summaryOf } from '../../src/domain/counters.ts'
import { jobId, operationId, partitionOf } from '../../src/domain/identity.ts'
import type { ReportedStep } from '../../src/domain/step.ts'
import type { OperationRequest, SendReport } from '../../src/engine/connector.ts'
import { recountJobs } from '../../src/store/counters.ts'
import { type EndedOperationRow, readEndedOperations } from '../../src/store/ended-operations.ts'
import { readJob } from '../../src/store/jobs.ts'
import type { DeviceNumbers } from '../../src/store/operation-devices.ts'
import { type OperationRow, readOpenOperations } from '../../src/store/operations.ts'
import { sql } from '../../src/store/statement.ts'
import type { PretendDevice, Workbench } from './workbench.ts'

export const SECOND = 1_000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE

/** `prefix-0`, `prefix-1`, … */
export const ids = (prefix: string, count: number) => Array.from({ length: count }, (_, i) => `${prefix}-${i}`)

/** A job's status and counters now; its counters are held to a recount of the rows on the way. */
export async function summaryOfJob({ database, caller }: Workbench, job: bigint) {
  return await database.transaction(
    async tx => {
      const row = (await readJob(tx, caller.organization, job))!
      expect((await recountJobs(tx, [job])).get(job), jobId(job)).toEqual(row.counters)
      return { ...row, ...summaryOf(row.counters) }
    },
    { snapshot: true },
  )
}

const numbers = new WeakMap<Workbench, Map<string, Promise<DeviceNumbers>>>()

/** The numbers of a device. Looked up once: what several say at once keeps its order. */
export function deviceOf(bench: Workbench, identifier: string): Promise<DeviceNumbers> {
  const known = numbers.get(bench) ?? new Map<string, Promise<DeviceNumbers>>()
  numbers.set(bench, known)
  const found = known.get(identifier) ?? lookUp(bench, identifier)
  known.set(identifier, found)
  return found
}

async function lookUp({ database, caller }: Workbench, identifier: string): Promise<DeviceNumbers> {
  const partition = partitionOf(caller.organization, identifier)
  const [row] = await database.query<{ entity: bigint }>(
    sql`select entity from entity
         where partition = ${partition} and organization = ${caller.organization} and identifier = ${identifier}`,
  )
  return { partition, entity: row!.entity }
}

/** An operation of a job as it stands, open or ended. */
export async function operationOf(
  bench: Workbench,
  job: bigint,
  identifier: string,
): Promise<(OperationRow | EndedOperationRow) & { result?: string }> {
  const key = { job, ...(await deviceOf(bench, identifier)) }
  const [open] = await readOpenOperations(bench.database, [key])
  const [ended] = await readEndedOperations(bench.database, [key])
  const row = open ?? ended
  if (!row || (open && ended)) throw new Error(`${identifier} has ${row ? 'two operations' : 'no operation'}`)
  return row
}

/** What a device says of an operation of a job, through the device interface. */
export async function say(
  bench: Workbench,
  job: bigint,
  identifier: string,
  word: {
    resultCode?: string
    resultDescription?: string
    steps?: ReportedStep[]
    raw?: string
    saysMore?: boolean
    timestamp?: number
  } = {},
): Promise<'taken' | 'unknown'> {
  const device = await deviceOf(bench, identifier)
  const answered = await bench.engine.answers.submit({
    operationId: operationId({ job, ...device }),
    organization: bench.caller.organization,
    deviceId: identifier,
    ...device,
    ...word,
    steps: word.steps ?? [],
  })
  return answered
}

/** The final answer in the same exchange. */
export function answered(request: OperationRequest, resultCode: string, raw?: string): SendReport {
  const { id: operationId, device } = request
  return {
    seen: 'answered',
    message: { ...device, operationId, resultCode, steps: [], ...(raw !== undefined && { raw }) },
  }
}

/** A device that answers every request at once. */
export const obedient =
  (resultCode = 'SUCCESSFUL'): PretendDevice =>
  (request, report) => {
    report({ seen: 'sent' })
    report(answered(request, resultCode))
  }

/** A device that is sent to and says nothing. */
export const silent: PretendDevice = (_, report) => report({ seen: 'sent' })

/** The devices that were sent to, in order. */
export const sentTo = ({ sent }: Workbench) => sent.map(request => request.device.deviceId)

/** Runs the canceller until nothing is left to cancel: for what moves under a turn it comes again. */
export async function cancelOpen({ engine, clock }: Workbench): Promise<void> {
  const canceller = engine.loops.get('operation-canceller')!
  while ((await canceller.runOnce(clock.now())) !== null);
}
