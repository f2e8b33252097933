/** What is gathered is written in all lanes, whatever numbers the entities have. */
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { numberSource, partitionOf } from '../../src/domain/identity.ts'
import { createOperationGatherer } from '../../src/engine/operation-gatherer.ts'
import { createOperationMemory } from '../../src/engine/operation-memory.ts'
import type { Database } from '../../src/store/database.ts'
import { createVirtualClock } from '../virtual-clock.ts'
import { EPOCH } from './workbench.ts'

test.each([2, 3, 4])(
  'operations of devices that were provisioned one by one are written in all of %d lanes',
  async lanes => {
    let writing = 0
    const database = {
      transaction() {
        writing += 1
        return new Promise(() => {})
      },
    } as unknown as Database
    const gatherer = createOperationGatherer({
      database,
      clock: createVirtualClock(EPOCH),
      log: pino({ level: 'silent' }),
      memory: createOperationMemory(),
      onCommit: () => {},
      lanes,
    })
    let now = EPOCH.getTime()
    const nextNumber = numberSource(() => now++, 1)
    for (let i = 0; i < 100; i += 1) {
      void gatherer.submit({
        key: { job: 1n, partition: partitionOf(1, `d-${i}`), entity: nextNumber() },
        seen: 'sent',
      })
    }
    await expect.poll(() => writing, { timeout: 2_000 }).toBe(lanes)
  },
)
