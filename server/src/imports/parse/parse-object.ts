// Objects of Parse in both of their forms: https://docs.parseplatform.org/rest/guide/#data-types, and as Parse Server keeps them in MongoDB.

type Fields = Readonly<Record<string, unknown>>

/** Who may do what with an object: `*`, ids of users and `role:NAME`. */
export type Acl = { readonly read: readonly string[]; readonly write: readonly string[] }

/** An object, in one form. */
export type ParseObject = {
  readonly id: unknown
  readonly createdAt: unknown
  readonly updatedAt: unknown
  /** Undefined: everybody may read and write it, as far as its class allows. */
  readonly acl: Acl | undefined
  /** Values of Parse's types have `__type`. */
  readonly fields: Fields
  /** What a user has besides. */
  readonly passwordHash: unknown
  readonly authData: Readonly<Record<string, unknown>>
}

/** The types of the fields of a class, as `_SCHEMA` has them: `file`, `geopoint`, `*_User`, `relation<Tag>`. */
export type ClassSchema = Fields

const OWN = ['objectId', 'createdAt', 'updatedAt', 'ACL', 'className', '__type']
const OF_USERS = ['bcryptPassword', 'password', 'sessionToken', 'authData']
const AUTH_DATA = '_auth_data_'

/** Reads an object in either form. */
export const readObject = (raw: Fields, schema: ClassSchema): ParseObject =>
  'objectId' in raw ? ofExport(raw) : ofMongodb(raw, schema)

function ofExport(raw: Fields): ParseObject {
  const acl = raw['ACL'] as Record<string, { read?: boolean; write?: boolean }> | undefined
  const who = (right: 'read' | 'write') => Object.keys(acl ?? {}).filter((one) => acl![one]?.[right] === true)
  return {
    id: raw['objectId'],
    createdAt: raw['createdAt'],
    updatedAt: raw['updatedAt'],
    acl: acl && { read: who('read'), write: who('write') },
    fields: fieldsOf(raw, (name) => !OWN.includes(name) && !OF_USERS.includes(name) && !name.startsWith('_')),
    passwordHash: raw['bcryptPassword'] ?? raw['_hashed_password'],
    authData: (raw['authData'] ?? {}) as Fields,
  }
}

/** @see https://github.com/parse-community/parse-server/blob/release/src/Adapters/Storage/Mongo/MongoTransform.js */
function ofMongodb(raw: Fields, schema: ClassSchema): ParseObject {
  const { _id: id, _created_at: createdAt, _updated_at: updatedAt, _rperm: read, _wperm: write } = raw
  const pointers = Object.entries(raw).flatMap(([name, value]) =>
    name.startsWith('_p_') && typeof value === 'string' ? [[name.slice('_p_'.length), pointerOf(value)]] : [],
  )
  const plain = Object.entries(fieldsOf(raw, (name) => !name.startsWith('_'))).map(([name, value]) => [
    name,
    typedOf(schema[name], value),
  ])
  const authData = Object.entries(raw).flatMap(([name, value]) =>
    name.startsWith(AUTH_DATA) ? [[name.slice(AUTH_DATA.length), value]] : [],
  )
  const isOpen = read === undefined && write === undefined
  return {
    id,
    createdAt,
    updatedAt,
    acl: isOpen ? undefined : { read: (read ?? []) as string[], write: (write ?? []) as string[] },
    fields: Object.fromEntries([...plain, ...pointers]) as Fields,
    passwordHash: raw['_hashed_password'],
    authData: Object.fromEntries(authData) as Fields,
  }
}

const fieldsOf = (raw: Fields, isField: (name: string) => boolean): Fields =>
  Object.fromEntries(Object.entries(raw).filter(([name]) => isField(name)))

/** `_User$abc` */
function pointerOf(text: string): object {
  const at = text.indexOf('$')
  return { __type: 'Pointer', className: text.slice(0, at), objectId: text.slice(at + 1) }
}

/** What the form of MongoDB leaves to the schema. */
function typedOf(type: unknown, value: unknown): unknown {
  if (type === 'file' && typeof value === 'string') return { __type: 'File', name: value }
  if (type === 'geopoint' && Array.isArray(value))
    return { __type: 'GeoPoint', longitude: value[0] as number, latitude: value[1] as number }
  // GeoJSON has the longitude first.
  if (type === 'polygon') {
    const [points = []] = (value as { coordinates?: [number, number][][] } | null)?.coordinates ?? []
    return { __type: 'Polygon', coordinates: points.map(([longitude, latitude]) => [latitude, longitude]) }
  }
  return value
}

/** What a value refers to. */
export type Referred = {
  pointer(path: string, className: string): void
  /** The new address of a file. */
  file(file: ParseFile): string
}
export type ParseFile = { readonly name: string; readonly url?: string }

/**
 * A value of JSON in place of one of Parse.
 *
 * @param path its fields, joined by dots: those of arrays are the same for all elements
 */
export function plainOf(value: unknown, path: string, referred: Referred): unknown {
  if (Array.isArray(value)) return value.map((one) => plainOf(one, path, referred))
  if (typeof value !== 'object' || value === null) return value
  const typed = value as Readonly<Record<string, unknown>>
  switch (typed['__type']) {
    case 'Pointer':
      referred.pointer(path, String(typed['className']))
      return typed['objectId']
    case 'Date':
      return typed['iso']
    case 'File':
      return referred.file(typed as unknown as ParseFile)
    case 'Bytes':
      return typed['base64']
    case 'Polygon':
      return typed['coordinates']
    case 'Relation':
      return undefined
    default:
      return Object.fromEntries(
        Object.entries(typed)
          .filter(([name]) => name !== '__type')
          .map(([name, one]) => [name, plainOf(one, path === '' ? name : `${path}.${name}`, referred)]),
      )
  }
}
