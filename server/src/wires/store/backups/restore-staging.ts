import { PendingPromises } from '../../../base/pending-promises.ts'
import type { Database } from '../../../db/database.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import { storedColumn } from '../documents/storage/sql/document-rows.ts'
import type { NewObject, Objects } from '../objects/objects.ts'
import type { ArchivedDefinition, ArchivedDocument, ArchivedFile } from './archive-lines.ts'
import type { ArchiveSink } from './archive-reader.ts'
import { damaged } from './damaged-archive.ts'

const SMALL_BYTES = 262_144
const WRITES_AT_ONCE = 8
const FILES_A_STATEMENT = 64
const ROWS_A_DELETE = 2_000

// One text for all rows of a batch: the statement is the same whatever their number.
const documentsSql = (id: string, collection: string, documents: readonly ArchivedDocument[]): Sql => sql`
  insert into store_restored_documents (restore_id, collection, id, owner, version, ${storedColumn})
  select cast(${id} as text), cast(${collection} as text), ${sql.either({
    sqlite: sql`value ->> 0, value ->> 1, value ->> 2, jsonb(value ->> 3)
      from json_each(${json(documents.map(({ id, owner, version, body }) => [id, owner, version, body]))})`,
    postgres: sql`id, owner, version, body::json
      from json_to_recordset(${json(documents)}::json) as line (id text, owner text, version bigint, body text)`,
  })}`

const filesSql = (id: string, files: readonly ArchivedFile[]): Sql => sql`
  insert into store_restored_files
    (restore_id, id, owner, original_name, content_type, size, sha256, metadata, created_at,
      access, public_key, status, refusal, image, attached_by)
  select cast(${id} as text), ${sql.either({
    sqlite: sql`value ->> 'id', value ->> 'owner', value ->> 'originalName', value ->> 'contentType',
        value ->> 'size', value ->> 'sha256', value ->> 'metadata', value ->> 'createdAt',
        value ->> 'access', value ->> 'publicKey', value ->> 'status', value ->> 'refusal',
        value ->> 'image', value ->> 'attachedBy'
      from json_each(${json(files)})`,
    postgres: sql`id, owner, "originalName", "contentType", size, sha256, metadata::json, "createdAt",
        access, "publicKey", status, refusal, image, "attachedBy"
      from json_to_recordset(${json(files)}::json) as line (id text, owner text, "originalName" text,
        "contentType" text, size bigint, sha256 text, metadata text, "createdAt" bigint,
        access text, "publicKey" text, status text, refusal text, image text, "attachedBy" text)`,
  })}`

const objectsSql = (id: string, objects: readonly { id: string; object: string }[]): Sql => sql`
  update store_restored_files set object = written.object
  from ${sql.either({
    sqlite: sql`(select value ->> 'id' as id, value ->> 'object' as object from json_each(${json(objects)}))`,
    postgres: sql`json_to_recordset(${json(objects)}::json)`,
  })} as written ${sql.either({ sqlite: sql``, postgres: sql`(id text, object text)` })}
  where store_restored_files.restore_id = ${id} and store_restored_files.id = written.id`

const json = (rows: readonly unknown[]): string => JSON.stringify(rows)

/** The objects that were written for the files of a restore. */
export const restoredObjectsSql = (id: string): Sql<{ key: string }> =>
  sql`select object as key from store_restored_files where restore_id = ${id} and object is not null`

