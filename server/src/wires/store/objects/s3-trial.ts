import { createHash } from 'node:crypto'

import { LIMITS, SHA256_HEADER, type S3Client } from './s3-client.ts'
import { S3Failure } from './s3-failure.ts'
import { isStored } from './s3-write.ts'

const sha256Of = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

/**
 * Writes an object at once and in parts, and reads both back: a service may store other bytes than it is sent and answer
 * that all is well. The object stays.
 *
 * @returns whether the bucket refuses bytes that do not have the SHA-256 that is sent with them
 * @throws S3Failure
 */
export async function tryBucket(client: S3Client, key: string): Promise<{ comparesSha256: boolean }> {
  for (const [put, text] of [
    [putAtOnce, 'sixwire'],
    [putInParts, 'sixwire in parts'],
  ] as const) {
    const bytes = Buffer.from(text)
    await put(client, key, bytes)
    if (!(await isStored(client, key, sha256Of(bytes))))
      throw new S3Failure(`${client.name} has other bytes than it was sent`)
  }
  return { comparesSha256: !(await takesWrongSha256(client, key)) }
}

async function takesWrongSha256({ bucket: Bucket, run }: S3Client, Key: string): Promise<boolean> {
  try {
    await run({ ...LIMITS, tries: 1 }, undefined, async ({ sdk, send }) => {
      const command = new sdk.PutObjectCommand({ Bucket, Key, Body: Buffer.from('sixwire') })
      command.middlewareStack.add(
        (next) => (args) => {
          const { headers } = args.request as { headers: Record<string, string> }
          headers[SHA256_HEADER] = sha256Of(Buffer.from('other bytes'))
          return next(args)
        },
        { step: 'build' },
      )
      await send(command)
    })
    return true
  } catch (error) {
    if (error instanceof S3Failure && error.isRefusal) return false
    throw error
  }
}

async function putAtOnce({ bucket: Bucket, run }: S3Client, Key: string, Body: Buffer): Promise<void> {
  await run(LIMITS, undefined, ({ sdk, send }) => send(new sdk.PutObjectCommand({ Bucket, Key, Body })))
}

async function putInParts({ bucket: Bucket, run }: S3Client, Key: string, Body: Buffer): Promise<void> {
  const { UploadId } = await run(LIMITS, undefined, ({ sdk, send }) =>
    send(new sdk.CreateMultipartUploadCommand({ Bucket, Key })),
  )
  const { ETag } = await run(LIMITS, undefined, ({ sdk, send }) =>
    send(new sdk.UploadPartCommand({ Bucket, Key, UploadId, PartNumber: 1, Body })),
  )
  const MultipartUpload = { Parts: [{ ETag, PartNumber: 1 }] }
  await run(LIMITS, undefined, ({ sdk, send }) =>
    send(new sdk.CompleteMultipartUploadCommand({ Bucket, Key, UploadId, MultipartUpload })),
  )
}
