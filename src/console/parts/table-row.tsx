/** One row of a table: its cells as the columns say, or their places while it is yet to come. */
import { memo, type ReactNode } from 'react'
import type { Column } from './virtual-table.tsx'

interface RowProps<Row> {
  /** within the part that is shown */
  readonly index: number
  /** in the whole list, from 0 */
  readonly place: number
  /** none while it is yet to come */
  readonly row: Row | undefined
  readonly columns: readonly Column<Row>[]
  readonly hasTwoLines: boolean
  readonly className: string
}

/** One row. Drawn anew only where something of it has changed: scrolling leaves the rows that stay as they are. */
export const TableRow = memo(function TableRow<Row>({
  index,
  place,
  row,
  columns,
  hasTwoLines,
  className,
}: RowProps<Row>) {
  return (
    <tr data-index={index} aria-rowindex={place + 2} className={className}>
      {columns.map(column => (
        <td key={column.key} className={cellClass(column)}>
          {row ? column.cell(row) : <span className="placeholder" />}
          {row && hasTwoLines && column.under && <div className="cut under">{column.under(row)}</div>}
        </td>
      ))}
    </tr>
  )
}) as <Row>(props: RowProps<Row>) => ReactNode

/** How a cell of a column is laid out, in the head as in the rows. */
export const cellClass = (column: Column<never>) =>
  [column.align === 'right' ? 'right' : '', column.wide ? 'wide-only' : ''].filter(Boolean).join(' ')
