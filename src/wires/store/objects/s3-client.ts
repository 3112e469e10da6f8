import type { Readable } from 'node:stream'

import type { S3Client as SdkClient, S3ClientConfig } from '@aws-sdk/client-s3'

import type { Clock } from '../../../base/clock.ts'
import { awsRequestHandler } from '../../../outbound/aws-request-handler.ts'
import { createOutbound } from '../../../outbound/outbound.ts'
import { S3Failure, s3FailureOf } from './s3-failure.ts'
import type { S3Config } from './s3-config.ts'
import type { ByteRange } from './storage.ts'

/** The most bytes that one call reads: its answer is in memory as a whole. */
export const BLOCK_BYTES = 4 * 1_048_576
const HEADERS_ROOM = 65_536
/** One try of a call that carries bytes, and all its tries together. 8 MiB in 45 seconds is 1.5 Mbit/s. */
const BYTES_LIMITS = { tryMs: 45_000, totalMs: 90_000 }
const LIMITS = { tryMs: 10_000, totalMs: 15_000 }
/** An answer to `/store/health` waits for two seconds. */
const PING_LIMITS = { tryMs: 1_800, totalMs: 1_800 }
const TRIES = 3
const PAUSE_MS = 100
const PAUSE_GROWTH = 4

/** A part of an object, and how large the whole is. */
export type S3Bytes = { bytes: Buffer; total: number; etag: string | undefined }

/** An upload in parts that was begun. If the call was repeated, the bucket may have begun two. */
export type S3Upload = { key: string; uploadId: string; isRepeated: boolean }

/**
 * The calls of one bucket, each repeated up to twice within its limit of time.
 *
 * @throws S3Failure from all of them; the reason of the signal that ended the call
 */
export type S3Client = {
  /** How sentences for the operator name the bucket: `the bucket shop at s3.eu-central-1.amazonaws.com`. */
  readonly name: string
  ping(): Promise<void>
  /** @param etag the object must still have it */
  get(
    key: string,
    range: ByteRange,
    options?: { etag?: string | undefined; signal?: AbortSignal | undefined },
  ): Promise<S3Bytes>
  /** @returns how many bytes the object has */
  sizeOf(key: string, signal?: AbortSignal): Promise<number | undefined>
  /** @param sha256 of the bytes in hex, which the bucket compares */
  put(key: string, bytes: Buffer, sha256: string, signal?: AbortSignal): Promise<void>
  remove(key: string): Promise<void>
  beginUpload(key: string, signal?: AbortSignal): Promise<S3Upload>
  /** @returns the ETag of the part */
  putPart(
    upload: S3Upload,
    part: { number: number; bytes: Buffer; sha256: string },
    signal?: AbortSignal,
  ): Promise<string>
  /** @param etags of the parts, in their order */
  completeUpload(upload: S3Upload, etags: readonly string[], signal?: AbortSignal): Promise<void>
  abortUpload(upload: Pick<S3Upload, 'key' | 'uploadId'>): Promise<void>
  /** The ids of uploads of a key that were begun and neither completed nor aborted. */
  uploadsOf(key: string): Promise<string[]>
  close(): void
}

