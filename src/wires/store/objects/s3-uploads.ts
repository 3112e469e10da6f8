import type { S3Client } from './s3-client.ts'
import { NO_BUCKET, S3Failure } from './s3-failure.ts'

/** Answers of services that know no list of uploads. */
const NOT_IMPLEMENTED: ReadonlySet<number | undefined> = new Set([404, 405, 501])

/** Uploads in parts that were begun and not completed: they take space, and no list of objects shows them. */
export type S3Uploads = {
  /**
   * Aborts those of a key.
   *
   * @param except the one that goes on
   */
  abort(key: string, except?: string): Promise<void>
}

export function createS3Uploads(
  client: S3Client,
  log: { warn(fields: object, text: string): void },
): S3Uploads {
  let isImplemented = true

  async function abortOne(key: string, uploadId: string): Promise<void> {
    try {
      await client.abortUpload({ key, uploadId })
    } catch (error) {
      // It was completed or aborted meanwhile.
      if (!(error instanceof S3Failure) || error.code !== 'NoSuchUpload') throw error
    }
  }

  return {
    async abort(key, except) {
      if (!isImplemented) return
      try {
        for (const uploadId of await client.uploadsOf(key))
          if (uploadId !== except) await abortOne(key, uploadId)
      } catch (error) {
        if (!(error instanceof S3Failure) || !NOT_IMPLEMENTED.has(error.status)) throw error
        if (error.code === NO_BUCKET) throw error
        isImplemented = false
        const text = `${client.name} cannot abort uploads: give it a rule that deletes unfinished ones after a day`
        log.warn({ err: error }, text)
      }
    },
  }
}
