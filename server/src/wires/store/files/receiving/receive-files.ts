import { createHash } from 'node:crypto'

import { invalid } from '../../../../base/errors.ts'
import { boundedPointer } from '../../../../base/json-pointer.ts'
import { isOneOf } from '../../../../db/is-one-of.ts'
import { sql } from '../../../../db/sql.ts'
import type { UploadedFile, UploadedFiles } from '../../../../http/bodies.ts'
import type { Once } from '../../../../http/route.ts'
import type { WireContext } from '../../../../kernel/wire/wire.ts'
import type { NewObject, Objects } from '../../objects/objects.ts'
import type { StoredBytes } from '../../objects/storage.ts'
import { isExceeded, type FileOwner, type Quota, type Reservation } from '../../quota.ts'
import { withoutMetadata } from './metadata/strip-metadata.ts'
import { createSniffer } from '../sniff.ts'

const NAME_MAX = 255
// They would end a header field, or a line of a list, or show exe.png for a name that ends in .exe.
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/
/** What is not yet claimed has an hour. */
const EXTEND_MS = 900_000

/** An object that has the bytes of a file already, and the step by which the file's record claims it. */
export type AdoptableObject = Pick<NewObject, 'key' | 'claimSql' | 'discard'>

/** Files as their route receives them. */
export type ReceivedFiles = {
  files: UploadedFiles['files']
  /** Has the bytes of the only file: they are read, and not stored again unless metadata are stripped. */
  adoptable?: AdoptableObject | undefined
  /** Of the whole body, if it is known. */
  contentLength: number | undefined
  isRepeatable: boolean
  /** Whose the files will be. */
  caller: FileOwner
  once: Once
  signal: AbortSignal
}

/** What a file is compared by under an Idempotency-Key. */
export type FilePrint = Pick<UploadedFile, 'field' | 'name'> & {
  declaredType: string
  sha256: string
  size: number
}

/** A file whose bytes are safe, and that has no record yet. */
export type NewFile = FilePrint & { object: NewObject; contentType: string; status: 'ready' | 'pending' }

export type Receiving<T> = {
  /** Room that was reserved before. */
  reservation?: Reservation
  /** How many bytes the files certainly have, if that is known before they come. Default: those of the body. */
  certainBytes?: number | undefined
  /** Called before the bytes of a file are read. Throws the error to answer. */
  accept?: (file: UploadedFile) => void
  /** What the call is compared by under an Idempotency-Key, after the end of the body. */
  contentOf: (files: readonly FilePrint[]) => Promise<unknown>
  /** Creates the records in one batch, in which the objects are claimed; those that are not are deleted. */
  create: (
    files: readonly NewFile[],
    made: { id: string; isRepeated: boolean; reservation: Reservation },
  ) => Promise<T>
}

export type ReceiveFiles = ReturnType<typeof createReceiving>

/**
 * Receives files one after the other: the bytes of all are safe before anything is created of them.
 *
 * @param options.stripMetadata whether images are stored without their metadata
 * @param options.scan without one files are served at once
 */
export function createReceiving(
  { db, clock }: Pick<WireContext, 'db' | 'clock'>,
  { objects, quota }: { objects: Objects; quota: Quota },
  { stripMetadata, scan }: { stripMetadata: boolean; scan?: unknown },
) {
  const status = scan ? 'pending' : 'ready'

  /** Bytes of a file; the time of the objects before it is extended while they arrive. */
  async function* extending(
    bytes: AsyncIterable<Buffer>,
    before: readonly NewFile[],
  ): AsyncGenerator<Buffer> {
    let extendedAt = clock.now()
    for await (const chunk of bytes) {
      if (before.length > 0 && clock.now() - extendedAt > EXTEND_MS) {
        extendedAt = clock.now()
        const keys = before.map(({ object }) => object.key)
        const keysSql = sql<{ key: string }>`select key from store_unclaimed where ${isOneOf('key', keys)}`
        await db.write(objects.extendSql('uploads', keysSql))
      }
      yield chunk
    }
  }

  /**
   * Receives files, and creates what they are for. Whatever fails leaves nothing.
   *
   * @throws VALIDATION_ERROR, PAYLOAD_TOO_LARGE, QUOTA_EXCEEDED, UNAVAILABLE, and what `accept` and `create` throw
   */
  return async function receive<T>(
    { files, adoptable, contentLength, isRepeatable, caller, once, signal }: ReceivedFiles,
    {
      reservation = quota.reserve(caller),
      certainBytes = contentLength,
      accept,
      contentOf,
      create,
    }: Receiving<T>,
  ): Promise<T> {
    const queue = files[Symbol.asyncIterator]()
    const stored: NewFile[] = []
    let current: ReturnType<typeof hashed> | undefined
    const take = async (): Promise<typeof current> => {
      const next = await queue.next()
      current = undefined
      if (next.done) return undefined
      checkName(next.value.name, boundedPointer('/body', [next.value.field]))
      accept?.(next.value)
      const { stream } = next.value
      current = hashed(next.value, stripMetadata ? withoutMetadata(stream) : stream)
      return current
    }
    try {
      for (let file = await take(); file; file = await take()) {
        const sniffer = createSniffer(file.print.declaredType)
        const bytes = sniffer.pass(extending(reservation.pass(file.bytes, certainBytes), stored))
        const object =
          adoptable && !stripMetadata
            ? { ...adoptable, ...(await readThrough(bytes, file)) }
            : await objects.write('uploads', bytes, { signal, maxBytes: contentLength, sha256: file.sha256 })
        const { sha256, size } = object
        const contentType = await sniffer.contentType()
        stored.push({ ...file.print, sha256, size, object, contentType, status })
      }
      const content = await contentOf(stored)
      return await once(content, (id, isRepeated) => create(stored, { id, isRepeated, reservation }))
    } catch (error) {
      if (!isRepeatable || !isExceeded(error)) throw error
      // The first call may have filled the quota: its answer is found by the bytes, which are not stored again.
      const prints: FilePrint[] = [...stored]
      for (let file = current; file; file = await take()) prints.push(await file.finish())
      return await once(await contentOf(prints), () => {
        throw error
      })
    } finally {
      await Promise.all(stored.map(({ object }) => object.discard()))
      await reservation.release()
    }
  }
}

/** A file whose bytes are hashed as they pass, for a call that may end before they do. */
function hashed({ field, name, contentType: declaredType }: UploadedFile, stored: AsyncIterable<Buffer>) {
  const source = stored[Symbol.asyncIterator]()
  const hash = createHash('sha256')
  let size = 0
  const next = async (): Promise<IteratorResult<Buffer>> => {
    const result = await source.next()
    if (result.done) return result
    hash.update(result.value)
    size += result.value.length
    return result
  }
  const sha256 = () => hash.digest('hex')
  const print = { field, name, declaredType }
  return {
    print,
    bytes: { next },
    sha256,
    async finish(): Promise<FilePrint> {
      while (!(await next()).done);
      return { ...print, sha256: sha256(), size }
    },
  }
}

/** Reads bytes that are stored already. */
async function readThrough(
  bytes: AsyncIterable<Buffer>,
  file: ReturnType<typeof hashed>,
): Promise<StoredBytes> {
  const iterator = bytes[Symbol.asyncIterator]()
  while (!(await iterator.next()).done);
  return file.finish()
}

/** @throws VALIDATION_ERROR at the path */
export function checkName(name: string, path: string): void {
  if (name.length > NAME_MAX)
    throw invalid({ path, message: `has a name of more than ${NAME_MAX} characters` })
  if (CONTROL.test(name)) throw invalid({ path, message: 'has a name with a character that is not allowed' })
}
