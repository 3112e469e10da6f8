import { Coalescer } from '../../../../base/coalesce.ts'
import { ApiError } from '../../../../base/errors.ts'
import { parseJson } from '../../../../base/json.ts'
import { allRows, type RowFilter } from '../../../../base/row-filter.ts'
import { cachedUntilWrite } from '../../../../db/cached-until-write.ts'
import type { Database } from '../../../../db/database.ts'
import type { Dialect, Row } from '../../../../db/sql.ts'
import type { MakeRoom } from '../../../../http/route.ts'
import {
  type BodyBytes,
  type OwnedDocument,
  deleteSql,
  documentsSql,
  gainsFromGroups,
  insertAllSql,
  insertSql,
  selectIdsSql,
  selectManySql,
  selectSmallSql,
  selectSql,
  updateAllSql,
  updateSql,
} from './sql/document-rows.ts'
import { selectWithKeysSql } from './sql/referrers.ts'
import type { DocumentRow } from '../language/document-json.ts'
import { hasIndexes, type Index } from './entries/index-definition.ts'
import type { CollectionWrite, OtherSteps, Upkeep } from './indexes/index-upkeep.ts'
import type { Json } from '../language/query/filter.ts'

// Groups of a collection under way, beyond which documents wait for the next: one is written while the other is flushed.
const GROUPS = 2
const LARGEST_GROUP = 100
const GROUP_CHARACTERS = 1_000_000

/** A document to be inserted. */
export type NewDocument = Omit<DocumentRow, 'version'> & {
  /** Whether its `createdAt` is not the time of its id: lists of the collection are then sorted by `createdAt`. */
  readonly breaksIdOrder?: boolean
}

/** A document that is read to be changed. */
export type DocumentToChange = {
  readonly collection: string
  readonly id: string
  readonly old: OwnedDocument
}

const jsonOf = (body: string): Json => parseJson(body) as Json

/** A write in a collection, and what it leaves of documents: nothing of one that it deletes. */
export type PlannedWrite = CollectionWrite<Row> & {
  readonly leaves: readonly { readonly id: string; readonly left: OwnedDocument | undefined }[]
  /** What it inserts. */
  readonly inserted?: readonly NewDocument[]
}

/** A write of documents that are there; its rows have their versions. */
export type PlannedChange = PlannedWrite & CollectionWrite<{ version: number }>

const FIRST_VERSION = 1

/** What a replacement leaves. */
const replaced = ({ id, old }: DocumentToChange, body: string): PlannedWrite['leaves'][number] => ({
  id,
  left: { owner: old.owner, body, version: old.version + 1 },
})

/**
 * The write that inserts documents of a collection, at least one; no row if there is one with an id of theirs.
 *
 * @param pathOf where they are in the request
 */
export function insertionOf(
  dialect: Dialect,
  documents: readonly NewDocument[],
  pathOf: (i: number) => string = () => '/body',
): PlannedWrite {
  const [first] = documents as readonly [NewDocument]
  return {
    collection: first.collection,
    inserted: documents,
    leaves: documents.map(({ id, owner, body }) => ({ id, left: { owner, body, version: FIRST_VERSION } })),
    make: (set) => ({
      query:
        documents.length === 1
          ? insertSql(dialect, first, set)
          : insertAllSql(first.collection, documents, set),
      changes: () =>
        documents.map(({ id, owner, body }, i) => ({ id, owner, after: jsonOf(body), path: pathOf(i) })),
      breaksIdOrder: documents.some((one) => one.breaksIdOrder),
    }),
  }
}

/**
 * The write that replaces a document; no row if it is not what was read any more.
 *
 * @param parsed both documents, if they are parsed already
 */
export const replacementOf = (
  document: DocumentToChange,
  body: string,
  parsed?: { readonly before: Json; readonly after: Json },
): PlannedChange => {
  const { collection, id, old } = document
  return {
    collection,
    leaves: [replaced(document, body)],
    make: (set) => ({
      query: updateSql(collection, id, { body, version: old.version }, set),
      changes: () => [
        { id, owner: old.owner, ...(parsed ?? { before: jsonOf(old.body), after: jsonOf(body) }) },
      ],
    }),
  }
}

/** A document that is replaced, with others. */
export type ReplacedDocument = DocumentToChange & { readonly body: string }

/** The writes that replace documents of a collection: one on PostgreSQL, which takes a third of the time. */
export const replacementsOf = (
  dialect: Dialect,
  collection: string,
  documents: readonly ReplacedDocument[],
): PlannedChange[] =>
  dialect === 'sqlite'
    ? documents.map((one) => replacementOf(one, one.body))
    : [
        {
          collection,
          leaves: documents.map((one) => replaced(one, one.body)),
          make: (set) => ({
            query: updateAllSql(
              collection,
              documents.map(({ id, old, body }) => ({ id, version: old.version, body })),
              set,
            ),
            changes: () =>
              documents.map(({ id, old, body }) => ({
                id,
                owner: old.owner,
                before: jsonOf(old.body),
                after: jsonOf(body),
              })),
          }),
        },
      ]

