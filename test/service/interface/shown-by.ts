/** Promises that are kept in view by a case elsewhere: where hours pass, or where what is promised lies inside the engine. */
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { expect, test } from 'vitest'

const root = path.resolve(import.meta.dirname, '../../..')

/** A text as it may stand in a source, whichever quotes it has there. */
const quoted = (text: string) => [`'${text.replaceAll("'", "\\'")}'`, `"${text}"`, `\`${text}\``]

/** Says by which case of which file a promise is shown. Fails where there is no case of this name. */
export function shownBy(promise: string, file: string, name: string): void {
  test(promise, async () => {
    const source = await readFile(path.join(root, file), 'utf8')
    expect(
      quoted(name).some(each => source.includes(each)),
      `${file} has no case named ${name}`,
    ).toBe(true)
  })
}
