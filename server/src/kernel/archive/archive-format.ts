import type { Static } from 'typebox'

import { StartError } from '../../base/start-error.ts'
import { Type } from '../../base/schema.ts'
import { createValidation } from '../../http/validation.ts'

/**
 * An archive of an installation: a tar that is compressed with zstd, as `writeTar` makes it, encrypted with a passphrase in the age
 * format (https://age-encryption.org/v1). Its entries, in this order:
 *
 * - `archive.json`: a `Header`;
 * - `secret`: the secret of the installation;
 * - `tables/<name>/<n>.ndjson`: the rows of each table, an array each, in parts of about a MiB: a tar has the size before the bytes;
 * - `files/<key>`: the bytes of each object;
 * - `manifest.json`: a `ContentManifest`. It is last, because what is in it is known only then.
 */
export const FORMAT = 'sixwire-installation-1'
export const HEADER_ENTRY = 'archive.json'
export const SECRET_ENTRY = 'secret'
export const MANIFEST_ENTRY = 'manifest.json'
export const partsOf = (table: string): string => `tables/${table}/`
export const FILES = 'files/'

/** What the sum of all files is of. */
export const fileLine = (key: string, { size, sha256 }: { size: number; sha256: string }): string =>
  `${key} ${size} ${sha256}\n`

const Count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
const Sha256 = Type.String({ pattern: '^[0-9a-f]{64}$' })
const Kind = Type.Enum(['text', 'integer', 'boolean', 'real', 'bytes', 'any'])

const Header = Type.Object({
  format: Type.Literal(FORMAT),
  /** The version of Sixwire that made it. */
  sixwire: Type.String(),
  createdAt: Type.String(),
  engine: Type.Enum(['sqlite', 'postgres']),
  /** Those that have created the tables, in their order. */
  migrations: Type.Array(Type.Object({ wire: Type.String(), name: Type.String(), checksum: Type.String() })),
  /** In an order in which foreign keys find their rows. */
  tables: Type.Array(
    Type.Object({
      name: Type.String(),
      columns: Type.Array(Type.Object({ name: Type.String(), kind: Kind })),
      rows: Count,
      /** The last number that the engine had given to a row. */
      last: Count,
    }),
  ),
  /** Absent if they were left out. */
  files: Type.Optional(Type.Object({ files: Count, bytes: Count })),
})
export type Header = Static<typeof Header>

const ContentManifest = Type.Object({
  /** The SHA-256 of the lines of each table, in the order of the header. */
  tables: Type.Array(Type.Object({ name: Type.String(), rows: Count, sha256: Sha256 })),
  /** The SHA-256 of the lines `<key> <size> <sha256>` of all files. */
  files: Type.Optional(Type.Object({ files: Count, bytes: Count, sha256: Sha256 })),
})
export type ContentManifest = Static<typeof ContentManifest>

/** @throws StartError if this version of Sixwire does not read it */
export function readHeader(text: string): Header {
  const value = parse(text, HEADER_ENTRY) as { format?: unknown; sixwire?: unknown } | null
  if (typeof value?.format === 'string' && value.format !== FORMAT)
    throw new StartError(
      `the archive is of the format ${value.format}, which this version does not read: use Sixwire ${String(value.sixwire)}, which made it, or a newer one`,
    )
  return checked(HEADER_ENTRY, Header, value) as Header
}

export const readManifest = (text: string): ContentManifest =>
  checked(MANIFEST_ENTRY, ContentManifest, parse(text, MANIFEST_ENTRY)) as ContentManifest

/** The error for an archive that is not as its writer left it. */
export const damaged = (place: string, fault: string): StartError =>
  new StartError(`the archive is damaged: ${place}: ${fault}. Nothing was changed`)

function parse(text: string, place: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw damaged(place, 'it is not JSON')
  }
}

function checked(place: string, schema: typeof Header | typeof ContentManifest, value: unknown): unknown {
  const result = createValidation()('body', schema)(value)
  if ('error' in result) throw damaged(place, 'it does not say what it must')
  return result.value
}
