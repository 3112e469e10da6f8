import { join } from 'node:path'

import type { App } from '../app.ts'
import { systemClock } from '../base/clock.ts'
import type { Progress } from '../base/progress.ts'
import { StartError } from '../base/start-error.ts'
import type { Snapshot } from '../db/database.ts'
import type { Dialect } from '../db/sql.ts'
import { cancelMove, moveDatabase, shownAddress, type Moved } from '../kernel/move/move.ts'
import { placeSecret, refuseOtherSecret, SECRET_FILE } from '../kernel/secret/secret.ts'
import { copyFiles, openTargetStorage, type CopiedFiles, type TargetStorage } from '../wires/store/index.ts'
import { defineAction, UsageError } from './command.ts'
import { settleHeap } from './heap.ts'
import { JSON_OPTION, wholeNumber } from './option.ts'
import { plural, print } from './print.ts'
import { createProgressBar, sizeText, type ProgressBar } from './progress-bar.ts'
import { onSignals } from './signals.ts'
import { toTerminal, withSource } from './source-app.ts'

export const move = defineAction({
  summary: 'Move the whole installation into another database: SQLite or PostgreSQL, either way',
  options: {
    to: {
      value: 'URL',
      description: 'the other database: postgres://user:password@host:port/name or sqlite:FILE',
    },
    wait: {
      value: 'SECONDS',
      description: 'how long jobs under way may take to end before',
      default: '10',
      read: wholeNumber(),
    },
    files: {
      value: 'PLACE',
      description: 'also copy the files: into a data folder, or s3://bucket or s3://bucket/prefix',
    },
    leave: {
      value: 'TABLE',
      description: 'leave a table behind that has rows and is of no wire',
      multiple: true,
    },
    cancel: { description: 'end a move that was cut off, and let this database take writes again' },
    reopen: { description: 'the same after a finished move, whose other database is not used' },
    ...JSON_OPTION,
  },
  details: `Copies every table of every wire: accounts, sessions, keys, documents, payments, messages, wallets, jobs, logs.
Servers go on meanwhile: they answer reads, and refuse writes with 503 and Retry-After. The other database must be
empty, and is used only if each table has the same rows there. If the command fails or is stopped, all is as before;
if it is killed, run it again. Afterwards it prints what to set.

Files stay where they are, or are copied with --files: most of them before writes are refused, each compared by its
SHA-256, and those that are there already are not copied again. NEW_S3_ENDPOINT, NEW_S3_REGION, NEW_S3_ACCESS_KEY_ID
and NEW_S3_SECRET_ACCESS_KEY reach the bucket; if none of them is set, the variables without NEW_ do.`,
  async run({ options: { to, wait, files, leave, cancel, reopen, json } }) {
    if ([to !== undefined, cancel, reopen].filter(Boolean).length !== 1)
      throw new UsageError('give one of --to URL, --cancel and --reopen')
    return withSource(async (app) => {
      if (to === undefined) return end(app, reopen, json)
      const bar = createProgressBar({ out: process.stderr })
      try {
        const moved = await moveTo(app, { to, wait, files, leave, bar })
        bar.end()
        print(json, { to: shownAddress(to), ...moved, rows: rowsOf(moved) }, () => textOf(moved, to))
        return 0
      } finally {
        bar.end()
      }
    })
  },
})

async function end(app: App, isMoved: boolean, json: boolean): Promise<number> {
  await cancelMove({ db: app.db }, { isMoved })
  print(json, { cancelled: true }, () => 'This database takes writes again.')
  return 0
}

type Goal = {
  to: string
  wait: number
  files: string | undefined
  leave: readonly string[] | undefined
  bar: ProgressBar
}

/** `files` are those that were copied, and `settings` what is to be set so that they are found there. */
type MovedAll = Moved & { files?: CopiedFiles; settings: readonly string[]; secretFile: string | undefined }

async function moveTo(app: App, { to, wait, files, leave, bar }: Goal): Promise<MovedAll> {
  await app.migrate({ evenIfMoved: true })
  // Millions of rows pass through: without it V8 keeps 60 MB more of them.
  settleHeap()
  const stop = new AbortController()
  onSignals(
    ['SIGINT', 'SIGTERM'],
    () => stop.abort(new StartError('stopped; nothing was changed')),
    () => {
      console.error('sixwire: ended at once. If this database refuses writes now, run sixwire move --cancel')
      process.exit(1)
    },
  )
  const options = { onProgress: (progress: Progress) => bar.show(progress), signal: stop.signal }
  const goal = files === undefined ? undefined : await openTargetStorage(toTerminal, files, process.env)
  // A server that finds no secret in its data folder creates one, with which nothing can be decrypted.
  const secretFile =
    goal?.dataDir === undefined || process.env['SIXWIRE_SECRET'] ? undefined : join(goal.dataDir, SECRET_FILE)
  let copied: CopiedFiles | undefined
  const copyTo =
    ({ uploads }: TargetStorage, trusts: 'sum' | 'all') =>
    async (snapshot: Snapshot, signal = stop.signal): Promise<void> => {
      const to = { files: app.service('store').installedFiles, to: uploads }
      const sum = await copyFiles(snapshot, to, { ...options, signal, trusts })
      copied = { ...sum, copied: sum.copied + (copied?.copied ?? 0) }
    }
  try {
    if (secretFile !== undefined) await refuseOtherSecret(secretFile, app.settings.secret)
    const moved = await moveDatabase(
      { db: app.db, clock: systemClock, tablesOf: (dialect: Dialect) => app.tablesOf(dialect) },
      {
        ...options,
        to,
        drainMs: wait * 1_000,
        leave: leave ?? [],
        ...(goal && {
          // Most files, while servers still write; then those that came meanwhile.
          whenPlanned: () =>
            app.service('store').installedFiles.hold((held) => {
              const signal = AbortSignal.any([held, stop.signal])
              return app.db.snapshot((snapshot) => copyTo(goal, 'sum')(snapshot, signal))
            }),
          async whenCopied(snapshot) {
            await copyTo(goal, 'all')(snapshot)
            if (secretFile !== undefined) await placeSecret(secretFile, app.settings.secret)
          },
        }),
      },
    )
    return { ...moved, ...(copied && { files: copied }), settings: goal?.settings ?? [], secretFile }
  } finally {
    goal?.uploads.close()
  }
}

const rowsOf = ({ tables }: Moved): number => tables.reduce((sum, one) => sum + one.rows, 0)

function textOf(moved: MovedAll, to: string): string {
  const { files, settings, secretFile } = moved
  return [
    moved.wasDone
      ? 'All was moved already.'
      : `${plural(rowsOf(moved), 'row')} of ${plural(moved.tables.length, 'table')} are in ${shownAddress(to)}, and were compared.`,
    ...moved.stray.map((name) => `The table ${name} stays behind.`),
    ...(files
      ? [
          `${plural(files.files, 'file')} (${sizeText(files.bytes)}) are in the other place; ${files.copied} were copied now.`,
        ]
      : []),
    ...settings.map((setting) => `Set ${setting}`),
    `Set DATABASE_URL to it, with the ${secretFile === undefined ? 'same SIXWIRE_SECRET or DATA_DIR' : `secret in ${secretFile}`}, and start the servers again: those that`,
    `run still answer reads from the old database, which takes no writes any more.`,
  ].join('\n')
}
