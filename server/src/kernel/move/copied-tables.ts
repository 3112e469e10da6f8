import { StartError } from '../../base/start-error.ts'
import type { CatalogueTable, ColumnKind } from '../../db/catalogue.ts'
import type { TableCopies, TableCopy } from '../wire/table-copy.ts'

/** A table that is copied, with its columns. */
export type CopiedTable = {
  readonly name: string
  readonly columns: readonly { readonly name: string; readonly kind: ColumnKind }[]
  readonly copy: TableCopy
}

type Catalogue = ReadonlyMap<string, CatalogueTable>

/**
 * The tables that are copied from one database to another, each behind those that it refers to. They are read from both
 * databases, so that no list has to name a table for it to be copied.
 *
 * @param from the tables of the one
 * @param to those of the other one, which the same migrations have created
 * @throws StartError with a column that is not the same in both, and that nothing is declared of
 */
export function copiedTables(from: Catalogue, to: Catalogue, copies: TableCopies): CopiedTable[] {
  const copied = [...from.values()].filter(
    ({ name, isVirtual }) => !isVirtual && to.has(name) && copies[name]?.isLeftOut !== true,
  )
  return inOrder(copied.map(({ name }) => to.get(name)!)).map(({ name }) => {
    const copy = copies[name] ?? {}
    return { name, copy, columns: columnsOf(from.get(name)!, to.get(name)!, copy) }
  })
}

/** The tables that would stay behind without anybody saying so: of no wire, or of one whose engines have other tables. */
export const strayTables = (from: Catalogue, to: Catalogue, copies: TableCopies): CatalogueTable[] =>
  [...from.values()].filter(
    ({ name, isVirtual }) => (isVirtual || !to.has(name)) && copies[name]?.isLeftOut !== true,
  )

function columnsOf(from: CatalogueTable, to: CatalogueTable, { columns }: TableCopy): CopiedTable['columns'] {
  if (columns) return Object.entries(columns).map(([name, kind]) => ({ name, kind }))
  const [own, others] = [from, to].map(
    (table) => new Map(table.columns.filter((one) => !one.isGenerated).map(({ name, kind }) => [name, kind])),
  ) as [Map<string, ColumnKind>, Map<string, ColumnKind>]
  return [...new Set([...own.keys(), ...others.keys()])].map((name) => {
    const [kind, other] = [own.get(name), others.get(name)]
    const common = kind && other && commonKind(kind, other)
    if (common) return { name, kind: common }
    throw new StartError(
      `the column ${name} of the table ${from.name} is not the same in the other database: its wire must say in tableCopies how it is copied`,
    )
  })
}

/** SQLite has no type of its own for what is true or false. */
const commonKind = (one: ColumnKind, other: ColumnKind): ColumnKind | undefined => {
  if (one === other) return one
  if ([one, other].toSorted().join() === 'any,text') return 'text'
  const isFlag = [one, other].every((kind) => kind === 'boolean' || kind === 'integer')
  return isFlag ? 'boolean' : undefined
}

/** Each table behind those that it refers to. */
function inOrder(tables: readonly CatalogueTable[]): CatalogueTable[] {
  const ordered: CatalogueTable[] = []
  const waiting = new Map(tables.map((table) => [table.name, table]))
  while (waiting.size > 0) {
    const next = [...waiting.values()].filter(
      ({ references }) => !references.some((name) => waiting.has(name)),
    )
    // Tables that refer to each other come together: SQLite checks keys when all is there, PostgreSQL if they are deferred.
    for (const table of next.length > 0 ? next : waiting.values()) {
      waiting.delete(table.name)
      ordered.push(table)
    }
  }
  return ordered
}
