import { noUpload } from '../../errors.ts'
import type { Objects } from '../../objects/objects.ts'
import type { DirectPart, DirectWrites } from '../../objects/storage.ts'
import type { DirectUpload, ResumableUpload, ResumableUploads } from './resumable-uploads.ts'

/** S3 takes no part that is smaller, but the last, and not more parts. */
const PART_BYTES = 8 * 1_048_576
const PARTS_MAX = 10_000
/** How many addresses are answered at once, and for how many seconds they work. */
const ADDRESSES = 100
const ADDRESS_SECONDS = 3600

type Context = { objects: Objects; uploads: ResumableUploads }

/** A part that the client has to send: the bytes of the file from `start` on, by PUT. */
export type WantedPart = DirectPart & { start: number; url: string }

/** How long the parts are of a file that its client writes to the bucket; undefined if there is no bucket, or nothing to write. */
export const partSizeOf = ({ storages }: Objects, size: number): number | undefined =>
  storages.uploads.direct && size > 0 ? Math.max(PART_BYTES, Math.ceil(size / PARTS_MAX)) : undefined

/** An upload, and the parts that its client has still to send to the bucket: the first hundred. */
export type BucketState = { upload: ResumableUpload; parts?: WantedPart[] }

/**
 * Looks at what the bucket has of an upload, which begins there at the first look. Nothing is missing as well if the bucket does not
 * tell any more.
 *
 * @throws NOT_FOUND if the configuration has no bucket any more; CONFLICT if the upload has ended; UNAVAILABLE
 */
export async function lookInBucket(
  { objects, uploads }: Context,
  looked: ResumableUpload,
): Promise<BucketState> {
  if (looked.object === null) return { upload: looked }
  const direct = directOf(objects, looked)
  const upload = isDirect(looked)
    ? looked
    : await uploads.nameInBucket(looked, await direct.begin(looked.object))
  const { size, object, bucket_upload: name } = upload
  const missing = isDirect(looked) ? missingOf(upload, await direct.partsOf(object, name)) : partsOf(upload)
  return missing.length > 0 ? withParts(direct, upload, missing) : { upload: { ...upload, received: size } }
}

/**
 * Completes an upload in the bucket, and takes its object for the only piece. For one request at a time.
 *
 * @throws NOT_FOUND if the bucket has nothing of it any more; UNAVAILABLE
 */
export async function completeInBucket(
  { objects, uploads }: Context,
  upload: ResumableUpload,
): Promise<ResumableUpload> {
  if (!isDirect(upload)) return upload
  const direct = directOf(objects, upload)
  const { id, size, object, bucket_upload: name } = upload
  const written = await direct.partsOf(object, name)
  // It was completed, and that could not be written down.
  const isComplete = !written && (await objects.storages.uploads.stat(object))?.size === size
  if (!written && !isComplete) throw noUpload(id)
  if (written) await direct.complete(object, name, written)
  return uploads.arrive(upload)
}

const isDirect = (upload: ResumableUpload): upload is DirectUpload => upload.bucket_upload !== null

/** @throws NOT_FOUND if the configuration has no bucket any more */
function directOf({ storages }: Objects, { id }: ResumableUpload): DirectWrites {
  if (!storages.uploads.direct) throw noUpload(id)
  return storages.uploads.direct
}

/** The parts of a file, all of the same size but the last. */
function partsOf({ size, part_size }: DirectUpload): (DirectPart & { start: number })[] {
  const count = Math.ceil(size / part_size)
  return Array.from({ length: count }, (_, i) => {
    const start = i * part_size
    return { number: i + 1, start, size: Math.min(part_size, size - start) }
  })
}

/** @param written undefined if that is not known */
function missingOf(upload: DirectUpload, written: readonly DirectPart[] | undefined) {
  if (!written) return []
  const sizes = new Map(written.map(({ number, size }) => [number, size]))
  return partsOf(upload).filter(({ number, size }) => sizes.get(number) !== size)
}

async function withParts(
  direct: DirectWrites,
  upload: DirectUpload,
  missing: readonly (DirectPart & { start: number })[],
): Promise<BucketState> {
  const parts = missing.slice(0, ADDRESSES)
  const urls = await direct.addressesOf(upload.object, upload.bucket_upload, parts, ADDRESS_SECONDS)
  const received = upload.size - missing.reduce((sum, { size }) => sum + size, 0)
  return { upload: { ...upload, received }, parts: parts.map((part, i) => ({ ...part, url: urls[i]! })) }
}
