export const whole = (value: number) => Math.round(value).toLocaleString('en')
export const fine = (value: number) => value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)
export const reached = (yes: boolean, goal: string) => `${goal} ${yes ? 'reached' : 'MISSED'}`

/** A Markdown table whose columns line up; every column but the first is a figure. */
export function table(rows: string[][]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  const line = (row: string[]) =>
    `| ${row.map((cell, at) => (at === 0 ? cell.padEnd(widths[at]!) : cell.padStart(widths[at]!))).join(' | ')} |`
  const rule = `|${widths.map((width, at) => (at === 0 ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`)).join('|')}|`
  return [line(rows[0]!), rule, ...rows.slice(1).map(line)].join('\n')
}
