import type { Database } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import type { ComparedDefinition } from '../documents/definition-changes/archived-definitions.ts'
import { selectStoredSql } from '../documents/storage/sql/document-rows.ts'
import type { Manifest } from './archive-format.ts'

const COLLECTIONS_MAX = 100_000

/** How many there are in an archive, and how many are stored now. */
export type Compared = { archived: number; stored: number }

/** What a restore would replace by what. */
export type RestorePreview = {
  /** The moment of the archive. */
  createdAt: string
  /** The version that made it. */
  sixwire: string
  documents: Compared
  files: Compared
  bytes: Compared
  /** Those of the archive and those that are stored, by name. */
  collections: ({ name: string } & Compared)[]
  /** The definitions of the archive, by name. */
  definitions: ComparedDefinition[]
}

/** Compares an archive that was read with what is stored. */
export async function previewOf(
  db: Database,
  manifest: Manifest,
  definitions: ComparedDefinition[],
): Promise<RestorePreview> {
  const [stored, [sums]] = await Promise.all([
    db.scan(selectStoredSql('', COLLECTIONS_MAX)),
    db.scan<{ files: number; bytes: number }>(sql`
      select count(*) as files, cast(coalesce(sum(size), 0) as bigint) as bytes from store_files`),
  ])
  const counts = new Map<string, Compared>()
  for (const { name, lines } of manifest.collections) counts.set(name, { archived: lines, stored: 0 })
  for (const { collection, documents } of stored)
    counts.set(collection, { archived: counts.get(collection)?.archived ?? 0, stored: documents })
  const { createdAt, sixwire, files } = manifest
  return {
    createdAt,
    sixwire,
    documents: {
      archived: sumOf([...counts.values()].map(({ archived }) => archived)),
      stored: sumOf(stored.map(({ documents }) => documents)),
    },
    files: { archived: files.lines, stored: sums!.files },
    bytes: { archived: files.bytes, stored: sums!.bytes },
    collections: [...counts].map(([name, one]) => ({ name, ...one })).toSorted(byName),
    definitions,
  }
}

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, one) => sum + one, 0)

/** As the entries of an archive: by code units. */
const byName = (one: { name: string }, other: { name: string }): number => (one.name < other.name ? -1 : 1)
