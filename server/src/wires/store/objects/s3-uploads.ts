import { LIMITS, type S3Client } from './s3-client.ts'
import { NO_BUCKET, S3Failure } from './s3-failure.ts'

/** Answers of services that know no list of uploads. */
const NOT_IMPLEMENTED: ReadonlySet<number | undefined> = new Set([404, 405, 501])

/** Uploads in parts that were begun and not completed: they take space, and no list of objects shows them. */
export type S3Uploads = {
  /** Aborts those of a key. */
  abort(key: string): Promise<void>
  /** Likewise, beside an object that is stored: a failure is a warning. */
  abortOthers(key: string): Promise<void>
}

export function createS3Uploads(
  { log }: { log: { warn(fields: object, text: string): void } },
  { client }: { client: S3Client },
): S3Uploads {
  let isImplemented = true

  async function abort(key: string): Promise<void> {
    if (!isImplemented) return
    try {
      for (const uploadId of await uploadsOf(client, key)) await abortUpload(client, key, uploadId)
    } catch (error) {
      if (!(error instanceof S3Failure) || !NOT_IMPLEMENTED.has(error.status)) throw error
      if (error.code === NO_BUCKET) throw error
      isImplemented = false
      const text = `${client.name} cannot abort uploads: give it a rule that deletes unfinished ones after a day`
      log.warn({ err: error }, text)
    }
  }

  return {
    abort,
    async abortOthers(key) {
      try {
        await abort(key)
      } catch (error) {
        log.warn({ err: error }, `${client.name} may keep an unfinished upload of ${key}`)
      }
    },
  }
}

const uploadsOf = ({ bucket: Bucket, run }: S3Client, key: string): Promise<string[]> =>
  run(LIMITS, undefined, async ({ sdk, send }) => {
    // They are sorted by key, so those of longer keys come later.
    const { Uploads = [] } = await send(new sdk.ListMultipartUploadsCommand({ Bucket, Prefix: key }))
    return Uploads.flatMap(({ Key, UploadId }) => (Key === key && UploadId !== undefined ? [UploadId] : []))
  })

async function abortUpload({ bucket: Bucket, run }: S3Client, Key: string, UploadId: string): Promise<void> {
  try {
    await run(LIMITS, undefined, ({ sdk, send }) =>
      send(new sdk.AbortMultipartUploadCommand({ Bucket, Key, UploadId })),
    )
  } catch (error) {
    // It was completed or aborted meanwhile.
    if (!(error instanceof S3Failure) || error.code !== 'NoSuchUpload') throw error
  }
}
