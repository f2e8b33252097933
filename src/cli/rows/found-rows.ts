/** The rows of a search, page by page as they are asked for, and how many there are. It holds one page at a time, or the list that is asked for. */
import type { Answer, Client, Given, OperationName, SearchBody } from '../../contract/client/client.ts'
import type { Run } from '../frame/command.ts'
import { watched } from './row-progress.ts'

/** The searches of the interface. */
export type SearchName = Extract<OperationName, `POST /search/${string}`>
/** Those whose answer is a page of rows. */
export type RowsName = {
  [Name in SearchName]: NonNullable<Answer<Name>> extends { page: unknown } ? Name : never
}[SearchName]

/** Rows of one page: the most that a search gives. */
const PAGE_SIZE = 1_000

/** The rows that are found, at most `limit`. */
export async function* foundRows<Name extends RowsName>(
  client: Client,
  name: Name,
  body: Omit<SearchBody, 'limit'>,
  limit = Number.POSITIVE_INFINITY,
  query: object = {},
): AsyncGenerator<RowOf<Name>> {
  const size = Math.min(PAGE_SIZE, limit)
  let left = limit
  let place: SearchBody['limit'] = { start: 1 }
  while (left > 0) {
    const asked = { query, body: { ...body, limit: { ...place, size } } } as Given<RowsName>
    const found = await client.call<RowsName>(name, asked)
    if (!found) return
    const { page, ...named } = found
    const rows = (Object.values(named)[0] ?? []) as RowOf<Name>[]
    yield* rows.slice(0, left)
    left -= rows.length
    if (page.cursor !== undefined) place = { cursor: page.cursor }
    else if (page.number < page.of) place = { start: page.number + 1 }
    else return
  }
}

/** The kind of row that a search finds. */
export type RowOf<Name extends RowsName> = Omit<NonNullable<Answer<Name>>, 'page'>[keyof Omit<
  NonNullable<Answer<Name>>,
  'page'
>] extends (infer Row)[]
  ? Row
  : never

/** How many rows a search finds. */
export async function countRows(
  client: Client,
  name: RowsName,
  { filter }: Omit<SearchBody, 'limit'>,
  query: object = {},
): Promise<number> {
  const { summary } = await client.call(`${name}/summary`, { body: filter ? { filter } : {}, query })
  return summary.count
}

/** The rows that are found, at most as many as `--limit` says, in one list; where they are many, with a bar. */
export async function listedRows<Name extends RowsName>(
  run: Run,
  name: Name,
  body: Omit<SearchBody, 'limit'>,
  query: object = {},
): Promise<RowOf<Name>[]> {
  const { client } = await run.session()
  const limit = Number(run.options.limit)
  const count = () => countRows(client, name, body, query)
  return await collected(watched(run, foundRows(client, name, body, limit, query), { count, limit, isGathered: true }))
}

/** All of them in one list, for what is few. */
export async function collected<Row>(rows: AsyncIterable<Row>): Promise<Row[]> {
  const all: Row[] = []
  for await (const row of rows) all.push(row)
  return all
}
