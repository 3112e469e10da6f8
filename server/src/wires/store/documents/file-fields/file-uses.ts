import { errors, type ApiError } from '../../../../base/errors.ts'
import { parseJson } from '../../../../base/json.ts'
import { requireRow, type Database, type Step } from '../../../../db/database.ts'
import { sql } from '../../../../db/sql.ts'
import type { Collections } from '../definition/collections.ts'
import { fieldsOfFile, type FileField } from '../definition/file-field.ts'
import { referenceIndexIn } from '../definition/incoming-relations.ts'
import { referencesIn } from '../definition/relation.ts'
import type { Viewer } from '../definition/viewer.ts'
import { isInside } from '../language/fields/field-path.ts'
import { show, viewOf } from '../language/fields/view.ts'
import type { Json } from '../language/query/filter.ts'
import { isWithin, rowFilterOf } from '../language/rules/rule.ts'
import type { Documents } from '../storage/documents.ts'
import type { Index, IndexSet } from '../storage/entries/index-definition.ts'
import {
  hasNoReferrers,
  selectReferredSql,
  selectReferrersBeforeSql,
  selectReferrersSql,
} from '../storage/sql/referrers.ts'
import type { OwnedFile } from './file-access.ts'

/** The most documents of a field that are found to have a file. */
const FOUND_MAX = 1000
/** Of documents that have a file so many are read until one is found which the caller may read, and so many at once. */
const READ_MAX = 1024
const READ_AT_ONCE = 16

/** A field in which documents have a file, and their ids. */
export type FileUse = { readonly field: FileField; readonly documents: readonly string[] }

type Context = {
  readonly db: Database
  readonly collections: Collections
  readonly documents: Pick<Documents, 'findMany'>
  readonly indexesOf: (collection: string) => IndexSet | Promise<IndexSet>
}

/**
 * Which documents have which files: the indexes of file fields know, as they know which documents refer to another one. Nothing
 * else keeps account of it.
 */
export function createFileUses(context: Context) {
  const { db, collections } = context
  const fieldsNow = () => collections.set.fileFields
  const indexOf = (field: FileField) => indexOfField(context, field)
  const isTakenBy = (file: OwnedFile, field: FileField) => fieldsOfFile(file.attached_by).includes(field.name)

  return {
    get fields(): readonly FileField[] {
      return fieldsNow()
    },

    /** The declared fields that have taken a file; undefined if one is not declared here, which may have it still. */
    fieldsOf(attachedBy: string | null): readonly FileField[] | undefined {
      const fields = fieldsNow()
      const taken = fieldsOfFile(attachedBy).map((name) => fields.find((field) => field.name === name))
      return taken.every((field) => field !== undefined) ? taken : undefined
    },

    /**
     * The steps that fail if a document has one of the files. They must come after a step that locks the files: a write that adds a
     * file to a document locks it too.
     *
     * @throws UNAVAILABLE if the index of a field was dropped
     */
    async unusedSteps(ids: readonly string[], otherwise: () => ApiError): Promise<Step[]> {
      const indexes = await Promise.all(fieldsNow().map(indexOf))
      return indexes.map((index) =>
        requireRow(sql`select 1 as free where ${hasNoReferrers(index, ids)}`, otherwise),
      )
    },

    /** In which fields documents have a file, and which, up to 1000 of each. */
    async usesOf(id: string): Promise<FileUse[]> {
      const uses = await Promise.all(
        fieldsNow().map(async (field) => {
          const rows = await db.all(selectReferrersSql(await indexOf(field), [id], FOUND_MAX))
          return { field, documents: rows.map((row) => row.id) }
        }),
      )
      return uses.filter(({ documents }) => documents.length > 0)
    },

    /**
     * Which of the files a document has.
     *
     * @throws UNAVAILABLE while the index of a field is not ready: it may lack some
     */
    async usedOf(ids: readonly string[]): Promise<ReadonlySet<string>> {
      const indexes = await Promise.all(fieldsNow().map(indexOf))
      if (indexes.some(({ state }) => state !== 'ready'))
        throw errors.unavailable({ message: 'It is not known which documents have these files: try again.' })
      return new Set(await referredBy(db, indexes, ids))
    },

    /** Which of the files are public at this moment because a document has them in a field with public files. */
    async publicOf(files: readonly OwnedFile[]): Promise<ReadonlySet<string>> {
      const publicFields = fieldsNow().filter(({ isPublic }) => isPublic)
      const ids = files
        .filter((file) => publicFields.some((field) => isTakenBy(file, field)))
        .map(({ id }) => id)
      if (ids.length === 0) return new Set()
      const indexes = await Promise.all(publicFields.map((field) => knownIndexOf(context, field)))
      return new Set(
        await referredBy(
          db,
          indexes.filter((index) => index !== undefined),
          ids,
        ),
      )
    },

    /** Whether the viewer may read a document with this file, and its view shows the field. */
    async isShownTo(viewer: Viewer, file: OwnedFile): Promise<boolean> {
      for (const field of fieldsNow())
        if (isTakenBy(file, field) && (await isShownIn(context, field, viewer, file.id))) return true
      return false
    },
  }
}

export type FileUses = ReturnType<typeof createFileUses>

async function referredBy(
  db: Database,
  indexes: readonly Index[],
  ids: readonly string[],
): Promise<string[]> {
  if (indexes.length === 0 || ids.length === 0) return []
  return (await db.all(selectReferredSql(indexes, ids))).map(({ target }) => target)
}

async function knownIndexOf({ indexesOf }: Context, field: FileField): Promise<Index | undefined> {
  return referenceIndexIn(await indexesOf(field.collection), field.path)
}

/** @throws UNAVAILABLE if it was dropped */
async function indexOfField(context: Context, field: FileField): Promise<Index> {
  const index = await knownIndexOf(context, field)
  if (index) return index
  throw errors.unavailable({
    message: `The index of ${field.name} is not there: a server with another configuration has dropped it.`,
  })
}

/** Whether a document that the viewer may read shows the file in a field. */
async function isShownIn(context: Context, field: FileField, viewer: Viewer, id: string): Promise<boolean> {
  const { db, collections, documents } = context
  const collection = collections.get(field.collection)
  const subject = await viewer.subjectFor(collection)
  const rowFilter = rowFilterOf(collection.read, subject)
  const view = viewOf(collection, subject)
  if (rowFilter.rows === 'none' || view?.hidden.some((one) => isInside(field.path, one))) return false
  const index = await knownIndexOf(context, field)
  if (!index) return false
  const isWhole = !view?.concealed.some((one) => isInside(field.path, one))
  if (rowFilter.rows === 'all' && isWhole) return (await referredBy(db, [index], [id])).length > 0
  for (let before: string | undefined, read = 0; read < READ_MAX; read += READ_AT_ONCE) {
    const ids = (await db.all(selectReferrersBeforeSql(index, id, before, READ_AT_ONCE))).map((row) => row.id)
    if (ids.length === 0) return false
    const found = await documents.findMany(ids.map((one) => ({ collection: collection.name, id: one })))
    for (const document of found) {
      if (!isWithin(rowFilter, document.owner, () => parseJson(document.body) as Json)) continue
      // Of the document as it is now: an index that is not ready may lack what has changed.
      const shown: unknown = parseJson(show(view, document))
      for (const { value } of referencesIn(shown, field)) if (value === id) return true
    }
    if (ids.length < READ_AT_ONCE) return false
    before = ids.at(-1)
  }
  return false
}
