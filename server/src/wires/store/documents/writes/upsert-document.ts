import { isoTime } from '../../../../base/clock.ts'
import { ApiError, errors, invalid } from '../../../../base/errors.ts'
import type { Caller } from '../../../../http/access.ts'
import { isTakenId } from '../../errors.ts'
import type { CollectionDefinition } from '../definition/collection.ts'
import type { Viewer } from '../definition/viewer.ts'
import { withoutServiceFields, type Fields } from '../language/document-json.ts'
import { isInside } from '../language/fields/field-path.ts'
import type { Json } from '../language/query/filter.ts'
import type { Path } from '../language/query/path.ts'
import { entriesOf, UnindexableError } from '../storage/entries/entries.ts'
import type { Index } from '../storage/entries/index-definition.ts'
import type { OwnedDocument } from '../storage/sql/document-rows.ts'
import { checkAction, refuseHidden } from './access-checks.ts'
import { changeDocument, type DocumentChange } from './change-document.ts'
import { createDocument } from './create-document.ts'
import { tooManyUpdates, UPDATE_TRIES, type WriteContext } from './write-context.ts'

/** Which document is meant: that with an `_id`, or that with the values that were sent for fields that are unique. */
export type UpsertKey = { readonly id: string } | { readonly by: string }

/** What becomes of it: `apply` makes the fields of a document that is created out of none. */
export type Upsert = DocumentChange & {
  /** The id that a document gets that is created by unique fields. */
  readonly recordId: string
  /** False: a document that is not there is an error. */
  readonly creates: boolean
}

/** The error of a create, if another caller has created the document meanwhile. */
export const isTakenBy = (target: UpsertKey, error: unknown): boolean =>
  'id' in target
    ? isTakenId(error)
    : error instanceof ApiError &&
      error.status === 409 &&
      namesIn(String(error.details?.['fields'])) === namesIn(target.by)

/**
 * Changes a document, or creates it if there is none. However many callers do it at once, one of them creates it.
 *
 * @throws FORBIDDEN if the caller may not send ids; VALIDATION_ERROR for fields that are not unique, or have no values, and for
 *   operators that do not fit a new document; NOT_FOUND and CONFLICT if the caller may not read the document that is there; as `changeDocument` and `createDocument`
 */
export async function upsertDocument(
  context: WriteContext,
  collection: CollectionDefinition,
  viewer: Viewer,
  target: UpsertKey,
  { recordId, creates, ...change }: Upsert,
): Promise<{ document: OwnedDocument; isNew: boolean }> {
  const request = { collection, subject: await viewer.subjectFor(collection) }
  if ('id' in target) {
    if (creates && !maySendIds(collection, viewer.caller)) throw needsServerIds(collection)
  }
  const now = isoTime(context.clock.now())
  const initial = change.apply({}, { concealed: [], readOnly: [] }, { isInsert: true, now })
  if ('by' in target) {
    // Before it is looked up: the answer must not tell of values that the caller may not ask for.
    if (!creates) checkAction(request, 'update')
    refuseHidden(request, initial, viewer.owner)
  }
  const lookup = await lookupOf(context, collection, target, initial)
  const apply: DocumentChange['apply'] = (fields, fixed, update) => {
    if (!lookup.isOf(fields)) throw new Moved()
    // As if the document could not be read: the answer must not tell that it has the value.
    if (lookup.paths.some((path) => fixed.concealed.some((one) => isInside(path, one))))
      throw noMatch(collection, target)
    return change.apply(fields, fixed, update)
  }
  for (let tries = 0; tries < UPDATE_TRIES; tries++)
    try {
      const id = await lookup.find()
      if (id !== undefined) {
        const document = await changeDocument(context, collection, viewer, id, { ...change, apply })
        return { document, isNew: false }
      }
      if (!creates) throw noMatch(collection, target)
      const newDocumentId = { recordId, sent: 'id' in target ? target.id : undefined }
      const document = await createDocument(context, collection, viewer, newDocumentId, initial)
      return { document, isNew: true }
    } catch (error) {
      if (error instanceof Moved || isTakenBy(target, error)) continue
      if (!isNotFound(error)) throw error
      if (!creates) throw noMatch(collection, target)
      // One that others have deleted is created; one that the caller may not read is there.
      if ((await lookup.find()) === undefined) continue
      if ('id' in target) throw error
      checkAction(request, 'create')
      throw taken(target.by)
    }
  throw tooManyUpdates('id' in target ? target.id : target.by)
}

/** The document that was found has other values meanwhile. */
class Moved extends Error {}

/** Whether the `_id` is kept that somebody sends for a new document. */
export const maySendIds = ({ takesIds }: CollectionDefinition, caller: Caller | undefined): boolean =>
  takesIds || caller?.kind === 'key'

/** How the document is found, and whether one with these fields is it. */
type Lookup = {
  readonly find: () => Promise<string | undefined>
  readonly isOf: (fields: Fields) => boolean
  /** The fields of which it has the values that were sent. */
  readonly paths: readonly Path[]
}

async function lookupOf(
  { documents, deletions }: WriteContext,
  { name }: CollectionDefinition,
  target: UpsertKey,
  sent: Fields,
): Promise<Lookup> {
  if ('id' in target)
    return {
      find: async () => ((await documents.has(name, target.id)) ? target.id : undefined),
      isOf: () => true,
      paths: [],
    }
  const { by } = target
  const index = uniqueIndexIn((await deletions.indexesOf(name)).indexes, by)
  if (!index)
    throw invalid({
      path: '/query/by',
      message: `${by} is not unique in ${name}: declare it in its option unique`,
    })
  const keys = keysOf(sent, index)
  const [key] = keys
  if (!key || keys.length > 1)
    throw invalid({ path: '/body', message: `must have one value of ${by}, by which the document is found` })
  return {
    find: async () => (await documents.idsWithKeys(index, keys, 1))[0],
    isOf: (fields) => keysOf(fields, index).some((one) => one.equals(key)),
    paths: index.fields.map(({ path }) => path),
  }
}

/** The keys of a document in an index; none if it does not fit. */
function keysOf(fields: Fields, index: Index): Buffer[] {
  try {
    return entriesOf(withoutServiceFields(fields) as Json, index).entries.map(({ key }) => key)
  } catch (error) {
    if (error instanceof UnindexableError) return []
    throw error
  }
}

/** Fields that are unique together, in whatever order. */
const namesIn = (by: string): string => by.split(',').toSorted().join()

const uniqueIndexIn = (indexes: readonly Index[], by: string): Index | undefined =>
  indexes.find(
    ({ isUnique, fields }) =>
      isUnique && namesIn(fields.map(({ path }) => path.join('.')).join()) === namesIn(by),
  )

const isNotFound = (error: unknown): boolean => error instanceof ApiError && error.code === 'NOT_FOUND'

const needsServerIds = ({ name }: CollectionDefinition): ApiError =>
  errors.forbidden({
    message: `The server gives documents of ${name} their _id: upsert is for service keys, and for collections with ids: 'client'.`,
  })

const noMatch = ({ name }: CollectionDefinition, target: UpsertKey): ApiError =>
  errors.not_found({
    message: `No document of ${name} has this ${'id' in target ? '_id' : target.by}.`,
  })

const taken = (by: string): ApiError =>
  errors.conflict({
    message: `Another document has the same ${by.split(',').join(' and ')}.`,
    details: { fields: by.split(',') },
  })
