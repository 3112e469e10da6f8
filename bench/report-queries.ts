import type { Compared } from './by-hand.ts'
import type { Options } from './options.ts'
import type { QueriesResult } from './queries.ts'
import { fine, reached, table, whole } from './report-table.ts'

// The figures to reach.
const INDEXED_MS = 5
const INDEXED_FACTOR = 1.5
const SCAN_FACTOR = 2
const COLUMNS_FACTOR = 1
const DEEP_FACTOR = 1.3
const CREATES_SHARE = 0.5
const AUTOMATIC_SECONDS = 10
const AUTOMATIC_SHARE = 0.7

const rangeOf = (values: readonly number[]): string =>
  `${fine(Math.min(...values))}-${fine(Math.max(...values))}`

const row = ({ name, floor, subject, ratio, ratios }: Compared, goal: string): string[] => [
  name,
  fine(floor),
  fine(subject),
  fine(ratio),
  rangeOf(ratios),
  goal,
]

function listsTable(
  { documents, few, scans, indexed, deep }: QueriesResult,
  engine: Options['engine'],
): string {
  const deepRatios = deep.first.rounds.map(({ p50 }, round) => deep.second.rounds[round]!.p50 / p50)
  const deepFactor = deep.second.p50 / deep.first.p50
  const scanRow = (one: Compared) => row(one, reached(one.ratio <= SCAN_FACTOR, `≤ ${SCAN_FACTOR}`))
  return table([
    [
      `lists of 20 with total, ${whole(documents)} documents`,
      'by hand p50 ms',
      'Sixwire p50 ms',
      'factor',
      'of rounds',
      'to reach',
    ],
    ...indexed.flatMap((one) => [
      row(one, reached(one.subject <= INDEXED_MS, `≤ ${INDEXED_MS} ms`)),
      row(
        { ...one.framed, name: '– by hand in a route of Sixwire' },
        reached(one.framed.ratio <= INDEXED_FACTOR, `≤ ${INDEXED_FACTOR}`),
      ),
    ]),
    [
      'all, sorted by an index, the first page',
      '',
      fine(deep.first.p50),
      '1',
      '',
      reached(deep.first.p50 <= INDEXED_MS, `≤ ${INDEXED_MS} ms`),
    ],
    [
      `the page at depth ${whole(deep.depth)}, by a cursor`,
      '',
      fine(deep.second.p50),
      fine(deepFactor),
      rangeOf(deepRatios),
      reached(deepFactor <= DEEP_FACTOR, `≤ ${DEEP_FACTOR}`),
    ],
    scanRow(scans.large),
    scanRow({ ...scans.few, name: `the same, ${whole(few)} documents` }),
    row(
      { ...scans.columns, name: 'these against native columns' },
      engine === 'sqlite' ? reached(scans.columns.ratio <= COLUMNS_FACTOR, `≤ ${COLUMNS_FACTOR}`) : '',
    ),
  ])
}

function writesTable({ creates, automatic }: QueriesResult): string {
  const share = automatic.creates.during / automatic.creates.before
  return table([
    ['creates a second', 'without', 'with', 'share', 'of rounds', 'to reach'],
    [
      `three indexes, ${creates.connections} connections`,
      whole(creates.first.perSecond),
      whole(creates.second.perSecond),
      fine(creates.ratio),
      rangeOf(creates.ratios),
      reached(creates.ratio >= CREATES_SHARE, `≥ ${CREATES_SHARE}`),
    ],
    [
      `an automatic index being built, ${automatic.creates.connections} connections`,
      whole(automatic.creates.before),
      whole(automatic.creates.during),
      fine(share),
      '',
      reached(share >= AUTOMATIC_SHARE, `≥ ${AUTOMATIC_SHARE}`),
    ],
  ])
}

const timesTable = ({ documents, filled, automatic, built, memory }: QueriesResult): string =>
  table([
    [`${whole(documents)} documents`, '', 'to reach'],
    ['created by arrays of 1,000, a second', whole(filled), ''],
    [
      'an automatic index ready after the third slow query, s',
      fine(automatic.seconds),
      reached(automatic.seconds <= AUTOMATIC_SECONDS, `≤ ${AUTOMATIC_SECONDS}`),
    ],
    ['the slow query before, ms', fine(Math.max(...automatic.queries)), ''],
    ['and afterwards, ms', fine(automatic.afterwards), ''],
    [`${built.indexes} declared indexes ready after the start, s`, fine(built.seconds), ''],
    ...(memory
      ? [
          ['most memory: filled, MB', whole(memory.filled), ''],
          ['and after the scans, MB', whole(memory.scanned), ''],
          ['of the next start, with the automatic index, MB', whole(memory.automatic), ''],
          ['of the last start, with the declared ones, MB', whole(memory.indexed), ''],
        ]
      : []),
  ])

export const queriesTables = (queries: QueriesResult, engine: Options['engine']): string[] => [
  listsTable(queries, engine),
  writesTable(queries),
  timesTable(queries),
]
