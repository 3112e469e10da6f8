import type { ListObjectsV2CommandOutput } from '@aws-sdk/client-s3'

import { LIMITS, type S3Client } from './s3-client.ts'
import { S3Failure } from './s3-failure.ts'
import { isKey, type StoredObject } from './storage.ts'

const NOT_FOUND = 404

/** The length of an object in bytes, and when it was written. @throws S3Failure */
export const headOf = (
  client: S3Client,
  Key: string,
  signal?: AbortSignal,
): Promise<{ size: number | undefined; modifiedAt: number }> =>
  client.run(LIMITS, signal, async ({ sdk, send }) => {
    const { ContentLength, LastModified } = await send(
      new sdk.HeadObjectCommand({ Bucket: client.bucket, Key }),
    )
    return { size: ContentLength, modifiedAt: LastModified?.getTime() ?? 0 }
  })

/** The object at `path`; undefined if there is none. @throws S3Failure */
export async function statInS3(
  client: S3Client,
  key: string,
  path: string,
): Promise<StoredObject | undefined> {
  try {
    const { size = 0, modifiedAt } = await headOf(client, path)
    return { key, size, modifiedAt, isPart: false }
  } catch (error) {
    // An answer to HEAD has no code.
    if (error instanceof S3Failure && error.status === NOT_FOUND) return undefined
    throw error
  }
}

/** The objects below a prefix, as many at a time as the service answers. Unfinished uploads are not among them. @throws S3Failure */
export async function* listS3(client: S3Client, Prefix: string): AsyncGenerator<StoredObject[]> {
  let token: string | undefined
  do {
    const page = await pageOf(client, Prefix, token)
    yield (
      page.Contents?.flatMap(({ Key = '', Size = 0, LastModified }) => {
        const key = Key.slice(Prefix.length)
        return isKey(key) ? { key, size: Size, modifiedAt: LastModified?.getTime() ?? 0, isPart: false } : []
      }) ?? []
    )
    const next = page.IsTruncated ? page.NextContinuationToken : undefined
    if (page.IsTruncated && (next === undefined || next === token))
      throw new S3Failure(`${client.name} does not say how its list of objects goes on`)
    token = next
  } while (token !== undefined)
}

const pageOf = (
  { bucket: Bucket, run }: S3Client,
  Prefix: string,
  ContinuationToken: string | undefined,
): Promise<ListObjectsV2CommandOutput> =>
  run(LIMITS, undefined, ({ sdk, send }) =>
    send(new sdk.ListObjectsV2Command({ Bucket, Prefix, ContinuationToken })),
  )