/** Loads an archive into the tables of a restore, and its files into new objects. Nothing sees them until they are put in place. */
export function createStaging(
  { db, objects }: { db: Database; objects: Objects },
  { id, signal }: { id: string; signal: AbortSignal },
): {
  sink: ArchiveSink
  /** The collections with documents that were not created at the time of their ids. */
  unordered: ReadonlySet<string>
  definitions: readonly ArchivedDefinition[]
  finish(): Promise<void>
  discard(): Promise<void>
} {
  const unordered = new Set<string>()
  const definitions: ArchivedDefinition[] = []
  const writes = new PendingPromises()
  /** Written, and not in the table of files yet. */
  const written: { id: string; object: NewObject }[] = []
  let failure: Error | undefined
  /** The last batch of lines: while it is written, the next one is read. */
  let loading: Promise<unknown> = Promise.resolve()

  async function load(linesSql: Sql): Promise<void> {
    signal.throwIfAborted()
    await loading
    loading = db.write(linesSql)
    loading.catch(() => undefined) // It is thrown by the next call, or by `finish`.
  }

  async function write(file: { id: string; size: number }, bytes: AsyncIterable<Buffer>): Promise<void> {
    const object = await objects.write('uploads', bytes, { signal, maxBytes: file.size })
    written.push({ id: file.id, object })
  }

  /** Begins a write that is waited for later. */
  function begin(writing: Promise<void>): void {
    void writes.add(writing.catch((error: unknown) => void (failure ??= error as Error)))
  }

  async function flush(): Promise<void> {
    // Others are added at the end while this is written.
    const batch = [...written]
    if (batch.length === 0) return
    await db.write(
      objectsSql(
        id,
        batch.map(({ id, object }) => ({ id, object: object.key })),
      ),
    )
    written.splice(0, batch.length)
  }

  return {
    unordered,
    definitions,
    sink: {
      documents(collection, documents) {
        if (documents.some((one) => !one.isOfItsTime)) unordered.add(collection)
        return load(documentsSql(id, collection, documents))
      },
      definitions: (batch) => void definitions.push(...batch),
      files: (files) => load(filesSql(id, files)),
      async content(file, bytes) {
        signal.throwIfAborted()
        await loading
        while (writes.size >= WRITES_AT_ONCE) await writes.next()
        if (failure) throw failure
        if (written.length >= FILES_A_STATEMENT) await flush()
        // Small ones together: each waits for the disk or the bucket.
        if (file.size <= SMALL_BYTES) begin(write(file, piecesOf(await Array.fromAsync(bytes))))
        else {
          // Those in the table are extended while this one is written, which may take hours.
          await writes.idle()
          await flush()
          await write(file, bytes)
        }
      },
    },

    async finish() {
      await loading
      await writes.idle()
      if (failure) throw failure
      await flush()
      const missing = await db.get<{ id: string }>(sql`
        select id from store_restored_files where restore_id = ${id} and object is null limit 1`)
      if (missing) throw damaged(`the file ${missing.id}`, 'its bytes are missing')
    },

    /** Deletes the objects that are not in the table: those in it are deleted with its rows. */
    async discard() {
      await Promise.allSettled([loading, writes.idle()])
      await Promise.all(written.map(({ object }) => object.discard()))
    },
  }
}

async function* piecesOf(pieces: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* pieces
}

/** Deletes the rows of a restore, some at a time so that other writes need not wait. */
export async function deleteStaged(db: Database, id: string): Promise<void> {
  const chunks = [
    sql`
      delete from store_restored_documents where restore_id = ${id} and (collection, id) in (
        select collection, id from store_restored_documents where restore_id = ${id}
        order by collection, id limit ${ROWS_A_DELETE})
      returning 1 as deleted`,
    sql`
      delete from store_restored_files where restore_id = ${id} and id in (
        select id from store_restored_files where restore_id = ${id} order by id limit ${ROWS_A_DELETE})
      returning 1 as deleted`,
  ]
  for (const chunk of chunks) while ((await db.write(chunk)).length === ROWS_A_DELETE);
}

/** The restores that are over and have rows still. */
export async function leftBehind(db: Database): Promise<string[]> {
  const ids: string[] = []
  for (const table of ['store_restored_documents', 'store_restored_files'])
    for (let last = ''; ;) {
      // From one id to the next by the key: a restore may have millions of rows.
      const row = await db.get<{ id: string; running: number }>(sql`
        select restore_id as id,
          (select count(*) from store_restores where id = restore_id and status = 'running') as running
        from ${sql.literal(table)} where restore_id > ${last} order by restore_id limit 1`)
      if (!row) break
      last = row.id
      if (row.running === 0) ids.push(row.id)
    }
  return [...new Set(ids)]
}
