import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'

import { errors, invalid } from '../../../../../base/errors.ts'
import { FairSemaphore } from '../../../../../base/fair-semaphore.ts'
import { requireRow } from '../../../../../db/database.ts'
import { sql, type Sql } from '../../../../../db/sql.ts'
import type { WireContext } from '../../../../../kernel/wire/wire.ts'
import type { NewObject, Objects } from '../../../objects/objects.ts'
import { NoSuchObject } from '../../../objects/storage.ts'
import type { Content } from '../file-content.ts'
import type { FileRow } from '../../files.ts'
import { RESIZABLE, sourceFormat, type ImageFormat } from './image-formats.ts'
import { imageSource } from './image-source.ts'
import type { Resizing } from './image-tasks.ts'
import { release } from './release.ts'
import type { ImageCaller, Resizer } from './resize.ts'
import type { WantedVariant } from './variant-query.ts'

/**
 * How many variants of one file are stored, beside those of the sizes that the configuration lists. More are made each time, so
 * that nobody can fill the storage by asking.
 */
const MOST_STORED = 20
const LISTED = 'size-'
const PIECE_BYTES = 65_536
/** How many bytes of images that are not stored are in memory for clients that read slowly. */
const HELD_BYTES = 64 * 1024 * 1024

type VariantRow = { variant: string; object: string; content_type: string; size: number; sha256: string }

/** What differs from the content of the file itself. */
export type Variant = Pick<Content, 'etag' | 'contentType' | 'size' | 'open'> & { vary?: string }

/**
 * Resized images: made when they are first asked for, then stored as objects.
 *
 * @param options.sizes those that everybody may ask for
 */
export function createVariants(
  { db, log }: Pick<WireContext, 'db' | 'log'>,
  { objects, resizer }: { objects: Objects; resizer: Resizer },
  { sizes }: { sizes: readonly string[] },
) {
  const held = new FairSemaphore({
    total: HELD_BYTES,
    ofCaller: () => HELD_BYTES / 4,
    waiting: { total: 0, ofCaller: 0 },
    waitMs: 0,
  })

  const variantsOf = ({ id }: FileRow): Promise<readonly VariantRow[]> =>
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

  const fromMemory = (bytes: Buffer, contentType: string, { name }: ImageCaller): Variant => ({
    etag: `"${createHash('sha256').update(bytes).digest('hex')}"`,
    contentType,
    size: bytes.length,
    async open(range) {
      if (!held.tryTake(name, bytes.length)) throw errors.unavailable({ retryAfter: 5 })
      const part = range ? bytes.subarray(range.start, range.end + 1) : bytes
      const stream = Readable.from(piecesOf(part), { objectMode: false })
      return stream.once('close', () => held.give(name, bytes.length))
    },
  })

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
        where id = ${file.id} and object = ${file.object} and ${roomSql(file, variant)}
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

  /** Makes a variant and stores it, unless another call has stored it while this one waited. */
  async function make(
    file: FileRow,
    variant: string,
    { resizing, output }: { resizing: Resizing; output: ImageFormat },
    caller: ImageCaller,
  ): Promise<Variant> {
    return resizer.run(caller, async (decoding) => {
      const rows = await variantsOf(file)
      const storedSince = rows.find((row) => row.variant === variant)
      if (storedSince) return fromObject(file, storedSince)
      const source = imageSource(objects, file)
      const { bytes, format } = await decoding.resize(source, file.content_type, resizing, output)
      const contentType = `image/${format}`
      const row = hasRoom(rows, variant) ? await store(file, variant, bytes, contentType) : undefined
      if (!row) return fromMemory(bytes, contentType, caller)
      release(bytes)
      return fromObject(file, row)
    })
  }

  return {
    /**
     * The variant of an image, made now if it is not stored.
     *
     * @throws VALIDATION_ERROR if the file is not an image of `RESIZABLE`; IMAGE_UNREADABLE, IMAGE_TOO_LARGE, UNAVAILABLE,
     * TOO_MANY_CONCURRENT
     */
    async get(
      file: FileRow,
      { resizing, format, isNegotiated, parameter }: WantedVariant,
      caller: ImageCaller,
    ): Promise<Variant> {
      const source = sourceFormat(file.content_type)
      if (source === undefined)
        throw invalid({
          path: `/query/${parameter}`,
          message: `only images can be resized (${RESIZABLE.join(', ')}): this file is ${file.content_type}`,
        })
      const output = format ?? source.output
      const variant = nameOf(resizing, output, sizes)
      const stored = (await variantsOf(file)).find((row) => row.variant === variant)
      const made = stored ? fromObject(file, stored) : await make(file, variant, { resizing, output }, caller)
      return isNegotiated ? { ...made, vary: 'Accept' } : made
    },
  }
}

export type Variants = ReturnType<typeof createVariants>

/** Pieces, so that the stream is open for as long as its client reads. */
function* piecesOf(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES)
}

const isListed = (variant: string): boolean => variant.startsWith(LISTED)

const hasRoom = (rows: readonly VariantRow[], variant: string): boolean =>
  isListed(variant) || rows.filter((row) => !isListed(row.variant)).length < MOST_STORED

/** The same as a condition: other replicas store variants too. */
const roomSql = (file: FileRow, variant: string): Sql =>
  isListed(variant)
    ? sql.literal('true')
    : sql`(
        select count(*) from store_variants where file_id = ${file.id} and variant not like ${`${LISTED}%`}
      ) < ${MOST_STORED}`

/** One name for all requests that get the same bytes: `size-256-avif`, of sizes that are not listed `w200-h100-cover-webp`. */
function nameOf({ width, height, fit }: Resizing, format: ImageFormat, sizes: readonly string[]): string {
  const size =
    fit === 'cover' ? `${width}x${height}` : fit === 'inside' && width === height ? `${width}` : undefined
  if (size !== undefined && sizes.includes(size)) return `${LISTED}${size}-${format}`
  const sides = [
    ...(width === undefined ? [] : [`w${width}`]),
    ...(height === undefined ? [] : [`h${height}`]),
  ]
  return [...sides, ...(sides.length === 2 ? [fit] : []), format].join('-')
}
