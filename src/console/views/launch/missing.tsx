/** Which identifiers of a list the service does not know: a typing error is found by its name, not by its count. */
import { useDebouncedValue } from '@mantine/hooks'
import { useMemo } from 'react'
import { count, counted } from '../../figures.tsx'
import { useAsked } from '../../live.ts'
import { asking } from '../../request.ts'

const IDENTIFIER = 'provision.administration.identifier'
/** So many of the list are compared, and so many named. */
const COMPARED_MAX = 1_000
const NAMED_MAX = 5

export function Missing({ list, number }: { readonly list: readonly string[]; readonly number: number }) {
  const [typed] = useDebouncedValue(list, 400)
  const compared = useMemo(() => [...new Set(typed)].slice(0, COMPARED_MAX), [typed])
  const found = useAsked(
    asking('POST /search/entities', {
      query: { flattened: true },
      body: {
        filter: { in: { [IDENTIFIER]: compared } },
        select: [{ name: IDENTIFIER }],
        limit: { size: COMPARED_MAX },
      },
    }),
  )
  const rows = (found.data as { entities?: readonly Record<string, unknown>[] } | null | undefined)?.entities ?? []
  const known = new Set(rows.map(row => row[IDENTIFIER]))
  // Nothing is answered where none of them is known.
  const named = found.data === undefined ? [] : compared.filter(each => !known.has(each)).slice(0, NAMED_MAX)
  const more = number - named.length
  return (
    <p className="warn">
      {counted(number, 'identifier')} of the list {number === 1 ? 'is' : 'are'} not provisioned.{' '}
      {named.length > 0 && (
        <span className="mono small">
          {named.join(', ')}
          {more > 0 && ` and ${count(more)} more`}
        </span>
      )}
    </p>
  )
}
