import { createHash } from 'node:crypto'
import type { ReadStream } from 'node:fs'
import { access, open, rename, rm, type FileHandle } from 'node:fs/promises'

import { idPattern } from '../base/ids.ts'
import { StartError } from '../base/start-error.ts'
import { readArchive, type ArchiveManifest, type BackupRecord } from '../wires/store/index.ts'
import type { App } from '../app.ts'
import { UsageError, type Command } from './command.ts'
import { createProgressBar, sizeText, type ProgressBar } from './progress-bar.ts'
import { onSignals } from './signals.ts'
import { table, withApp } from './with-app.ts'

const DEFAULT_LIMIT = 50

export const backup: Command = {
  summary: 'Create, list, verify and restore backups of documents and files',
  usage: 'sixwire backup create [--to FILE] | list | verify FILE|ID | restore FILE|ID [--yes]',
  help: `create           makes a backup in the backups storage, while a server may run
                 --to FILE also writes the archive to a file
list             lists the backups, newest first   [--limit ${DEFAULT_LIMIT}] [--offset 0]
verify FILE|ID   reads the archive whole, and checks every document and file in it
restore FILE|ID  checks the archive, and tells what is in it
                 --yes replaces all documents and files by those of the archive, after
                 a safety backup; all or nothing, while servers run

A backup holds the documents and files of the store as they were at one moment. Accounts, messages,
payments and the secret are not in it: docs/backups.md tells how to save a whole installation.
Exits with 1 if it fails, or if the archive is damaged.`,
  takesWords: true,
  options: {
    to: { type: 'string' },
    yes: { type: 'boolean' },
    limit: { type: 'string' },
    offset: { type: 'string' },
  },
  async run([action, source, ...more], options) {
    const bar = createProgressBar(process.stderr)
    const stop = new AbortController()
    try {
      if (more.length > 0) throw new UsageError(`"${more.join(' ')}" is too much`)
      if (action === 'create' && source === undefined)
        return await create(bar, stop, options['to'] as string | undefined)
      if (action === 'list' && source === undefined) return await list(options)
      if (action === 'verify') return await verify(sourceOf(action, source), bar, stop)
      if (action === 'restore')
        return await restore(sourceOf(action, source), bar, stop, options['yes'] === true)
      throw new UsageError(
        action === undefined
          ? 'name an action: create, list, verify, restore'
          : `"${[action, source].filter(Boolean).join(' ')}" is not an action`,
      )
    } catch (error) {
      throw stop.signal.aborted && !(error instanceof StartError)
        ? new StartError('stopped; nothing was changed')
        : error
    } finally {
      bar.end()
    }
  },
}

/** Aborts with the first Ctrl-C, so that nothing half-made is left, and ends the process with the second. */
const stopOnSignals = (stop: AbortController): void =>
  onSignals(
    ['SIGINT', 'SIGTERM'],
    () => stop.abort(),
    () => process.exit(1),
  )

async function create(bar: ProgressBar, stop: AbortController, to: string | undefined): Promise<number> {
  if (to !== undefined && (await exists(to))) throw new StartError(`${to} exists already: name another file`)
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
      console.log(`The backup ${id} is completed: ${contents(record)}${part ? `, also in ${part.to}` : ''}.`)
      return 0
    })
  } finally {
    await part?.file.close()
    if (part) await rm(part.name, { force: true })
  }
}

/** The file that gets its name once it is whole. */
type Part = { to: string; name: string; file: FileHandle }

async function openPart(to: string): Promise<Part> {
  const name = `${to}.part`
  try {
    return { to, name, file: await open(name, 'w', 0o600) }
  } catch (error) {
    throw fileFault(error, to)
  }
}

const contents = ({ collections, documents, files, size }: BackupRecord): string =>
  `${counts(collections!, documents!, files!)}, ${sizeText(size!)}`

const counts = (collections: number, documents: number, files: number): string =>
  `${plural(documents, 'document')} in ${plural(collections, 'collection')} and ${plural(files, 'file')}`

