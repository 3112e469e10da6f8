import { SERVICE_FIELDS, type CollectionDeclaration } from '../../wires/store/index.ts'
import type { CollectionNames } from '../collection-names.ts'
import { accessOf, ownerFieldOf } from './access-rules.ts'
import { isMultiple, type PocketbaseCollection, type PocketbaseField } from './pocketbase-data.ts'
import { uniqueOf } from './unique-indexes.ts'

/** A collection whose records become documents. */
export type TranslatedCollection = {
  readonly of: PocketbaseCollection
  readonly name: string
  readonly declaration: CollectionDeclaration
  readonly notes: readonly string[]
  /** The fields that stay in documents. */
  readonly fields: readonly PocketbaseField[]
  /** Those whose empty text is left out. */
  readonly optional: ReadonlySet<string>
  /** The field with the time of a record, and that of its last change. */
  readonly createdField: string | undefined
  readonly updatedField: string | undefined
  /** The fields that may name the owner. */
  readonly ownerFields: readonly string[]
}

/** Types whose empty text means that there is no value. */
const EMPTY_IS_NONE: readonly string[] = ['date', 'select', 'relation', 'file']

/**
 * What a collection is here.
 *
 * @param byId the collections that come, by their ids there
 */
export function translateCollection(
  of: PocketbaseCollection,
  byId: ReadonlyMap<string, PocketbaseCollection>,
  { names, ownerFields }: { names: CollectionNames; ownerFields: readonly string[] },
): TranslatedCollection {
  const { access, notes: ofRules } = accessOf(of)
  const { unique, optional, notes: ofIndexes } = uniqueOf(of)
  const dates = of.fields.filter(({ type }) => type === 'autodate')
  const createdField = dates.find(({ onCreate, onUpdate }) => onCreate && !onUpdate)?.name
  const updatedField = dates.find(({ onUpdate }) => onUpdate)?.name
  const passwords = of.fields.filter(({ type, system }) => type === 'password' && !system)
  const fields = of.fields.filter(
    ({ name, type, system }) =>
      !system && type !== 'password' && name !== createdField && name !== updatedField,
  )
  const required = fields.flatMap(({ name, required: isRequired }) =>
    isRequired && !SERVICE_FIELDS.includes(name) ? [name] : [],
  )
  const hidden = fields.flatMap(({ name, hidden: isHidden }) => (isHidden ? [name] : []))
  const relations = fields.filter(({ type }) => type === 'relation')
  const targets = relations.filter(({ collectionId }) => byId.has(collectionId!))
  const owner = ownerFieldOf({ access })
  return {
    of,
    name: names.of(of.name),
    declaration: {
      ...access,
      ...(of.type === 'auth' && { ids: 'client' }),
      ...(hidden.length > 0 && { hidden }),
      schema: {
        type: 'object',
        properties: Object.fromEntries(fields.map((field) => [field.name, schemaOf(field)])),
        ...(required.length > 0 && { required }),
      },
      ...(unique.length > 0 && { unique }),
      ...(targets.length > 0 && {
        relations: Object.fromEntries(
          targets.map(({ name, collectionId, cascadeDelete, required: isRequired }) => [
            name,
            {
              to: names.of(byId.get(collectionId!)!.name),
              onDelete: cascadeDelete ? 'cascade' : isRequired ? 'restrict' : 'unset',
            },
          ]),
        ),
      }),
    },
    notes: [
      ...ofRules,
      ...ofIndexes,
      ...passwords.map(({ name }) => `the field ${name} does not come: only accounts have passwords`),
      ...relations
        .filter((one) => !targets.includes(one))
        .map(({ name }) => `${name} refers to a collection that does not come: its ids come as text`),
    ],
    fields,
    optional: new Set([
      ...optional,
      ...fields.flatMap(({ name, type }) => (EMPTY_IS_NONE.includes(type) ? [name] : [])),
    ]),
    createdField,
    updatedField,
    ownerFields: [...ownerFields, owner].filter((name) =>
      fields.some((field) => field.name === name && !isMultiple(field)),
    ) as string[],
  }
}

function schemaOf(field: PocketbaseField): object {
  const type = TYPES[field.type]?.(field) ?? {}
  return isMultiple(field) ? { type: 'array', items: type } : type
}

const text = () => ({ type: 'string' })
const time = () => ({ type: 'string', format: 'date-time' })
const TYPES: Readonly<Record<string, (field: PocketbaseField) => object>> = {
  text,
  editor: text,
  email: text,
  url: text,
  file: text,
  relation: text,
  date: time,
  autodate: time,
  bool: () => ({ type: 'boolean' }),
  number: ({ onlyInt }) => ({ type: onlyInt ? 'integer' : 'number' }),
  select: ({ values = [] }) => ({ enum: values }),
  geoPoint: () => ({ type: 'object', properties: { lon: { type: 'number' }, lat: { type: 'number' } } }),
}
