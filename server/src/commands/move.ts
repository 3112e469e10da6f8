import { createApp, loadConfig } from '../app.ts'
import { systemClock } from '../base/clock.ts'
import { StartError } from '../base/start-error.ts'
import type { Dialect } from '../db/sql.ts'
import { cancelMove, moveDatabase, shownAddress } from '../kernel/move/move.ts'
import { defineAction, UsageError } from './command.ts'
import { settleHeap } from './heap.ts'
import { JSON_OPTION, wholeNumber } from './option.ts'
import { plural, print } from './print.ts'
import { createProgressBar } from './progress-bar.ts'
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
    cancel: { description: 'end a move that was cut off, and let this database take writes again' },
    ...JSON_OPTION,
  },
  details: `Copies every table of every wire: accounts, sessions, keys, documents, payments, messages, wallets, jobs, logs.
Servers go on meanwhile: they answer reads, and refuse writes with 503 and Retry-After. The other database must be
empty, and is used only if each table has the same rows there. If the command fails or is stopped, all is as before;
if it is killed, run it again. Files stay where they are. Afterwards it prints what to set.`,
  async run({ options: { to, wait, cancel, json } }) {
    if (cancel === (to !== undefined)) throw new UsageError('give --to URL, or --cancel')
    const folder = process.cwd()
    const config = await loadConfig(folder)
    const app = await createApp({ config, folder, standIns: false, logTo: { write() {} } })
    const bar = createProgressBar({ out: process.stderr })
    const stop = new AbortController()
    try {
      await app.migrate()
      const context = {
        db: app.db,
        clock: systemClock,
        tablesOf: (dialect: Dialect) => app.tablesOf(dialect),
      }
      if (to === undefined) {
        await cancelMove(context)
        print(json, { cancelled: true }, () => 'The move is cancelled: this database takes writes again.')
        return 0
      }
      // Millions of rows pass through: without it V8 keeps 60 MB more of them.
      settleHeap()
      onSignals(
        ['SIGINT', 'SIGTERM'],
        () => stop.abort(),
        () => process.exit(1),
      )
      const moved = await moveDatabase(context, {
        to,
        drainMs: wait * 1_000,
        signal: stop.signal,
        onProgress: (progress) => bar.show(progress),
      })
      bar.end()
      const rows = moved.tables.reduce((sum, one) => sum + one.rows, 0)
      print(json, { to: shownAddress(to), ...moved, rows }, () =>
        [
          moved.wasDone
            ? 'All was moved already.'
            : `${plural(rows, 'row')} of ${plural(moved.tables.length, 'table')} are in ${shownAddress(to)}, and were compared.`,
          ...moved.stray.map((name) => `The table ${name} is of no wire, and stays behind.`),
          `Set DATABASE_URL to it, with the same SIXWIRE_SECRET or DATA_DIR, and start the servers again: those that`,
          `run still answer reads from the old database, which takes no writes any more.`,
        ].join('\n'),
      )
      return 0
    } catch (error) {
      throw stop.signal.aborted && !(error instanceof StartError)
        ? new StartError('stopped; nothing was changed')
        : error
    } finally {
      bar.end()
      await app.close()
    }
  },
})
