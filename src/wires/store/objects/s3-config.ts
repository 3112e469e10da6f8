import type { Static } from 'typebox'

import { isLoopback } from '../../../base/loopback.ts'
import { StartError } from '../../../base/start-error.ts'
import type { StoreOptions } from '../options.ts'

const REGION = 'us-east-1'
const SETTINGS = {
  endpoint: 'S3_ENDPOINT',
  bucket: 'S3_BUCKET',
  accessKeyId: 'S3_ACCESS_KEY_ID',
  secretAccessKey: 'S3_SECRET_ACCESS_KEY',
} as const

/** A bucket, and how to reach it. */
export type S3Config = {
  bucket: string
  region: string
  /** Default: the address of AWS in the region. */
  endpoint: URL | undefined
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
export function readS3Config(options: Static<typeof StoreOptions>['s3']): S3Config | undefined {
  if (!options || Object.values(options).every((value) => value === undefined)) return undefined
  const { bucket, region = REGION, prefix = '', accessKeyId, secretAccessKey } = options
  if (bucket === undefined) throw fault('bucket', 'set the bucket too, or none of the options of s3')
  if ((accessKeyId === undefined) !== (secretAccessKey === undefined))
    throw fault(
      accessKeyId === undefined ? 'accessKeyId' : 'secretAccessKey',
      'set both halves of the access key, or none for the credentials of the machine',
    )
  const endpoint = options.endpoint === undefined ? undefined : readEndpoint(options.endpoint)
  return {
    bucket,
    region,
    endpoint,
    prefix,
    credentials: accessKeyId === undefined ? undefined : { accessKeyId, secretAccessKey: secretAccessKey! },
    pathStyle: options.pathStyle ?? endpoint !== undefined,
  }
}

/** What a start warns of, one line each. */
export const warningsOf = (config: S3Config | undefined): string[] =>
  config?.endpoint?.protocol === 'http:' && !isLoopback(config.endpoint.hostname)
    ? [`${SETTINGS.endpoint}: files and backups go to ${config.endpoint.host} in plaintext: use https`]
    : []

function readEndpoint(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  // Not quoted: it may have credentials.
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash)
    throw fault('endpoint', 'it is not an address like https://s3.eu-central-1.amazonaws.com')
  return url
}

const fault = (option: keyof typeof SETTINGS, sentence: string): StartError =>
  new StartError(`${SETTINGS[option]}, or the option store.s3.${option}: ${sentence}`)
