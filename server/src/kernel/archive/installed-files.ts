import type { Snapshot } from '../../db/database.ts'

/** A file of the installation, and the key of the object that has its bytes. */
export type InstalledFile = {
  readonly id: string
  readonly key: string
  readonly size: number
  readonly sha256: string
}

/** The files of an installation, wherever their bytes are. */
export type InstalledFiles = {
  /**
   * Runs work while no object is deleted that a snapshot taken in it names.
   *
   * @param work its signal aborts if that can't be promised any more
   */
  hold<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T>
  count(snapshot: Snapshot): Promise<{ files: number; bytes: number }>
  list(snapshot: Snapshot): AsyncIterable<InstalledFile>
  /** @throws StartError if the bytes are missing, or not those that were stored */
  read(file: InstalledFile): AsyncIterable<Buffer>
}

/** Where the files of an archive go. */
export type FileTarget = {
  write(key: string, bytes: AsyncIterable<Buffer>): Promise<{ size: number; sha256: string }>
}
