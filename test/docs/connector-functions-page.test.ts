/** The page on connector functions names the calls that there are, and what each takes. */
import { expect, test } from 'vitest'
import { interfaceDocument } from '../../scripts/interface-document.ts'
import { codeIn, readPage } from './page.ts'

const PLACE = '/connectorFunctions/provision/organizations/{organization}'
const page = await readPage('reference/connector-functions.md')

interface Call {
  readonly parameters?: readonly { readonly in: string; readonly name: string }[]
  readonly requestBody?: {
    readonly content: Readonly<
      Record<string, { readonly schema: { readonly properties?: object; readonly required?: readonly string[] } }>
    >
  }
}

test('each call has its row with the members of its body, and no row is of another call', async () => {
  const { paths } = (await interfaceDocument()) as { paths: Record<string, Record<string, Call>> }
  const calls = Object.entries(paths)
    .filter(([at]) => at.includes(PLACE))
    .flatMap(([at, methods]) =>
      Object.entries(methods).map(([method, { parameters = [], requestBody }]) => {
        const rest = at.split(PLACE)[1]!.replace('{functionName}', '{name}')
        const asked = parameters.filter(each => each.in === 'query').map(({ name }) => name)
        const query = asked.length > 0 ? `[?${asked.join('&')}=]` : ''
        return [
          `${method.toUpperCase()}${rest === '' ? '' : ` …${rest}${query}`}`,
          Object.keys(requestBody?.content['application/json']?.schema.properties ?? {}).sort(),
        ]
      }),
    )
  const told = page.table('Writing one').map(cells => {
    const [call, body = ''] = codeIn(cells.join('|'))
    return [call, body.startsWith('{') ? [...body.matchAll(/\w+/g)].map(([name]) => name).sort() : []]
  })
  expect(told.toSorted()).toEqual(calls.toSorted())
  expect(calls.length).toBe(7)
})
