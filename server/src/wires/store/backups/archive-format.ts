import { Type } from '../../../base/schema.ts'
import type { Static } from 'typebox'

import { CollectionName } from '../documents/language/collection-name.ts'

/**
 * The archive of a backup: a tar (POSIX.1-1988 ustar, sizes from 8 GiB on in base 256), compressed as one zstd stream (RFC 8878) with a
 * checksum, a single frame whose window is at most 8 MiB. Its entries, regular files all of them, in this order:
 *
 * - `collections/<name>.jsonl`, one for each collection, sorted by name: a `DocumentLine` for each document, by id;
 * - `definitions.jsonl`, if there are any: a `DefinitionLine` for each collection with a stored definition, by name;
 * - `files.jsonl`: a `FileLine` for each file, by id;
 * - `files/<id>`: the bytes of each file, in the order of `files.jsonl`;
 * - `manifest.json`: a `Manifest`. It is last, because the checksums in it are known only then.
 */
export const FORMAT = 'sixwire-store-1'
/** With definitions: versions that would restore documents without them refuse it. */
export const FORMAT_WITH_DEFINITIONS = 'sixwire-store-2'
export const DEFINITIONS_ENTRY = 'definitions.jsonl'
/** What is read of it is held in memory. */
export const DEFINITIONS_BYTES_MAX = 67_108_864
export const FILES_ENTRY = 'files.jsonl'
export const MANIFEST_ENTRY = 'manifest.json'
export const collectionEntry = (name: string): string => `collections/${name}.jsonl`
export const fileEntry = (id: string): string => `files/${id}`

/**
 * `document` is the document as it is answered, byte for byte: it is the last field, so it can be cut out, which takes
 * `,"document":` before it without white space.
 */
export type DocumentLine = { id: string; owner: string; version: number; document: unknown }

/** `metadata` is the last field, as it is stored, after `,"metadata":` likewise. */
export type FileLine = {
  id: string
  owner: string
  originalName: string
  contentType: string
  size: number
  sha256: string
  createdAt: number
  /** This and the following are absent in archives of versions that did not know them. */
  access?: 'private' | 'public'
  publicKey?: string
  status?: 'ready' | 'pending' | 'refused'
  refusal?: string | null
  image?: object | null
  attachedBy?: string | null
  metadata: unknown
}

/** `id` is the name of the collection, and `definition` the last field, as it is stored. */
export type DefinitionLine = { id: string; definition: unknown }

const Count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
const Sha256 = Type.String({ pattern: '^[0-9a-f]{64}$' })
const Lines = { lines: Count, size: Count, sha256: Sha256 }

export const Manifest = Type.Object(
  {
    format: Type.Enum([FORMAT, FORMAT_WITH_DEFINITIONS]),
    /** The version of Sixwire that made it. */
    sixwire: Type.String(),
    createdAt: Type.String({ format: 'date-time' }),
    collections: Type.Array(Type.Object({ name: CollectionName, ...Lines }, { additionalProperties: false })),
    definitions: Type.Optional(Type.Object(Lines, { additionalProperties: false })),
    files: Type.Object(
      {
        ...Lines,
        /** Of all files together. */
        bytes: Count,
      },
      { additionalProperties: false },
    ),
  },
  { additionalProperties: false },
)
export type Manifest = Static<typeof Manifest>
