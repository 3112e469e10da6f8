import { Readable } from 'node:stream'

import { BLOCK_BYTES, BYTES_LIMITS, type S3Client } from './s3-client.ts'
import { S3Failure } from './s3-failure.ts'
import { headOf } from './s3-list.ts'
import type { ByteRange } from './storage.ts'

/** Most objects come with the first call. What follows grows, because many readers stop early, as players of videos do. */
const FIRST_BYTES = 262_144
const GROWTH = 4
const PRECONDITION_FAILED = 412
const RANGE_NOT_SATISFIABLE = 416

/** A part of an object, and how large the whole is. */
type S3Bytes = { bytes: Buffer; total: number; etag: string | undefined }

/**
 * Reads an object part by part, one of them ahead. An object that is replaced meanwhile ends the stream with an error.
 *
 * @param toFault makes the error of the stream
 * @throws S3Failure if the first part cannot be read
 */
export async function readFromS3(
  client: S3Client,
  key: string,
  { start, end }: ByteRange,
  toFault: (error: unknown) => unknown,
): Promise<Readable> {
  const ended = new AbortController()
  const first = await get(client, key, { start, end: Math.min(end, start + FIRST_BYTES - 1) })
  const { total, etag } = first
  const last = Math.min(end, total - 1)

  const next = async (from: number, size: number): Promise<S3Bytes> => {
    const range = { start: from, end: Math.min(last, from + size - 1) }
    const replaced = () => new S3Failure(`${client.name} has replaced an object while it was read`)
    try {
      const part = await get(client, key, range, { etag, signal: ended.signal })
      // Some services ignore If-Match.
      if (part.total !== total || part.etag !== etag) throw replaced()
      return part
    } catch (error) {
      throw error instanceof S3Failure && error.status === PRECONDITION_FAILED ? replaced() : error
    }
  }

  async function* parts(): AsyncGenerator<Buffer> {
    let [part, at, size] = [first, start, FIRST_BYTES]
    for (;;) {
      at += part.bytes.length
      size = Math.min(size * GROWTH, BLOCK_BYTES)
      const ahead = at <= last ? next(at, size) : undefined
      // It is thrown when its turn comes, which it may never.
      ahead?.catch(() => undefined)
      yield part.bytes
      if (!ahead) return
      try {
        part = await ahead
      } catch (error) {
        throw toFault(error)
      }
    }
  }

  const stream = Readable.from(parts(), { objectMode: false })
  stream.once('close', () => ended.abort())
  return stream
}

async function get(
  client: S3Client,
  Key: string,
  { start, end }: ByteRange,
  { etag, signal }: { etag?: string | undefined; signal?: AbortSignal } = {},
): Promise<S3Bytes> {
  try {
    return await client.run(BYTES_LIMITS, signal, async ({ sdk, send }) => {
      const input = { Bucket: client.bucket, Key, Range: `bytes=${start}-${end}` }
      const answer = await send(
        new sdk.GetObjectCommand({ ...input, ...(etag !== undefined && { IfMatch: etag }) }),
      )
      const chunks = (await (answer.Body as Readable).toArray()) as Buffer[]
      const body = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
      const part = partOf(answer.ContentRange, body, { start, end })
      if (!part)
        throw new S3Failure(`${client.name} answered another range than it was asked for`, { code: 'Range' })
      return { ...part, etag: answer.ETag }
    })
  } catch (error) {
    // Of an object without bytes there is no range.
    const isMaybeEmpty = error instanceof S3Failure && error.status === RANGE_NOT_SATISFIABLE && start === 0
    if (isMaybeEmpty && (await headOf(client, Key, signal)).size === 0)
      return { bytes: Buffer.alloc(0), total: 0, etag: undefined }
    throw error
  }
}

/** The bytes that were asked for; undefined if the answer has others. A server may answer more, or ignore the range. */
function partOf(
  contentRange: string | undefined,
  body: Buffer,
  { start, end }: ByteRange,
): { bytes: Buffer; total: number } | undefined {
  if (contentRange === undefined)
    return start <= body.length ? { bytes: body.subarray(start, end + 1), total: body.length } : undefined
  const [first = -1, last = -1, total = -1] = (/^bytes (\d+)-(\d+)\/(\d+)$/.exec(contentRange) ?? [])
    .slice(1)
    .map(Number)
  const isRight =
    first === start && last >= Math.min(end, total - 1) && last < total && body.length === last - first + 1
  return isRight ? { bytes: body.subarray(0, end - start + 1), total } : undefined
}
