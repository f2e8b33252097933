import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { expect, test } from 'vitest'
import { conformancePage, promisesIn, SECTIONS } from './conformance-page.ts'

const root = path.resolve(import.meta.dirname, '../../..')

test('the page of promises is what the files of the sections print', async () => {
  await expect(await conformancePage()).toMatchFileSnapshot(path.join(root, 'docs/reference/conformance.md'))
})

test('every file of this folder is a section of the page', async () => {
  const files = (await readdir(import.meta.dirname)).filter(file => file.endsWith('.test.ts'))
  expect(files.sort()).toEqual([...SECTIONS.map(([, file]) => `${file}.test.ts`), 'conformance.test.ts'].sort())
})

test('no promise stands twice, and each is a sentence of its own', async () => {
  for (const [, file] of SECTIONS) {
    const promises = promisesIn(await readFile(path.join(import.meta.dirname, `${file}.test.ts`), 'utf8'))
    const words = promises.map(promise => promise.words)
    expect(new Set(words).size, file).toBe(words.length)
    expect(words.length, file).toBeGreaterThan(0)
  }
})

test('a case whose name is not written out fails the page', () => {
  const rows = 'test' + '.each([1])(name, () => {})'
  expect(() => promisesIn(rows)).toThrow('without a name')
  expect(promisesIn(`test("it's so", () => {})\nshownBy('a', 'b.ts', 'c')`)).toEqual([
    { words: "it's so" },
    { words: 'a', elsewhere: { file: 'b.ts', name: 'c' } },
  ])
})
