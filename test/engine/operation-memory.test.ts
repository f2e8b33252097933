import { describe, expect, test } from 'vitest'
import { createOperationMemory } from '../../src/engine/operation-memory.ts'
import { keyText, type OperationRow } from '../../src/store/operations.ts'

const row = (entity: number, more: Partial<OperationRow> = {}): OperationRow => ({
  job: 1n,
  partition: 0,
  entity: BigInt(entity),
  status: 'QUEUED',
  attempt: 1,
  flow: null,
  hasDetailRow: false,
  startedAt: null,
  launchedAt: null,
  heardAt: null,
  deadlineAt: null,
  sender: 1,
  parameters: null,
  steps: null,
  attempts: null,
  messages: null,
  description: null,
  ...more,
})

const written = (row: OperationRow) => ({ row, text: keyText(row) })

describe('the memory of what was written', () => {
  test('holds what was committed last, until the operation ends', () => {
    const memory = createOperationMemory()
    memory.note({ written: [row(1)].map(written), ended: [], rules: [] })
    memory.note({ written: [row(1, { status: 'IN_PROGRESS' })].map(written), ended: [], rules: [] })
    expect(memory.recall(keyText(row(1)))?.status).toBe('IN_PROGRESS')
    memory.note({ written: [], ended: [keyText(row(1))], rules: [] })
    expect(memory.recall(keyText(row(1)))).toBeUndefined()
  })

  test('forgets what was written longest ago where it holds too much', () => {
    const memory = createOperationMemory(2)
    memory.note({ written: [row(1), row(2)].map(written), ended: [], rules: [] })
    memory.note({ written: [row(1), row(3)].map(written), ended: [], rules: [] })
    expect([1, 2, 3].map(entity => memory.recall(keyText(row(entity))) !== undefined)).toEqual([true, false, true])
  })

  test('does not hold what is large, nor what it held of it before', () => {
    const memory = createOperationMemory(10, 100)
    memory.note({ written: [row(1)].map(written), ended: [], rules: [] })
    const messages = [{ at: '2026-01-01T00:00:00.000Z', attempt: 1, raw: 'x'.repeat(101) }]
    memory.note({ written: [row(1, { messages })].map(written), ended: [], rules: [] })
    expect(memory.recall(keyText(row(1)))).toBeUndefined()
  })
})
