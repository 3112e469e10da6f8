import { StartError } from '../../../base/start-error.ts'
import { newId } from '../../../base/ids.ts'
import { withSha256 } from '../../../base/with-sha256.ts'
import type { Snapshot } from '../../../db/database.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import type { InstalledFile, InstalledFiles } from '../../../kernel/archive/installed-files.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import { holdLease, LEASE_MS } from '../backups/backup-lease.ts'
import { NoSuchObject, type ObjectStorage } from '../objects/storage.ts'
import { storageFault } from './storage-fault.ts'

const AT_ONCE = 1_000

const LEASE_OVER = new StartError(
  'the database has not answered for 15 seconds, so that files may have been deleted meanwhile: run it again',
)

type Place = { id: string; variant: string }

/** All objects that records name: files, and images of other sizes. */
const PAGES = [
  ({ id }: Place) => sql<InstalledFile & Place>`
    select id, '' as variant, object as key, size, sha256 from store_files
    where id > ${id} order by id limit ${AT_ONCE}`,
  ({ id, variant }: Place) => sql<InstalledFile & Place>`
    select file_id as id, variant, object as key, size, sha256 from store_variants
    where (file_id, variant) > (${id}, ${variant}) order by file_id, variant limit ${AT_ONCE}`,
]

/** The files of the store, for archives and moves of the whole installation. */
export function createInstalledFiles(
  { db, clock, log }: Pick<WireContext, 'db' | 'clock' | 'log'>,
  { uploads }: { uploads: ObjectStorage },
): InstalledFiles {
  const deleteSql = (id: string): Sql => sql`
    delete from store_object_readers where id = ${id} or lease_until <= ${clock.now()}`
  return {
    async hold(work) {
      const id = newId(clock.now())
      const until = () => clock.now() + LEASE_MS
      await db.write(sql`insert into store_object_readers (id, lease_until) values (${id}, ${until()})`)
      const lease = holdLease({ clock, log }, { archive: id }, async () => {
        const [row] = await db.write(sql`
          update store_object_readers set lease_until = ${until()} where id = ${id} and lease_until > ${clock.now()}
          returning id`)
        return row !== undefined
      })
      const ended = new AbortController()
      lease.lapsed.addEventListener('abort', () => ended.abort(LEASE_OVER))
      try {
        return await work(ended.signal)
      } finally {
        await lease.release()
        await db.write(deleteSql(id)).catch((error: unknown) => {
          log.warn({ err: error }, 'unused objects are deleted again once the lease of an archive is over')
        })
      }
    },
    async count(snapshot) {
      const [row] = await snapshot.all(sql<{ files: number; bytes: number }>`
        select count(*) as files, cast(coalesce(sum(size), 0) as bigint) as bytes
        from (select size from store_files union all select size from store_variants) as objects`)
      return row!
    },
    list,
    read: (file) => contentOf(uploads, file),
  }
}

async function* list(snapshot: Snapshot): AsyncGenerator<InstalledFile> {
  for (const pageSql of PAGES)
    for (let after: Place = { id: '', variant: '' }; ;) {
      const files = await snapshot.all(pageSql(after))
      yield* files
      if (files.length < AT_ONCE) break
      after = files.at(-1)!
    }
}

async function* contentOf(
  uploads: ObjectStorage,
  { id, key, size, sha256 }: InstalledFile,
): AsyncGenerator<Buffer> {
  const remedy = `put the object ${key} back, or delete the file`
  let passed = 0
  try {
    const { bytes, digest } = withSha256((await uploads.read(key)) as AsyncIterable<Buffer>)
    for await (const piece of bytes) {
      passed += piece.length
      if (passed > size) break
      yield piece
    }
    if (passed !== size || digest() !== sha256)
      throw new StartError(`the bytes of the file ${id} are not those that were uploaded: ${remedy}`)
  } catch (error) {
    throw error instanceof NoSuchObject
      ? new StartError(`the bytes of the file ${id} are missing: ${remedy}`)
      : storageFault(error)
  }
}
