// The forms in which documents of Firestore are exported as JSON.
import { createReadStream, existsSync } from 'node:fs'
import { open, readdir, readFile } from 'node:fs/promises'
import { basename, extname, join } from 'node:path'

import { ApiError, invalid } from '../../base/errors.ts'
import { StartError } from '../../base/start-error.ts'
import { recordsOf } from '../../wires/store/index.ts'
import { segmentsOf } from './firestore-values.ts'

type Json = Record<string, unknown>

/** A document as it is exported. */
export type ExportedDocument = {
  /** Collection, id, and so on for those below it. */
  readonly path: readonly string[]
  readonly fields: Json
  /** Whether the fields are typed, as those of the REST API. */
  readonly isRest: boolean
  readonly createdAt?: string
  readonly updatedAt?: string
}

/** A document that cannot be read. */
export type UnreadableDocument = { readonly collection: string; readonly fault: ApiError }

type Read = ExportedDocument | UnreadableDocument

const LONG_INTEGER = /[:[,]\s*-?\d{16,}\s*[,\]}]/
const COLLECTIONS = '__collections__'
const LINES = ['.ndjson', '.jsonl']
const ENDINGS = ['.json', ...LINES]
/** Where exports of a collection have the id of a document. */
const ID_FIELDS = ['__id__', '_id', 'id']

/** The files of a folder, by their names. */
export async function firestoreFiles(dir: string): Promise<string[]> {
  if (!existsSync(dir)) return []
  const names = await readdir(dir)
  return names
    .filter((name) => ENDINGS.includes(extname(name)))
    .toSorted()
    .map((name) => join(dir, name))
}

/** Reads the documents of a file. */
export type ReadDocuments = (file: string) => AsyncGenerator<Read>

/**
 * Makes the reader of files: of NDJSON or an array one document is in memory at a time, an object is read as a whole, and the last one
 * is kept, as each of its collections is read in turn.
 *
 * @returns a function that throws StartError if a file has no documents
 */
export function createDocumentReader(): ReadDocuments {
  let last: { file: string; value: Json } | undefined
  return async function* (file) {
    const collection = basename(file, extname(file))
    if (LINES.includes(extname(file)) || (await firstCharacterOf(file)) === '[')
      for await (const { line, fields } of recordsOf('ndjson', createReadStream(file), undefined)) {
        if (fields instanceof ApiError) yield { collection, fault: fields }
        else yield listedDocument(fields, collection, line)
      }
    else {
      if (last?.file !== file) last = { file, value: await objectIn(file) }
      yield* documentsOfObject(last.value, collection)
    }
  }
}

/** A document of a list: as the REST API answers it, or with its id among its fields. */
function listedDocument(value: Json, collection: string, line: number): Read {
  // What a query of the REST API answers.
  const of = (value['document'] ?? value) as Json
  if (isRestDocument(of)) return restDocument(of)
  const idField = ID_FIELDS.find((name) => typeof value[name] === 'string')
  if (idField === undefined)
    return unreadable(
      collection,
      `line ${line} has no id: neither ${ID_FIELDS.join(', ')} nor name and fields`,
    )
  const { [idField]: id, ...fields } = value
  return { path: [collection, id as string], fields, isRest: false }
}

const isRestDocument = (value: Json): boolean =>
  typeof value['name'] === 'string' &&
  value['name'].includes('/documents/') &&
  (value['fields'] === undefined || typeof value['fields'] === 'object')

const restDocument = ({ name, fields, createTime, updateTime }: Json): ExportedDocument => ({
  path: segmentsOf(String(name)),
  fields: (fields ?? {}) as Json,
  isRest: true,
  ...(typeof createTime === 'string' && { createdAt: createTime }),
  ...(typeof updateTime === 'string' && { updatedAt: updateTime }),
})

function* documentsOfObject(value: Json, collection: string): Generator<Read> {
  if (Array.isArray(value['documents'])) {
    for (const one of value['documents'] as Json[]) yield restDocument(one)
    return
  }
  if (isObject(value[COLLECTIONS])) yield* documentsBelow(value[COLLECTIONS], [])
  else yield* documentsBelow(areCollections(value) ? value : { [collection]: value }, [])
}

/** Whether an object has collections of documents, and not documents: all that is two levels below is objects, and there are some. */
function areCollections(value: Json): boolean {
  const below = Object.values(value).map((one) => (isObject(one) ? Object.values(one) : [one]))
  return below.flat().length > 0 && below.flat().every(isObject)
}

/** The documents of collections, and of those below them. */
function* documentsBelow(collections: Json, above: readonly string[]): Generator<Read> {
  for (const [name, documents] of Object.entries(collections)) {
    if (!isObject(documents)) {
      yield unreadable(name, `${name} has no documents by their ids`)
      continue
    }
    for (const [id, value] of Object.entries(documents)) {
      const path = [...above, name, id]
      if (!isObject(value)) {
        yield unreadable(name, `${path.join('/')} is no object`)
        continue
      }
      const { [COLLECTIONS]: below, ...fields } = value
      // A document that is not there can have others below it.
      if (Object.keys(fields).length > 0 || !isObject(below)) yield { path, fields, isRest: false }
      if (isObject(below)) yield* documentsBelow(below, path)
    }
  }
}

const unreadable = (collection: string, message: string): UnreadableDocument => ({
  collection,
  fault: invalid({ path: '', message }),
})

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

async function objectIn(file: string): Promise<Json> {
  const text = await readFile(file, 'utf8')
  try {
    const value: unknown = LONG_INTEGER.test(text) ? JSON.parse(text, markedInteger) : JSON.parse(text)
    if (isObject(value)) return value
  } catch {
    // Told below.
  }
  throw new StartError(
    `${file} is no JSON of documents: if it has one on each line, call it ${basename(file, '.json')}.ndjson`,
  )
}

/** An integer that a double would change, as a value that refuses its document. */
function markedInteger(_name: string, value: unknown, { source = '' }: { source?: string } = {}): unknown {
  const isChanged = typeof value === 'number' && /^-?\d+$/.test(source) && BigInt(source) !== BigInt(value)
  return isChanged ? { __datatype__: 'integer', value: source } : value
}

async function firstCharacterOf(file: string): Promise<string | undefined> {
  const handle = await open(file)
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(64), 0, 64, 0)
    return buffer.toString('utf8', 0, bytesRead).replace('\uFEFF', '').trimStart()[0]
  } finally {
    await handle.close()
  }
}
