import type { Static } from 'typebox'

import { MEDIA_RANGE } from '../../../../base/media-range.ts'
import { BYTE_SIZE, bytesOf } from '../../../../base/byte-size.ts'
import { Type } from '../../../../base/schema.ts'
import { StartError } from '../../../../base/start-error.ts'
import { isInside, parseFieldPath } from '../language/fields/field-path.ts'
import { quote, type Path } from '../language/query/path.ts'

const RANGE = new RegExp(MEDIA_RANGE)
/** How many files a field of one document may have. */
const FILES_MAX = 1000

/** What the configuration says of a field that holds the `_id` of a file. */
export const FileFieldOption = Type.Object(
  {
    types: Type.Optional(
      Type.Unsafe<readonly string[]>({
        type: 'array',
        items: { type: 'string' },
        minItems: 1,
        description: 'The media types that it takes. Default: all.',
        examples: [['image/*', 'application/pdf']],
      }),
    ),
    maxBytes: Type.Optional(
      Type.Union([Type.Integer({ minimum: 1 }), Type.String({ pattern: BYTE_SIZE })], {
        description: 'The largest file that it takes, in bytes, or like 5MB. Default: that of uploads.',
      }),
    ),
    max: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: FILES_MAX,
        description:
          'How many files it takes. With 1 its value is one _id, with more an array of them. Default: 1.',
      }),
    ),
    access: Type.Optional(
      Type.Enum(['document', 'public'], {
        description:
          'Who may read its files: those who may read the document and see the field, or everybody who has their address. Default: document.',
      }),
    ),
  },
  { additionalProperties: false },
)
export type FileFieldOption = Static<typeof FileFieldOption>

/** The value of `to` in a relation to files. It is a reserved word, so no collection has this name. */
export const FILES = 'files'

/** A field that holds the `_id` of a file, or several in an array. */
export type FileField = {
  readonly path: Path
  readonly to: typeof FILES
  /** Its name beside those of all collections, as `attached_by` of a file has it: `products.photo`. */
  readonly name: string
  readonly collection: string
  readonly types: readonly string[] | undefined
  readonly maxBytes: number
  readonly max: number
  readonly isPublic: boolean
}

/** Tells a field of files from a relation to documents. */
export const isFileField = (reference: { readonly to: string }): reference is FileField =>
  reference.to === FILES

/**
 * Reads the file fields of a collection.
 *
 * @param relations the paths that hold ids of documents
 * @throws StartError
 */
export function parseFileFields(
  options: Readonly<Record<string, FileFieldOption>> = {},
  collection: string,
  relations: readonly Path[],
  at: string,
): FileField[] {
  const fields = Object.entries(options).map(
    ([field, { types, maxBytes = Infinity, max = 1, access = 'document' }]): FileField => ({
      path: parseFieldPath(field, at),
      to: FILES,
      name: `${collection}.${field}`,
      collection,
      types,
      maxBytes: typeof maxBytes === 'string' ? bytesOf(maxBytes) : maxBytes,
      max,
      isPublic: access === 'public',
    }),
  )
  for (const { path, types = [] } of fields)
    for (const [i, type] of types.entries())
      if (!RANGE.test(type))
        throw new StartError(
          `${at}.${path.join('.')}.types[${i}]: ${quote(type)} is no media type, such as image/png, or image/* for all of a kind`,
        )
  for (const [i, { path }] of fields.entries()) {
    const others = [...relations, ...fields.slice(i + 1).map((one) => one.path)]
    const other = others.find((one) => isInside(path, one) || isInside(one, path))
    if (other)
      throw new StartError(
        `${at}.${path.join('.')}: ${other.join('.')} is the same or inside of it, or it is inside of that: a field holds files, or _ids of documents`,
      )
  }
  return fields
}

/** The fields that have taken a file, of its `attached_by`. */
export const fieldsOfFile = (attachedBy: string | null): readonly string[] => attachedBy?.split('\n') ?? []
