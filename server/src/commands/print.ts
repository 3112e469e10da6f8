/** Prints what was asked for: one JSON document, or a text for a person. */
export const print = (asJson: boolean, value: unknown, text: () => string): void =>
  console.log(asJson ? JSON.stringify(value, bigintAsText, 2) : text())

/** As the API has them: a JSON number would be rounded. */
const bigintAsText = (_name: string, value: unknown): unknown =>
  typeof value === 'bigint' ? value.toString() : value

/** Rows as a table with a line of headings; `(none)` if there are none. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return '(none)'
  const widths = headings.map((heading, at) =>
    Math.max(heading.length, ...rows.map((row) => row[at]!.length)),
  )
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, at) => cell.padEnd(widths[at]!))
      .join('  ')
      .trimEnd()
  return [line(headings), ...rows.map(line)].join('\n')
}

/** A list of pages as a table, with a line of how many there are if it shows some only. */
export function pageTable(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  total: number,
): string {
  const shown = table(headings, rows)
  return rows.length < total ? `${shown}\n\n${rows.length} of ${total}` : shown
}

/** `3 documents` */
export const plural = (count: number, noun: string): string =>
  `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`
