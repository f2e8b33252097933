import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { expect, test } from 'vitest'
import { lifecyclesPage, outlines } from './lifecycles-page.ts'

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

test('the pictures in the concepts are drawn from the tables', async () => {
  const concepts = path.join(import.meta.dirname, '..', '..', 'docs', 'concepts.md')
  const pictures = [...(await readFile(concepts, 'utf8')).matchAll(/```mermaid\n.*?\n```/gs)].map(
    ([picture]) => picture,
  )
  expect(pictures).toEqual([outlines.operation, outlines.job, outlines.task])
})
