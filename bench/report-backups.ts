import type { BackupsResult } from './backups.ts'
import type { Options } from './options.ts'
import { fine, reached, table, whole } from './report-table.ts'

// The figures to reach.
const BACKUP = 50_000
const OF_DUMP = 0.5
const RESTORE = 20_000
const WRITES_SHARE = 0.5

const rangeOf = (values: readonly number[], write: (value: number) => string): string =>
  `${write(Math.min(...values))}-${write(Math.max(...values))}`

function rateTable(
  { documents, megabytes, baseline, backup, restores, writes }: BackupsResult,
  engine: Options['engine'],
): string {
  const head = `${whole(documents)} documents, ${whole(megabytes)} MB an archive`
  const isFast = backup.perSecond >= BACKUP
  const goal =
    engine === 'sqlite'
      ? reached(isFast, `≥ ${whole(BACKUP)} a second`)
      : baseline
        ? reached(baseline.ratio >= OF_DUMP, `≥ ${OF_DUMP} of the first`)
        : ''
  return table([
    [head, 'documents a second', 'of rounds', 'ratio', 'of rounds', 'to reach'],
    ...(baseline
      ? [[baseline.name, whole(baseline.perSecond), rangeOf(baseline.rounds, whole), '1', '', '']]
      : []),
    [
      'backup',
      whole(backup.perSecond),
      rangeOf(backup.rounds, whole),
      baseline ? fine(baseline.ratio) : '',
      baseline ? rangeOf(baseline.ratios, fine) : '',
      goal,
    ],
    [
      'backup while documents are created',
      whole(writes.backup.perSecond),
      rangeOf(writes.backup.rounds, whole),
      '',
      '',
      '',
    ],
    ...(['into', 'over'] as const).map((kind) => [
      kind === 'into' ? 'restore into an empty store' : 'restore over the same documents',
      whole(restores[kind].perSecond),
      rangeOf(restores[kind].rounds, whole),
      '',
      '',
      reached(restores[kind].perSecond >= RESTORE, `≥ ${whole(RESTORE)} a second`),
    ]),
  ])
}

const writesTable = ({ writes }: BackupsResult): string =>
  table([
    [
      `creates over ${writes.connections} connections`,
      'without a backup',
      'during backups',
      'share',
      'of rounds',
      'to reach',
    ],
    [
      'a second',
      whole(writes.quiet),
      whole(writes.during),
      fine(writes.share),
      rangeOf(writes.shares, fine),
      reached(writes.share >= WRITES_SHARE, `≥ ${WRITES_SHARE}`),
    ],
  ])

const memoryTable = ({ memory }: BackupsResult): string[] =>
  memory
    ? [
        table([
          ['resident memory, the most until then', 'MB'],
          ['after the documents were created', whole(memory.seeded)],
          ['after backups', whole(memory.backups)],
          ['after backups while documents are created', whole(memory.writes)],
          ['after restores', whole(memory.restores)],
        ]),
      ]
    : []

export const backupTables = (backups: BackupsResult, engine: Options['engine']): string[] => [
  rateTable(backups, engine),
  writesTable(backups),
  ...memoryTable(backups),
]
