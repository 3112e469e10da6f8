/* What is wrong with the rows of a table of fields. */
import { isFieldName, isObject, type TableField } from './field-types.ts'

/** What a field, or one inside of it, still needs; undefined if nothing. */
export function missingOf(field: TableField): string | undefined {
  const { name, schema, relation, fields = [] } = field
  if (relation && relation.to === '') return `Choose the collection that ${name} leads to.`
  if (isObject(schema) && Array.isArray(schema['enum']) && schema['enum'].length === 0)
    return `Give the choices of ${name}.`
  return fields.map(missingOf).find(Boolean)
}

/** What is wrong with the names of the rows of a level, by their places. */
export function nameFaults(fields: readonly TableField[], isInside = false): ReadonlyMap<number, string> {
  const faults = new Map<number, string>()
  for (const [at, { name }] of fields.entries())
    if (name === '') faults.set(at, 'Give it a name.')
    else if (!isFieldName(name)) faults.set(at, 'A name has no dot, and does not begin with $.')
    else if (!isInside && ['_id', 'createdAt', 'updatedAt'].includes(name))
      faults.set(at, 'The server sets this field.')
    else if (fields.findIndex((other) => other.name === name) < at)
      faults.set(at, 'This name is there twice.')
  return faults
}

/** The first thing that is wrong with the names of rows, on all levels. */
export function faultOf(fields: readonly TableField[], isInside = false): string | undefined {
  const [[at, fault] = []] = nameFaults(fields, isInside)
  if (at !== undefined) return `Field ${at + 1}: ${fault}`
  for (const { name, fields: inner = [] } of fields) {
    const inside = faultOf(inner, true)
    if (inside !== undefined) return `${name}: ${inside}`
  }
  return undefined
}
