import { isoTime, type Clock } from '../../../base/clock.ts'
import { errors, invalid, ISSUES_SHOWN, type Issue } from '../../../base/errors.ts'
import { timeOfId } from '../../../base/ids.ts'
import { boundedPointer } from '../../../base/json-pointer.ts'
import { parseJson } from '../../../base/json.ts'
import { createKeyedMutex } from '../../../base/keyed-mutex.ts'
import type { Database } from '../../../db/database.ts'
import { cachedUntilWrite } from '../../../db/cached-until-write.ts'
import { sql } from '../../../db/sql.ts'
import type { RowFilter } from '../../../http/access.ts'
import { noDocument } from '../errors.ts'
import {
  deleteSql,
  insertSql,
  selectSql,
  updateSql,
  type OwnedDocument,
  type StoredDocument,
} from './document-rows.ts'
import type { Upkeep } from './indexes/upkeep.ts'
import type { Json } from './query/filter.ts'

export type { StoredDocument }

const LARGEST_BYTES = 1_048_576
// `_id`, `createdAt` and `updatedAt` always take as many, and do not count.
const SERVICE_FIELDS_BYTES = 113
/** The largest document as it is stored. */
export const STORED_BYTES_MAX = LARGEST_BYTES + SERVICE_FIELDS_BYTES
const UPDATE_TRIES = 100
const UPDATES_WAITING = 1000

/** A document's fields as a client sends them. */
export type Fields = Record<string, unknown>

type ServiceFields = { _id: string; createdAt: string; updatedAt: string }

const SERVICE_FIELDS = ['_id', 'createdAt', 'updatedAt']

// Set by the service alone; what a client sends for them is ignored.
function withoutServiceFields(fields: Fields): Fields {
  if (!SERVICE_FIELDS.some((name) => Object.hasOwn(fields, name))) return fields
  const { _id, createdAt, updatedAt, ...others } = fields
  return others
}

/** Field names that begin with `$`. */
function* operatorNames(value: unknown, keys: (string | number)[] = []): Generator<Issue> {
  if (typeof value !== 'object' || value === null) return
  for (const [key, inner] of Array.isArray(value) ? value.entries() : Object.entries(value)) {
    keys.push(key)
    if (typeof key === 'string' && key.startsWith('$'))
      yield { path: boundedPointer('/body', keys), message: 'a field name must not begin with $' }
    yield* operatorNames(inner, keys)
    keys.pop()
  }
}

/** The JSON of a document: the service's own fields first. */
function write({ _id, createdAt, updatedAt }: ServiceFields, fields: Fields): string {
  const others = JSON.stringify(fields)
  // Only then can there be a name that begins with $.
  const issues = others.includes('"$') ? [...operatorNames(fields).take(ISSUES_SHOWN)] : []
  if (issues.length > 0) throw invalid(...issues)
  // None of these holds what JSON would escape.
  const own = `{"_id":"${_id}","createdAt":"${createdAt}","updatedAt":"${updatedAt}"`
  const text = others === '{}' ? `${own}}` : `${own},${others.slice(1)}`
  if (Buffer.byteLength(text) > STORED_BYTES_MAX)
    throw errors.payload_too_large({ message: `The document would be larger than ${LARGEST_BYTES} bytes.` })
  return text
}

const tooManyUpdates = (id: string) =>
  errors.unavailable({ message: `Too many concurrent updates of document ${id}: try again.`, retryAfter: 1 })

/** What a client knows of a document's version: `If-Match`, read from an ETag that was answered. */
export function versionOf(ifMatch: string | undefined): number | undefined {
  if (ifMatch === undefined || ifMatch.trim() === '*') return undefined
  const [, version] = /^(?:W\/)?"(\d{1,15})"$/.exec(ifMatch.trim()) ?? []
  // An ETag of another form is not one of ours, so it can't be the current one.
  return version === undefined ? -1 : Number(version)
}

export const etagOf = (version: number): string => `"${version}"`

const jsonOf = (body: string): Json => parseJson(body) as Json

