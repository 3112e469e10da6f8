import { valueAtPointer } from '../../../../base/json-pointer.ts'
import { mapSchemas, type Schema } from '../../../../http/openapi-schemas.ts'
import type { Path } from '../language/query/path.ts'
import type { CollectionDeclaration, CollectionOption } from './collection-option.ts'

// What names a schema, or is an example of a value: a stored document has no defaults.
const ANNOTATIONS = new Set([
  '$schema',
  '$id',
  '$anchor',
  '$comment',
  '$defs',
  'definitions',
  'default',
  'title',
])

/** How many references of a schema are written out: those of ten definitions that refer to each other would be millions. */
const REFERENCES_MAX = 200

/** The schemas of collections that have one, each as `embedded` writes it, with the fields of files that it does not name. */
export const schemasOf = (
  declared: Readonly<Record<string, CollectionOption>>,
): ReadonlyMap<string, Schema> =>
  new Map(
    Object.entries(declared).flatMap(([name, one]) =>
      typeof one === 'object' && one.schema
        ? [[name, withFileFields(embedded(one.schema as Schema), one)] as const]
        : [],
    ),
  )

/** The fields of files of collections that have any, as they are declared. */
export const fileFieldsOf = (
  declared: Readonly<Record<string, CollectionOption>>,
): ReadonlyMap<string, readonly string[]> =>
  new Map(
    Object.entries(declared).flatMap(([name, one]) =>
      typeof one === 'object' && one.files ? [[name, Object.keys(one.files)] as const] : [],
    ),
  )

function withFileFields(schema: Schema, { files = {} }: CollectionDeclaration): Schema {
  const { properties = {}, additionalProperties } = schema as {
    properties?: Record<string, Schema>
    additionalProperties?: unknown
  }
  const added = Object.entries(files).filter(
    ([name]) => !name.includes('.') && !Object.hasOwn(properties, name),
  )
  // A closed schema refuses what it does not name.
  if (added.length === 0 || additionalProperties === false) return schema
  const fileFields = added.map(([name, { max = 1 }]) => [name, max === 1 ? ONE_FILE : MANY_FILES] as const)
  return { ...schema, properties: { ...properties, ...Object.fromEntries(fileFields) } }
}

const ONE_FILE: Schema = { type: ['string', 'null'], description: 'The _id of a file.' }
const MANY_FILES: Schema = {
  type: ['array', 'null'],
  items: { type: 'string' },
  description: 'The _ids of files.',
}

/** The schema of what is answered of documents, in which fields may be missing that not everybody sees. */
export const answeredSchema = (schema: Schema, concealed: readonly Path[]): Schema =>
  concealed.reduce(withOptional, schema)

function withOptional(schema: Schema, [name, ...rest]: Path): Schema {
  const { required, properties, items } = schema as {
    required?: readonly string[]
    properties?: Record<string, Schema>
    items?: Schema
  }
  const inner = properties?.[name!]
  return {
    ...schema,
    ...(rest.length === 0 && required && { required: required.filter((one) => one !== name) }),
    ...(rest.length > 0 && inner && { properties: { ...properties, [name!]: withOptional(inner, rest) } }),
    ...(items && { items: withOptional(items, [name!, ...rest]) }),
  }
}

/**
 * Writes a JSON Schema so that it can stand inside of another document: with what it refers to in place of references,
 * and without titles, which are names there. What refers to itself, or to another document, may be any value, and so may
 * what is behind the first 200 references.
 */
export function embedded(root: Schema): Schema {
  let references = 0
  const visit = (schema: Schema, open: readonly string[]): Schema => {
    const { $ref, ...others } = schema
    const reference = typeof $ref === 'string' ? $ref : undefined
    const isEnd = reference === undefined || open.includes(reference) || ++references > REFERENCES_MAX
    const target = isEnd ? {} : targetOf(root, reference)
    const inside = reference === undefined ? open : [...open, reference]
    const keywords = Object.entries(others).filter(([keyword]) => !ANNOTATIONS.has(keyword))
    return {
      ...(reference !== undefined && visit(target, inside)),
      ...mapSchemas(Object.fromEntries(keywords), (inner) => visit(inner, open)),
    }
  }
  return visit(root, ['#'])
}

function targetOf(root: Schema, reference: string): Schema {
  const found = reference.startsWith('#') ? valueAtPointer(root, decodeURIComponent(reference.slice(1))) : {}
  return typeof found === 'object' && found !== null ? (found as Schema) : {}
}
