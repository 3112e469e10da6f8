import type { Readable } from 'node:stream'

/** The two storages: of files with their variants, and of backups. */
export type StorageName = 'uploads' | 'backups'
export type Storages = Readonly<Record<StorageName, ObjectStorage>>

/** What was stored: its length in bytes, and its SHA-256 in hex. */
export type StoredBytes = { size: number; sha256: string }

/** What a storage has under a key. */
export type StoredObject = {
  key: string
  /** In bytes. */
  size: number
  /** When it was written, in milliseconds since 1970 by the clock of the storage. */
  modifiedAt: number
  /** Whether it is what an unfinished write left, which `read` does not find and `remove` deletes. */
  isPart: boolean
}

/** The first and the last byte of a part of an object, from 0, both included. */
export type ByteRange = { start: number; end: number }

export type WriteOptions = {
  /** Ends the writing. */
  signal?: AbortSignal | undefined
  /** How long the object may become, if that may be more than 78 GiB: a bucket takes 10,000 parts of it. */
  maxBytes?: number | undefined
  /** The SHA-256 of the bytes that have passed, if the caller computes it anyway. Default: the storage does. */
  sha256?: (() => string) | undefined
}

/**
 * Where the bytes of files and backups are: a folder, or a bucket of S3. A key is made by Sixwire, never by a client:
 * 1 to 128 lower-case letters, digits, `-` and `.`, a letter or digit at both ends, no `..`.
 */
export type ObjectStorage = {
  readonly name: 'local' | 's3'

  /**
   * Stores an object. It is there as a whole or not at all, and once this resolves it survives a power cut. What fails or
   * is cut off leaves nothing that `read` finds, but maybe parts, which `remove` deletes.
   *
   * @throws UNAVAILABLE (503) if the disk is full, or the folder or bucket does not work; the error of `bytes` as it is
   */
  write(key: string, bytes: AsyncIterable<Buffer>, options?: WriteOptions): Promise<StoredBytes>

  /**
   * Opens an object, so that what is missing is known before an answer begins. The stream must be read or destroyed.
   *
   * @throws NoSuchObject; UNAVAILABLE
   */
  read(key: string, range?: ByteRange): Promise<Readable>

  /** Deletes an object, and all parts that an unfinished write left. If there is none: nothing. @throws UNAVAILABLE */
  remove(key: string): Promise<void>

  /** What is under a key: the object, else a part of it; undefined if there is neither. @throws UNAVAILABLE */
  stat(key: string): Promise<StoredObject | undefined>

  /**
   * Lists all objects, some at a time and in no order; parts in a folder, too. Of those that are written or removed meanwhile some
   * are in the list. What has no name of an object is left out.
   *
   * @throws UNAVAILABLE
   */
  list(): AsyncIterable<StoredObject[]>

  /** Takes objects from clients without the server in between; a folder has none. */
  readonly direct?: DirectUploads

  /** Rejects with a sentence for the operator if nothing can be stored now. */
  ping(): Promise<void>

  /** Likewise, if that takes more than a health check may: for the start, and for `sixwire check`. */
  check?: () => Promise<void>

  close(): void
}

/** A part of an object, by its number from 1, and its length in bytes. */
export type DirectPart = { number: number; size: number }
export type StoredPart = DirectPart & { etag: string }

/** Objects that clients upload in parts, by presigned URLs. `remove` ends one that is not complete. */
export type DirectUploads = {
  /** Begins an object. @returns the id of its upload, for the calls below @throws UNAVAILABLE */
  create(key: string): Promise<string>
  /** The URLs that take the parts, by PUT, for so many seconds. Each takes a body of exactly the size of its part. */
  presignParts(key: string, id: string, parts: readonly DirectPart[], seconds: number): Promise<string[]>
  /** The parts that are stored; undefined if the object was completed or removed. @throws UNAVAILABLE */
  listParts(key: string, id: string): Promise<StoredPart[] | undefined>
  /** Makes the object of its parts. @throws UNAVAILABLE */
  complete(key: string, id: string, parts: readonly StoredPart[]): Promise<void>
}

/** The object does not exist: its bytes were lost, or deleted from outside. */
export class NoSuchObject extends Error {
  constructor(key: string) {
    super(`the object ${key} does not exist`)
    this.name = 'NoSuchObject'
  }
}

const KEY = /^[a-z\d](?:[a-z\d.-]{0,126}[a-z\d])?$/

export const isKey = (text: string): boolean => KEY.test(text) && !text.includes('..')

/** Keys become paths: an error in the code that makes them must not lead out of the folder. @throws TypeError */
export function checkKey(key: string): string {
  if (!isKey(key)) throw new TypeError(`${JSON.stringify(key)} is not a key of an object`)
  return key
}
