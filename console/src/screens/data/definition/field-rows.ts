/* The rows of a table of fields while they are edited. */
import type { TableField } from './field-types.ts'

/** A row: the key tells it from others while its name is typed. `rows` are those of the fields inside of it. */
export type FieldRowValue = {
  readonly key: number
  readonly field: TableField
  readonly rows: readonly FieldRowValue[]
}

/** The control of a row that gets the focus. */
export type FieldFocus = { key: number; on: string }

let keys = 0
export const rowOf = (field: TableField): FieldRowValue => ({
  key: ++keys,
  field,
  rows: rowsOf(field.fields ?? []),
})
export const rowsOf = (fields: readonly TableField[]): FieldRowValue[] => fields.map(rowOf)

export const fieldsIn = (rows: readonly FieldRowValue[]): TableField[] =>
  rows.map(({ field, rows: inner }) => (field.fields ? { ...field, fields: fieldsIn(inner) } : field))

/** Rows with one of them a place earlier or later. Their order is that of the schema, so it has to name both. */
export function moved(rows: readonly FieldRowValue[], at: number, step: -1 | 1): FieldRowValue[] {
  const [one, other] = [rows[at], rows[at + step]]
  if (!one || !other) return [...rows]
  const named = (row: FieldRowValue): FieldRowValue => ({
    ...row,
    field: { ...row.field, schema: row.field.schema ?? {} },
  })
  return rows.with(at, named(other)).with(at + step, named(one))
}
