import type { Step, StepWith } from '../../../db/database.ts'
import type { Sql } from '../../../db/sql.ts'
import type { ByteRange, ObjectStorage, StoredBytes } from './storage.ts'
import type { Readable } from 'node:stream'

/** The two storages: of files with their variants, and of backups. */
export type StorageName = 'uploads' | 'backups'

/** An object whose bytes are safe, and that no record names yet. */
export type NewObject = StoredBytes & {
  key: string
  /** The step for the batch that inserts the record which names it. @throws UNAVAILABLE if the sweep has deleted it */
  claimSql: StepWith
  /** Deletes it now, because nothing will claim it; never rejects: the sweep deletes what this could not. */
  discard(): Promise<void>
}

/** Objects, and the rows of those that no record names: nothing is left behind by a crash at any step. */
export type Objects = {
  readonly storages: Readonly<Record<StorageName, ObjectStorage>>
  /**
   * Writes an object. Its row is in `store_unclaimed` before the first byte is written; until it is claimed the sweep
   * deletes it once its time is over, which is extended while bytes arrive.
   *
   * @param options.key default: a new one
   */
  write(
    storage: StorageName,
    bytes: AsyncIterable<Buffer>,
    options?: { key?: string; signal?: AbortSignal },
  ): Promise<NewObject>
  read(storage: StorageName, key: string, range?: ByteRange): Promise<Readable>
  /** The steps for the batch that deletes the last records naming these objects; they are deleted after its commit. */
  discardSql(storage: StorageName, keysSql: Sql<{ key: string }>): Step[]
  /** Deletes what no record names and is due, unless a backup is running: it may be reading them. */
  sweep(): Promise<void>
}
