import type { Row } from './bench.ts'
import { quantile } from './compare.ts'

const HEAD = ['', 'figure', 'compared with', 'there', 'Sixwire', 'ratio', 'of rounds']
const LEFT = 3

const write = (value: number): string =>
  value >= 100 ? Math.round(value).toLocaleString('en') : value.toFixed(value < 10 ? 2 : 1)

/** A peer of another number of rounds counts by its median. */
function cellsOf({ name, figure, peer, peerValues, values }: Row): string[] {
  const there = quantile(peerValues, 0.5)
  const isPaired = peerValues.length === values.length
  const ratios = values.map((value, at) => value / (isPaired ? peerValues[at]! : there))
  const range = `${write(Math.min(...ratios))}-${write(Math.max(...ratios))}`
  return [name, figure, peer, write(there), write(quantile(values, 0.5)), write(quantile(ratios, 0.5)), range]
}

/** The figures as Markdown: readable in a terminal, and ready for docs/performance.md. */
export function tableOf(rows: readonly Row[]): string {
  const cells = [HEAD, ...rows.map(cellsOf)]
  const widths = HEAD.map((_, column) => Math.max(...cells.map((row) => row[column]!.length)))
  const rule = widths.map((width, at) => (at < LEFT ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`))
  const lines = [HEAD, rule, ...cells.slice(1)].map((row) =>
    row.map((cell, at) => (at < LEFT ? cell.padEnd(widths[at]!) : cell.padStart(widths[at]!))).join(' | '),
  )
  return lines.map((line) => `| ${line} |`).join('\n')
}
