import type { S3ClientConfig } from '@aws-sdk/client-s3'

import { BYTES_LIMITS, configurationOf, LIMITS, type S3Client } from './s3-client.ts'
import type { S3Config } from './s3-config.ts'
import { S3Failure } from './s3-failure.ts'
import { statInS3 } from './s3-list.ts'
import type { DirectPart, DirectWrites, WrittenPart } from './storage.ts'

/** S3 answers no more parts at once. */
const PARTS_OF_LIST = 1_000

/** Objects that others write in parts, by addresses that are signed for them. Keys are those in the bucket. */
export function createS3Direct(client: S3Client, config: S3Config): DirectWrites {
  return {
    begin: (key) => beginUpload(client, key),
    addressesOf: (key, uploadId, parts, seconds) =>
      signParts(client, config, { key, uploadId, parts, seconds }),
    partsOf: (key, uploadId) => partsOf(client, key, uploadId),
    complete: (key, uploadId, parts) => completeUpload(client, key, uploadId, parts),
  }
}

const beginUpload = ({ bucket: Bucket, name, run }: S3Client, Key: string): Promise<string> =>
  run(LIMITS, undefined, async ({ sdk, send }) => {
    const { UploadId } = await send(
      new sdk.CreateMultipartUploadCommand({ Bucket, Key, ContentType: 'application/octet-stream' }),
    )
    if (UploadId === undefined) throw new S3Failure(`${name} began an upload without an id`)
    return UploadId
  })

/** Signs the length of each part as well, so that nobody stores more than there is room for. */
async function signParts(
  { bucket: Bucket, open }: S3Client,
  config: S3Config,
  {
    key,
    uploadId,
    parts,
    seconds,
  }: { key: string; uploadId: string; parts: readonly DirectPart[]; seconds: number },
): Promise<string[]> {
  const [{ sdk }, { getSignedUrl }] = await Promise.all([open(), import('@aws-sdk/s3-request-presigner')])
  const options: S3ClientConfig = configurationOf({
    ...config,
    endpoint: config.publicEndpoint ?? config.endpoint,
  })
  // Another one than makes our calls: that one adds the SHA-256 of what it sends.
  const signer = new sdk.S3Client(options)
  const sign = ({ number, size }: DirectPart) =>
    getSignedUrl(
      signer,
      new sdk.UploadPartCommand({
        Bucket,
        Key: key,
        UploadId: uploadId,
        PartNumber: number,
        ContentLength: size,
      }),
      { expiresIn: seconds },
    )
  try {
    return await Promise.all(parts.map(sign))
  } finally {
    signer.destroy()
  }
}

async function partsOf(client: S3Client, key: string, uploadId: string): Promise<WrittenPart[] | undefined> {
  try {
    return await listParts(client, key, uploadId)
  } catch (error) {
    if (error instanceof S3Failure && error.code === 'NoSuchUpload') return undefined
    throw error
  }
}

async function listParts(
  { bucket: Bucket, run }: S3Client,
  Key: string,
  UploadId: string,
): Promise<WrittenPart[]> {
  const parts: WrittenPart[] = []
  for (let after: string | undefined, isLast = false; !isLast;) {
    const page = await run(LIMITS, undefined, ({ sdk, send }) =>
      send(
        new sdk.ListPartsCommand({
          Bucket,
          Key,
          UploadId,
          MaxParts: PARTS_OF_LIST,
          ...(after !== undefined && { PartNumberMarker: after }),
        }),
      ),
    )
    for (const { PartNumber = 0, Size = 0, ETag = '' } of page.Parts ?? [])
      parts.push({ number: PartNumber, size: Size, etag: ETag })
    isLast = !page.IsTruncated || page.NextPartNumberMarker === after
    after = page.NextPartNumberMarker
  }
  return parts
}

/** If the answer is lost, or another replica was first, what the bucket has decides. */
async function completeUpload(
  client: S3Client,
  Key: string,
  UploadId: string,
  parts: readonly WrittenPart[],
): Promise<void> {
  const { bucket: Bucket, run } = client
  const Parts = parts.map(({ number, etag }) => ({ PartNumber: number, ETag: etag }))
  try {
    await run(BYTES_LIMITS, undefined, ({ sdk, send }) =>
      send(new sdk.CompleteMultipartUploadCommand({ Bucket, Key, UploadId, MultipartUpload: { Parts } })),
    )
  } catch (error) {
    const isUnknown = error instanceof S3Failure && !error.isRefusal
    const stored = isUnknown ? await statInS3(client, Key, Key) : undefined
    const size = parts.reduce((sum, part) => sum + part.size, 0)
    if (stored?.size !== size) throw error
  }
}
