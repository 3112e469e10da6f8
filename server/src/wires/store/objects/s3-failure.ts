import { oneLine } from '../../../base/one-line.ts'
import { Unanswered } from '../../../outbound/aws-request-handler.ts'

const CODE_MAX = 80
/** Errors after which the same call may succeed. https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html */
const PASSING: ReadonlySet<string | undefined> = new Set([
  'BadDigest',
  'OperationAborted',
  'RequestTimeout',
  // The SDK knows by how much the clocks differ after the first answer.
  'RequestTimeTooSkewed',
  'SlowDown',
  'TooManyRequests',
  // A byte changed on its way there.
  'XAmzContentSHA256Mismatch',
])
const NOT_IMPLEMENTED = 501
export const NO_BUCKET = 'NoSuchBucket'

/** A call of the bucket that failed. The message is a sentence for the log: it has no credentials, and no text of S3. */
export class S3Failure extends Error {
  override readonly name = 'S3Failure'
  /** The error code of S3, such as `NoSuchKey`. */
  readonly code: string | undefined
  readonly status: number | undefined

  constructor(message: string, { code, status }: { code?: string; status?: number } = {}) {
    super(message)
    this.code = code
    this.status = status
  }

  /** Whether the same call may succeed a moment later. */
  get isPassing(): boolean {
    const { status, code } = this
    if (status === undefined) return code === undefined
    return PASSING.has(code) || status === 429 || (status >= 500 && status !== NOT_IMPLEMENTED)
  }

  /** Whether the bucket certainly did not do what was called for. */
  get isRefusal(): boolean {
    return (
      this.status !== undefined && this.status >= 400 && this.status < 500 && this.code !== 'NoSuchUpload'
    )
  }
}

type SdkError = {
  name?: unknown
  $metadata?: { httpStatusCode?: number }
  $response?: { headers?: Record<string, string> }
}

/**
 * What a call that failed means, for the operator.
 *
 * @param bucket how sentences name the bucket
 * @param isOfBucket whether the call was of the bucket itself, not of an object: HEAD answers 404 without a code
 */
export function s3FailureOf(error: unknown, bucket: string, isOfBucket = false): S3Failure {
  if (error instanceof S3Failure) return error
  if (error instanceof Unanswered) return new S3Failure(error.message)
  const { name, $metadata, $response } = error as SdkError
  const status = $metadata?.httpStatusCode
  const code = typeof name === 'string' && /^\w+$/.test(name) ? oneLine(name, CODE_MAX) : 'an error'
  const fail = (sentence: string): S3Failure =>
    new S3Failure(sentence, { code, ...(status !== undefined && { status }) })

  if (code === 'CredentialsProviderError')
    return fail(`no credentials for ${bucket} were found: set S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY`)
  const region = $response?.headers?.['x-amz-bucket-region'] ?? ''
  if (status === 301 || code === 'PermanentRedirect' || code === 'AuthorizationHeaderMalformed') {
    const where = /^[a-z\d-]{1,40}$/.test(region) ? `, ${region}` : ''
    return fail(`${bucket} is in another region${where}: set S3_REGION, or S3_ENDPOINT`)
  }
  if (status === undefined || status < 300) return fail(`${bucket} gave no answer that can be read (${code})`)
  if (code === NO_BUCKET || (isOfBucket && status === 404))
    return fail(`${bucket} does not exist: create it, or set S3_BUCKET`)
  if (status === 401 || status === 403)
    // An answer to HEAD has no code.
    return fail(
      `${bucket} denied access (${status}${code === 'Unknown' ? '' : ` ${code}`}): check S3_ACCESS_KEY_ID and its permissions`,
    )
  return fail(`${bucket} answered ${status} ${code}`)
}
