/** What spreadsheets take for the beginning of a formula, in both widths of characters (OWASP, CSV injection). */
const FORMULA = /^[=+\-@\t\r\n\uff0b\uff0d\uff1d\uff20]/
// With every separator that readers take from the headings.
const NEEDS_QUOTES = /[",;\t\r\n]/

/**
 * A line of CSV (RFC 4180), with its end. Text that a spreadsheet would run as a formula gets an apostrophe before it;
 * numbers of ours are safe as they are: give decimals as `{ decimal }`.
 */
export const csvLine = (cells: readonly (string | number | { decimal: string } | null)[]): string =>
  `${cells.map(cellOf).join(',')}\r\n`

/** The line of the headings, with the byte order mark that tells a spreadsheet that the file is UTF-8. */
export const csvHeadings = (headings: readonly string[]): string => `\ufeff${csvLine(headings)}`

function cellOf(cell: string | number | { decimal: string } | null): string {
  if (cell === null) return ''
  if (typeof cell === 'number') return String(cell)
  if (typeof cell === 'object') return cell.decimal
  const text = FORMULA.test(cell) ? `'${cell}` : cell
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
