import { linesIn } from '../../base/json-lines.ts'
import type { Clock } from '../../base/clock.ts'
import type { Database, Snapshot } from '../../db/database.ts'
import { sql } from '../../db/sql.ts'
import type { NotYet } from '../../kernel/jobs/job.ts'
import {
  isOf,
  type ExportEntry,
  type DataSubject,
  type PersonalTables,
} from '../../kernel/wire/personal-data.ts'
import { forgetOwnerSql } from './changes/forget-owner.ts'
import type { Collections } from './documents/definition/collections.ts'
import { subjectOf } from './documents/definition/viewer.ts'
import { show, viewOf } from './documents/language/fields/view.ts'
import type { createWordMerge } from './documents/storage/search/merge-words.ts'
import { eraseDocuments } from './documents/writes/erase-document.ts'
import type { WriteContext } from './documents/writes/write-context.ts'
import { deleteFilesSql } from './files/delete-files.ts'
import type { ResumableUploads } from './files/resumable/resumable-uploads.ts'
import { NoSuchObject } from './objects/storage.ts'
import type { Objects } from './objects/objects.ts'

const FILES_PART = 500
/** How long the log of changes has the deletions, so that webhooks and clients hear of them. */
const HEARD_MS = 10_000

const LOADED = 'a restore under way has loaded them; it deletes them when it is over'

/** What the tables of the store hold of persons. */
export const storeTables = (
  { db, clock }: { db: Database; clock: Clock },
  {
    collections,
    writing,
    objects,
    uploads,
    words,
  }: {
    collections: Collections
    writing: WriteContext
    objects: Objects
    uploads: ResumableUploads
    words: ReturnType<typeof createWordMerge>
  },
): PersonalTables => ({
  store_documents: {
    about: 'documents',
    rows: isOf('owner'),
    key: ['collection', 'id'],
    exported: (person, snapshot) => documentsOf(collections, person, snapshot),
    deletion: 'erased',
    erase: ({ id }, { stopping }) => eraseDocuments(writing, db, id, stopping),
  },
  store_files: {
    about: 'files',
    rows: isOf('owner'),
    exported: {
      id: 'value',
      original_name: 'value',
      content_type: 'value',
      size: 'value',
      sha256: 'value',
      metadata: 'json',
      access: 'value',
      status: 'value',
      refusal: 'value',
      created_at: 'time',
    },
    files: (person) => filesOf(db, objects, person),
    deletion: 'erased',
    erase: ({ id }, { stopping }) => eraseFiles(db, objects, id, stopping),
  },
  store_upload_links: {
    about: 'upload links',
    rows: isOf('owner'),
    exported: {
      id: 'value',
      types: 'json',
      max_bytes: 'value',
      access: 'value',
      metadata: 'json',
      created_at: 'time',
      expires_at: 'time',
      file_id: 'value',
    },
    deletion: 'erased',
  },
  store_changes: {
    rows: isOf('owner'),
    key: ['seq'],
    deletion: 'erased',
    async erase({ id, until }): Promise<NotYet | void> {
      const leftMs = until + HEARD_MS - clock.now()
      if (leftMs > 0) return { againInMs: leftMs }
      await db.batch([...forgetOwnerSql(db.dialect, id), ...words.mergeSql()])
    },
  },
  // With their documents.
  store_entries: { rows: isOf('owner'), deletion: 'erased', erase: async () => undefined },
  // What documents had in fields that are being changed.
  store_changed_documents: { rows: isOf('owner'), key: ['collection', 'id'], deletion: 'erased' },
  store_counts: { rows: isOf('owner'), key: ['collection', 'owner', 'slot'], deletion: 'erased' },
  store_usage: { rows: isOf('owner'), key: ['owner', 'slot'], deletion: 'erased' },
  store_reservations: { rows: isOf('owner'), deletion: 'erased' },
  store_uploads: {
    rows: isOf('owner'),
    deletion: 'erased',
    erase: ({ id }, { stopping }) => uploads.eraseOf(id, stopping),
  },
  store_restored_documents: { rows: isOf('owner'), deletion: { keeps: LOADED } },
  store_restored_files: { rows: isOf('owner'), deletion: { keeps: LOADED } },
})

/** The documents of each collection, without the fields that the account is not shown. */
async function* documentsOf(
  collections: Collections,
  person: DataSubject,
  snapshot: Snapshot,
): AsyncGenerator<ExportEntry> {
  const [email] = person.emails
  const subject = subjectOf({
    kind: 'user',
    id: person.id,
    role: 'user',
    email: email ?? '',
    emailVerified: true,
    sessionId: '',
  })
  const rows = await snapshot.all(sql<{ collection: string }>`
    select distinct collection from store_counts where owner = ${person.id} order by collection`)
  for (const { collection } of rows) {
    const view = viewOf(collections.get(collection), subject)
    const lines = () =>
      snapshot.lines(sql`
        select ${sql.either({ sqlite: sql`body`, postgres: sql`cast(body as text)` })} as line
        from store_documents where owner = ${person.id} and collection = ${collection} order by id`)
    yield {
      name: `store/documents/${collection}.ndjson`,
      async *open() {
        if (!view) yield* lines()
        else
          for await (const part of linesIn(lines()))
            yield Buffer.from(
              part.map((line) => `${show(view, { body: line.toString(), owner: person.id })}\n`).join(''),
            )
      },
    }
  }
}

/** The bytes of the files that are served, each under its id and name. */
async function* filesOf(db: Database, objects: Objects, { id }: DataSubject): AsyncGenerator<ExportEntry> {
  type Row = { id: string; object: string; original_name: string }
  let after = ''
  for (;;) {
    const rows = await db.all(sql<Row>`
      select id, object, original_name from store_files where owner = ${id} and status = 'ready' and id > ${after}
      order by id limit ${FILES_PART}`)
    for (const { id: fileId, object, original_name } of rows)
      yield {
        name: `store/files/${fileId}-${original_name.replaceAll(/[/\\:*?"<>|]/g, '_')}`,
        open: () => objects.read('uploads', object).catch(unlessMissing),
      }
    if (rows.length < FILES_PART) return
    after = rows.at(-1)!.id
  }
}

function unlessMissing(error: unknown): undefined {
  if (!(error instanceof NoSuchObject)) throw error
}

/** Deletes the files of an account, with their variants. */
async function eraseFiles(
  db: Database,
  objects: Objects,
  owner: string,
  stopping: AbortSignal,
): Promise<void> {
  for (;;) {
    stopping.throwIfAborted()
    const rows = await db.all(
      sql<{ id: string }>`select id from store_files where owner = ${owner} order by id limit ${FILES_PART}`,
    )
    if (rows.length === 0) return
    await db.batch(
      deleteFilesSql(
        objects,
        rows.map((row) => row.id),
      ),
    )
  }
}
