import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename } from 'node:path'

import { ApiError, invalid } from '../../base/errors.ts'
import { StartError } from '../../base/start-error.ts'
import { messageOf, recordsOf, type ImportRecord } from '../../wires/store/index.ts'
import { createCollectionNames, type CollectionNames } from '../collection-names.ts'
import { createDerivedSchema } from '../derived-schema.ts'
import { foreignIdOf } from '../foreign-id.ts'
import type { ImportSource, SourceCollection } from '../source.ts'
import { declaredBy } from './metadata.ts'

export type MongodbOptions = {
  /** Fields that may name the owner of a document. */
  readonly ownerFields: readonly string[]
  /** The collection whose documents become accounts too. */
  readonly users: string | undefined
  /** Its fields. */
  readonly email: string
  readonly password: string
  readonly verified: string
}

type Fields = Record<string, unknown>

/** A collection that has been read once. */
type ReadCollection = { readonly file: string; readonly collection: SourceCollection }

/**
 * Opens what `mongoexport` or `bsondump` wrote: files of NDJSON or arrays of JSON, each with the documents of a collection that has the
 * name of the file. Every file is read once for its types.
 *
 * @throws StartError
 */
export async function openMongodb(files: readonly string[], options: MongodbOptions): Promise<ImportSource> {
  const names = createCollectionNames()
  const read: ReadCollection[] = []
  for (const file of files) read.push(await readCollection(file, names, options))
  const doubled = read.find(
    ({ collection }, i) => read.findIndex((one) => one.collection.name === collection.name) < i,
  )
  if (doubled) throw new StartError(`${doubled.file}: two files have the name of ${doubled.collection.name}`)
  const users = read.find(({ file }) => nameOf(file) === options.users)
  if (options.users !== undefined && !users)
    throw new StartError(`--users ${options.users}: no file has this name`)
  return {
    collections: read.map(({ collection }) => collection),
    notes: names.notes(),
    ...(users && {
      users: { count: users.collection.count, read: () => usersIn(users.file, options) },
    }),
    close: () => undefined,
  }
}

/** `books` of `dump/shop/books.json`. */
const nameOf = (file: string): string => basename(file).replace(/\.(?:json|ndjson|jsonl)$/, '')

/** Hashes of passwords in the forms that most libraries write. */
const HASH = /^(?:\$(?:2[abxy]|argon2\w+|scrypt|pbkdf2[\w-]*)\$|pbkdf2_sha\d+\$)/

async function readCollection(
  file: string,
  names: CollectionNames,
  options: MongodbOptions,
): Promise<ReadCollection> {
  const isOfUsers = nameOf(file) === options.users
  const schema = createDerivedSchema()
  const ids = createFieldsOfOne(OBJECT_ID)
  const hashes = new Set<string>()
  let [count, otherIds] = [0, 0]
  for await (const { fields } of documentsIn(file)) {
    count++
    if (fields instanceof ApiError) continue
    if ('originalId' in originalOf(fields)) otherIds++
    const { _id, ...others } = isOfUsers ? without(fields, options.password) : fields
    schema.add(others)
    ids.add(others)
    for (const [name, value] of Object.entries(others))
      if (PLAIN.test(name) && typeof value === 'string' && HASH.test(value)) hashes.add(name)
  }
  const { notes, ...declared } = await declaredBy(file.replace(/\.\w+$/, '.metadata.json'))
  const hidden = [...hashes]
  const collection: SourceCollection = {
    name: names.of(nameOf(file)),
    declaration: { schema: schema.schema(), ...declared, ...(hidden.length > 0 && { hidden }) },
    notes: [
      ...notes,
      ...(otherIds > 0
        ? [
            `documents have an _id that none can have here (${otherIds}): it is in originalId, and _id is made of it`,
          ]
        : []),
      ...hidden.map(
        (name) =>
          `${name} has hashes of passwords and is hidden: name the collection with --users if they are those of accounts`,
      ),
      ...ids
        .names()
        .map((name) => `${name} has ObjectIds: declare a relation if they are those of documents`),
    ],
    count,
    read: () => documentsOf(file, isOfUsers, options),
  }
  return { file, collection }
}

