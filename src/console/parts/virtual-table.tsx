/**
 * A table of as many rows as there are, of which only those in sight are in the document. Rows come in pages: the next one by the
 * cursor of the one before, any other by its number. What has been out of sight for a while is forgotten.
 */
import './virtual-table.css'
import { useMediaQuery } from '@mantine/hooks'
import { useQueries } from '@tanstack/react-query'
import { useVirtualizer } from '@tanstack/react-virtual'
import {
  type CSSProperties,
  type KeyboardEvent,
  type ReactNode,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from 'react'
import { count } from '../figures.tsx'
import { useLiveMs } from '../live.ts'
import type { Freshness } from './as-of.tsx'
import { PAGE, PART, pagesOf, partsOf, type Rows, rowsIn } from './row-places.ts'
import { Scroller } from './scroller.tsx'
import { Failed } from './states.tsx'
import { cellClass, TableRow } from './table-row.tsx'

export interface Column<Row> {
  readonly key: string
  readonly title: string
  readonly cell: (row: Row) => ReactNode
  /** CSS width; the rest is shared */
  readonly width?: string
  readonly align?: 'right'
  /** the field to sort by, where that is possible */
  readonly sort?: string
  /** what stands below the cell where the screen is narrow, in place of columns that are left out there */
  readonly under?: (row: Row) => ReactNode
  /** left out where the screen is narrow */
  readonly wide?: boolean
  /** takes what the others leave where the screen is narrow */
  readonly fills?: boolean
}

export interface Sort {
  readonly field: string
  readonly descending: boolean
}

interface Props<Row> {
  readonly label: string
  readonly columns: readonly Column<Row>[]
  readonly rows: Rows<Row>
  readonly rowKey: (row: Row) => string
  readonly empty: ReactNode
  readonly sort?: Sort | undefined
  readonly onSort?: ((sort: Sort) => void) | undefined
  readonly onState?: (state: Freshness & { readonly total: number }) => void
  readonly rowClass?: (row: Row) => string
}

const ROW_PX = 36
/** With a second line in it. */
const ROW_OF_TWO_PX = 54
/** A table that does not shrink any further, where its rows are more than that. */
const HEIGHT_PX_MIN = 124
const NARROW = '(max-width: 900px)'
/** The heads of the columns, and the border around the table. */
const HEAD_PX = 34
const KEPT_MS = 60_000

export function VirtualTable<Row>(props: Props<Row>) {
  const { label, columns, rows, rowKey, empty, sort, onSort, onState, rowClass } = props
  const scroller = useRef<HTMLElement>(null)
  const cursors = useRef(new Map<number, string>())
  const [known, setKnown] = useState<number | null>(null)
  const [part, setPart] = useState(0)
  const liveMs = useLiveMs()
  const isNarrow = useMediaQuery(NARROW, false, { getInitialValueInEffect: false })
  const hasTwoLines = isNarrow && columns.some(column => column.under)
  const rowPx = hasTwoLines ? ROW_OF_TWO_PX : ROW_PX
  const listKey = JSON.stringify(rows.key)
  const [shownKey, setShownKey] = useState(listKey)
  const hasRead = useRef(false)
  // Another list begins at its own top: what was known of the one before, and where one was in it, says nothing of this one.
  if (shownKey !== listKey) {
    setShownKey(listKey)
    setKnown(null)
    setPart(0)
    cursors.current.clear()
    hasRead.current = false
  }

  const total = rows.total ?? known ?? 0
  const first = part * PART
  const inPart = Math.max(0, Math.min(PART, total - first))
  const virtual = useVirtualizer({
    count: inPart,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowPx,
    overscan: 12,
  })
  const laidOut = useRef({ rowPx, listKey })
  useLayoutEffect(() => {
    if (laidOut.current.rowPx !== rowPx) virtual.measure()
    if (laidOut.current.listKey !== listKey) virtual.scrollToOffset(0)
    laidOut.current = { rowPx, listKey }
  }, [virtual, rowPx, listKey])
  const items = virtual.getVirtualItems()
  const wanted = pagesOf(first + (items[0]?.index ?? 0), first + (items.at(-1)?.index ?? 0))
  const pages = useQueries({
    queries: wanted.map(index => ({
      queryKey: [...rows.key, 'page', index],
      queryFn: async ({ signal }: { signal: AbortSignal }) => {
        const cursor = cursors.current.get(index)
        const page = await rows.read({ number: index + 1, size: PAGE, ...(cursor !== undefined && { cursor }) }, signal)
        if (page.cursor !== undefined) cursors.current.set(index + 1, page.cursor)
        return page
      },
      gcTime: KEPT_MS,
      refetchInterval: rows.live ? liveMs : (false as const),
    })),
  })
  const byIndex = new Map(wanted.map((index, at) => [index, pages[at]]))
  const rowAt = (index: number): Row | undefined => byIndex.get(Math.floor(index / PAGE))?.data?.rows[index % PAGE]

  const newest = pages.filter(page => page.data).sort((a, b) => b.dataUpdatedAt - a.dataUpdatedAt)[0]
  const of = newest?.data?.of
  const found = of === undefined ? null : rowsIn(of, byIndex.get(of - 1)?.data?.rows.length, known)
  useEffect(() => {
    if (found !== null) setKnown(found)
  }, [found])

  const failed = pages.find(page => page.isError && !page.data)
  const dataUpdatedAt = Math.max(0, ...pages.map(page => page.dataUpdatedAt))
  const isError = pages.some(page => page.isError)
  // A place that is yet to be loaded takes neither the height nor the rest of the table with it.
  if (pages.some(page => page.data)) hasRead.current = true
  const read = hasRead.current
  useEffect(() => {
    onState?.({ dataUpdatedAt, isError, total })
  }, [onState, dataUpdatedAt, isError, total])

  const height = HEAD_PX + inPart * rowPx
  const before = items[0]?.start ?? 0
  const after = Math.max(0, virtual.getTotalSize() - (items.at(-1)?.end ?? 0))

  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    const row = (event.target as HTMLElement).closest<HTMLElement>('tr[data-index]')
    if (step === 0 || !row) return
    event.preventDefault()
    const next = Number(row.dataset.index) + step
    const focus = () =>
      scroller.current
        ?.querySelector<HTMLElement>(`tr[data-index="${next}"] a, tr[data-index="${next}"] button`)
        ?.focus()
    virtual.scrollToIndex(next)
    requestAnimationFrame(focus)
  }

  const openPart = (next: number) => {
    setPart(next)
    virtual.scrollToOffset(0)
  }

  if (failed && !read) return <Failed error={failed.error} retry={() => void failed.refetch()} />
  if (read && total === 0) return <>{empty}</>
  return (
    <>
      {total > PART && <Parts total={total} part={part} onPart={openPart} />}
      <Scroller
        className="table-scroll"
        ref={scroller}
        label={label}
        style={read ? { height, minHeight: Math.min(height, HEIGHT_PX_MIN) } : {}}
      >
        <table className={hasTwoLines ? 'table table-two' : 'table'} aria-rowcount={total + 1} onKeyDown={onKeyDown}>
          <caption className="sr-only">{label}</caption>
          <colgroup>
            {columns.map(column => (
              <col
                key={column.key}
                className={column.wide ? 'wide-only' : column.fills ? 'col-fills' : ''}
                style={{ '--col-width': column.width } as CSSProperties}
              />
            ))}
          </colgroup>
          <thead>
            <tr aria-rowindex={1}>
              {columns.map(column => (
                <Head key={column.key} column={column} sort={sort} onSort={onSort} />
              ))}
            </tr>
          </thead>
          <tbody>
            {before > 0 && (
              <tr>
                <td className="spacer" style={{ height: before }} />
              </tr>
            )}
            {items.map(item => {
              const row = rowAt(first + item.index)
              return (
                <TableRow
                  key={row ? rowKey(row) : `row-${item.index}`}
                  index={item.index}
                  place={first + item.index}
                  row={row}
                  columns={columns}
                  hasTwoLines={hasTwoLines}
                  className={row ? (rowClass?.(row) ?? '') : 'row-loading'}
                />
              )
            })}
            {after > 0 && (
              <tr>
                <td className="spacer" style={{ height: after }} />
              </tr>
            )}
          </tbody>
        </table>
        {!read && (
          <div className="table-first-load" role="status">
            Loading…
          </div>
        )}
      </Scroller>
    </>
  )
}

function Head<Row>({ column, sort, onSort }: { readonly column: Column<Row> } & Pick<Props<Row>, 'sort' | 'onSort'>) {
  const { title, sort: field } = column
  if (!field || !onSort) {
    return (
      <th scope="col" className={cellClass(column)}>
        {title}
      </th>
    )
  }
  const isSorted = sort?.field === field
  const order = !isSorted ? 'none' : sort.descending ? 'descending' : 'ascending'
  return (
    <th scope="col" className={cellClass(column)} aria-sort={order}>
      <button type="button" onClick={() => onSort({ field, descending: isSorted ? !sort.descending : true })}>
        {title}
        <span aria-hidden="true" className="sort-mark">
          {isSorted ? (sort.descending ? '↓' : '↑') : ''}
        </span>
      </button>
    </th>
  )
}

function Parts({
  total,
  part,
  onPart,
}: {
  readonly total: number
  readonly part: number
  readonly onPart: (part: number) => void
}) {
  return (
    <nav className="parts" aria-label="Parts of the table">
      {partsOf(total).map(({ first, end }, each) => (
        <button type="button" key={first} aria-current={each === part} onClick={() => onPart(each)}>
          {count(first + 1)} – {count(end)}
        </button>
      ))}
    </nav>
  )
}
