import { createHash } from 'node:crypto'

import { StartError } from '../../base/start-error.ts'
import type { CatalogueTable } from '../../db/catalogue.ts'
import type { LoadedRow } from '../../db/table-loader.ts'
import type { CopiedTable } from '../move/copied-tables.ts'
import type { RowSource } from '../move/row-source.ts'
import { readRows } from '../move/table-rows.ts'
import { partsOf, type Header, type ContentManifest } from './archive-format.ts'
import type { ArchiveEntries } from './archive-entries.ts'

type ArchivedTable = Header['tables'][number]

/** The tables of an archive as the source of rows; `read` is what its manifest must say of them. */
export type ArchiveSource = RowSource & { readonly passed: ContentManifest['tables'] }

/**
 * Reads rows as they come: `read` is to be called once, and takes all tables, also those that nobody asked for.
 *
 * @param entries behind the secret
 */
export function createArchiveSource({
  header,
  entries,
}: {
  header: Header
  entries: ArchiveEntries
}): ArchiveSource {
  const tables = new Map(header.tables.map((table) => [table.name, table]))
  const passed: ContentManifest['tables'] = []
  return {
    passed,
    catalogue: async () => new Map(header.tables.map((table) => [table.name, catalogueTable(table)])),
    hasRows: async (name) => (tables.get(name)?.rows ?? 0) > 0,
    count: async ({ name }) => tables.get(name)?.rows ?? 0,
    lastOf: async (name) => tables.get(name)?.last ?? 0,
    async *read(wanted, report) {
      const byName = new Map(wanted.map((table) => [table.name, table]))
      for (const archived of header.tables) {
        const hash = createHash('sha256')
        let count = 0
        const lines = hashed(linesOf(archived.name, entries), (piece) => hash.update(piece))
        const rows = readRows(lines, (read) => {
          count += read.rows
          report?.(read)
        })
        const table = byName.get(archived.name)
        if (table) yield { table, rows: fitting(rows, archived, table) }
        else await readToEnd(rows)
        passed.push({ name: archived.name, rows: count, sha256: hash.digest('hex') })
      }
    },
  }
}

const catalogueTable = ({ name, columns }: ArchivedTable): CatalogueTable => ({
  name,
  isVirtual: false,
  references: [],
  columns: columns.map((column) => ({ ...column, isGenerated: false, isCounted: false })),
})

async function* linesOf(table: string, entries: ArchiveEntries): AsyncGenerator<Buffer> {
  for (;;) {
    const entry = await entries.takeIf(({ name }) => name.startsWith(partsOf(table)))
    if (!entry) return
    yield* entry.pieces
  }
}

async function* hashed(
  pieces: AsyncIterable<Buffer>,
  update: (piece: Buffer) => void,
): AsyncGenerator<Buffer> {
  for await (const piece of pieces) {
    update(piece)
    yield piece
  }
}

async function readToEnd(rows: AsyncGenerator): Promise<void> {
  while (!(await rows.next()).done);
}

/** The values of a table's columns, as the archive has them. @throws StartError if it has other columns */
async function* fitting(
  rows: AsyncIterable<LoadedRow[]>,
  { name, columns: archived }: ArchivedTable,
  { columns }: CopiedTable,
): AsyncGenerator<LoadedRow[]> {
  const places = columns.map((column) => archived.findIndex((one) => one.name === column.name))
  if (places.includes(-1) || places.length !== archived.length)
    throw new StartError(
      `the archive has other columns of ${name} than this version reads: unarchive it with the version that made it, and update then`,
    )
  // A number that SQLite keeps in a column without a type is text where columns have one.
  const texts = columns.map(({ kind }, at) => kind === 'text' && archived[places[at]!]!.kind === 'any')
  const isSame = places.every((place, at) => place === at) && !texts.includes(true)
  for await (const some of rows)
    yield isSame
      ? some
      : some.map((row) =>
          places.map((place, at) => {
            const value = row[place]!
            return texts[at] && typeof value === 'number' ? String(value) : value
          }),
        )
}
