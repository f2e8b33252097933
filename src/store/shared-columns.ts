/**
 * Columns of a batch that say the same of many of its rows: a status, an attempt, an instant. Each kind of row is sent once, and of each row
 * only of which kind it is: an array with a value for every row costs both sides for every column. Refuses to know any table.
 */

type Value = string | number | boolean | Date | null

/** By column: its type in SQL, and what it says of a row. */
export type Columns<Row> = Readonly<Record<string, readonly [type: string, of: (row: Row) => Value]>>

export interface SharedColumns<Row> {
  /** The columns as a subquery of one row, for a row `i` with its kind as `i.kind`; their arrays are bound from `$first` on. */
  sql(first: number): string
  /** The kind of each row, from 1 as SQL counts; then of each column what it says of the kinds. */
  of(rows: readonly Row[]): readonly [kindOf: number[], ...columns: Value[][]]
}

/** One of few kinds is found quickest by comparing; many are not gone through for each row. */
const COMPARED_MAX = 16

/** Declares columns that rows share. */
export function sharedColumns<Row>(columns: Columns<Row>): SharedColumns<Row> {
  const names = Object.keys(columns)
  const readers = Object.values(columns).map(([, of]) => of)

  return {
    sql(first) {
      const listed = names.map((name, i) => `($${first + i}::${columns[name]![0]}[])[i.kind] as ${name}`)
      return `(select ${listed.join(', ')})`
    },
    of(rows) {
      const kinds: Value[][] = []
      const byText = new Map<string, number>()
      const isOf = (row: Row, kind: readonly Value[]) => readers.every((of, i) => isSame(of(row), kind[i]!))
      const kindOf = rows.map(row => {
        const alike = kinds.length > COMPARED_MAX ? -1 : kinds.findIndex(kind => isOf(row, kind))
        if (alike !== -1) return alike + 1
        const values = readers.map(of => of(row))
        const text = JSON.stringify(values)
        const known = byText.get(text) ?? kinds.push(values)
        byText.set(text, known)
        return known
      })
      return [kindOf, ...readers.map((_, i) => kinds.map(kind => kind[i]!))]
    },
  }
}

function isSame(a: Value, b: Value): boolean {
  return a === b || (a instanceof Date && b instanceof Date && a.getTime() === b.getTime())
}