/** The write that deletes a document; no row likewise. */
export const deletionOf = ({ collection, id, old }: DocumentToChange): PlannedChange => ({
  collection,
  leaves: [{ id, left: undefined }],
  make: (set) => ({
    query: deleteSql(collection, id, allRows, old.version, set),
    changes: () => [{ id, owner: old.owner, before: jsonOf(old.body) }],
  }),
})

/** The documents of all collections as they are stored, with their index entries. Who may do what is asked before. */
export function createDocuments({ db }: { db: Database }, { indexes }: { indexes: Upkeep }) {
  const counted = cachedUntilWrite(db, async (collectionAndOwner) => {
    const [collection = '', owner = ''] = collectionAndOwner.split(' ')
    const row = await db.get(documentsSql(collection, owner))
    return row!.documents
  })

  async function insertAll(
    list: readonly NewDocument[],
    pathOf?: (i: number) => string,
    others?: OtherSteps,
  ): Promise<boolean> {
    const rows = await indexes.writeAll([insertionOf(db.dialect, list, pathOf)], others)
    return rows !== undefined
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
      const alone = () => group.map((document) => insertAll([document]))
      if (group.length === 1) return alone()
      try {
        return (await insertAll(group)) ? group.map(() => true) : alone()
      } catch (error) {
        // Nothing was written: it is wrong with one of them, and may be right for the others.
        if (error instanceof ApiError && error.status < 500) return alone()
        throw error
      }
    },
  })

  return {
    /**
     * Reads a document.
     *
     * @param makeRoom called before a large one is read, unless `mayRead` says that none of its owner's may be read
     */
    async find(
      collection: string,
      id: string,
      makeRoom?: MakeRoom,
      mayRead: (owner: string) => boolean = () => true,
    ): Promise<OwnedDocument | undefined> {
      if (!makeRoom) return db.get(selectSql(collection, id))
      const small = await db.get(selectSmallSql(collection, id))
      if (small?.body !== null) return small as OwnedDocument | undefined
      if (!mayRead(small.owner)) return undefined
      await makeRoom(small.bytes)
      return db.get(selectSql(collection, id))
    },

    /** Whether a collection has a document. */
    has: async (collection: string, id: string): Promise<boolean> =>
      (await db.get(selectIdsSql(collection, [id]))) !== undefined,

    /** Documents of several collections by their ids, in one query, in no order. */
    findMany: (wanted: readonly { collection: string; id: string }[]) =>
      db.all(selectManySql(wanted)) as Promise<DocumentRow[]>,

    /** Likewise; undefined if they have more bytes. */
    async findWithin(
      wanted: readonly { collection: string; id: string }[],
      bytes: BodyBytes,
    ): Promise<DocumentRow[] | undefined> {
      const rows = await db.all(selectManySql(wanted, bytes))
      return rows.every(({ body }) => body !== null) ? (rows as DocumentRow[]) : undefined
    },

    /**
     * Inserts a document.
     *
     * @returns false if there is one with its id
     * @throws CONFLICT naming the fields that must be unique
     */
    insert(document: NewDocument, others?: OtherSteps): Promise<boolean> {
      const isAlone =
        others !== undefined ||
        !gainsFromGroups(db.dialect) ||
        !hasIndexes(indexes.known(document.collection))
      return isAlone ? insertAll([document], undefined, others) : groups.call(document)
    },

    /** Inserts documents of a collection, all or none; false if there is one with an id of theirs. */
    insertAll,

    /** Writes in several collections, all or none; undefined if a document is not what was read any more. */
    writeAll: (
      writes: readonly PlannedChange[],
      others?: OtherSteps,
    ): Promise<{ version: number }[][] | undefined> => indexes.writeAll(writes, others),

    /** Runs stages of writes likewise. */
    writeStages: indexes.writeStages,

    /** The ids of documents that have one of some keys in an index, in their order. */
    idsWithKeys: async (index: Index, keys: readonly Buffer[], limit: number): Promise<string[]> =>
      (await db.all(selectWithKeysSql(index, keys, limit))).map(({ id }) => id),

    /**
     * Deletes a document; it is read only if its index entries cannot be told without it.
     *
     * @returns whether there was such a document
     */
    async remove(collection: string, id: string, rowFilter: RowFilter): Promise<boolean> {
      const make: CollectionWrite<{ version: number }>['make'] = async (set) => {
        const isRead = hasIndexes(set)
        const old = isRead ? await db.get(selectSql(collection, id)) : undefined
        // No document has the version 0.
        const version = isRead ? (old?.version ?? 0) : undefined
        return {
          query: deleteSql(collection, id, rowFilter, version, set),
          changes: () => (old ? [{ id, owner: old.owner, before: jsonOf(old.body) }] : []),
        }
      }
      return (await indexes.write(collection, make)).length > 0
    },

    /** How many documents a collection has, or an owner in it, without counting them. */
    count: async (collection: string, owner = ''): Promise<number> => counted(`${collection} ${owner}`),
  }
}

export type Documents = ReturnType<typeof createDocuments>