/** The client of a bucket. The SDK is loaded at the first call. */
export function createS3Client(config: S3Config, clock: Clock): S3Client {
  const { bucket: Bucket, region, endpoint, credentials, pathStyle } = config
  const name = `the bucket ${Bucket} at ${endpoint?.host ?? `s3.${region}.amazonaws.com`}`
  const outbound = createOutbound({
    name,
    keepAlive: true,
    maxBytes: BLOCK_BYTES + HEADERS_ROOM,
    clock,
  })
  let client: SdkClient | undefined

  const load = () => import('@aws-sdk/client-s3')
  type Sdk = Awaited<ReturnType<typeof load>>

  const configuration = (): S3ClientConfig => ({
    region,
    ...(endpoint && { endpoint: endpoint.href }),
    ...(credentials && { credentials }),
    forcePathStyle: pathStyle,
    // Repeated here: the SDK's own tries wait by the system's clock, and stop for all calls if many fail.
    maxAttempts: 1,
    // Checksums in trailers are stored as content by servers that do not know them; what was stored is read back instead.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    // Our HTTP client does not wait for 100 (Continue).
    expectContinueHeader: false,
    requestHandler: awsRequestHandler(() => outbound) as NonNullable<S3ClientConfig['requestHandler']>,
  })

  type Options = { requestTimeout: number; abortSignal: AbortSignal }

  /** Makes a call within the limits; `work` gets how often it was called before. */
  async function run<T>(
    limits: typeof LIMITS,
    signal: AbortSignal | undefined,
    work: (client: SdkClient, sdk: Sdk, options: Options, earlier: number) => Promise<T>,
  ): Promise<T> {
    signal?.throwIfAborted()
    const { tryMs, totalMs } = limits
    const late = new AbortController()
    const clear = clock.timer(totalMs, () => late.abort())
    const abortSignal = signal ? AbortSignal.any([signal, late.signal]) : late.signal
    try {
      const sdk = await load()
      client ??= new sdk.S3Client(configuration())
      for (let tries = 1; ; tries++)
        try {
          return await work(client, sdk, { requestTimeout: tryMs, abortSignal }, tries - 1)
        } catch (error) {
          signal?.throwIfAborted()
          if (late.signal.aborted)
            throw new S3Failure(`${name} has not answered for ${totalMs / 1000} seconds`)
          const failure = s3FailureOf(error, name, limits === PING_LIMITS)
          if (tries === TRIES || !failure.isPassing) throw failure
          const pauseMs = PAUSE_MS * PAUSE_GROWTH ** (tries - 1) * (0.5 + Math.random() / 2)
          await clock.sleep(pauseMs, { signal: abortSignal })
        }
    } finally {
      clear()
    }
  }

  async function get(
    Key: string,
    { start, end }: ByteRange,
    { etag, signal }: { etag?: string | undefined; signal?: AbortSignal | undefined } = {},
  ): Promise<S3Bytes> {
    try {
      return await run(BYTES_LIMITS, signal, async (client, { GetObjectCommand }, options) => {
        const Range = `bytes=${start}-${end}`
        const input = { Bucket, Key, Range, ...(etag !== undefined && { IfMatch: etag }) }
        const answer = await client.send(new GetObjectCommand(input), options)
        const chunks = (await (answer.Body as Readable).toArray()) as Buffer[]
        const body = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
        const part = partOf(answer.ContentRange, body, { start, end })
        if (!part)
          throw new S3Failure(`${name} answered another range than it was asked for`, { code: 'Range' })
        return { ...part, etag: answer.ETag }
      })
    } catch (error) {
      // Of an object without bytes there is no range.
      const isEmpty =
        error instanceof S3Failure && error.status === 416 && start === 0 && (await sizeOf(Key, signal)) === 0
      if (isEmpty) return { bytes: Buffer.alloc(0), total: 0, etag: undefined }
      throw error
    }
  }

  const sizeOf = (Key: string, signal?: AbortSignal): Promise<number | undefined> =>
    run(LIMITS, signal, async (client, { HeadObjectCommand }, options) => {
      const { ContentLength } = await client.send(new HeadObjectCommand({ Bucket, Key }), options)
      return ContentLength
    })

  return {
    name,
    get,
    sizeOf,

    ping: () =>
      run(PING_LIMITS, undefined, async (client, { HeadBucketCommand }, options) => {
        await client.send(new HeadBucketCommand({ Bucket }), options)
      }),

    put: (Key, Body, sha256, signal) =>
      run(BYTES_LIMITS, signal, async (client, { PutObjectCommand }, options) => {
        const input = { Bucket, Key, Body, ContentType: 'application/octet-stream' }
        const command = new PutObjectCommand(input)
        command.middlewareStack.add((next) => (args) => next(withHash(args, sha256)), { step: 'build' })
        await client.send(command, options)
      }),

    remove: (Key) =>
      run(LIMITS, undefined, async (client, { DeleteObjectCommand }, options) => {
        await client.send(new DeleteObjectCommand({ Bucket, Key }), options)
      }),

    beginUpload: (key, signal) =>
      run(LIMITS, signal, async (client, { CreateMultipartUploadCommand }, options, earlier) => {
        const input = { Bucket, Key: key, ContentType: 'application/octet-stream' }
        const { UploadId } = await client.send(new CreateMultipartUploadCommand(input), options)
        if (UploadId === undefined) throw new S3Failure(`${name} began an upload without an id`)
        return { key, uploadId: UploadId, isRepeated: earlier > 0 }
      }),

    putPart: ({ key: Key, uploadId: UploadId }, { number: PartNumber, bytes: Body, sha256 }, signal) =>
      run(BYTES_LIMITS, signal, async (client, { UploadPartCommand }, options) => {
        const command = new UploadPartCommand({ Bucket, Key, UploadId, PartNumber, Body })
        command.middlewareStack.add((next) => (args) => next(withHash(args, sha256)), { step: 'build' })
        const { ETag } = await client.send(command, options)
        if (ETag === undefined) throw new S3Failure(`${name} took a part without an ETag`)
        return ETag
      }),

    completeUpload: ({ key: Key, uploadId: UploadId }, etags, signal) =>
      // It may copy the parts of large objects before it answers.
      run(BYTES_LIMITS, signal, async (client, { CompleteMultipartUploadCommand }, options) => {
        const Parts = etags.map((ETag, at) => ({ ETag, PartNumber: at + 1 }))
        const input = { Bucket, Key, UploadId, MultipartUpload: { Parts } }
        await client.send(new CompleteMultipartUploadCommand(input), options)
      }),

    abortUpload: ({ key: Key, uploadId: UploadId }) =>
      run(LIMITS, undefined, async (client, { AbortMultipartUploadCommand }, options) => {
        await client.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId }), options)
      }),

    uploadsOf: (key) =>
      run(LIMITS, undefined, async (client, { ListMultipartUploadsCommand }, options) => {
        // They are sorted by key, so those of longer keys come later.
        const { Uploads = [] } = await client.send(
          new ListMultipartUploadsCommand({ Bucket, Prefix: key }),
          options,
        )
        return Uploads.flatMap(({ Key, UploadId }) =>
          Key === key && UploadId !== undefined ? [UploadId] : [],
        )
      }),

    close() {
      client?.destroy()
      outbound.close()
    },
  }
}

/** Sets the SHA-256 of the body that is signed, so that the SDK need not compute it on the event loop. */
function withHash<T extends { request: unknown }>(args: T, sha256: string): T {
  const { headers } = args.request as { headers: Record<string, string> }
  headers['x-amz-content-sha256'] = sha256
  return args
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
