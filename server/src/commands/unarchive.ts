import { open } from 'node:fs/promises'
import { join } from 'node:path'

import { loadConfig } from '../app.ts'
import type { Progress } from '../base/progress.ts'
import { StartError } from '../base/start-error.ts'
import { readInstallation, tablesOf, type ConfiguredInstallation } from '../installation.ts'
import { decrypted } from '../kernel/archive/encryption.ts'
import { unarchive as unarchiveInto, type Unarchived } from '../kernel/archive/unarchive.ts'
import { shownAddress } from '../kernel/move/move.ts'
import { placeSecret, readSecret, refuseOtherSecret, SECRET_FILE } from '../kernel/secret/secret.ts'
import { openNewStorage, openTargetStorage, storageFault, type TargetStorage } from '../wires/store/index.ts'
import { defineAction, UsageError } from './command.ts'
import { settleHeap } from './heap.ts'
import { JSON_OPTION } from './option.ts'
import { fileFault } from './part-file.ts'
import { PASSPHRASE_OPTION, readPassphrase } from './password-input.ts'
import { plural, print } from './print.ts'
import { createProgressBar, sizeText } from './progress-bar.ts'
import { onSignals } from './signals.ts'
import { toTerminal } from './source-app.ts'

export const unarchive = defineAction({
  summary: 'Make an installation of an archive, in an empty database',
  words: ['FILE'],
  options: {
    to: {
      value: 'URL',
      description: 'the new database: postgres://user:password@host:port/name or sqlite:FILE',
    },
    files: {
      value: 'PLACE',
      description:
        'where its files go: a data folder, or s3://bucket/prefix; default: DATA_DIR, if it has none',
    },
    secret: {
      value: 'FILE',
      description: 'write the secret of the installation into this file, for its owner only',
    },
    ...PASSPHRASE_OPTION,
    leave: {
      value: 'TABLE',
      description: 'leave a table behind that is of no wire',
      multiple: true,
    },
    ...JSON_OPTION,
  },
  details: `Reads what sixwire archive has written, on either engine, also by an earlier version: then the later migrations
are run. All or nothing: if the passphrase is another one, or the file is damaged, there is no database. Afterwards it
prints what to set. The new installation has the waiting mails, payments and transactions of the old one: run one of
them only, or this one without the keys of providers.`,
  async run({ words: [file], options }) {
    const { to, json, 'passphrase-file': from } = options
    if (to === undefined) throw new UsageError('give --to URL: the new database')
    const folder = process.cwd()
    const installation = await readInstallation(await loadConfig(folder), process.env, folder)
    // A fault of it must not come while the passphrase is typed.
    const opened = await open(file).catch((error: unknown) => {
      throw fileFault(error, file)
    })
    const bytes = opened.createReadStream({ highWaterMark: 262_144 })
    const bar = createProgressBar({ out: process.stderr })
    try {
      const tar = await decrypted(bytes, await readPassphrase(from, false))
      const goal = { ...options, to, onProgress: (progress: Progress) => bar.show(progress) }
      const unarchived = await unarchiveTo(installation, tar, goal)
      bar.end()
      print(json, { to: shownAddress(to), ...unarchived }, () => textOf(unarchived, options.secret, to))
      return 0
    } catch (error) {
      throw fileFault(error, file)
    } finally {
      bar.end()
      bytes.destroy()
    }
  },
})

type Goal = {
  to: string
  files?: string | undefined
  secret?: string | undefined
  leave?: readonly string[] | undefined
  onProgress: (progress: Progress) => void
}

type UnarchivedAll = Unarchived & { settings: readonly string[] }

async function unarchiveTo(
  installation: ConfiguredInstallation,
  tar: AsyncIterable<Buffer>,
  { files: place, secret: secretFile, ...options }: Goal,
): Promise<UnarchivedAll> {
  settleHeap()
  const stop = new AbortController()
  onSignals(
    ['SIGINT', 'SIGTERM'],
    () => stop.abort(new StartError('stopped; there is no new database')),
    () => process.exit(1),
  )
  const target = await openFiles(installation, place)
  const secretOption = { own: await secretOf(installation), file: secretFile }
  try {
    const unarchived = await unarchiveInto(
      { tablesOf: (found, dialect) => tablesOf(installation.wires, found, dialect), files: target.uploads },
      tar,
      {
        ...options,
        signal: stop.signal,
        checkSecret: (secret) => checkSecret(secret, secretOption),
        keepSecret: async (secret) => {
          if (secretFile !== undefined) await placeSecret(secretFile, secret)
        },
      },
    )
    return { ...unarchived, settings: target.settings }
  } catch (error) {
    await target.discard()
    throw storageFault(error)
  } finally {
    target.uploads.close()
  }
}

async function openFiles(
  { settings, optionsOf }: ConfiguredInstallation,
  place: string | undefined,
): Promise<TargetStorage> {
  if (place !== undefined) return openTargetStorage(toTerminal, place, process.env)
  const options = optionsOf('store') as Parameters<typeof openNewStorage>[1] | undefined
  return openNewStorage({ ...toTerminal, settings }, options ?? { backups: {} })
}

/** The secret that a server would use here; undefined if it would create one. */
const secretOf = async ({ settings }: ConfiguredInstallation): Promise<string | undefined> =>
  process.env['SIXWIRE_SECRET'] || readSecret(join(settings.dataDir, SECRET_FILE))

/** @throws StartError if the archive's secret would be lost */
async function checkSecret(
  secret: string,
  { own, file }: { own: string | undefined; file: string | undefined },
): Promise<void> {
  if (file === undefined && secret !== own)
    throw new StartError(
      'the secret of the archive is not the one here, and without it keys and hashes are worth nothing: add --secret FILE, or set SIXWIRE_SECRET to it',
    )
  if (file !== undefined) await refuseOtherSecret(file, secret)
}

function textOf(unarchived: UnarchivedAll, secretFile: string | undefined, to: string): string {
  const { tables, stray, files, migrations, createdAt, settings } = unarchived
  const rows = tables.reduce((sum, one) => sum + one.rows, 0)
  return [
    `${plural(rows, 'row')} of ${plural(tables.length, 'table')}${files ? ` and ${plural(files.files, 'file')} (${sizeText(files.bytes)})` : ''} of ${createdAt} are in ${shownAddress(to)}, and were compared.`,
    ...(files ? [] : ['The archive has no files.']),
    ...(migrations > 0
      ? [`It was of an earlier version, and is up to date: ${plural(migrations, 'migration')} later.`]
      : []),
    ...stray.map((name) => `The table ${name} is left out.`),
    `Set DATABASE_URL to it${secretFile === undefined ? '' : `, and SIXWIRE_SECRET to what ${secretFile} holds`}.`,
    ...settings.map((setting) => `Set ${setting}`),
    'It has the waiting mails, payments and transactions of the old installation: run one of them only.',
  ].join('\n')
}
