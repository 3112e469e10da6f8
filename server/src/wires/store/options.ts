import type { Static } from 'typebox'

import { BYTE_SIZE, bytesOf } from '../../base/byte-size.ts'
import { Type } from '../../base/schema.ts'
import { withRule } from '../../base/with-rule.ts'
import { millisecondsOf } from './backups/backup-schedule.ts'
import { DOCUMENT_OPTIONS } from './documents/definition/document-options.ts'
import { AccessRule } from './documents/language/rules/audience.ts'
import type { FileScan } from './files/inspection/scan.ts'
import { DEFAULT_SIZES, SIZE } from './files/content/images/variant-query.ts'
import { S3Options } from './objects/s3-config.ts'

const quotaSize = (description: string) =>
  Type.String({ pattern: `${BYTE_SIZE}|^none$`, description: `${description} In bytes, like 50MB, or none.` })

const EVERY = '^[1-9]\\d{0,4}[mhd]$'

/** The quotas in bytes; undefined for none. */
export function quotasOf({ user, total }: Static<typeof StoreOptions>['quota'], isProduction: boolean) {
  const bytes = (size = 'none') => (size === 'none' ? undefined : bytesOf(size))
  return { user: bytes(user ?? (isProduction ? '1GB' : 'none')), total: bytes(total) }
}

/** The options of the store wire. */
export const StoreOptions = Type.Object(
  {
    ...DOCUMENT_OPTIONS,
    /** The access rule of files, if it differs from the policy's. */
    fileAccess: Type.Optional(AccessRule),
    changes: Type.Object(
      {
        keepHours: Type.Integer({
          minimum: 1,
          maximum: 720,
          default: 24,
          description: 'How long changes are kept for those who were not connected.',
        }),
        keepBytes: Type.String({
          pattern: BYTE_SIZE,
          default: '256MB',
          description: 'How much of them is kept at most, in bytes, or like 256MB.',
        }),
      },
      { default: {}, additionalProperties: false },
    ),
    uploadLimit: withRule(
      Type.String({
        pattern: BYTE_SIZE,
        default: '50MB',
        description: 'The largest file, in bytes, or like 50MB. At most 5TB.',
      }),
      (size) =>
        bytesOf(size) > bytesOf('5TB')
          ? 'must be at most 5TB'
          : bytesOf(size) < 1
            ? 'must be at least 1 byte'
            : undefined,
    ),
    files: Type.Object(
      {
        sizes: Type.Array(Type.String({ pattern: SIZE }), {
          maxItems: 50,
          default: DEFAULT_SIZES,
          description:
            'The sizes of images that everybody may ask for who may read them: 512 keeps the whole image within 512 × 512 pixels, 256x128 crops it to that.',
        }),
        stripMetadata: Type.Boolean({
          default: false,
          description:
            'Whether new JPEG, PNG and WebP are stored without their metadata, such as the place of a photo. The pixels, colours and orientation stay.',
        }),
        /** Checks new files before they are served. Default: none, and they are served at once. */
        scan: Type.Optional(Type.Unsafe<FileScan>({})),
      },
      { default: {}, additionalProperties: false },
    ),
    quota: Type.Object(
      {
        user: Type.Optional(
          quotaSize(
            'How much the files and documents of one user may take together. Default: 1GB in production, else none.',
          ),
        ),
        total: Type.Optional(quotaSize('How much all files and documents may take together. Default: none.')),
      },
      { default: {}, additionalProperties: false },
    ),
    s3: S3Options,
    backups: Type.Object(
      {
        every: Type.Optional(
          withRule(
            Type.String({
              pattern: EVERY,
              description: 'How often a backup is made: 30m, 12h, 1d, at most 366d. Default: never.',
            }),
            (every) =>
              new RegExp(EVERY).test(every) && millisecondsOf(every) > millisecondsOf('366d')
                ? 'must be at most 366d'
                : undefined,
          ),
        ),
        keep: Type.Integer({
          minimum: 1,
          maximum: 10_000,
          default: 7,
          description: 'How many scheduled backups are kept, and how many safety backups.',
        }),
        storage: Type.Optional(
          Type.Enum(['local', 's3'], { description: 'Default: s3 if a bucket is configured, else local.' }),
        ),
      },
      { default: {}, additionalProperties: false },
    ),
  },
  { additionalProperties: false },
)

/** Environment variables of the wire. */
export const STORE_ENV = {
  SIXWIRE_UPLOAD_LIMIT: 'uploadLimit',
  SIXWIRE_USER_QUOTA: 'quota.user',
  SIXWIRE_TOTAL_QUOTA: 'quota.total',
}

/** The environment variables of the bucket. */
export const STORE_PROVIDERS = {
  s3: {
    env: {
      S3_ENDPOINT: 'endpoint',
      S3_PUBLIC_ENDPOINT: 'publicEndpoint',
      S3_REGION: 'region',
      S3_BUCKET: 'bucket',
      S3_ACCESS_KEY_ID: 'accessKeyId',
      S3_SECRET_ACCESS_KEY: 'secretAccessKey',
    },
  },
} as const

/** What administrators may set while the server runs. */
export const STORE_SETTABLE = [
  'uploadLimit',
  'quota',
  's3',
  'backups',
  'changes',
  'files.stripMetadata',
] as const
