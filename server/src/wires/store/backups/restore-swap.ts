import { errors } from '../../../base/errors.ts'
import { requireRow, type Database, type Step, type Transaction } from '../../../db/database.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import { lockTable } from '../../../db/tables.ts'
import { storedColumn } from '../documents/storage/sql/document-rows.ts'
import type { Indexes } from '../documents/storage/indexes/indexes.ts'
import type { Replacement } from '../documents/storage/indexes/replace-entries.ts'
import type { Objects } from '../objects/objects.ts'
import { CHANGES } from '../documents/storage/changes-channel.ts'
import { beginLog, pauseLogSql } from '../changes/generation.ts'
import type { ArchivedDefinition } from './archive-lines.ts'
import { openGateSql } from './restore-gate.ts'
import { restoredObjectsSql } from './restore-staging.ts'

const SWAP_LIMIT_MS = 30 * 60_000

// Neither takes longer for more rows.
const EMPTY_SQL = {
  sqlite: [sql`delete from store_restored_documents`, sql`delete from store_restored_files`],
  postgres: [sql`truncate store_restored_documents, store_restored_files`],
}

// A document of the archive and the one that it replaces. SQLite writes the same JSONB for the same text.
const isSame = sql`loaded.owner = old.owner and ${sql.either({
  sqlite: sql`loaded.doc = old.doc`,
  postgres: sql`cast(loaded.body as text) = cast(old.body as text)`,
})}`

/**
 * The documents that go, and those that come, for the indexes. The other table is bounded by the id as well: a merge join
 * would read it from its beginning for each page.
 */
const replacementOf = (id: string, { unordered }: LoadedArchive): Replacement => ({
  unordered,
  goneSql: (collection, after, limit) => sql`
    select id, owner, body from store_documents as old
    where collection = ${collection} and id > ${after} and not exists (
      select 1 from store_restored_documents as loaded
      where loaded.restore_id = ${id} and loaded.collection = old.collection and loaded.id = old.id
        and loaded.id > ${after} and ${isSame})
    order by id limit ${limit}`,
  freshSql: (collection, after, limit) => sql`
    select id, owner, ${sql.either({ sqlite: sql`json(doc)`, postgres: sql`body` })} as body
    from store_restored_documents as loaded
    where restore_id = ${id} and collection = ${collection} and id > ${after} and not exists (
      select 1 from store_documents as old
      where old.collection = loaded.collection and old.id = loaded.id and old.id > ${after} and ${isSame})
    order by id limit ${limit}`,
})

/** What was loaded of an archive. */
export type LoadedArchive = {
  readonly counts: RestoredCounts
  /** The collections with documents that were not created at the time of their ids. */
  readonly unordered: ReadonlySet<string>
  readonly definitions: readonly ArchivedDefinition[]
}

/** How many rows the archive holds. */
export type RestoredCounts = { documents: number; files: number }

const leaseOver = () =>
  errors.unavailable({ message: 'The lease of the restore was over before it was completed: restore again.' })

const lost = () =>
  errors.unavailable({ message: 'What the restore had loaded was lost: nothing was changed, restore again.' })

/** The owners whose accounts were deleted, as far as the audit log knows. */
const deletedOwnersSql = sql<{ account: string }>`
  select distinct substr(target, 6) as account from sixwire_audit
  where action = 'user.deleted' and outcome = 'done' and (
    exists (select 1 from store_documents where owner = substr(target, 6))
    or exists (select 1 from store_files where owner = substr(target, 6)))`

/**
 * Puts what a restore has loaded in place of all documents and files, completes the restore, and lets writes through again:
 * one transaction, after which everything is new, or nothing.
 */
