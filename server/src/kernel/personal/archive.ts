import { Readable } from 'node:stream'

import type { Database, Snapshot } from '../../db/database.ts'
import type { DeclaredTable, ExportEntry, DataSubject } from '../wire/personal-data.ts'
import { fileOf, rowsEntry } from './exported-rows.ts'

type ArchiveContent = {
  tables: readonly DeclaredTable[]
  person: DataSubject
  /** The name of the service. */
  title: string
  /** The time of the export, as it is written. */
  at: string
}

/**
 * The bytes of a zip archive with all that is exported of a person. The rows are those of one moment; no more than a few pieces are
 * in memory.
 */
export async function* archiveOf(
  db: Pick<Database, 'snapshot'>,
  content: ArchiveContent,
): AsyncGenerator<Buffer> {
  // Loaded at the first export.
  const { ZipFile } = await import('yazl')
  const zip = new ZipFile()
  const output = zip.outputStream as Readable
  let current: Readable | undefined
  const add = (name: string, bytes: AsyncIterable<Buffer>): Promise<void> =>
    new Promise((resolve, reject) => {
      if (output.destroyed) throw notRead()
      const stream = Readable.from(bytes, { objectMode: false })
      current = stream
      stream.once('error', reject).once('close', resolve)
      zip.addReadStream(stream, name)
    })
  async function writeAll(): Promise<void> {
    zip.addBuffer(Buffer.from(readmeOf(content)), 'README.txt')
    await db.snapshot(async (snapshot) => {
      for await (const { name, open } of rowsOf(content, snapshot)) {
        const bytes = await unlessEmpty(await open())
        if (bytes) await add(name, bytes)
      }
    })
    for await (const { name, open } of filesOf(content)) {
      const bytes = await open()
      if (bytes) await add(name, bytes)
    }
    zip.end()
  }
  const writing = writeAll()
  writing.catch((error: unknown) => output.destroy(error as Error))
  try {
    yield* output as AsyncIterable<Buffer>
    await writing
  } finally {
    // Of a reader that stops: nothing else would end the snapshot.
    current?.destroy(notRead())
  }
}

const notRead = (): Error => new Error('the archive is not read any more')

async function* rowsOf({ tables, person }: ArchiveContent, snapshot: Snapshot): AsyncGenerator<ExportEntry> {
  for (const { name, table } of tables) {
    if (typeof table.exported === 'function') yield* table.exported(person, snapshot)
    else if (table.exported) yield rowsEntry(name, table, table.exported, person, snapshot)
  }
}

async function* filesOf({ tables, person }: ArchiveContent): AsyncGenerator<ExportEntry> {
  for (const { table } of tables) if (table.files) yield* table.files(person)
}

/** A table that has nothing of the person has no file. */
async function unlessEmpty(
  bytes: AsyncIterable<Buffer> | undefined,
): Promise<AsyncIterable<Buffer> | undefined> {
  const iterator = bytes?.[Symbol.asyncIterator]()
  const first = await iterator?.next()
  if (!iterator || !first || first.done) return undefined
  return (async function* () {
    yield first.value
    for (let next = await iterator.next(); !next.done; next = await iterator.next()) yield next.value
  })()
}

const readmeOf = ({ tables, title, person, at }: ArchiveContent): string => {
  const files = tables.flatMap(({ name, table: { about, exported } }) =>
    exported && about !== undefined
      ? [`${typeof exported === 'function' ? folderOf(name) : fileOf(name)}: ${about}`]
      : [],
  )
  return `The data of the account ${person.id} at ${title}, as they were on ${at}.

Each file has one record a line, as a JSON object (https://github.com/ndjson/ndjson-spec): any editor of texts shows it, and most
programs read it. Times are in UTC. A file is missing if there is nothing of its kind.

${files.join('\n')}

Passwords, keys and codes are not in it: of those the server has hashes or encrypted texts only, which nobody can use elsewhere.
`
}

/** `store_documents` is `store/documents/…`. */
const folderOf = (table: string): string => `${table.replace('_', '/')}/`
