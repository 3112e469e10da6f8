/* What becomes of the documents that are there when fields are renamed, removed or made required. */
import { fieldsOf } from './field-table.ts'
import {
  isFieldName,
  listAt,
  schemaOf,
  typeOf,
  type DefinitionValue,
  type TableField,
} from './field-types.ts'

export type OfferedChange =
  | { rename: { from: string; to: string } }
  | { drop: string }
  | { default: { field: string; value: unknown } }

/** Which field of the definition in force a field is, by the name that it has now; the others have the name that they had. */
export type Origins = ReadonlyMap<string, string>

/** Those of the rows of a table that began with others. */
export const originsOf = (before: Origins, fields: readonly TableField[]): Origins =>
  new Map(
    fields.flatMap(({ origin, name }) => {
      const stored = origin && (before.get(origin) ?? origin)
      return stored && stored !== name ? [[name, stored] as const] : []
    }),
  )

/** The changes of documents that a definition may want, against the one in force. */
export function changesOf(
  base: DefinitionValue,
  definition: DefinitionValue,
  origins: Origins,
): OfferedChange[] {
  const [before, fields] = [fieldsOf(base), fieldsOf(definition)].map((list) =>
    list.filter(({ name }) => isFieldName(name) && !name.startsWith('_')),
  ) as [TableField[], TableField[]]
  const isThere = (list: readonly TableField[], name: string) => list.some((one) => one.name === name)
  const renames = fields.flatMap(({ name: to }) => {
    const from = origins.get(to)
    // Not over the values of another field, nor away from one that has its name now.
    return from && isThere(before, from) && !isThere(fields, from) && !isThere(before, to)
      ? [{ from, to }]
      : []
  })
  const storedName = (name: string) => renames.find(({ to }) => to === name)?.from ?? name
  const drops = before.filter(
    ({ name }) => !isThere(fields, name) && !renames.some(({ from }) => from === name),
  )
  const required = fields.filter(
    ({ name, isRequired }) =>
      isRequired && !before.some((one) => one.name === storedName(name) && one.isRequired),
  )
  return [
    ...renames.map((rename) => ({ rename })),
    ...drops.map(({ name }) => ({ drop: name })),
    ...required.map((field) => ({ default: { field: field.name, value: valueOf(field) } })),
  ]
}

/** A value that a field may begin with. */
function valueOf(field: TableField): unknown {
  const schema = schemaOf(field)
  const type = typeOf(field)
  if ('default' in schema) return schema['default']
  if (type === 'choice') return listAt(schema, 'enum')[0]
  if (type === 'number' || type === 'integer') return schema['minimum'] ?? 0
  if (type === 'boolean') return false
  if (type === 'object') return {}
  return schema['type'] === 'array' ? [] : ''
}
