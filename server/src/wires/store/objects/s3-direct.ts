import type { S3Client as SdkClient } from '@aws-sdk/client-s3'
import type { getSignedUrl as getSignedUrlType } from '@aws-sdk/s3-request-presigner'

import { onceResolved } from '../../../base/once.ts'
import { BYTES_LIMITS, configurationOf, LIMITS, type S3Client, type S3Sdk } from './s3-client.ts'
import type { S3Config } from './s3-config.ts'
import { S3Failure } from './s3-failure.ts'
import { statInS3 } from './s3-list.ts'
import type { DirectPart, DirectUploads, StoredPart } from './storage.ts'

/** S3 answers no more parts at once. */
const PARTS_OF_LIST = 1_000

/** Uploads by clients in parts, with presigned URLs. Keys are those in the bucket. */
export function createS3Direct(
  { client }: { client: S3Client },
  { config }: { config: S3Config },
): DirectUploads {
  const signer = onceResolved(() => openSigner(client, config))
  return {
    create: (key) => createUpload(client, key),
    presignParts: async (key, uploadId, parts, seconds) =>
      presignParts(await signer(), { Bucket: client.bucket, Key: key, UploadId: uploadId }, parts, seconds),
    listParts: (key, uploadId) => listParts(client, key, uploadId),
    complete: (key, uploadId, parts) => completeUpload(client, key, uploadId, parts),
  }
}

const createUpload = ({ bucket: Bucket, name, run }: S3Client, Key: string): Promise<string> =>
  run(LIMITS, undefined, async ({ sdk, send }) => {
    const { UploadId } = await send(
      new sdk.CreateMultipartUploadCommand({ Bucket, Key, ContentType: 'application/octet-stream' }),
    )
    if (UploadId === undefined) throw new S3Failure(`${name} created an upload without an id`)
    return UploadId
  })

type Signer = { sdk: S3Sdk; getSignedUrl: typeof getSignedUrlType; client: SdkClient }

/** Another client than makes our calls: that one adds the SHA-256 of what it sends. */
async function openSigner(s3: S3Client, config: S3Config): Promise<Signer> {
  const [{ sdk, client }, { getSignedUrl }] = await Promise.all([
    s3.open(),
    import('@aws-sdk/s3-request-presigner'),
  ])
  const { credentials } = client.config
  const endpoint = config.publicEndpoint ?? config.endpoint
  return {
    sdk,
    getSignedUrl,
    client: new sdk.S3Client({ ...configurationOf({ ...config, endpoint }), credentials }),
  }
}

/** Signs the length of each part as well, so that nobody stores more than there is room for. */
const presignParts = (
  { sdk, getSignedUrl, client }: Signer,
  upload: { Bucket: string; Key: string; UploadId: string },
  parts: readonly DirectPart[],
  seconds: number,
): Promise<string[]> =>
  Promise.all(
    parts.map(({ number, size }) =>
      getSignedUrl(
        client,
        new sdk.UploadPartCommand({ ...upload, PartNumber: number, ContentLength: size }),
        { expiresIn: seconds },
      ),
    ),
  )

async function listParts(client: S3Client, key: string, uploadId: string): Promise<StoredPart[] | undefined> {
  try {
    return await listPages(client, key, uploadId)
  } catch (error) {
    if (error instanceof S3Failure && error.code === 'NoSuchUpload') return undefined
    throw error
  }
}

async function listPages(
  { bucket: Bucket, run }: S3Client,
  Key: string,
  UploadId: string,
): Promise<StoredPart[]> {
  const parts: StoredPart[] = []
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
    const next = page.IsTruncated ? page.NextPartNumberMarker : undefined
    isLast = next === undefined || next === after
    after = next
  }
  return parts
}

/** If the answer is lost, what the bucket has decides. */
async function completeUpload(
  client: S3Client,
  Key: string,
  UploadId: string,
  parts: readonly StoredPart[],
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
