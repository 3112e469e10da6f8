import { basename } from 'node:path'

import type { App } from '../app.ts'
import type { Progress } from '../base/progress.ts'
import { systemClock } from '../base/clock.ts'
import { StartError } from '../base/start-error.ts'
import { encrypted } from '../kernel/archive/encryption.ts'
import { archiveInstallation, type Archived } from '../kernel/archive/write-archive.ts'
import { defineAction } from './command.ts'
import { settleHeap } from './heap.ts'
import { JSON_OPTION } from './option.ts'
import { closePart, fileFault, finishPart, openPart, type PartFile } from './part-file.ts'
import { PASSPHRASE_OPTION, readPassphrase } from './password-input.ts'
import { plural, print } from './print.ts'
import { createProgressBar, sizeText } from './progress-bar.ts'
import { onSignals } from './signals.ts'
import { withSource } from './source-app.ts'

export const archive = defineAction({
  summary: 'Write the whole installation into one encrypted file, while servers run',
  words: ['FILE'],
  options: {
    ...PASSPHRASE_OPTION,
    'no-files': { description: 'leave the files of the store out' },
    leave: {
      value: 'TABLE',
      description: 'leave out a table of your own',
      multiple: true,
    },
    ...JSON_OPTION,
  },
  details: `Writes one consistent state of every table of every wire, the files of the store, and the secret of the
installation. Servers keep running. FILE is encrypted with a passphrase in the age format, and gets its name when it is
complete. Anyone who has FILE and the passphrase can sign in as every user and spend what the wallets hold.
sixwire unarchive creates an installation from it, on SQLite or PostgreSQL, also with a later version. It does not
include the backups of the store.`,
  async run({ words: [file], options: { 'passphrase-file': from, 'no-files': noFiles, leave, json } }) {
    const part = await openPart(file)
    const bar = createProgressBar({ out: process.stderr })
    try {
      const passphrase = await readPassphrase(from, true)
      return await withSource(async (app) => {
        const options = { passphrase, leave, onProgress: (progress: Progress) => bar.show(progress) }
        const archived = await archiveTo(part, app, { ...options, hasFiles: !noFiles })
        bar.end()
        print(json, { file, ...archived }, () => textOf(archived, file, !noFiles))
        return 0
      })
    } catch (error) {
      throw fileFault(error, file)
    } finally {
      bar.end()
      await closePart(part)
    }
  },
})

type Goal = {
  passphrase: string
  leave: readonly string[] | undefined
  hasFiles: boolean
  onProgress: (progress: Progress) => void
}

async function archiveTo(
  part: PartFile,
  app: App,
  { hasFiles, passphrase, ...options }: Goal,
): Promise<Archived> {
  await app.migrate()
  const content = Promise.withResolvers<AsyncIterable<Buffer>>()
  const sealed = await encrypted(deferred(content.promise), passphrase)
  // Frees what the key was derived with, too.
  settleHeap()
  const stop = new AbortController()
  onSignals(
    ['SIGINT', 'SIGTERM'],
    () => stop.abort(new StartError('stopped; there is no archive')),
    () => process.exit(1),
  )
  const { copies } = await app.tablesOf(app.db.dialect)
  return archiveInstallation(
    {
      db: app.db,
      clock: systemClock,
      copies,
      files: hasFiles && app.wires.includes('store') ? app.service('store').installedFiles : undefined,
    },
    { ...options, name: basename(part.to), secret: app.settings.secret, signal: stop.signal },
    async (tar) => {
      content.resolve(tar)
      for await (const piece of sealed) {
        stop.signal.throwIfAborted()
        await part.file.writeFile(piece)
      }
      await finishPart(part)
    },
  )
}

async function* deferred(bytes: Promise<AsyncIterable<Buffer>>): AsyncGenerator<Buffer> {
  yield* await bytes
}

const textOf = ({ rows, tables, files, bytes }: Archived, file: string, hasFiles: boolean): string =>
  [
    `${plural(rows, 'row')} of ${plural(tables, 'table')}${hasFiles ? ` and ${plural(files, 'file')} (${sizeText(bytes)})` : ''} are in ${file}.`,
    'Keep the passphrase apart from it: nobody can open it without. sixwire unarchive FILE --to URL reads it.',
  ].join('\n')
