import { createHash, webcrypto } from 'node:crypto'

import { BLOCK_BYTES, type S3Client, type S3Upload } from './s3-client.ts'
import { S3Failure } from './s3-failure.ts'
import type { S3Uploads } from './s3-uploads.ts'
import type { StoredBytes } from './storage.ts'

/** S3 takes none smaller than 5 MiB but the last. */
const PART_BYTES = 8 * 1_048_576
const PARTS_AT_ONCE = 2
/** S3 takes no more parts of an upload. */
const PARTS_MAX = 10_000
/** Up to here parts are of one size, as some services require; then the size doubles with every 1,000 parts. */
const EQUAL_PARTS = 5_000
const GROWTH_PARTS = 1_000
const GROWTH = 4

/** The size of a part: 10,000 of them have 536 GiB, and 5,000 have 39 GiB. */
const partBytes = (number: number): number =>
  PART_BYTES * 2 ** Math.max(0, Math.ceil((number - EQUAL_PARTS) / GROWTH_PARTS))

type Part = { number: number; bytes: Buffer; isLast: boolean }

/** What was sent: the SHA-256 of each block of 4 MiB, and of all. */
type Sent = StoredBytes & { blocks: string[] }

/**
 * Writes an object and reads it back: an answer of S3 proves nothing. The outcome is that of reading back, too, if the
 * bucket did not answer.
 *
 * @throws S3Failure; the reason of the signal; the error of `bytes` as it is
 */
export async function writeToS3(
  client: S3Client,
  uploads: S3Uploads,
  key: string,
  bytes: AsyncIterable<Buffer>,
  signal: AbortSignal | undefined,
): Promise<StoredBytes> {
  signal?.throwIfAborted()
  const sent: Sent = { size: 0, sha256: '', blocks: [] }
  const hash = createHash('sha256')
  const counted = async function* () {
    for await (const chunk of bytes) {
      signal?.throwIfAborted()
      hash.update(chunk)
      sent.size += chunk.length
      yield chunk
    }
    sent.sha256 = hash.digest('hex')
  }
  try {
    await send(client, uploads, key, counted(), sent.blocks, signal)
  } catch (error) {
    // All was sent, but what became of it is unknown.
    const isUnknown = error instanceof S3Failure && !error.isRefusal && sent.sha256 !== ''
    if (!isUnknown || !(await isStored(client, key, sent, signal))) throw error
    return sent
  }
  if (!(await isStored(client, key, sent, signal)))
    throw new S3Failure(`${client.name} has other bytes than it was sent`)
  return { size: sent.size, sha256: sent.sha256 }
}

async function send(
  client: S3Client,
  uploads: S3Uploads,
  key: string,
  bytes: AsyncIterable<Buffer>,
  blocks: string[],
  signal: AbortSignal | undefined,
): Promise<void> {
  const ended = new AbortController()
  const untilEnd = signal ? AbortSignal.any([signal, ended.signal]) : ended.signal
  const underWay = new Set<Promise<void>>()
  // Used again: what waits for the garbage collector would be hundreds of megabytes.
  const free: Buffer[] = []
  const take = (size: number): Buffer => {
    const buffer = free.pop()
    return buffer?.length === size ? buffer : Buffer.allocUnsafeSlow(size)
  }
  const etags: string[] = []
  const faults: unknown[] = []
  let upload: S3Upload | undefined
  const begin = async (): Promise<S3Upload> => {
    const begun = await client.beginUpload(key, signal)
    if (begun.isRepeated) await uploads.abort(key, begun.uploadId)
    return begun
  }
  async function putPart(to: S3Upload, part: Parameters<S3Client['putPart']>[1]): Promise<void> {
    try {
      etags[part.number - 1] = await client.putPart(to, part, untilEnd)
      free.push(part.bytes)
    } catch (error) {
      // Thrown before the next part.
      faults.push(error)
    }
  }
  const throwFault = (): void => {
    if (faults.length > 0) throw faults[0]
  }
  try {
    for await (const { number, bytes: part, isLast } of partsOf(bytes, take)) {
      const sha256 = await hashOf(part, blocks)
      if (number === 1 && isLast) return await client.put(key, part, sha256, signal)
      if (number > PARTS_MAX) throw new S3Failure(`${client.name} takes no object of this size`)
      upload ??= await begin()
      if (underWay.size === PARTS_AT_ONCE) await Promise.race(underWay)
      throwFault()
      const call = putPart(upload, { number, bytes: part, sha256 }).finally(() => underWay.delete(call))
      underWay.add(call)
    }
    await Promise.all(underWay)
    throwFault()
    await client.completeUpload(upload!, etags, signal)
  } catch (error) {
    ended.abort()
    await Promise.all(underWay)
    throw error
  }
}

/**
 * The parts of an object, the first one also if it has no bytes.
 *
 * @param take answers a buffer of this size
 */
async function* partsOf(bytes: AsyncIterable<Buffer>, take: (size: number) => Buffer): AsyncGenerator<Part> {
  let [number, size] = [1, 0]
  let part: Buffer = Buffer.alloc(0)
  for await (const chunk of bytes) {
    let rest = chunk
    while (rest.length > 0) {
      const limit = partBytes(number)
      if (size === limit) {
        yield { number, bytes: part, isLast: false }
        part = Buffer.alloc(0)
        number++
        size = 0
        continue
      }
      const room = Math.min(rest.length, limit - size)
      if (size + room > part.length) {
        // Most objects are small: the buffer of the first part grows with them.
        const larger = number === 1 ? Math.min(limit, Math.max(size + room, part.length * GROWTH)) : limit
        const buffer = take(larger)
        part.copy(buffer, 0, 0, size)
        part = buffer
      }
      rest.copy(part, size, 0, room)
      rest = rest.subarray(room)
      size += room
    }
  }
  yield { number, bytes: part.subarray(0, size), isLast: true }
}

/** Adds the hashes of its blocks, and answers that of the part. */
async function hashOf(part: Buffer, blocks: string[]): Promise<string> {
  if (part.length <= BLOCK_BYTES) {
    const hash = await sha256(part)
    blocks.push(hash)
    return hash
  }
  for (let at = 0; at < part.length; at += BLOCK_BYTES)
    blocks.push(await sha256(part.subarray(at, at + BLOCK_BYTES)))
  return sha256(part)
}

/** On a thread of its own: 8 MiB would hold up the event loop for 10 ms and more. */
const sha256 = async (bytes: Buffer): Promise<string> =>
  Buffer.from(await webcrypto.subtle.digest('SHA-256', bytes as Buffer<ArrayBuffer>)).toString('hex')

/** Whether the bucket has what was sent. */
async function isStored(
  client: S3Client,
  key: string,
  { size, blocks }: Sent,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  // Of an object without bytes there is no range.
  if (size === 0) return (await client.sizeOf(key, signal)) === 0
  let [next, isSame] = [0, true]
  const compare = async (): Promise<void> => {
    for (let at = next++; isSame && at < blocks.length; at = next++) {
      const start = at * BLOCK_BYTES
      const block = await client.get(key, { start, end: start + BLOCK_BYTES - 1 }, { signal })
      if (block.total !== size || (await sha256(block.bytes)) !== blocks[at]) isSame = false
    }
  }
  const results = await Promise.allSettled(Array.from({ length: PARTS_AT_ONCE }, compare))
  for (const result of results)
    if (result.status === 'rejected') {
      const { reason } = result as { reason: unknown }
      if (reason instanceof S3Failure && reason.code === 'NoSuchKey') return false
      throw reason
    }
  return isSame
}