/** Names that are paths too. */
const PLAIN = /^[\w-]+$/
const OBJECT_ID = /^[0-9a-f]{24}$/

/** The fields of which all values are texts of a form, or arrays of them. */
function createFieldsOfOne(form: RegExp) {
  const fields = new Map<string, boolean>()
  return {
    add(document: Fields): void {
      for (const [name, value] of Object.entries(document)) {
        if (value === null || fields.get(name) === false) continue
        const values: unknown[] = Array.isArray(value) ? value : [value]
        const areFit = values.every((one) => typeof one === 'string' && form.test(one))
        if (values.length > 0) fields.set(name, areFit)
      }
    },
    names: (): string[] =>
      [...fields].flatMap(([name, areFit]) => (areFit && PLAIN.test(name) ? [name] : [])),
  }
}

async function* documentsOf(
  file: string,
  isOfUsers: boolean,
  { ownerFields, password }: MongodbOptions,
): AsyncGenerator<ImportRecord> {
  for await (const { line, fields } of documentsIn(file)) {
    if (fields instanceof ApiError) yield { line, fields }
    // The options name the owner; a field of the other system must not set it.
    else if ('$owner' in fields)
      yield { line, fields: invalid({ path: '/$owner', message: 'is no name of a field' }) }
    else {
      const _id = idOf(fields)
      const owner = isOfUsers
        ? _id
        : ownerFields.map((name) => fields[name]).find((one) => typeof one === 'string')
      const createdAt = fields['createdAt'] ?? timeOfId(_id)
      yield {
        line,
        fields: {
          ...(isOfUsers ? without(fields, password) : fields),
          ...originalOf(fields),
          _id,
          ...(createdAt !== undefined && { createdAt }),
          ...(owner !== undefined && { $owner: owner }),
        },
      }
    }
  }
}

/** The id of a document: that of MongoDB if it can be one here, a number as text, else one that is made of it. */
function idOf({ _id }: Fields): string | undefined {
  if (_id === undefined) return undefined
  return foreignIdOf([typeof _id === 'string' ? _id : JSON.stringify(_id)])
}

/** The `_id` that a document has in MongoDB, where it is another one here. */
const originalOf = ({ _id }: Fields): Fields =>
  _id === undefined || typeof _id === 'number' || idOf({ _id }) === _id ? {} : { originalId: _id }

/** @see https://www.mongodb.com/docs/manual/reference/bson-types/#objectid */
const timeOfId = (id: unknown): number | undefined =>
  typeof id === 'string' && OBJECT_ID.test(id) ? parseInt(id.slice(0, 8), 16) * 1000 : undefined

async function* usersIn(file: string, { email, password, verified }: MongodbOptions): AsyncGenerator<object> {
  for await (const { fields } of documentsIn(file)) {
    if (fields instanceof ApiError) continue
    const { name } = fields
    const createdAt = fields['createdAt'] ?? isoOf(timeOfId(fields['_id']))
    yield {
      _id: idOf(fields),
      email: fields[email],
      emailVerified: fields[verified] === true,
      ...(typeof name === 'string' && { name }),
      ...(typeof createdAt === 'string' && { createdAt }),
      passwordHash: fields[password] ?? null,
    }
  }
}

const isoOf = (time: number | undefined): string | undefined =>
  time === undefined ? undefined : new Date(time).toISOString()

const without = (fields: Fields, name: string): Fields => {
  const { [name]: _, ...others } = fields
  return others
}

/** The documents of a file, with values of JSON in place of those of Extended JSON. @throws StartError */
async function* documentsIn(file: string): AsyncGenerator<ImportRecord> {
  const found = await stat(file).catch((cause: unknown) => {
    throw new StartError(`${file} cannot be read: ${(cause as Error).message}`, { cause })
  })
  if (!found.isFile()) throw new StartError(`${file} is no file: name the files in it`)
  try {
    yield* recordsOf('ndjson', createReadStream(file) as AsyncIterable<Buffer>, undefined)
  } catch (cause) {
    throw cause instanceof ApiError ? new StartError(`${file}: ${messageOf(cause)}`, { cause }) : cause
  }
}