const plural = (count: number, noun: string): string =>
  `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`

async function download(
  app: App,
  id: string,
  { to, name, file, bar, signal }: Part & { bar: ProgressBar; signal: AbortSignal },
): Promise<void> {
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
    await file.sync()
    await rename(name, to)
  } catch (error) {
    bytes.destroy()
    throw fileFault(error, to)
  }
}

async function list(options: Record<string, unknown>): Promise<number> {
  const [limit, offset] = [whole(options, 'limit', DEFAULT_LIMIT), whole(options, 'offset', 0)]
  return withApp(async (app) => {
    const { backups, total } = await app
      .service('store')
      .backups.list({ limit: Math.max(1, limit), offset, before: undefined })
    console.log(
      table(
        ['ID', 'STATUS', 'KIND', 'CREATED', 'DOCUMENTS', 'FILES', 'SIZE', 'REMARK'],
        backups.map((one) => [
          one._id,
          one.status,
          one.kind,
          one.createdAt,
          one.documents?.toLocaleString('en') ?? '',
          one.files?.toLocaleString('en') ?? '',
          one.size === undefined ? '' : sizeText(one.size),
          one.error ?? one.warning ?? '',
        ]),
      ),
    )
    if (backups.length < total) console.log(`\n${backups.length} of ${total}`)
    return 0
  })
}

type Source = { id: string } | { file: string }

function sourceOf(action: string, source: string | undefined): Source {
  if (source === undefined) throw new UsageError(`${action} takes a file or the id of a backup`)
  return new RegExp(idPattern).test(source) ? { id: source } : { file: source }
}

async function verify(source: Source, bar: ProgressBar, stop: AbortController): Promise<number> {
  stopOnSignals(stop)
  const manifest = await ('file' in source
    ? check(await openFile(source.file), { bar, signal: stop.signal })
    : withApp(async (app) =>
        check(await app.service('store').backups.open(source.id), { bar, signal: stop.signal }),
      ))
  bar.end()
  const { collections, files, createdAt } = manifest
  const documents = collections.reduce((sum, { lines }) => sum + lines, 0)
  console.log(`The archive is whole: ${counts(collections.length, documents, files.lines)}, of ${createdAt}.`)
  return 0
}

async function restore(
  source: Source,
  bar: ProgressBar,
  stop: AbortController,
  isConfirmed: boolean,
): Promise<number> {
  if (!isConfirmed) {
    await verify(source, bar, stop)
    console.log('Nothing was changed. --yes replaces all documents and files by these.')
    return 0
  }
  // An operator reads the fault of a file that is named, instead of that of the restore.
  if ('file' in source) (await openFile(source.file)).bytes.destroy()
  stopOnSignals(stop)
  return withApp(async (app) => {
    const { safetyBackup } = await app.service('store').restores.restore(source, {
      onProgress: (progress) => bar.show(progress),
      signal: stop.signal,
    })
    bar.end()
    console.log(
      `All documents and files are those of ${'id' in source ? source.id : source.file}. What they replaced is the backup ${safetyBackup}.`,
    )
    return 0
  })
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

/** A fault of a file that the operator names, as one line. */
function fileFault(error: unknown, name: string): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException
  return code !== undefined && syscall !== undefined
    ? new StartError(`${name}: ${FAULTS[code] ?? code}`)
    : error
}

const FAULTS: Record<string, string> = {
  ENOENT: 'there is no such file or folder',
  EACCES: 'this user may not open it',
  EISDIR: 'it is a folder',
  ENOSPC: 'the disk is full',
}

const exists = (name: string): Promise<boolean> =>
  access(name).then(
    () => true,
    () => false,
  )

function whole(options: Record<string, unknown>, name: string, standard: number): number {
  const value = options[name] ?? String(standard)
  if (typeof value !== 'string' || !/^\d{1,9}$/.test(value))
    throw new UsageError(`--${name} takes a whole number`)
  return Number(value)
}
