import { createWriteStream } from 'node:fs'
import { rename, rm, stat } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

import { StartError } from '../base/start-error.ts'
import type { ImportReport } from '../wires/store/index.ts'
import { defineAction, UsageError, type CommandGroup } from './command.ts'
import { JSON_OPTION } from './option.ts'
import { plural, print } from './print.ts'
import { createProgressBar, type ProgressBar } from './progress-bar.ts'
import { readFile } from './read-file.ts'
import { withApp } from './with-app.ts'

const FORMAT = {
  format: { value: 'FORMAT', description: 'ndjson or csv; by default what the name of the file says' },
} as const

export const documents: CommandGroup = {
  summary: 'Export documents to a file, and import them from one',
  actions: {
    export: defineAction({
      summary: 'Write the documents of a collection, as they are at one moment',
      words: ['COLLECTION', '[FILE]'],
      options: {
        ...FORMAT,
        filter: { value: 'JSON', description: 'a MongoDB query: only the documents that it finds' },
        sort: { value: 'FIELDS', description: 'fields joined by commas; a minus sorts downwards' },
        fields: { value: 'FIELDS', description: 'the fields to write, or to leave out, each with a minus' },
        owners: { description: 'write the owner of each document, which an import keeps' },
      },
      details: 'Without a file the documents go to standard output. Files that exist are not replaced.',
      run: ({ words: [collection, file], options }) => exportTo(collection, file, options),
    }),
    import: defineAction({
      summary: 'Create documents from a file, each checked as a single create',
      words: ['COLLECTION', 'FILE'],
      options: {
        ...FORMAT,
        'new-ids': { description: 'give each document a new _id' },
        'on-conflict': {
          value: 'WHAT',
          description: 'skip, replace or fail, where a document has the _id of a line; by default fail',
        },
        owner: { value: 'ID', description: 'the account that documents without an owner belong to' },
        'owner-field': {
          value: 'FIELD',
          description: 'the field with the account that a document belongs to, where there is no $owner',
        },
        'created-at': {
          value: 'FIELD',
          description: 'the field that becomes createdAt; _id: the time in a MongoDB ObjectId',
        },
        'updated-at': { value: 'FIELD', description: 'the field that becomes updatedAt' },
        'dry-run': { description: 'check all lines, and write nothing' },
        ...JSON_OPTION,
      },
      details: `The file is NDJSON, an array of JSON, or CSV; values of MongoDB Extended JSON are read.
A line that is refused is reported and keeps no other out; the command exits with 1 then.`,
      run: ({ words: [collection, file], options }) => importFrom(collection, file, options),
    }),
  },
}

type Format = 'ndjson' | 'csv'

function formatOf(name: string | undefined, file: string | undefined): Format {
  if (name === undefined) return file?.endsWith('.csv') ? 'csv' : 'ndjson'
  if (name !== 'ndjson' && name !== 'csv') throw new UsageError('--format is ndjson or csv')
  return name
}

type ExportOptions = {
  format?: string | undefined
  filter?: string | undefined
  sort?: string | undefined
  fields?: string | undefined
  owners: boolean
}

async function exportTo(
  collection: string,
  file: string | undefined,
  { format, filter, sort, fields, owners }: ExportOptions,
): Promise<number> {
  const bar = createProgressBar({ out: process.stderr })
  return withBar(bar, () =>
    withApp(async (app) => {
      const { transfer, documents } = app.service('store')
      const total = filter === undefined ? await documents.count(collection) : undefined
      let done = 0
      const counted = (count: number): void => {
        done += count
        if (file !== undefined) bar.show({ phase: 'Export', done, total: total ?? done, unit: 'documents' })
      }
      const query = {
        format: formatOf(format, file),
        owners,
        ...(filter !== undefined && { filter }),
        ...(sort !== undefined && { sort }),
        ...(fields !== undefined && { fields }),
      }
      const bytes = await transfer.export(collection, query, counted)
      if (file === undefined) await pipeline(bytes, process.stdout, { end: false })
      else await writeFile(bytes, file)
      bar.end()
      if (file !== undefined) console.log(`${plural(done, 'document')} of ${collection} are in ${file}.`)
      return 0
    }),
  )
}

/** The file gets its name once it is whole. */
async function writeFile(bytes: Readable, file: string): Promise<void> {
  const isThere = await stat(file).then(
    () => true,
    () => false,
  )
  const part = `${file}.part`
  try {
    if (isThere) throw new StartError(`${file} exists already: name another file`)
    await pipeline(bytes, createWriteStream(part, { mode: 0o600 }))
    await rename(part, file)
  } catch (error) {
    bytes.destroy()
    throw (error as { code?: string }).code?.startsWith('E')
      ? new StartError(`${file} cannot be written: ${(error as Error).message}`, { cause: error })
      : error
  } finally {
    await rm(part, { force: true })
  }
}

const CONFLICTS = ['skip', 'replace', 'fail'] as const

type ImportFlags = {
  format?: string | undefined
  'new-ids': boolean
  'on-conflict'?: string | undefined
  owner?: string | undefined
  'owner-field'?: string | undefined
  'created-at'?: string | undefined
  'updated-at'?: string | undefined
  'dry-run': boolean
  json: boolean
}

async function importFrom(collection: string, file: string, options: ImportFlags): Promise<number> {
  const { format, owner, json, 'new-ids': newIds, 'on-conflict': what = 'fail', 'dry-run': dryRun } = options
  const { 'owner-field': ownerField, 'created-at': createdAt, 'updated-at': updatedAt } = options
  const conflict = CONFLICTS.find((one) => one === what)
  if (conflict === undefined) throw new UsageError('--on-conflict is skip, replace or fail')
  const settings = {
    format: formatOf(format, file),
    ids: newIds ? 'new' : 'keep',
    conflict,
    dryRun,
    ...(owner !== undefined && { owner }),
    ...(ownerField !== undefined && { ownerField }),
    ...(createdAt !== undefined && { createdAt }),
    ...(updatedAt !== undefined && { updatedAt }),
  } as const
  const report = await readFile(file, dryRun ? 'Check' : 'Import', (content, counted) =>
    withApp((app) => app.service('store').transfer.import(collection, content, settings, counted)),
  )
  print(json, report, () => textOf(report, dryRun))
  return report.failed > 0 ? 1 : 0
}

const textOf = (
  { created, replaced, skipped, failed, errors, separator = ',' }: ImportReport,
  dryRun: boolean,
): string =>
  [
    `${dryRun ? 'Nothing was written. It would be: ' : ''}${created} created, ${replaced} replaced, ${skipped} skipped, ${failed} refused.`,
    ...(separator === ','
      ? []
      : [`The cells are separated by ${separator === ';' ? 'semicolons' : 'tabs'}.`]),
    ...errors.map(({ line, code, message }) => `line ${line}: ${code} ${message}`),
    ...(failed > errors.length ? [`and ${failed - errors.length} more`] : []),
  ].join('\n')

async function withBar<T>(bar: ProgressBar, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } finally {
    bar.end()
  }
}
