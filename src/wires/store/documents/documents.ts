import { isoTime, type Clock } from '../../../base/clock.ts'
import { Coalescer } from '../../../base/coalesce.ts'
import { ApiError, errors } from '../../../base/errors.ts'
import { idsWithin, timeOfId } from '../../../base/ids.ts'
import { parseJson } from '../../../base/json.ts'
import { createKeyedMutex } from '../../../base/keyed-mutex.ts'
import type { Database } from '../../../db/database.ts'
import { cachedUntilWrite } from '../../../db/cached-until-write.ts'
import type { RowFilter } from '../../../http/access.ts'
import { etagsOf } from '../../../http/conditions.ts'
import type { MakeRoom } from '../../../http/route.ts'
import { noDocument } from '../errors.ts'
import { readDocument, withoutServiceFields, writeDocument, type Fields } from './document-json.ts'
import {
  type NewDocument,
  type OwnedDocument,
  type StoredDocument,
  deleteSql,
  documentsSql,
  gainsFromGroups,
  insertAllSql,
  insertSql,
  selectAllSql,
  selectSmallSql,
  selectSql,
  updateSql,
} from './sql/document-rows.ts'
import type { Upkeep } from './indexes/upkeep.ts'
import type { Json } from './query/filter.ts'

const UPDATE_TRIES = 100
const UPDATES_WAITING = 1000
// Groups of a collection under way, beyond which documents wait for the next: one is written while the other is flushed.
const GROUPS = 2
const LARGEST_GROUP = 100
const GROUP_CHARACTERS = 1_000_000

const tooManyUpdates = (id: string) =>
  errors.unavailable({ message: `Too many concurrent updates of document ${id}: try again.`, retryAfter: 1 })

/**
 * The versions that a client takes for the current one, from the ETags of its `If-Match`; undefined if it takes any. An ETag
 * of another form is of no version.
 */
export function versionsOf(ifMatch: string | undefined): readonly number[] | undefined {
  const etags = ifMatch === undefined ? '*' : etagsOf(ifMatch)
  if (etags === '*') return undefined
  // A proxy that compresses an answer may weaken its ETag.
  return etags.flatMap((etag) => /^(?:W\/)?"([1-9]\d{0,14})"$/.exec(etag)?.[1] ?? []).map(Number)
}

export const etagOf = (version: number): string => `"${version}"`

const isWithin = ({ owner }: RowFilter, ownerOfRow: string): boolean =>
  owner === undefined || owner === ownerOfRow

const jsonOf = (body: string): Json => parseJson(body) as Json

function newBody(id: string, fields: Fields, path?: string): string {
  const at = isoTime(timeOfId(id))
  return writeDocument({ _id: id, createdAt: at, updatedAt: at }, withoutServiceFields(fields), path)
}

