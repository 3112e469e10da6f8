import { deletionOf, insertionOf, type Documents, type PlannedWrite } from '../documents.ts'
import { entriesOfDocuments } from '../entries/document-entries.ts'
import type { OtherSteps } from '../indexes/index-upkeep.ts'
import type { Dialect } from '../../../../../db/sql.ts'
import type { KnownDocuments } from './known-documents.ts'

/** Keeps the writes of an operation for the commit. */
export type StageWrites = (writes: readonly PlannedWrite[], others?: OtherSteps) => void

/** The documents of the database with those that are known in their place, and writes that are staged. */
export function documentsOver(
  stored: Documents,
  dialect: Dialect,
  known: KnownDocuments,
  stage: StageWrites,
): Documents {
  const find: Documents['find'] = async (collection, id, makeRoom, mayRead) => {
    const one = known.get({ collection, id })
    if (one) return one.document
    const document = await stored.find(collection, id, makeRoom, mayRead)
    if (document) known.noteRead([], [{ collection, id, ...document }])
    return document
  }
  const insertAll: Documents['insertAll'] = async (list, pathOf, others) => {
    const { there, unknown } = known.split(list)
    if (there.length > 0 || (unknown.length > 0 && (await stored.findMany(unknown)).length > 0)) return false
    stage([insertionOf(dialect, list, pathOf)], others)
    return true
  }
  return {
    ...stored,
    find,
    insertAll,
    insert: (document, others) => insertAll([document], undefined, others),
    async has(collection, id) {
      const one = known.get({ collection, id })
      return one ? one.document !== undefined : stored.has(collection, id)
    },
    async findMany(wanted) {
      const { there, unknown } = known.split(wanted)
      return unknown.length > 0 ? [...there, ...(await stored.findMany(unknown))] : there
    },
    async findWithin(wanted, bytes) {
      const { there, unknown } = known.split(wanted)
      const rows = unknown.length > 0 ? await stored.findWithin(unknown, bytes) : []
      if (rows) known.noteRead(unknown, rows)
      return rows && [...there, ...rows]
    },
    async writeAll(writes, others) {
      stage(writes, others)
      return writes.map(({ leaves }) => leaves.map(({ left }) => ({ version: left?.version ?? 0 })))
    },
    async remove(collection, id, rowFilter) {
      const old = await find(collection, id)
      if (!old || (rowFilter.rows === 'own' && rowFilter.owner !== old.owner)) return false
      stage([deletionOf({ collection, id, old })])
      return true
    },
    async idsWithKeys(index, keys, limit) {
      const { collection } = index
      const ids = await stored.idsWithKeys(index, keys, limit + known.written.length)
      const here = entriesOfDocuments(index, known.writtenIn(collection), () => undefined).filter(
        ({ entries }) => entries.some((entry) => keys.some((key) => key.equals(entry.key))),
      )
      return [...ids.filter((id) => !known.isWritten({ collection, id })), ...here.map(({ id }) => id)]
        .toSorted()
        .slice(0, limit)
    },
  }
}
