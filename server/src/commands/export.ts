import type { Progress } from '../base/progress.ts'
import { isoTime, systemClock } from '../base/clock.ts'
import { platformVersion } from '../base/platform-version.ts'
import { StartError } from '../base/start-error.ts'
import { COMMAND_LINE } from '../http/actor.ts'
import { createAudit } from '../kernel/audit/audit.ts'
import { exportAll, type Exported } from '../kernel/export/export.ts'
import { defineAction, UsageError } from './command.ts'
import { settleHeap } from './heap.ts'
import { JSON_OPTION } from './option.ts'
import { plural, print } from './print.ts'
import { createProgressBar } from './progress-bar.ts'
import { onSignals } from './signals.ts'
import { withSource } from './source-app.ts'

export const exportCommand = defineAction({
  summary: 'Write everything into a folder, to move out: records as NDJSON, files as files',
  words: ['DIR'],
  options: {
    all: { description: 'every record of every wire; required' },
    secrets: {
      description:
        'also hashes of passwords, secrets of second factors and private keys of wallets, decrypted',
    },
    ...JSON_OPTION,
  },
  details: `All is as it was at one moment, while servers may run. DIR must not exist, or be empty: it is there once it is whole.
Until then it is DIR.part, which is removed if it is there already. A README.md in it says what is what.
Exits with 1 if the bytes of a file are missing; all else is there then.`,
  run: ({ words: [dir], options: { all, secrets, json } }) => {
    if (!all) throw new UsageError('add --all; sixwire documents export writes one collection')
    return run(dir, secrets, json)
  },
})

async function run(dir: string, hasSecrets: boolean, json: boolean): Promise<number> {
  const bar = createProgressBar({ out: process.stderr })
  const stop = new AbortController()
  onSignals(
    ['SIGINT', 'SIGTERM'],
    () => stop.abort(new StartError('stopped; nothing was written')),
    () => process.exit(1),
  )
  try {
    const exported = await withSource(async (app) => {
      await app.migrate()
      const { db, settings } = app
      settleHeap()
      const { copies } = await app.tablesOf(db.dialect)
      await db.batch([
        createAudit(systemClock).entrySql(COMMAND_LINE, {
          action: 'installation.exported',
          after: { secrets: hasSecrets },
        }),
      ])
      const source = { db, secret: settings.secret, copies, exports: app.exports(), sealed: app.sealed() }
      const heading = `${settings.name}: exported by Sixwire ${platformVersion()} at ${isoTime(systemClock.now())}`
      const onProgress = (progress: Progress): void => bar.show(progress)
      const write = (signal: AbortSignal) =>
        exportAll(source, dir, { hasSecrets, heading, onProgress, signal })
      if (!app.wires.includes('store')) return write(stop.signal)
      return app.service('store').installedFiles.hold((held) => write(AbortSignal.any([held, stop.signal])))
    })
    bar.end()
    print(json, { dir, ...exported }, () => textOf(exported, dir))
    return exported.missing.length > 0 ? 1 : 0
  } finally {
    bar.end()
  }
}

const textOf = ({ files, missing }: Exported, dir: string): string =>
  [`${plural(files, 'file')} are in ${dir}; its README.md says what is what.`, ...missing].join('\n')