export function createDocuments(db: Database, clock: Clock, indexes: Upkeep) {
  // Concurrent changes to one document would make each other start again.
  const mutex = createKeyedMutex({ queue: UPDATES_WAITING, retryAfter: 1 })

  /** @throws not_found also where the document is out of the caller's reach */
  async function get(collection: string, id: string, rowFilter: RowFilter): Promise<OwnedDocument> {
    const found = await db.get(selectSql(collection, id))
    if (!found || (rowFilter.owner !== undefined && found.owner !== rowFilter.owner))
      throw noDocument(collection, id)
    return found
  }

  const counted = cachedUntilWrite(db, async (collectionAndOwner) => {
    const [collection = '', owner = ''] = collectionAndOwner.split(' ')
    const row = await db.get<{ documents: number }>(sql`
      select cast(coalesce(sum(documents), 0) as bigint) as documents from store_counts
      where collection = ${collection} and owner = ${owner}`)
    return row!.documents
  })

  return {
    get,

    /**
     * Keeps a new document; a collection exists once something is in it.
     *
     * @param id the document's id; where it is there already (a repeated call), that document is answered
     * @throws validation_error for a field name that begins with `$`; payload_too_large over 1 MiB
     */
    async create(collection: string, id: string, owner: string, fields: Fields): Promise<StoredDocument> {
      const at = isoTime(timeOfId(id))
      const body = write({ _id: id, createdAt: at, updatedAt: at }, withoutServiceFields(fields))
      const [made] = await indexes.write(collection, (set) => ({
        query: insertSql(db.dialect, { collection, id, owner, body }, set),
        changes: () => [{ id, owner, after: jsonOf(body) }],
      }))
      return made ? { body, version: 1 } : get(collection, id, { owner })
    },

    /**
     * Changes the top-level fields given, and keeps the others.
     *
     * @param expected the version that the client has seen; undefined for any
     * @throws not_found, precondition_failed, validation_error, payload_too_large
     */
    update(
      collection: string,
      id: string,
      rowFilter: RowFilter,
      changes: Fields,
      expected: number | undefined,
    ): Promise<StoredDocument> {
      return mutex.run(`${collection}/${id}`, async () => {
        for (let attempt = 0; attempt < UPDATE_TRIES; attempt++) {
          const old = await get(collection, id, rowFilter)
          if (expected !== undefined && expected !== old.version) throw errors.precondition_failed()
          const { _id, createdAt, updatedAt, ...fields } = parseJson(old.body) as Fields & ServiceFields
          const body = write(
            { _id, createdAt, updatedAt: isoTime(clock.now()) },
            { ...fields, ...withoutServiceFields(changes) },
          )
          // Holds only where no other replica changed the document since it was read; else the merge is repeated.
          const [changed] = await indexes.write(collection, (set) => ({
            query: updateSql(collection, id, { body, version: old.version }, set),
            changes: () => [{ id, owner: old.owner, before: jsonOf(old.body), after: jsonOf(body) }],
          }))
          if (changed) return { body, version: changed.version }
        }
        throw tooManyUpdates(id)
      })
    },

    /** @throws not_found, precondition_failed */
    async remove(
      collection: string,
      id: string,
      rowFilter: RowFilter,
      expected: number | undefined,
    ): Promise<void> {
      for (let attempt = 0; attempt < UPDATE_TRIES; attempt++) {
        let old: OwnedDocument | undefined
        const [gone] = await indexes.write(collection, async (set) => {
          // Its entries can be told only from what it was.
          old = set.indexes.length > 0 ? await get(collection, id, rowFilter) : undefined
          if (old && expected !== undefined && expected !== old.version) throw errors.precondition_failed()
          return {
            query: deleteSql(collection, id, rowFilter, old?.version ?? expected, set),
            changes: () => [{ id, owner: old!.owner, before: jsonOf(old!.body) }],
          }
        })
        if (gone) return
        if (expected === undefined) {
          // Changed since it was read.
          if (old) continue
          throw noDocument(collection, id)
        }
        await get(collection, id, rowFilter)
        throw errors.precondition_failed()
      }
      throw tooManyUpdates(id)
    },

    /** How many documents of a collection are within reach, without counting them. */
    count: async (collection: string, { owner = '' }: RowFilter): Promise<number> =>
      counted(`${collection} ${owner}`),
  }
}

export type Documents = ReturnType<typeof createDocuments>
