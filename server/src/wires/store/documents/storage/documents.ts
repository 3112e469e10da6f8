import { Coalescer } from '../../../../base/coalesce.ts'
import { ApiError } from '../../../../base/errors.ts'
import { parseJson } from '../../../../base/json.ts'
import { allRows, type RowFilter } from '../../../../base/row-filter.ts'
import { cachedUntilWrite } from '../../../../db/cached-until-write.ts'
import type { Database } from '../../../../db/database.ts'
import type { Dialect } from '../../../../db/sql.ts'
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
import type { DocumentRow } from '../language/document-json.ts'
import { hasIndexes } from './entries/index-definition.ts'
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

/**
 * The write that replaces a document; no row if it is not what was read any more.
 *
 * @param parsed both documents, if they are parsed already
 */
export const replacementOf = (
  { collection, id, old }: DocumentToChange,
  body: string,
  parsed?: { readonly before: Json; readonly after: Json },
): CollectionWrite<{ version: number }> => ({
  collection,
  make: (set) => ({
    query: updateSql(collection, id, { body, version: old.version }, set),
    changes: () => [
      { id, owner: old.owner, ...(parsed ?? { before: jsonOf(old.body), after: jsonOf(body) }) },
    ],
  }),
})

/** A document that is replaced, with others. */
export type ReplacedDocument = DocumentToChange & { readonly body: string }

/** The writes that replace documents of a collection: one on PostgreSQL, which takes a third of the time. */
export const replacementsOf = (
  dialect: Dialect,
  collection: string,
  documents: readonly ReplacedDocument[],
): CollectionWrite<{ version: number }>[] =>
  dialect === 'sqlite'
    ? documents.map((one) => replacementOf(one, one.body))
    : [
        {
          collection,
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
export const deletionOf = ({
  collection,
  id,
  old,
}: DocumentToChange): CollectionWrite<{ version: number }> => ({
  collection,
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

  async function insert(document: NewDocument, others?: OtherSteps): Promise<boolean> {
    const { collection, id, owner, body, breaksIdOrder = false } = document
    const rows = await indexes.write(
      collection,
      (set) => ({
        query: insertSql(db.dialect, document, set),
        changes: () => [{ id, owner, after: jsonOf(body) }],
        breaksIdOrder,
      }),
      others,
    )
    return rows.length > 0
  }

  async function insertAll(
    collection: string,
    list: readonly Omit<NewDocument, 'collection'>[],
    pathOf: (i: number) => string = () => '/body',
    others?: OtherSteps,
  ): Promise<boolean> {
    const rows = await indexes.write(
      collection,
      (set) => ({
        query: insertAllSql(collection, list, set),
        changes: () =>
          list.map(({ id, owner, body }, i) => ({ id, owner, after: jsonOf(body), path: pathOf(i) })),
        breaksIdOrder: list.some((one) => one.breaksIdOrder),
      }),
      others,
    )
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
      const alone = () => group.map((document) => insert(document))
      if (group.length === 1) return alone()
      try {
        return (await insertAll(group[0]!.collection, group)) ? group.map(() => true) : alone()
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
      return isAlone ? insert(document, others) : groups.call(document)
    },

    /** Inserts documents, all or none; false if there is one with an id of theirs. */
    insertAll,

    /** Writes in several collections, all or none; undefined if a document is not what was read any more. */
    writeAll: indexes.writeAll,

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
