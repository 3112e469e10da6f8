import { webcrypto } from 'node:crypto'

import type { S3Client as SdkClient, S3ClientConfig } from '@aws-sdk/client-s3'

import { awsRequestHandler } from '../../../outbound/aws-request-handler.ts'
import { createOutbound } from '../../../outbound/outbound.ts'
import { S3Failure, s3FailureOf } from './s3-failure.ts'
import type { S3Config } from './s3-config.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'

/** The most bytes that one call reads: its answer is in memory as a whole. */
export const BLOCK_BYTES = 4 * 1_048_576
export const SHA256_HEADER = 'x-amz-content-sha256'
const HEADERS_ROOM = 65_536
const TRIES = 3
const PAUSE_MS = 100
const PAUSE_GROWTH = 4

/** Milliseconds for one try of a call and for all its tries together, and how many there may be. Default: 3. */
export type S3Limits = { tryMs: number; totalMs: number; tries?: number }
export const LIMITS: S3Limits = { tryMs: 10_000, totalMs: 15_000 }
/** Of a call that carries bytes: 8 MiB in 45 seconds are 1.5 Mbit/s. */
export const BYTES_LIMITS: S3Limits = { tryMs: 45_000, totalMs: 90_000 }
/** An answer to `/store/health` waits for two seconds. */
const PING_LIMITS: S3Limits = { tryMs: 1_800, totalMs: 1_800 }

const loadSdk = () => import('@aws-sdk/client-s3')
export type S3Sdk = Awaited<ReturnType<typeof loadSdk>>

/** A try of a call: the SDK, how to send a command, and how many tries failed before. */
export type S3Try = { sdk: S3Sdk; send: SdkClient['send']; earlier: number }

/** A bucket, and how its calls are made. */
export type S3Client = {
  /** How sentences for the operator name the bucket: `the bucket shop at s3.eu-central-1.amazonaws.com`. */
  readonly name: string
  readonly bucket: string
  /** Loads the SDK, at the first call. */
  open(): Promise<{ sdk: S3Sdk; client: SdkClient }>
  /**
   * Makes a call within its limits.
   *
   * @throws S3Failure; the reason of the signal that ended it
   */
  run: <T>(
    limits: S3Limits,
    signal: AbortSignal | undefined,
    call: (attempt: S3Try) => Promise<T>,
  ) => Promise<T>
  /** @throws S3Failure if the bucket cannot be reached */
  ping(): Promise<void>
  close(): void
}

export function createS3Client(
  { clock }: Pick<WireContext, 'clock'>,
  { config }: { config: S3Config },
): S3Client {
  const { bucket, region, endpoint } = config
  const name = `the bucket ${bucket} at ${endpoint?.host ?? `s3.${region}.amazonaws.com`}`
  const outbound = createOutbound({ name, keepAlive: true, maxBytes: BLOCK_BYTES + HEADERS_ROOM, clock })
  const requestHandler = awsRequestHandler(() => outbound) as NonNullable<S3ClientConfig['requestHandler']>
  let client: SdkClient | undefined

  async function open() {
    const sdk = await loadSdk()
    if (!client) {
      client = new sdk.S3Client({ ...configurationOf(config), requestHandler })
      client.middlewareStack.add((next) => async (args) => next(await withSha256(args)), { step: 'build' })
    }
    return { sdk, client }
  }

  const run: S3Client['run'] = async ({ tryMs, totalMs, tries = TRIES }, signal, call) => {
    // Loading is not counted: on a busy machine it takes longer than a ping may.
    const { sdk, client } = await open()
    signal?.throwIfAborted()
    const late = new AbortController()
    const clear = clock.timer(totalMs, () => late.abort())
    const abortSignal = signal ? AbortSignal.any([signal, late.signal]) : late.signal
    try {
      const options = { requestTimeout: tryMs, abortSignal }
      const send = ((command: never) => client.send(command, options)) as SdkClient['send']
      for (let earlier = 0; ; earlier++)
        try {
          return await call({ sdk, send, earlier })
        } catch (error) {
          signal?.throwIfAborted()
          if (late.signal.aborted)
            throw new S3Failure(`${name} has not answered for ${totalMs / 1000} seconds`)
          const failure = s3FailureOf(error, name)
          if (earlier + 1 === tries || !failure.isPassing) throw failure
          const pauseMs = PAUSE_MS * PAUSE_GROWTH ** earlier * (0.5 + Math.random() / 2)
          await clock.sleep(pauseMs, { signal: abortSignal })
        }
    } finally {
      clear()
    }
  }

  return {
    name,
    bucket,
    open,
    run,
    ping: () =>
      run(PING_LIMITS, undefined, async ({ sdk, send }) => {
        try {
          await send(new sdk.HeadBucketCommand({ Bucket: bucket }))
        } catch (error) {
          throw s3FailureOf(error, name, true)
        }
      }),
    close() {
      client?.destroy()
      outbound.close()
    },
  }
}

/** How the SDK reaches a bucket. */
export const configurationOf = ({ region, endpoint, credentials, pathStyle }: S3Config): S3ClientConfig => ({
  region,
  ...(endpoint && { endpoint: endpoint.href }),
  ...(credentials && { credentials }),
  forcePathStyle: pathStyle,
  // Repeated by us: the SDK's own tries wait by the system's clock, and stop for all calls if many fail.
  maxAttempts: 1,
  // Some services refuse headers of checksums, or store trailers as content. The SHA-256 of the signature is of every service.
  requestChecksumCalculation: 'WHEN_REQUIRED',
  responseChecksumValidation: 'WHEN_REQUIRED',
  // Our HTTP client does not wait for 100 (Continue).
  expectContinueHeader: false,
})

/**
 * Sets the SHA-256 of the body, which is signed, and which the service compares. It is computed on a thread of its own: on
 * the event loop, as the SDK does it, 8 MiB take 10 ms and more.
 */
async function withSha256<T extends { request: unknown }>(args: T): Promise<T> {
  const { headers, body } = args.request as { headers: Record<string, string>; body: unknown }
  if (body instanceof Uint8Array) {
    const hash = await webcrypto.subtle.digest('SHA-256', body as Uint8Array<ArrayBuffer>)
    headers[SHA256_HEADER] = Buffer.from(hash).toString('hex')
  }
  return args
}
