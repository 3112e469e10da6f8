import { basename, join } from 'node:path'
import { text } from 'node:stream/consumers'

import { ApiError } from '../../base/errors.ts'
import { parseStrictJson } from '../../base/json.ts'
import type { SourceFile } from '../store-files.ts'
import { contentIn } from '../store-files.ts'
import { isMultiple, type PocketbaseField, type PocketbaseRow } from './pocketbase-data.ts'
import type { TranslatedCollection } from './pocketbase-collection.ts'

/** The fields of the document of a record. */
export function documentOf(
  collection: TranslatedCollection,
  row: PocketbaseRow,
  addressOf: (from: string) => string,
): Record<string, unknown> {
  const { of, fields, optional, createdField, updatedField } = collection
  const document: Record<string, unknown> = {}
  for (const field of fields) {
    const value = valueOf(field, row[field.name] ?? null)
    if (value === '' && optional.has(field.name)) continue
    if (field.type !== 'file') document[field.name] = value
    else if (Array.isArray(value))
      document[field.name] = value.map((name) => addressOf(fileAddress(of.id, row, name as string)))
    else document[field.name] = addressOf(fileAddress(of.id, row, value as string))
  }
  // Those of a collection without the fields are not known.
  const createdAt = timeOf(row, createdField) ?? timeOf(row, updatedField)
  const updatedAt = timeOf(row, updatedField)
  const owner = ownerOf(collection, row)
  return {
    ...document,
    _id: row['id'],
    ...(createdAt !== undefined && { createdAt }),
    ...(updatedAt !== undefined && { updatedAt }),
    ...(owner !== undefined && { $owner: owner }),
  }
}

/** @throws VALIDATION_ERROR */
function valueOf(field: PocketbaseField, value: PocketbaseRow[string]): unknown {
  const { name, type } = field
  if (type === 'bool') return Number(value) !== 0
  if (type === 'number') return Number(value)
  if (type === 'date' || type === 'autodate') return isoOf(String(value ?? ''))
  if (type !== 'json' && type !== 'geoPoint' && !isMultiple(field)) return value ?? ''
  if (value === null) return isMultiple(field) ? [] : null
  // An integer that a double would change refuses the record: it would be another one here.
  return parseStrictJson(String(value), { at: `/${name}`, takesRounded: true })
}

/** `2026-01-02 03:04:05.678Z` in ISO 8601. */
const isoOf = (text: string): string => text.replace(' ', 'T')

const timeOf = (row: PocketbaseRow, field: string | undefined): string | undefined =>
  (field !== undefined && isoOf(String(row[field] ?? ''))) || undefined

/** An account owns its own record; another record belongs to the first account that a field names. */
function ownerOf({ of, ownerFields }: TranslatedCollection, row: PocketbaseRow): string | undefined {
  if (of.type === 'auth') return row['id'] as string
  return ownerFields.map((name) => row[name]).find((one) => typeof one === 'string' && one !== '') as
    | string
    | undefined
}

/** The line of a user. */
export function userOf(
  { of, createdField }: TranslatedCollection,
  row: PocketbaseRow,
  identities: readonly object[],
): object {
  const createdAt = timeOf(row, createdField)
  return {
    _id: row['id'],
    email: row['email'],
    emailVerified: Number(row['verified']) !== 0,
    ...(typeof row['name'] === 'string' && row['name'] !== '' && { name: row['name'].slice(0, 200) }),
    ...(createdAt !== undefined && { createdAt }),
    disabled: of.authRule === null,
    passwordHash: row['password'] || null,
    ...(identities.length > 0 && { identities }),
  }
}

/** The address of a file: https://pocketbase.io/docs/files-handling/ */
const fileAddress = (collectionId: string, { id }: PocketbaseRow, name: string): string =>
  `/api/files/${collectionId}/${String(id)}/${name}`

/** The names of files in a record; none of a field that cannot be read, which refuses the document. */
export const fileNamesIn = ({ fields }: TranslatedCollection, row: PocketbaseRow): string[] =>
  fields
    .filter(({ type }) => type === 'file')
    .flatMap((field) => fileNamesOf(field, row[field.name] ?? null))
    .filter((name) => typeof name === 'string' && name !== '')

function fileNamesOf(field: PocketbaseField, value: PocketbaseRow[string]): string | string[] {
  try {
    return valueOf(field, value) as string | string[]
  } catch (error) {
    if (error instanceof ApiError) return []
    throw error
  }
}

/** A file of a record, with the name under which it was uploaded. */
export async function fileOf(
  dir: string,
  collection: TranslatedCollection,
  row: PocketbaseRow,
  name: string,
): Promise<SourceFile> {
  const { id } = collection.of
  const folder = join(dir, 'storage')
  const path = `${id}/${String(row['id'])}/${basename(name)}`
  const attributes = await attributesAt(folder, `${path}.attrs`)
  return {
    from: fileAddress(id, row, name),
    name: attributes?.['user.metadata']?.['original-filename'] ?? name,
    contentType: attributes?.['user.content_type'] || undefined,
    owner: ownerOf(collection, row),
    open: () => contentIn(folder, path),
  }
}

type Attributes = { 'user.content_type'?: string; 'user.metadata'?: { 'original-filename'?: string } | null }

/** What the storage keeps beside a file. */
async function attributesAt(folder: string, path: string): Promise<Attributes | undefined> {
  try {
    const { stream } = await contentIn(folder, path)
    return JSON.parse(await text(stream)) as Attributes
  } catch {
    return undefined
  }
}
