import { createHash } from 'node:crypto'
import type { ReadStream } from 'node:fs'
import { open } from 'node:fs/promises'

import { idPattern } from '../base/ids.ts'
import { StartError } from '../base/start-error.ts'
import {
  readArchive,
  type ArchiveManifest,
  type BackupRecord,
  type RestorePreview,
} from '../wires/store/index.ts'
import type { App } from '../app.ts'
import { defineAction, type CommandGroup } from './command.ts'
import { JSON_OPTION, PAGE_OPTIONS } from './option.ts'
import { pageTable, plural, print } from './print.ts'
import { closePart, fileFault, finishPart, openPart, type PartFile } from './part-file.ts'
import { createProgressBar, sizeText, type ProgressBar } from './progress-bar.ts'
import { onSignals } from './signals.ts'
import { withApp } from './with-app.ts'

/** What every action that takes long has: a bar, and a signal that the first Ctrl-C aborts. */
type Work = { bar: ProgressBar; stop: AbortController; json: boolean }

async function work(json: boolean, action: (work: Work) => Promise<number>): Promise<number> {
  const bar = createProgressBar({ out: process.stderr })
  const stop = new AbortController()
  try {
    return await action({ bar, stop, json })
  } catch (error) {
    throw stop.signal.aborted && !(error instanceof StartError)
      ? new StartError('stopped; nothing was changed')
      : error
  } finally {
    bar.end()
  }
}

export const backup: CommandGroup = {
  summary: 'Create, list, verify and restore backups of documents and files',
  actions: {
    create: defineAction({
      summary: 'Make a backup in the backups storage, while a server may run',
      options: { to: { value: 'FILE', description: 'also write the archive to a file' }, ...JSON_OPTION },
      run: ({ options: { to, json } }) => work(json, (one) => create(one, to)),
    }),
    list: defineAction({
      summary: 'List the backups, newest first',
      options: { ...PAGE_OPTIONS, ...JSON_OPTION },
      run: ({ options }) => list(options),
    }),
    verify: defineAction({
      summary: 'Read the archive whole, and check every document and file in it',
      words: ['FILE|ID'],
      options: JSON_OPTION,
      run: ({ words: [source], options: { json } }) => work(json, (one) => verify(sourceOf(source), one)),
    }),
    restore: defineAction({
      summary: 'Check the archive, and tell what it would replace; with --yes restore it',
      words: ['FILE|ID'],
      options: {
        yes: { description: 'replace all documents and files by those of the archive' },
        ...JSON_OPTION,
      },
      details: 'A restore makes a safety backup first. It changes all or nothing, while servers run.',
      run: ({ words: [source], options: { yes, json } }) =>
        work(json, (one) => restore(sourceOf(source), one, yes)),
    }),
  },
  details: `A backup holds the documents and files of the store as they were at one moment, and the stored definitions of
collections: a restore puts those into force of collections that have none. Accounts, messages, payments and the secret
are not in it: docs/backups.md tells how to save a whole installation.
Exits with 1 if it fails, or if the archive is damaged.`,
}

/** Aborts with the first Ctrl-C, so that nothing half-made is left, and ends the process with the second. */
const stopOnSignals = (stop: AbortController): void =>
  onSignals(
    ['SIGINT', 'SIGTERM'],
    () => stop.abort(),
    () => process.exit(1),
  )

async function create({ bar, stop, json }: Work, to: string | undefined): Promise<number> {
  // First, so that no backup is made for nothing.
  const part = to === undefined ? undefined : await openPart(to)
  stopOnSignals(stop)
  try {
    return await withApp(async (app) => {
      const { backups } = app.service('store')
      const { id, done } = await backups.create('manual', {
        onProgress: (progress) => bar.show(progress),
        signal: stop.signal,
      })
      const record = await done
      if (part) await download(app, id, { ...part, bar, signal: stop.signal })
      bar.end()
      print(
        json,
        record,
        () => `The backup ${id} is completed: ${contents(record)}${part ? `, also in ${part.to}` : ''}.`,
      )
      return 0
    })
  } finally {
    if (part) await closePart(part)
  }
}

const contents = ({ collections, documents, files, size }: BackupRecord): string =>
  `${counts(collections!, documents!, files!)}, ${sizeText(size!)}`

const counts = (collections: number, documents: number, files: number): string =>
  `${plural(documents, 'document')} in ${plural(collections, 'collection')} and ${plural(files, 'file')}`

async function download(
  app: App,
  id: string,
  { bar, signal, ...part }: PartFile & { bar: ProgressBar; signal: AbortSignal },
): Promise<void> {
  const { to, file } = part
  const { bytes, size, sha256 } = await app.service('store').backups.open(id)
  try {
    const hash = createHash('sha256')
    let done = 0
    for await (const piece of bytes as AsyncIterable<Buffer>) {
      if (signal.aborted) throw new StartError(`stopped; the backup ${id} is completed, but not in ${to}`)
      await file.writeFile(piece)
      hash.update(piece)
      done += piece.length
      bar.show({ phase: 'Copy', done, total: size, unit: 'bytes' })
    }
    if (hash.digest('hex') !== sha256)
      throw new StartError(`the archive of ${id} is damaged where it is stored: make another backup`)
    await finishPart(part)
  } catch (error) {
    bytes.destroy()
    throw fileFault(error, to)
  }
}

