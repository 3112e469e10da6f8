import type { FilesResult, LargeUpload } from './files.ts'
import { fine, reached, table, whole } from './report-table.ts'
import { median } from './statistics.ts'

// The figures to reach.
const RATIO = 0.7
const MEMORY_MB = 100
const READ_FACTOR = 3

function largeTable({ seconds, memory, before, during }: LargeUpload): string {
  const factor = during.p99 / before.p99
  const more = memory && memory.peakMB - memory.beforeMB
  return table([
    ['one upload of 2 GiB', '', 'to reach'],
    ['seconds', fine(seconds), ''],
    ...(more === undefined
      ? []
      : [
          ['resident memory before, MB', whole(memory!.beforeMB), ''],
          ['at most, MB more', whole(more), reached(more < MEMORY_MB, `< ${MEMORY_MB}`)],
        ]),
    ['get by id before, p99 ms', fine(before.p99), ''],
    ['during, p99 ms', fine(during.p99), ''],
    ['factor', fine(factor), reached(factor <= READ_FACTOR, `≤ ${READ_FACTOR}`)],
  ])
}

export const filesTables = ({ transfers, large }: FilesResult, subject: string): string[] => [
  table([
    ['files', 'a second', 'floor', subject, 'ratio', 'of rounds', 'to reach'],
    ...transfers.map(({ name, unit, floor, subject: other, ratios }) => [
      name,
      unit,
      whole(floor),
      whole(other),
      fine(median(ratios)),
      `${fine(Math.min(...ratios))}-${fine(Math.max(...ratios))}`,
      reached(median(ratios) >= RATIO, `≥ ${RATIO}`),
    ]),
  ]),
  largeTable(large),
]
