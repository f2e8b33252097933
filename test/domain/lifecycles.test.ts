import path from 'node:path'
import { expect, test } from 'vitest'
import { lifecyclesPage } from './lifecycles-page.ts'

const page = path.join(import.meta.dirname, '..', '..', 'docs', 'reference', 'lifecycles.md')

test('the reference of the lifecycles is what their tables print', async () => {
  await expect(lifecyclesPage()).toMatchFileSnapshot(page)
})

test('every state of a table is drawn', () => {
  const drawn = lifecyclesPage()
  for (const state of ['BETWEEN_ATTEMPTS', 'FINISHED_OUT_OF_TIME', 'CANCELLING_BY_ENGINE', 'PAUSED', 'CANCELLING']) {
    expect(drawn).toMatch(new RegExp(`--> ${state}:`))
  }
})
