/** A file of entities that is not there, on a machine that is slow to say so. */
import { Readable } from 'node:stream'
import { expect, test, vi } from 'vitest'
import { rowBatches } from '../../../../src/cli/commands/devices/entity-rows.ts'

vi.mock('node:fs/promises', async original => {
  const real = await original<typeof import('node:fs/promises')>()
  const slow = (path: string) => new Promise(resolve => setTimeout(resolve, 100)).then(() => real.stat(path))
  return { ...real, stat: slow }
})

test('it is refused by name, and its failure comes to nobody else', async () => {
  const first = rowBatches('/nowhere/rows.csv', 'csv', 2, Readable.from([])).next()
  await expect(first).rejects.toMatchObject({ exit: 'usage', message: expect.stringMatching(/rows\.csv.*ENOENT/) })
})
