import type { Clock } from '../../../base/clock.ts'
import { errors } from '../../../base/errors.ts'
import { newId } from '../../../base/ids.ts'
import { cached } from '../../../providers/health.ts'
import { createS3Client, LIMITS } from './s3-client.ts'
import type { S3Config } from './s3-config.ts'
import { createS3Direct } from './s3-direct.ts'
import { S3Failure } from './s3-failure.ts'
import { listS3, statInS3 } from './s3-list.ts'
import { readFromS3 } from './s3-read.ts'
import { tryBucket } from './s3-trial.ts'
import { createS3Uploads } from './s3-uploads.ts'
import { writeToS3 } from './s3-write.ts'
import { checkKey, NoSuchObject, type ObjectStorage, type WriteOptions } from './storage.ts'

const RETRY_SECONDS = 5
const WHOLE = { start: 0, end: Number.MAX_SAFE_INTEGER }

/** A bucket of S3 or of a service that speaks its protocol. */
export type S3Bucket = {
  /** Keeps objects below `<prefix><folder>/`. Its `close` closes the connections of the bucket. */
  storage(folder: string): ObjectStorage & Required<Pick<ObjectStorage, 'check'>>
}

export function openS3Bucket(
  { clock, log }: { clock: Clock; log: { warn(fields: object, text: string): void } },
  { config }: { config: S3Config },
): S3Bucket {
  const client = createS3Client({ clock }, { config })
  const uploads = createS3Uploads({ log }, { client })
  const direct = createS3Direct({ client }, { config })

  async function remove(key: string): Promise<void> {
    await client.run(LIMITS, undefined, ({ sdk, send }) =>
      send(new sdk.DeleteObjectCommand({ Bucket: client.bucket, Key: key })),
    )
    await uploads.abort(key)
  }

  const ensureTrial = (): Promise<unknown> => (trial ??= runTrial())

  async function write(key: string, bytes: AsyncIterable<Buffer>, options: WriteOptions) {
    await ensureTrial()
    try {
      return await writeToS3(client, uploads, key, bytes, options)
    } catch (error) {
      // What this cannot remove is removed by the garbage collector.
      await remove(key).catch(() => undefined)
      throw error
    }
  }

  // Anybody may ask for the health: a failure is remembered for as long as a success.
  const ping = cached(async () => {
    try {
      await client.ping()
    } catch (error) {
      return { error: error as Error }
    }
  }, clock)

  /** Of this process: before its first write, and again whenever the bucket is checked. */
  let trial: Promise<{ removal: Promise<void> }> | undefined

  async function runTrial(): Promise<{ removal: Promise<void> }> {
    const key = `${config.prefix}check/${newId(clock.now())}`
    try {
      const { comparesSha256 } = await tryBucket(client, key)
      if (!comparesSha256)
        log.warn({}, `${client.name} takes bytes that do not have the SHA-256 sent with them: use https`)
    } catch (error) {
      trial = undefined
      await remove(key).catch(() => undefined)
      throw error
    }
    const removal = remove(key)
    removal.catch((error: unknown) => log.warn({ err: error }, `${client.name} has not deleted ${key}`))
    return { removal }
  }

  async function check(): Promise<void> {
    await client.ping()
    trial = runTrial()
    await (
      await trial
    ).removal
  }

  function storage(folder: string): ReturnType<S3Bucket['storage']> {
    /** What callers of the API see: nothing of the bucket, which is the cause, for the log. */
    function toFault(key: string, error: unknown): unknown {
      if (!(error instanceof S3Failure)) return error
      if (error.code === 'NoSuchKey') return new NoSuchObject(key)
      return errors.unavailable({ retryAfter: RETRY_SECONDS, cause: error })
    }
    async function withFaults<T>(key: string, call: (path: string) => Promise<T>): Promise<T> {
      try {
        return await call(`${config.prefix}${folder}/${checkKey(key)}`)
      } catch (error) {
        throw toFault(key, error)
      }
    }
    return {
      name: 's3',
      write: (key, bytes, options = {}) => withFaults(key, (path) => write(path, bytes, options)),
      read: (key, range = WHOLE) =>
        withFaults(key, (path) => readFromS3(client, path, range, (error) => toFault(key, error))),
      remove: (key) => withFaults(key, remove),
      stat: (key) => withFaults(key, (path) => statInS3(client, key, path)),
      async *list() {
        try {
          yield* listS3(client, `${config.prefix}${folder}/`)
        } catch (error) {
          throw toFault('', error)
        }
      },
      direct: {
        create: (key) =>
          withFaults(key, async (path) => {
            await ensureTrial()
            return direct.create(path)
          }),
        presignParts: (key, ...wanted) => withFaults(key, (path) => direct.presignParts(path, ...wanted)),
        listParts: (key, id) => withFaults(key, (path) => direct.listParts(path, id)),
        complete: (key, ...upload) => withFaults(key, (path) => direct.complete(path, ...upload)),
      },
      async ping() {
        const fault = await ping()
        if (fault) throw fault.error
      },
      check,
      close: () => client.close(),
    }
  }

  return { storage }
}