export async function swap(
  { db, objects, indexes }: { db: Database; objects: Objects; indexes: Pick<Indexes, 'replace'> },
  restore: {
    id: string
    safetyBackup: string
    entrySql: Sql
    /** Has the records of a deleted account erased. */
    eraseSql: (account: string) => Step
    /** Puts definitions into force. */
    define: (tx: Transaction, definitions: readonly ArchivedDefinition[]) => Promise<void>
    now: () => number
  },
  archive: LoadedArchive,
): Promise<void> {
  const { id, safetyBackup, entrySql, eraseSql, define, now } = restore
  await db.transaction(
    async (tx) => {
      // Locked first, so that nobody ends this restore while it is being completed.
      const [lease] = await tx.write(sql`
        select id from store_restores where id = ${id} and status = 'running' and lease_until > ${now()}
        ${sql.forUpdate}`)
      if (!lease) throw leaseOver()
      for (const step of openGateSql[tx.dialect]) await tx.write(step)
      await tx.write(pauseLogSql)
      // Nobody stores a resized image of a file that goes.
      await lockTable(tx, 'store_variants', 'share row exclusive')

      const [loaded] = await tx.all<RestoredCounts & { objects: number }>(sql`
        select
          (select count(*) from store_restored_documents where restore_id = ${id}) as documents,
          (select count(*) from store_restored_files where restore_id = ${id}) as files,
          (select count(*) from (
            select key from store_unclaimed
            where storage = 'uploads' and state = 'writing' and key in (${restoredObjectsSql(id)})
            ${sql.forUpdate}) as written) as objects`)
      const { documents, files } = archive.counts
      if (loaded!.documents !== documents || loaded!.files !== files || loaded!.objects !== files)
        throw lost()

      const oldSql = sql<{ key: string }>`
        select object as key from store_files union all select object from store_variants`
      for (const step of objects.discardSql('uploads', oldSql)) await tx.write(step)
      await tx.write(sql`delete from store_variants`)
      await tx.write(sql`delete from store_files`)
      // What replaces another text is a change of that document: an ETag from before must not match it.
      await tx.write(sql`
        update store_restored_documents as loaded set version = old.version + 1
        from store_documents as old
        where loaded.restore_id = ${id} and old.collection = loaded.collection and old.id = loaded.id
          and old.version >= loaded.version and not (${isSame})`)
      // Before the documents, so that the indexes that they need have them from the first moment on.
      await define(tx, archive.definitions)
      await indexes.replace(tx, replacementOf(id, archive))
      // Documents that are the same stay: most are, and each that is written makes others wait. Not `truncate`: a backup under
      // way would lose the rows of its snapshot.
      await tx.write(sql`
        delete from store_documents as old where not exists (
          select 1 from store_restored_documents as loaded
          where loaded.restore_id = ${id} and loaded.collection = old.collection and loaded.id = old.id
            and ${isSame})`)
      await tx.write(sql`
        insert into store_documents (collection, id, owner, version, index_set, ${storedColumn})
        select collection, id, owner, version,
          coalesce((select version from store_index_sets sets where sets.collection = loaded.collection), 0),
          ${storedColumn}
        from store_restored_documents loaded
        where restore_id = ${id} order by collection, id
        on conflict (collection, id) do nothing`)
      await tx.write(sql`
        insert into store_files
          (id, owner, object, original_name, content_type, size, sha256, metadata, created_at,
            access, public_key, status, refusal, image, attached_by)
        select id, owner, object, original_name, content_type, size, sha256, metadata, created_at,
          access, public_key, status, refusal, image, attached_by
        from store_restored_files where restore_id = ${id} order by id`)
      await tx.write(sql`
        delete from store_unclaimed where storage = 'uploads' and key in (${restoredObjectsSql(id)})`)
      await beginLog(tx)
      // No other restore runs that could have rows there.
      for (const emptySql of EMPTY_SQL[tx.dialect]) await tx.write(emptySql)
      await tx.write(
        requireRow(
          sql`
            update store_restores set
              status = 'completed', safety_backup = ${safetyBackup}, completed_at = ${now()}
            where id = ${id} and status = 'running'
            returning id`,
          leaseOver,
        ),
      )
      await tx.write(entrySql)
      for (const { account } of await tx.all(deletedOwnersSql)) await tx.write(eraseSql(account))
    },
    // Nothing else writes these tables: the gate is closed, and its lock is held to the end.
    { isolation: 'read committed', limitMs: SWAP_LIMIT_MS },
  )
  db.notify(CHANGES)
}
