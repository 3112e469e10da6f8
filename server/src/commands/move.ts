import { existsSync } from 'node:fs'

import { createApp, loadConfig, type App } from '../app.ts'
import { systemClock } from '../base/clock.ts'
import { StartError } from '../base/start-error.ts'
import { sqliteFileOf } from '../db/open.ts'
import type { Dialect } from '../db/sql.ts'
import { readSettings } from '../kernel/config/config.ts'
import { cancelMove, moveDatabase, shownAddress, type Moved } from '../kernel/move/move.ts'
import { defineAction, UsageError } from './command.ts'
import { settleHeap } from './heap.ts'
import { JSON_OPTION, wholeNumber } from './option.ts'
import { plural, print } from './print.ts'
import { createProgressBar, type ProgressBar } from './progress-bar.ts'
import { onSignals } from './signals.ts'

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
if it is killed, run it again. Files stay where they are. Afterwards it prints what to set.`,
  async run({ options: { to, wait, leave, cancel, reopen, json } }) {
    if ([to !== undefined, cancel, reopen].filter(Boolean).length !== 1)
      throw new UsageError('give one of --to URL, --cancel and --reopen')
    return withSource(async (app) => {
      if (to === undefined) return end(app, reopen, json)
      const bar = createProgressBar({ out: process.stderr })
      try {
        const moved = await moveTo(app, { to, wait, leave, bar })
        bar.end()
        print(json, { to: shownAddress(to), ...moved, rows: rowsOf(moved) }, () => textOf(moved, to))
        return 0
      } finally {
        bar.end()
      }
    })
  },
})

/** The application of this folder, which must have a database. */
async function withSource(work: (app: App) => Promise<number>): Promise<number> {
  const folder = process.cwd()
  const config = await loadConfig(folder)
  const { databaseUrl } = await readSettings(config, process.env, folder)
  const file = sqliteFileOf(databaseUrl)
  if (file !== undefined && !existsSync(file))
    throw new StartError(`there is no database ${file}: run this in the folder of the application`)
  const app = await createApp({ config, folder, standIns: false, logTo: { write() {} } })
  try {
    return await work(app)
  } finally {
    await app.close()
  }
}

async function end(app: App, isMoved: boolean, json: boolean): Promise<number> {
  await cancelMove({ db: app.db }, { isMoved })
  print(json, { cancelled: true }, () => 'This database takes writes again.')
  return 0
}

type Goal = { to: string; wait: number; leave: readonly string[] | undefined; bar: ProgressBar }

async function moveTo(app: App, { to, wait, leave, bar }: Goal): Promise<Moved> {
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
  return moveDatabase(
    { db: app.db, clock: systemClock, tablesOf: (dialect: Dialect) => app.tablesOf(dialect) },
    {
      to,
      drainMs: wait * 1_000,
      leave: leave ?? [],
      signal: stop.signal,
      onProgress: (progress) => bar.show(progress),
    },
  )
}

const rowsOf = ({ tables }: Moved): number => tables.reduce((sum, one) => sum + one.rows, 0)

function textOf(moved: Moved, to: string): string {
  return [
    moved.wasDone
      ? 'All was moved already.'
      : `${plural(rowsOf(moved), 'row')} of ${plural(moved.tables.length, 'table')} are in ${shownAddress(to)}, and were compared.`,
    ...moved.stray.map((name) => `The table ${name} stays behind.`),
    `Set DATABASE_URL to it, with the same SIXWIRE_SECRET or DATA_DIR, and start the servers again: those that`,
    `run still answer reads from the old database, which takes no writes any more.`,
  ].join('\n')
}
