/** Files of entities, cut into bodies. */
import { Readable } from 'node:stream'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type RowFormat, rowBatches } from '../../../../src/cli/commands/devices/entity-rows.ts'
import { jsonTexts } from '../../../../src/cli/commands/devices/json-texts.ts'

async function batches(text: string, format: RowFormat, size = 2) {
  const found = []
  for await (const batch of rowBatches('-', format, size, Readable.from([text]))) found.push(batch)
  return found
}

/** A stream that comes in pieces of one length, whatever lies at their borders. */
function inPieces(text: string, length: number): Readable {
  const bytes = Buffer.from(text)
  const count = Math.ceil(bytes.length / length)
  return Readable.from(Array.from({ length: count }, (_, at) => bytes.subarray(at * length, (at + 1) * length)))
}

describe('CSV', () => {
  test('each body has the line of ids, and cells stay what they were', async () => {
    const text = '\uFEFFid,tags,note\r\na,"x,y","say ""hi"""\r\nb,,\r\nc,z,"two\nlines"\r\n'
    expect(await batches(text, 'csv')).toEqual([
      { body: 'id;tags;note\na;"x,y";"say ""hi"""\nb;;\n', rows: 2 },
      { body: 'id;tags;note\nc;z;"two\nlines"\n', rows: 1 },
    ])
  })

  test('what the first line has most of separates: commas within cells do not', async () => {
    expect(await batches('id;tags\na;x,y\n', 'csv')).toEqual([{ body: 'id;tags\na;"x,y"\n', rows: 1 }])
  })

  test('a quote in the middle of a cell is told with its line', async () => {
    await expect(batches('id\na"b\n', 'csv')).rejects.toThrow(/cannot be read: .*line 2/)
  })
})

describe('JSON', () => {
  const rows = [{ id: 'a', deep: { list: [1, { x: '}]' }] } }, { id: 'b"\\' }, { id: '{' }]

  test.each([
    ['an array', JSON.stringify(rows)],
    ['a document with its entities', JSON.stringify({ entities: rows }, null, 2)],
    ['a document with more behind them', `{"entities": ${JSON.stringify(rows)}, "more": [{"no": 1}]}`],
    ['a line each', rows.map(row => JSON.stringify(row)).join('\n')],
  ])('%s is cut into its objects', async (_what, text) => {
    expect(await batches(text, 'json')).toEqual([
      { body: { entities: rows.slice(0, 2) }, rows: 2 },
      { body: { entities: rows.slice(2) }, rows: 1 },
    ])
  })

  test('the objects are the same, wherever the pieces of the stream end', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.dictionary(fc.string(), fc.jsonValue())),
        fc.integer({ min: 1, max: 40 }),
        fc.boolean(),
        async (objects, length, wrapped) => {
          const text = JSON.stringify(wrapped ? { entities: objects } : objects)
          const found = []
          for await (const each of jsonTexts(inPieces(text, length))) found.push(JSON.parse(each))
          expect(found).toEqual(JSON.parse(JSON.stringify(objects)))
        },
      ),
      { numRuns: 200 },
    )
  })

  test.each(['[{"id": "a"}', '[{"id": ', '[{"id": "a"}, 5]', '{"id": 1}}', 'nothing'])('%s is refused', async text => {
    await expect(batches(text, 'json')).rejects.toThrow('cannot be read')
  })
})
