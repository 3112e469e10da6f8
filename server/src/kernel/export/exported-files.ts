import { identifier } from '../../db/catalogue.ts'
import type { Dialect } from '../../db/sql.ts'
import type { CopiedTable } from '../move/copied-tables.ts'
import type { SealedColumn } from '../secret/sealed.ts'
import type { RowExport, TableExport, WireExport } from '../wire/table-export.ts'

/** A file with the rows of a table. */
export type ExportedFile = {
  readonly path: string
  readonly table: CopiedTable
  /** Undefined: nobody has declared the table, and its rows are written as they are. */
  readonly form: RowExport | undefined
  readonly sealed: readonly SealedColumn[]
}

/** The files of all tables that no wire leaves out, or writes in another form. */
export function exportedFiles(
  tables: readonly CopiedTable[],
  exports: readonly WireExport[],
  sealed: readonly SealedColumn[],
  dialect: Dialect,
): ExportedFile[] {
  const declared = exports.flatMap((one) => one.tables)
  const inForms = new Set(exports.flatMap(({ forms = [] }) => forms.flatMap((form) => form.tables)))
  return tables
    .filter(({ name }) => !inForms.has(name))
    .flatMap((table): ExportedFile[] => {
      const ofTable = sealed.filter((one) => one.table === table.name)
      const forms = declared.filter((one) => isAbout(one, table.name))
      if (forms.length === 0) return [{ path: pathOf(table.name), table, form: undefined, sealed: ofTable }]
      return forms.filter(isWritten).map((form) => ({
        path: form.file === undefined ? pathOf(table.name) : `${form.file}.ndjson`,
        table: withMore(table, form, dialect),
        form,
        sealed: ofTable,
      }))
    })
    .toSorted((one, other) => (one.path < other.path ? -1 : 1))
}

const isWritten = (one: TableExport): one is RowExport => !('isLeftOut' in one)

/** A name that ends with `*` is that of all tables which begin so. */
export const isAbout = ({ table }: TableExport, name: string): boolean =>
  table.endsWith('*') ? name.startsWith(table.slice(0, -1)) : table === name

/** `pay/event-cursors.ndjson` */
function pathOf(table: string): string {
  const [wire, ...words] = table.split('_')
  return words.length === 0 ? `other/${wire}.ndjson` : `${wire}/${words.join('-')}.ndjson`
}

function withMore(table: CopiedTable, { also = {} }: RowExport, dialect: Dialect): CopiedTable {
  const more = Object.entries(also)
  if (more.length === 0) return table
  const expressions = more.map(
    ([name, { sql }]) => `(${typeof sql === 'string' ? sql : sql[dialect]}) as ${identifier(name)}`,
  )
  const rows = `select ${identifier(table.name)}.*, ${expressions.join(', ')} from ${identifier(table.name)}`
  return {
    name: table.name,
    columns: [...table.columns, ...more.map(([name, { kind }]) => ({ name, kind }))],
    copy: { rows: { sqlite: rows, postgres: rows } },
  }
}
