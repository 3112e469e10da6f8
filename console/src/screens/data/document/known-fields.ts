import { fieldsOf } from '../definition/field-table.ts'
import { isJson, isObject, isSeveral, typeOf, type TableField } from '../definition/field-types.ts'
import { treeOf, type TreeField, type TreeNode } from './tree.ts'

/** The fields of a definition that the form knows inputs for; those of files have one of their own. */
export const knownFields = (definition: unknown): TableField[] =>
  isObject(definition) ? fieldsOf(definition).filter((field) => typeOf(field) !== 'files') : []

/** What a new document begins with. */
export const defaultsOf = (known: readonly TableField[]): Record<string, unknown> =>
  Object.fromEntries(
    known.flatMap(({ name, schema }) =>
      isObject(schema) && schema['default'] !== undefined ? [[name, schema['default']]] : [],
    ),
  )

/** Whether the input of a field can edit this value. If not, the form uses the editor of a field without a schema. */
export function fitsInput(field: TableField, node: TreeNode | undefined): boolean {
  if (!node) return true
  const type = typeOf(field)
  if (isJson(type)) return false
  if (type === 'boolean') return node.type === 'boolean'
  if (type === 'number' || type === 'integer') return node.type === 'number'
  if (type === 'list' || (type === 'relation' && isSeveral(field)))
    return (
      node.type === 'array' &&
      node.items.every((one) => (one.type === 'text' || one.type === 'date') && !one.text.includes('\n'))
    )
  return (node.type === 'text' || node.type === 'date') && !node.text.includes('\r')
}

/** The fields that an input is shown for: not those that are there twice, and not one whose name is being typed. */
export const shownByInput = (
  known: readonly TableField[],
  fields: readonly TreeField[],
  typed: number | undefined,
): TableField[] =>
  known.filter((field) => {
    const values = fields.filter(({ name }) => name === field.name).map(({ node }) => node)
    return values.length < 2 && (!values[0] || values[0].key !== typed) && fitsInput(field, values[0])
  })

/** The fields with a value; undefined removes it. */
export function withValue(
  fields: readonly TreeField[],
  name: string,
  node: TreeNode | undefined,
): TreeField[] {
  const at = fields.findIndex((field) => field.name === name)
  if (!node) return fields.filter((field) => field.name !== name)
  return at === -1 ? [...fields, { name, node }] : fields.with(at, { name, node })
}

/** A value to begin with where the form has no input of its own. */
export function emptyNode({ schema }: TableField): TreeNode {
  const type = isObject(schema) ? schema['type'] : undefined
  return treeOf(type === 'array' ? [] : type === 'object' ? {} : '')
}
