/**
 * Rows that are all here as CSV, as the service writes it: separator `;`, quoting of RFC 4180, lines ended by `\n`, and what a spreadsheet
 * would run as a formula made harmless. Rows that the service has are streamed by it instead.
 */

export type Cell = string | number | null | undefined

const FORMULA = /^[=+\-@\t\r]/
const NUMBER = /^[+-]?\d+(\.\d+)?([eE][+-]?\d+)?$/
const QUOTED = /[;"\n\r]/

function cell(value: Cell): string {
  const text = String(value ?? '')
  const safe = FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text
  return QUOTED.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** The whole file: the names of the columns, then a line for each row. */
export const csvText = (columns: readonly string[], rows: readonly (readonly Cell[])[]): string =>
  [columns, ...rows].map(row => `${row.map(cell).join(';')}\n`).join('')
