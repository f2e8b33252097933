import fc from 'fast-check'
import { expect, it } from 'vitest'
import { jsonElements } from '../../src/north/bulk-json.ts'

async function* chunks(text: string | Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  const bytes = typeof text === 'string' ? Buffer.from(text) : text
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

async function elements(text: string | Uint8Array, size = 7): Promise<unknown[]> {
  const found: unknown[] = []
  for await (const element of jsonElements(chunks(text, size), 'entities')) {
    found.push(element.ok ? element.value : { fault: element.reason })
  }
  return found
}

it('gives the elements one by one, however the body is cut into pieces', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.jsonValue({ maxDepth: 4, stringUnit: 'grapheme' }), { maxLength: 8 }),
      fc.jsonValue(),
      fc.integer({ min: 1, max: 40 }),
      fc.constantFrom(0, 1, 3),
      async (list, before, size, indent) => {
        const body = JSON.stringify(
          { before, 'ent"ities': [1], x: { entities: [2] }, entities: list, after: [3] },
          null,
          indent,
        )
        expect(await elements(body, size)).toEqual(JSON.parse(JSON.stringify(list)))
      },
    ),
  )
})

it('says of one element that it is no JSON, and goes on', async () => {
  expect(await elements('{"entities":[{"a":1},{b:2},,{"c":3}]}')).toEqual([
    { a: 1 },
    { fault: 'not JSON' },
    { fault: 'the body is empty' },
    { c: 3 },
  ])
})

it('refuses a body that is not what it should be', async () => {
  const faults: [string | Uint8Array, string][] = [
    ['', 'the body breaks off'],
    ['[{"a":1}]', 'must be one object'],
    ['{"entities":[{"a":1}', 'the body breaks off'],
    ['{"entities":["a', 'the body breaks off'],
    ['{"entities":[]} x', 'must be one object'],
    ['{"entities":[],"entities":[]}', 'entities is there twice'],
    [Buffer.from([0x7b, 0xff, 0x7d]), 'not UTF-8'],
  ]
  for (const [body, reason] of faults)
    await expect(elements(body)).rejects.toMatchObject({ entry: { code: '0x010202' }, context: [{ value: reason }] })
  for (const body of ['{}', '{"entities":{}}', '{"other":[1]}', '{"x":"entities","y":[1]}'])
    await expect(elements(body)).rejects.toMatchObject({ entry: { code: '0x010000' }, context: [{ name: 'entities' }] })
})

it('holds no more than one element of a bounded length', async () => {
  await expect(elements(`{"entities":["${'x'.repeat(400_000)}"]}`, 65_536)).rejects.toMatchObject({
    entry: { kind: 'tooLarge' },
  })
})
