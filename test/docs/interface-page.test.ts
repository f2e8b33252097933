/** The reference of the interface is printed from what the service says of itself, and leaves no call out. */
import path from 'node:path'
import { expect, test } from 'vitest'
import { interfaceDocument } from '../../scripts/interface-document.ts'
import { interfacePage } from '../../scripts/interface-page.ts'
import { readPage } from './page.ts'

test('the reference of the interface is what the service says of itself', async () => {
  const file = path.resolve(import.meta.dirname, '../../docs/reference/interface.md')
  await expect(await interfacePage()).toMatchFileSnapshot(file)
})

test('every call has its section, one for all kinds of entities where these are alike', async () => {
  const { words } = await readPage('reference/interface.md')
  const { paths } = await interfaceDocument()
  const calls = Object.entries(paths).flatMap(([at, methods]) =>
    Object.keys(methods).map(method => `### ${method.toUpperCase()} ${at} `),
  )
  const ofAnyKind = (call: string) => call.replace(/(organization\}|search\/entities)\/[a-zA-Z]+/, '$1/{kind}')
  const missing = calls.filter(call => !words.includes(call) && !words.includes(ofAnyKind(call)))
  expect(missing).toEqual([])
  expect(calls.length).toBeGreaterThan(100)
})
