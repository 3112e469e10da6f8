import type { Static } from 'typebox'

import { isLoopback } from '../../../base/loopback.ts'
import { Type } from '../../../base/schema.ts'
import { StartError } from '../../../base/start-error.ts'

const REGION = 'us-east-1'
const SETTINGS = {
  endpoint: 'S3_ENDPOINT',
  publicEndpoint: 'S3_PUBLIC_ENDPOINT',
  bucket: 'S3_BUCKET',
  accessKeyId: 'S3_ACCESS_KEY_ID',
  secretAccessKey: 'S3_SECRET_ACCESS_KEY',
} as const

const text = (description: string, pattern = '.') => Type.Optional(Type.String({ pattern, description }))

/** The bucket in the configuration. */
export const S3Options = Type.Optional(
  Type.Object(
    {
      endpoint: text('The address of the service. Default: that of AWS in the region.'),
      publicEndpoint: text(
        'The address of the service for clients that upload to it directly, if it is another one for them.',
      ),
      region: text('The region of the bucket. Default: us-east-1.', '^[a-z\\d-]+$'),
      bucket: text(
        'The bucket, which must exist. With it, files and backups are kept there.',
        '^[A-Za-z\\d][A-Za-z\\d._-]+$',
      ),
      accessKeyId: text('Default: the credentials that the AWS SDK finds by itself.', '^[!-~]+$'),
      secretAccessKey: text('The secret of the access key.', '^[!-~]+$'),
      prefix: text(
        'The beginning of all keys in the bucket, such as shop/.',
        '^[A-Za-z\\d_-][A-Za-z\\d._-]*(/[A-Za-z\\d_-][A-Za-z\\d._-]*)*/?$',
      ),
      pathStyle: Type.Optional(
        Type.Boolean({
          description: 'Whether the bucket is in the path of URLs. Default: true with an endpoint.',
        }),
      ),
    },
    { additionalProperties: false },
  ),
)
export type S3Option = Static<typeof S3Options>

/** A bucket, and how to reach it. */
export type S3Config = {
  bucket: string
  region: string
  /** Default: the address of AWS in the region. */
  endpoint: URL | undefined
  /** For clients. Default: the same. */
  publicEndpoint: URL | undefined
  /** Default: those that the AWS SDK finds by itself. */
  credentials: { accessKeyId: string; secretAccessKey: string } | undefined
  /** The beginning of all keys. */
  prefix: string
  pathStyle: boolean
}

/**
 * The bucket of the options; undefined if none is configured.
 *
 * @throws StartError if something of it is set, but not enough, or it cannot be right
 */
export function readS3Config(options: S3Option | undefined): S3Config | undefined {
  if (!options || Object.values(options).every((value) => value === undefined)) return undefined
  const { bucket, region = REGION, prefix = '', accessKeyId, secretAccessKey } = options
  if (bucket === undefined) throw fault('bucket', 'set the bucket too, or none of the options of s3')
  if ((accessKeyId === undefined) !== (secretAccessKey === undefined))
    throw fault(
      accessKeyId === undefined ? 'accessKeyId' : 'secretAccessKey',
      'set both halves of the access key, or none for the credentials of the machine',
    )
  const endpoint = readEndpoint('endpoint', options.endpoint)
  return {
    bucket,
    region,
    endpoint,
    publicEndpoint: readEndpoint('publicEndpoint', options.publicEndpoint),
    prefix,
    credentials: accessKeyId === undefined ? undefined : { accessKeyId, secretAccessKey: secretAccessKey! },
    pathStyle: options.pathStyle ?? endpoint !== undefined,
  }
}

/** What a start warns of, one line each. */
export const warningsOf = (config: S3Config | undefined): string[] =>
  (['endpoint', 'publicEndpoint'] as const).flatMap((option) => {
    const url = config?.[option]
    if (url?.protocol !== 'http:' || isLoopback(url.hostname)) return []
    const what = option === 'endpoint' ? 'files and backups' : 'files'
    return [`${SETTINGS[option]}: ${what} go to ${url.host} in plaintext: use https`]
  })

function readEndpoint(option: 'endpoint' | 'publicEndpoint', text: string | undefined): URL | undefined {
  if (text === undefined) return undefined
  const url = URL.canParse(text) ? new URL(text) : undefined
  // Not quoted: it may have credentials.
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash)
    throw fault(option, 'it is not an address like https://s3.eu-central-1.amazonaws.com')
  return url
}

const fault = (option: keyof typeof SETTINGS, sentence: string): StartError =>
  new StartError(`${SETTINGS[option]}, or the option store.s3.${option}: ${sentence}`)
