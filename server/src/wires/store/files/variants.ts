import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'

import { errors, invalid } from '../../../base/errors.ts'
import { createKeyedMutex } from '../../../base/keyed-mutex.ts'
import { requireRow } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import { storeErrors } from '../errors.ts'
import type { NewObject, Objects } from '../objects/objects.ts'
import { NoSuchObject } from '../objects/storage.ts'
import type { Content } from './file-content.ts'
import type { FileRow } from './files.ts'
import { createResizer, LARGEST_IMAGE_BYTES, outputOf, RESIZABLE, type Resizing } from './resize.ts'

/** More variants of one file are made each time, so that nobody can fill the storage by asking. */
const MOST_STORED = 20
const WAITING = 100
/** How much of images that are not stored is in memory for clients that read slowly. */
const HELD_BYTES = 64 * 1024 * 1024
const PIECE_BYTES = 65_536

type VariantRow = { variant: string; object: string; content_type: string; size: number; sha256: string }

/** What differs from the content of the file itself. */
export type Variant = Pick<Content, 'etag' | 'contentType' | 'size' | 'open'>

/** Resized images: made when they are first asked for, then stored as objects. */
export function createVariants(
  { db, log }: Pick<WireContext, 'db' | 'log'>,
  { objects }: { objects: Objects },
) {
  const resizer = createResizer()
  const mutex = createKeyedMutex({ queue: WAITING, retryAfter: 5 })
  let heldBytes = 0

  const variantsOf = ({ id }: FileRow): Promise<VariantRow[]> =>
    db.all<VariantRow>(sql`
      select variant, object, content_type, size, sha256 from store_variants where file_id = ${id}`)

  const fromObject = (file: FileRow, row: VariantRow): Variant => ({
    etag: `"${row.sha256}"`,
    contentType: row.content_type,
    size: row.size,
    async open(range) {
      try {
        return await objects.read('uploads', row.object, range)
      } catch (error) {
        // Unlike the file's own bytes these can be made again, by the next call.
        if (error instanceof NoSuchObject)
          await db.write(sql`
            delete from store_variants
            where file_id = ${file.id} and variant = ${row.variant} and object = ${row.object}`)
        throw error
      }
    },
  })

  const fromMemory = (bytes: Buffer, contentType: string): Variant => ({
    etag: `"${createHash('sha256').update(bytes).digest('hex')}"`,
    contentType,
    size: bytes.length,
    async open(range) {
      if (heldBytes > 0 && heldBytes + bytes.length > HELD_BYTES) throw errors.unavailable({ retryAfter: 5 })
      heldBytes += bytes.length
      const part = range ? bytes.subarray(range.start, range.end + 1) : bytes
      const stream = Readable.from(piecesOf(part), { objectMode: false })
      return stream.once('close', () => (heldBytes -= bytes.length))
    },
  })

  async function sourceOf(file: FileRow): Promise<Buffer> {
    const bytes = await buffer(await objects.read('uploads', file.object))
    if (bytes.length !== file.size) throw storeErrors.image_unreadable()
    return bytes
  }

  /** Stores a variant, unless meanwhile the file was deleted or restored, or another replica has stored it. */
  async function store(
    file: FileRow,
    variant: string,
    bytes: Buffer,
    contentType: string,
  ): Promise<VariantRow | undefined> {
    let object: NewObject | undefined
    try {
      object = await objects.write('uploads', Readable.from([bytes]))
      const insertSql = sql`
        insert into store_variants (file_id, variant, object, content_type, size, sha256)
        select id, cast(${variant} as text), cast(${object.key} as text), cast(${contentType} as text),
          cast(${object.size} as bigint), cast(${object.sha256} as text)
        from store_files
        where id = ${file.id} and object = ${file.object}
          and (select count(*) from store_variants where file_id = ${file.id}) < ${MOST_STORED}
        ${sql.sharedLock}
        on conflict (file_id, variant) do nothing
        returning file_id`
      await db.batch([requireRow(insertSql, () => errors.conflict()), object.claimSql])
      const { key, size, sha256 } = object
      return { variant, object: key, content_type: contentType, size, sha256 }
    } catch (error) {
      await object?.discard()
      // The image can be answered all the same, and is made again when it is next asked for.
      log.info({ err: error, file: file.id, variant }, 'a resized image was not stored')
      return undefined
    }
  }

  return {
    /**
     * The variant of an image, made now if it is not stored.
     *
     * @throws VALIDATION_ERROR if the file is not an image of `RESIZABLE`; IMAGE_UNREADABLE, IMAGE_TOO_LARGE, UNAVAILABLE
     */
    async get(file: FileRow, resizing: Resizing): Promise<Variant> {
      const output = outputOf(file.content_type)
      if (output === undefined)
        throw invalid({
          path: resizing.width === undefined ? '/query/height' : '/query/width',
          message: `only images can be resized (${RESIZABLE.join(', ')}): this file is ${file.content_type}`,
        })
      if (file.size > LARGEST_IMAGE_BYTES)
        throw storeErrors.image_too_large({
          message: `Images of up to ${LARGEST_IMAGE_BYTES} bytes can be resized: this one has ${file.size}.`,
        })
      const variant = nameOf(resizing, output)
      const stored = (await variantsOf(file)).find((row) => row.variant === variant)
      if (stored) return fromObject(file, stored)

      return mutex.run(`${file.id} ${variant}`, async () => {
        const rows = await variantsOf(file)
        const storedSince = rows.find((row) => row.variant === variant)
        if (storedSince) return fromObject(file, storedSince)
        const bytes = await resizer.resize(() => sourceOf(file), file.content_type, resizing)
        const contentType = `image/${output}`
        const row = rows.length < MOST_STORED ? await store(file, variant, bytes, contentType) : undefined
        return row ? fromObject(file, row) : fromMemory(bytes, contentType)
      })
    },
  }
}

export type Variants = ReturnType<typeof createVariants>

/** Pieces, so that the stream is open for as long as its client reads. */
function* piecesOf(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES)
}

/** One name for all requests that get the same bytes: `w200-h100-cover-webp`. */
function nameOf({ width, height, fit }: Resizing, output: string): string {
  const sides = [
    ...(width === undefined ? [] : [`w${width}`]),
    ...(height === undefined ? [] : [`h${height}`]),
  ]
  return [...sides, ...(sides.length === 2 ? [fit] : []), output].join('-')
}
