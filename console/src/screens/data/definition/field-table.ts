/* The fields of a definition as the rows of a table. */
import {
  isFieldName,
  isObject,
  isSame,
  listAt,
  objectAt,
  objectIn,
  withObject,
  type DefinitionValue,
  type FieldRelation,
  type JsonFields,
  type TableField,
} from './field-types.ts'
import { namesOf } from './unique-groups.ts'

/** Whether a group of `unique` is one field alone. */
export const isAlone = (group: unknown, path: string): boolean => isSame(namesOf(group), [path])

/** The schema of the object whose fields are at a path; that of the documents at the empty one. */
const schemaAt = (definition: DefinitionValue, at: readonly string[]): JsonFields =>
  at.reduce<JsonFields>(
    (schema, name) => objectIn(objectAt(schema, 'properties')[name]) ?? {},
    objectAt(definition, 'schema'),
  )

/** The names that paths of options have at a level. */
function namesAt(definition: DefinitionValue, at: readonly string[]): string[] {
  const paths = [
    ...['relations', 'files'].flatMap((name) => Object.keys(objectAt(definition, name))),
    ...listAt(definition, 'unique').flatMap((group) => (namesOf(group).length === 1 ? namesOf(group) : [])),
    ...['search', 'hidden', 'readOnly'].flatMap((name) => listAt(definition, name)),
    ...Object.keys(objectAt(definition, 'showTo')),
  ].filter((path) => typeof path === 'string')
  const begin = at.map((name) => `${name}.`).join('')
  return paths.filter((path) => path.startsWith(begin)).map((path) => path.slice(begin.length))
}

/** The fields of a level, in the order of the schema; then those that only other options name. */
export function fieldsOf(definition: DefinitionValue, at: readonly string[] = []): TableField[] {
  const schema = schemaAt(definition, at)
  const properties = objectAt(schema, 'properties')
  const [relations, files] = [objectAt(definition, 'relations'), objectAt(definition, 'files')]
  const showTo = objectAt(definition, 'showTo')
  const unique = listAt(definition, 'unique')
  const required = listAt(schema, 'required')
  const all = [...Object.keys(properties), ...required, ...namesAt(definition, at)]
  const names = new Set(all.filter((one) => typeof one === 'string').filter(isFieldName))
  return [...names].map((name) => {
    const path = [...at, name].join('.')
    const group = unique.find((one) => isAlone(one, path))
    const isIn = (option: string): boolean => listAt(definition, option).includes(path)
    const [relation, limits] = [relations, files].map((of) =>
      Object.hasOwn(of, path) && isObject(of[path]) ? of[path] : undefined,
    )
    const own = Object.hasOwn(properties, name) ? properties[name] : undefined
    const hasRows = !relation && !limits && objectIn(own) !== undefined
    return {
      origin: name,
      name,
      schema: hasRows ? withoutFields(own as JsonFields) : own,
      isRequired: required.includes(name),
      isUnique: group !== undefined,
      ignoresCase: isObject(group) && group['ignoreCase'] === true,
      isSearchable: isIn('search'),
      isHidden: isIn('hidden'),
      isReadOnly: isIn('readOnly'),
      ...(Object.hasOwn(showTo, path) && { showTo: showTo[path] }),
      ...(hasRows && { fields: fieldsOf(definition, [...at, name]) }),
      ...(relation && { relation: relation as FieldRelation }),
      ...(limits && { files: limits }),
    }
  })
}

/** The schema of an object without what its rows have. */
function withoutFields(schema: JsonFields): JsonFields {
  const { properties: _, required: __, ...rest } = objectIn(schema)!
  return withObject(schema, rest)
}

/** The paths of all rows. */
export const pathsOf = (fields: readonly TableField[], begin = ''): string[] =>
  fields.flatMap(({ name, fields: inner = [] }) => [begin + name, ...pathsOf(inner, `${begin}${name}.`)])

/** What the table does not show: paths into fields whose schema it cannot show. */
export function othersOf(definition: DefinitionValue): string[] {
  const shown = new Set(pathsOf(fieldsOf(definition)))
  const properties = Object.keys(objectAt(objectAt(definition, 'schema'), 'properties'))
  const paths = [...namesAt(definition, []), ...properties]
  return [...new Set(paths)].filter((path) => path.includes('.') && !shown.has(path))
}
