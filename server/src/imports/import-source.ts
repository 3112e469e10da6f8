import type { App } from '../app.ts'
import { ApiError } from '../base/errors.ts'
import { objectOrFault } from '../base/json-lines.ts'
import type { Progress } from '../base/progress.ts'
import type { ImportRecord } from '../wires/store/index.ts'
import type { FileMap } from './file-map.ts'
import type { Sequence, ImportSource, SourceCollection } from './source.ts'
import { storeFiles, type FilesReport } from './store-files.ts'

/** What came of a source, or would come of it. */
export type SourceReport = {
  readonly users: { readonly created: number; readonly unchanged: number; readonly refused: number }
  readonly files: FilesReport
  readonly collections: readonly CollectionReport[]
}
export type CollectionReport = {
  readonly name: string
  readonly created: number
  /** How many were there already. */
  readonly present: number
  readonly refused: number
}

/** A user, file or document that is refused. */
export type RefusedRecord = {
  /** `accounts`, `files`, or the name of a collection. */
  readonly of: string
  /** Its id or address; the number of its line if it has none. */
  readonly which: string
  readonly code: string
  readonly message: string
}

export type SourceWatch = { refused(one: RefusedRecord): void; progress(progress: Progress): void }

/**
 * Imports what another system has: first users, then files, then documents, in which new addresses of files stand in place of the
 * old ones. What is here already, by its id or in the map of files, stays as it is, so an import can be repeated.
 *
 * @param options.dryRun checks everything and writes nothing
 * @throws StartError, ApiError if it cannot go on; what is written until then stays
 */
export async function importSource(
  app: App,
  source: ImportSource,
  { dryRun, map }: { dryRun: boolean; map: Pick<FileMap, 'addressOf' | 'add'> },
  watch: SourceWatch,
): Promise<SourceReport> {
  const users = await importUsers(app, source, dryRun, watch)
  const files = await importFiles(app, source, dryRun, map, watch)
  const total = source.collections.reduce((sum, { count }) => sum + count, 0)
  let done = 0
  const collections: CollectionReport[] = []
  for (const collection of source.collections) {
    const addressOf = (from: string): string => map.addressOf(from) ?? from
    const counted = (): void => watch.progress({ phase: 'Documents', done: done++, total, unit: 'documents' })
    collections.push(
      await importCollection(
        app,
        collection,
        { dryRun, records: collection.read(addressOf), counted },
        watch,
      ),
    )
  }
  return { users, files, collections }
}

async function importUsers(
  app: App,
  { users }: ImportSource,
  dryRun: boolean,
  watch: SourceWatch,
): Promise<SourceReport['users']> {
  if (!users) return { created: 0, unchanged: 0, refused: 0 }
  let done = 0
  return app.service('auth').users.import(
    linesOf(users.read()),
    { dryRun, mayGiveRoles: true },
    {
      refused: ({ line, _id, code, message }) =>
        watch.refused({ of: 'accounts', which: _id ?? `line ${line}`, code, message }),
      counted: () => watch.progress({ phase: 'Users', done: done++, total: users.count, unit: 'users' }),
    },
  )
}

async function* linesOf(records: Sequence<object>): AsyncGenerator<Buffer> {
  for await (const record of records) yield Buffer.from(`${JSON.stringify(record)}\n`)
}

async function importFiles(
  app: App,
  { files }: ImportSource,
  dryRun: boolean,
  map: Pick<FileMap, 'addressOf' | 'add'>,
  watch: SourceWatch,
): Promise<FilesReport> {
  const { fileImports } = app.service('store')
  return storeFiles(dryRun ? undefined : fileImports, files?.read() ?? [], map, {
    refused: ({ from, code, message }) => watch.refused({ of: 'files', which: from, code, message }),
    counted: ({ stored, present, failed }) =>
      watch.progress({
        phase: 'Files',
        done: stored + present + failed,
        total: files?.count ?? 0,
        unit: 'files',
      }),
  })
}

/** A document may come before the one that it refers to, or refer to one that is gone: references are not checked. */
async function importCollection(
  app: App,
  { name }: SourceCollection,
  { dryRun, records, counted }: { dryRun: boolean; records: Sequence<ImportRecord>; counted: () => void },
  watch: SourceWatch,
): Promise<CollectionReport> {
  const { created, skipped, failed } = await app.service('store').transfer.importRecords(
    name,
    strictly(records),
    { ids: 'keep', conflict: 'skip', dryRun, takesAnyReference: true },
    {
      refused: ({ line, _id, code, message }) =>
        watch.refused({ of: name, which: _id ?? `line ${line}`, code, message }),
      counted,
    },
  )
  return { name, created, present: skipped, refused: failed }
}

/** What no request could bring, no source brings: U+0000, half a character, or a field __proto__. */
async function* strictly(records: Sequence<ImportRecord>): AsyncGenerator<ImportRecord> {
  for await (const { line, fields } of records)
    yield { line, fields: fields instanceof ApiError ? fields : objectOrFault(() => JSON.stringify(fields))! }
}
