import { noUpload } from '../../errors.ts'
import type { Objects } from '../../objects/objects.ts'
import type { DirectPart, DirectUploads } from '../../objects/storage.ts'
import type { DirectUpload, ResumableUpload, ResumableUploads } from './resumable-uploads.ts'

/** S3 takes at most 10,000 parts, of at least 5 MiB but for the last. */
const PART_BYTES = 8 * 1_048_576
const PARTS_MAX = 10_000
/** How many presigned URLs are answered at once, and for how many seconds they work. */
const URLS_MAX = 100
const URL_SECONDS = 3600

type Context = { objects: Objects; uploads: ResumableUploads }

/** A part that the client has to send: the bytes of the file from `start` on, by PUT. */
export type WantedPart = DirectPart & { start: number; url: string }

/** The size of the parts of a direct upload, in bytes; undefined if there is no bucket, or the file is empty. */
export const partSizeOf = ({ storages }: Objects, size: number): number | undefined =>
  storages.uploads.direct && size > 0 ? Math.max(PART_BYTES, Math.ceil(size / PARTS_MAX)) : undefined

/** An upload, and the first hundred parts that the bucket does not have. */
export type BucketState = { upload: ResumableUpload; parts?: WantedPart[] }

/**
 * Reads which parts of an upload the bucket has. The first call creates the upload in the bucket. No part is missing if the bucket
 * does not know the upload any more: it may be complete.
 *
 * @throws NOT_FOUND if the configuration has no bucket any more; CONFLICT if the upload has ended; UNAVAILABLE
 */
export async function readBucketState(context: Context, upload: ResumableUpload): Promise<BucketState> {
  if (upload.object === null) return { upload }
  const direct = directOf(context.objects, upload)
  if (isDirect(upload)) {
    const missing = missingParts(upload, await direct.listParts(upload.object, upload.bucket_upload))
    return missing.length > 0
      ? withPresignedUrls(direct, upload, missing)
      : { upload: { ...upload, received: upload.size } }
  }
  const bucketUpload = await direct.create(upload.object)
  const row = await context.uploads.setBucketUpload(upload, bucketUpload)
  return withPresignedUrls(direct, row, allParts(row))
}

/**
 * Completes an upload in the bucket, and claims its object as the only piece. For one request at a time.
 *
 * @throws NOT_FOUND if the bucket has nothing of it any more; UNAVAILABLE
 */
export async function completeInBucket(
  { objects, uploads }: Context,
  upload: ResumableUpload,
): Promise<ResumableUpload> {
  if (!isDirect(upload)) return upload
  const direct = directOf(objects, upload)
  const { id, size, object, bucket_upload } = upload
  const parts = await direct.listParts(object, bucket_upload)
  if (parts) await direct.complete(object, bucket_upload, parts)
  // An earlier request completed it, and could not store that.
  else if ((await objects.storages.uploads.stat(object))?.size !== size) throw noUpload(id)
  return uploads.claimObject(upload)
}

const isDirect = (upload: ResumableUpload): upload is DirectUpload => upload.bucket_upload !== null

/** @throws NOT_FOUND if the configuration has no bucket any more */
function directOf({ storages }: Objects, { id }: ResumableUpload): DirectUploads {
  if (!storages.uploads.direct) throw noUpload(id)
  return storages.uploads.direct
}

/** The parts of a file, all of the same size but the last. */
function allParts({ size, part_size }: DirectUpload): (DirectPart & { start: number })[] {
  const count = Math.ceil(size / part_size)
  return Array.from({ length: count }, (_, i) => {
    const start = i * part_size
    return { number: i + 1, start, size: Math.min(part_size, size - start) }
  })
}

/** @param stored undefined if they are not known */
function missingParts(upload: DirectUpload, stored: readonly DirectPart[] | undefined) {
  if (!stored) return []
  const sizes = new Map(stored.map(({ number, size }) => [number, size]))
  return allParts(upload).filter(({ number, size }) => sizes.get(number) !== size)
}

async function withPresignedUrls(
  direct: DirectUploads,
  upload: DirectUpload,
  missing: readonly (DirectPart & { start: number })[],
): Promise<BucketState> {
  const parts = missing.slice(0, URLS_MAX)
  const urls = await direct.presignParts(upload.object, upload.bucket_upload, parts, URL_SECONDS)
  const received = upload.size - missing.reduce((sum, { size }) => sum + size, 0)
  return { upload: { ...upload, received }, parts: parts.map((part, i) => ({ ...part, url: urls[i]! })) }
}