export function createDocuments(db: Database, clock: Clock, indexes: Upkeep) {
  // Concurrent changes to one document would make each other start again.
  const mutex = createKeyedMutex({ queue: UPDATES_WAITING, retryAfter: 1 })

  /** @throws not_found also where the document is out of the caller's reach */
  async function get(
    collection: string,
    id: string,
    rowFilter: RowFilter,
    makeRoom?: MakeRoom,
  ): Promise<OwnedDocument> {
    const small = makeRoom && (await db.get(selectSmallSql(collection, id)))
    const isLarge = small?.body === null && isWithin(rowFilter, small.owner)
    if (isLarge) await makeRoom!(small.bytes)
    const found =
      makeRoom && !isLarge ? (small as OwnedDocument | undefined) : await db.get(selectSql(collection, id))
    if (!found || !isWithin(rowFilter, found.owner)) throw noDocument(collection, id)
    return found
  }

  /**
   * Changes the fields of a document.
   *
   * @param expected the versions that the client takes for the current one; undefined for any
   * @throws not_found, precondition_failed, validation_error, payload_too_large
   */
  function change(
    collection: string,
    id: string,
    rowFilter: RowFilter,
    changed: (fields: Fields) => Fields,
    expected?: readonly number[],
    makeRoom?: MakeRoom,
  ): Promise<StoredDocument> {
    return mutex.run(`${collection}/${id}`, async () => {
      for (let attempt = 0; attempt < UPDATE_TRIES; attempt++) {
        // Once, because the room is kept.
        const old = await get(collection, id, rowFilter, attempt === 0 ? makeRoom : undefined)
        if (expected?.includes(old.version) === false) throw errors.precondition_failed()
        const { service, fields } = readDocument(old.body)
        const body = writeDocument({ ...service, updatedAt: isoTime(clock.now()) }, changed(fields))
        // Holds only where no other replica changed the document since it was read; else the change is repeated.
        const [row] = await indexes.write(collection, (set) => ({
          query: updateSql(collection, id, { body, version: old.version }, set),
          changes: () => [{ id, owner: old.owner, before: jsonOf(old.body), after: jsonOf(body) }],
        }))
        if (row) return { body, version: row.version }
      }
      throw tooManyUpdates(id)
    })
  }

  const counted = cachedUntilWrite(db, async (collectionAndOwner) => {
    const [collection = '', owner = ''] = collectionAndOwner.split(' ')
    const row = await db.get(documentsSql(collection, owner))
    return row!.documents
  })

  async function insert(document: NewDocument): Promise<boolean> {
    const { collection, id, owner, body } = document
    const rows = await indexes.write(collection, (set) => ({
      query: insertSql(db.dialect, document, set),
      changes: () => [{ id, owner, after: jsonOf(body) }],
    }))
    return rows.length > 0
  }

  async function insertAll(
    collection: string,
    list: readonly Omit<NewDocument, 'collection'>[],
    pathOf: (i: number) => string = () => '/body',
  ): Promise<boolean> {
    const rows = await indexes.write(collection, (set) => ({
      query: insertAllSql(collection, list, set),
      changes: () =>
        list.map(({ id, owner, body }, i) => ({ id, owner, after: jsonOf(body), path: pathOf(i) })),
    }))
    return rows.length > 0
  }

  // Documents that arrive together are inserted by one write, which costs PostgreSQL half as much where they have index entries.
  const groups = new Coalescer<NewDocument, boolean>({
    laneOf: ({ collection }) => collection,
    groups: GROUPS,
    largest: LARGEST_GROUP,
    heaviest: GROUP_CHARACTERS,
    weightOf: ({ body }) => body.length,
    keyOf: ({ id }) => id,
    async answer(group) {
      if (group.length === 1) return group.map(insert)
      try {
        const documents = group.map(({ id, owner, body }) => ({ id, owner, body }))
        return (await insertAll(group[0]!.collection, documents)) ? group.map(() => true) : group.map(insert)
      } catch (error) {
        // Nothing was written: it is wrong with one of them, and may be right for the others.
        if (error instanceof ApiError && error.status < 500) return group.map(insert)
        throw error
      }
    },
  })

  return {
    get,
    change,

    /**
     * Keeps a new document; a collection exists once something is in it.
     *
     * @param id the document's id; where it is there already (a repeated call), that document is answered
     * @throws validation_error for a field name that begins with `$`; payload_too_large over 1 MiB
     */
    async create(collection: string, id: string, owner: string, fields: Fields): Promise<StoredDocument> {
      const document = { collection, id, owner, body: newBody(id, fields) }
      const isAlone = !gainsFromGroups(db.dialect) || indexes.known(collection).indexes.length === 0
      const isMade = await (isAlone ? insert(document) : groups.call(document))
      return isMade ? { body: document.body, version: 1 } : get(collection, id, { owner })
    },

    /**
     * Creates documents, all or none. If it is repeated, those that are still there are answered.
     *
     * @param recordId what their ids are made from, in the order of the list
     * @throws validation_error, payload_too_large
     */
    async createAll(
      collection: string,
      recordId: string,
      owner: string,
      list: readonly Fields[],
    ): Promise<StoredDocument[]> {
      const ids = idsWithin(recordId, list.length)
      const pathOf = (i: number): string => `/body/${i}`
      const made = ids.map((id, i) => ({ id, owner, body: newBody(id, list[i]!, pathOf(i)) }))
      if (await insertAll(collection, made, pathOf)) return made.map(({ body }) => ({ body, version: 1 }))
      return db.all(selectAllSql(collection, owner, ids))
    },

    /** @throws not_found, precondition_failed */
    async remove(
      collection: string,
      id: string,
      rowFilter: RowFilter,
      expected: readonly number[] | undefined,
    ): Promise<void> {
      for (let attempt = 0; attempt < UPDATE_TRIES; attempt++) {
        let old: OwnedDocument | undefined
        const [gone] = await indexes.write(collection, async (set) => {
          // Its entries can be told only from what it was.
          old = expected || set.indexes.length > 0 ? await get(collection, id, rowFilter) : undefined
          if (old && expected?.includes(old.version) === false) throw errors.precondition_failed()
          return {
            query: deleteSql(collection, id, rowFilter, old?.version, set),
            changes: () => [{ id, owner: old!.owner, before: jsonOf(old!.body) }],
          }
        })
        if (gone) return
        if (!old) throw noDocument(collection, id)
        // Else it was changed since it was read.
      }
      throw tooManyUpdates(id)
    },

    /** How many documents of a collection are within reach, without counting them. */
    count: async (collection: string, { owner = '' }: RowFilter): Promise<number> =>
      counted(`${collection} ${owner}`),
  }
}

export type Documents = ReturnType<typeof createDocuments>
