import { Readable } from 'node:stream'

import { BLOCK_BYTES, type S3Bytes, type S3Client } from './s3-client.ts'
import { S3Failure } from './s3-failure.ts'
import type { ByteRange } from './storage.ts'

/** Most objects come with the first call. What follows grows, because many readers stop early, as players of videos do. */
const FIRST_BYTES = 262_144
const GROWTH = 4
const PRECONDITION_FAILED = 412

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
  const first = await client.get(key, { start, end: Math.min(end, start + FIRST_BYTES - 1) })
  const { total, etag } = first
  const last = Math.min(end, total - 1)

  const next = async (from: number, size: number): Promise<S3Bytes> => {
    const range = { start: from, end: Math.min(last, from + size - 1) }
    const replaced = () => new S3Failure(`${client.name} has replaced an object while it was read`)
    try {
      const part = await client.get(key, range, { etag, signal: ended.signal })
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
