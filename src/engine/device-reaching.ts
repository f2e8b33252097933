/**
 * What follows when devices are reached over HTTP from now on: what waits for them to connect is made ready, in the transaction in which
 * they are given their address. Refuses to launch it: a claim asks the gates of its job.
 */
import { openCounter } from '../domain/counters.ts'
import { FIRST_PLACE } from '../domain/launching.ts'
import { decide, type OperationStatus } from '../domain/operation.ts'
import { CounterDeltas, writeDeltas } from '../store/counters.ts'
import type { Transaction } from '../store/database.ts'
import type { DeviceNumbers } from '../store/operation-devices.ts'
import { wakeOperationsOfDevices } from '../store/operation-waking.ts'

const WAITING: OperationStatus = 'WAITING_FOR_CONNECTION'

/** Makes ready what waits for those of the devices that are reached over HTTP; answers whether there was something. */
export async function wakeReached(tx: Transaction, devices: readonly DeviceNumbers[]): Promise<boolean> {
  const to = decide(WAITING, 'connected').status
  const woken = await wakeOperationsOfDevices(tx, devices, { from: WAITING, to, place: FIRST_PLACE })
  const deltas = new CounterDeltas()
  for (const { job, count } of woken) deltas.move(job, openCounter(WAITING), openCounter(to), count)
  await writeDeltas(tx, deltas)
  return woken.length > 0
}
