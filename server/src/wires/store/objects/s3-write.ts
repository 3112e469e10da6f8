import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'

import type { PutObjectCommand, S3Client as SdkClient } from '@aws-sdk/client-s3'

import { gathered, GATHERED_CHUNKS } from './gathered.ts'
import { BYTES_LIMITS, type S3Client } from './s3-client.ts'
import { S3Failure } from './s3-failure.ts'
import { readFromS3 } from './s3-read.ts'
import type { S3Uploads } from './s3-uploads.ts'
import type { StoredBytes, WriteOptions } from './storage.ts'

/** All parts are of one size, as some services require; S3 takes none smaller than 5 MiB but the last. */
const PART_BYTES = 8 * 1_048_576
const PARTS_AT_ONCE = 2
/** S3 takes no more parts of an upload. */
const PARTS_MAX = 10_000
const WHOLE = { start: 0, end: Number.MAX_SAFE_INTEGER }

/**
 * Writes an object. If all its bytes were sent and the bucket did not answer, what it has is read back and decides.
 *
 * @throws S3Failure; the reason of the signal; the error of `bytes` as it is
 */
export async function writeToS3(
  client: S3Client,
  uploads: S3Uploads,
  key: string,
  bytes: AsyncIterable<Buffer>,
  options: WriteOptions,
): Promise<StoredBytes> {
  const { signal, sha256 } = options
  signal?.throwIfAborted()
  const stored: StoredBytes = { size: 0, sha256: '' }
  async function* hashed(): AsyncGenerator<Buffer> {
    const hash = sha256 ? undefined : createHash('sha256')
    for await (const chunk of bytes) {
      hash?.update(chunk)
      stored.size += chunk.length
      yield chunk
    }
    stored.sha256 = hash?.digest('hex') ?? sha256!()
  }
  let isRepeated = false
  try {
    ;({ isRepeated } = await upload(client, key, hashed(), options))
  } catch (error) {
    const isUnknown = error instanceof S3Failure && !error.isRefusal && stored.sha256 !== ''
    if (!isUnknown || !(await isStored(client, key, stored.sha256, signal))) throw error
  }
  // The answer to the first beginning was lost: there may be two uploads.
  if (isRepeated) await uploads.abortOthers(key)
  return stored
}

/** Whether the bucket has an object of these bytes. @throws S3Failure if it cannot be read; the reason of the signal */
export async function isStored(
  client: S3Client,
  key: string,
  sha256: string,
  signal?: AbortSignal,
): Promise<boolean> {
  const hash = createHash('sha256')
  try {
    for await (const piece of await readFromS3(client, key, WHOLE, (error) => error)) {
      signal?.throwIfAborted()
      hash.update(piece as Buffer)
    }
  } catch (error) {
    if (error instanceof S3Failure && error.code === 'NoSuchKey') return false
    throw error
  }
  return hash.digest('hex') === sha256
}

/** Uploads with `@aws-sdk/lib-storage`, whose calls are made, repeated and ended by our client. */
async function upload(
  client: S3Client,
  Key: string,
  bytes: AsyncIterable<Buffer>,
  { signal, maxBytes = 0 }: WriteOptions,
): Promise<{ isRepeated: boolean }> {
  const [{ Upload }, { sdk, client: sdkClient }] = await Promise.all([
    import('@aws-sdk/lib-storage'),
    client.open(),
  ])
  // The first failure ends the calls that are under way, and the waiting for bytes.
  const failed = new AbortController()
  const end = signal ? AbortSignal.any([signal, failed.signal]) : failed.signal
  let isRepeated = false

  async function send(command: Parameters<SdkClient['send']>[0]): Promise<unknown> {
    try {
      if (command instanceof sdk.UploadPartCommand && command.input.PartNumber! > PARTS_MAX)
        throw new S3Failure(`${client.name} takes no object of this size`)
      return await client.run(BYTES_LIMITS, end, ({ send, earlier }) => {
        isRepeated ||= earlier > 0 && command instanceof sdk.CreateMultipartUploadCommand
        return send(command as PutObjectCommand)
      })
    } catch (error) {
      failed.abort(error)
      throw error
    }
  }

  async function* pieces(): AsyncGenerator<Buffer> {
    try {
      for await (const chunks of gathered(bytes, end)) {
        if (chunks.length < GATHERED_CHUNKS) yield* chunks
        // A short one may hold the whole buffer that it was read into.
        else yield Buffer.concat(chunks)
      }
    } catch (error) {
      failed.abort(error)
      throw error
    }
  }

  const body = Readable.from(pieces(), { objectMode: false })
  body.on('error', () => undefined)
  try {
    await new Upload({
      client: Object.assign(Object.create(sdkClient) as SdkClient, { send }),
      params: { Bucket: client.bucket, Key, Body: body, ContentType: 'application/octet-stream' },
      queueSize: PARTS_AT_ONCE,
      // If this fails, the object is removed, and with it all uploads of its key.
      leavePartsOnError: true,
      partSize: Math.max(PART_BYTES, Math.ceil(maxBytes / PARTS_MAX)),
    }).done()
  } catch (error) {
    if (end.aborted) throw end.reason
    throw new S3Failure(`${client.name} took a part without an ETag`, { code: (error as Error).name })
  }
  return { isRepeated }
}