const list = ({ json, ...page }: { json: boolean; limit: number; offset: number }): Promise<number> =>
  withApp(async (app) => {
    const found = await app.service('store').backups.list({ ...page, before: undefined })
    print(json, { ...found, ...page }, () => pageTable(HEADINGS, found.backups.map(rowOf), found.total!))
    return 0
  })

const HEADINGS = ['ID', 'STATUS', 'KIND', 'CREATED', 'DOCUMENTS', 'FILES', 'SIZE', 'REMARK']

const rowOf = (one: BackupRecord): string[] => [
  one._id,
  one.status,
  one.kind,
  one.createdAt,
  one.documents?.toLocaleString('en') ?? '',
  one.files?.toLocaleString('en') ?? '',
  one.size === undefined ? '' : sizeText(one.size),
  one.error ?? one.warning ?? '',
]

type Source = { id: string } | { file: string }

const sourceOf = (source: string): Source =>
  new RegExp(idPattern).test(source) ? { id: source } : { file: source }

async function verify(source: Source, { bar, stop, json }: Work): Promise<number> {
  stopOnSignals(stop)
  const manifest = await ('file' in source
    ? check(await openFile(source.file), { bar, signal: stop.signal })
    : withApp(async (app) =>
        check(await app.service('store').backups.open(source.id), { bar, signal: stop.signal }),
      ))
  bar.end()
  const { collections, files, createdAt } = manifest
  const documents = collections.reduce((sum, { lines }) => sum + lines, 0)
  print(
    json,
    { createdAt, collections: collections.length, documents, files: files.lines },
    () => `The archive is whole: ${counts(collections.length, documents, files.lines)}, of ${createdAt}.`,
  )
  return 0
}

async function restore(source: Source, work: Work, isConfirmed: boolean): Promise<number> {
  const { bar, stop, json } = work
  if (!isConfirmed) return preview(source, work)
  // An operator reads the fault of a file that is named, instead of that of the restore.
  if ('file' in source) (await openFile(source.file)).bytes.destroy()
  stopOnSignals(stop)
  return withApp(async (app) => {
    const { safetyBackup } = await app.service('store').restores.restore(source, {
      onProgress: (progress) => bar.show(progress),
      signal: stop.signal,
    })
    bar.end()
    print(
      json,
      { safetyBackup },
      () =>
        `All documents and files are those of ${'id' in source ? source.id : source.file}. What they replaced is the backup ${safetyBackup}.`,
    )
    return 0
  })
}

/** Checks the archive, and tells what it would replace. */
async function preview(source: Source, { bar, stop, json }: Work): Promise<number> {
  if ('file' in source) (await openFile(source.file)).bytes.destroy()
  stopOnSignals(stop)
  return withApp(async (app) => {
    const found = await app.service('store').restores.preview(source, {
      onProgress: (progress) => bar.show(progress),
      signal: stop.signal,
    })
    bar.end()
    print(json, found, () => previewText(found))
    return 0
  })
}

function previewText({ createdAt, documents, files, collections, definitions }: RestorePreview): string {
  const side = (of: 'archived' | 'stored') =>
    counts(collections.filter((one) => one[of] > 0).length, documents[of], files[of])
  const those = (here: RestorePreview['definitions'][number]['here'], what: string): string => {
    const names = definitions.filter((one) => one.here === here).map(({ name }) => name)
    return names.length === 0 ? '' : `${what}: ${names.join(', ')}.\n`
  }
  return `The archive is whole: ${side('archived')}, of ${createdAt}.
They would replace ${side('stored')}.
${those('none', 'These collections have no definition here, and get that of the archive')}${those('other', 'These have another definition here, which stays')}Nothing was changed. --yes replaces all documents and files by those of the archive.`
}

/** @throws BACKUP_DAMAGED with what is wrong and where */
const check = (
  { bytes, size }: { bytes: AsyncIterable<Buffer>; size: number },
  { bar, signal }: { bar: ProgressBar; signal: AbortSignal },
): Promise<ArchiveManifest> =>
  readArchive(
    bytes,
    {},
    { signal, onProgress: (done) => bar.show({ phase: 'Verify', done, total: size, unit: 'bytes' }) },
  )

async function openFile(name: string): Promise<{ bytes: ReadStream; size: number }> {
  try {
    const file = await open(name, 'r')
    const { size } = await file.stat()
    return { bytes: file.createReadStream(), size }
  } catch (error) {
    throw fileFault(error, name)
  }
}
