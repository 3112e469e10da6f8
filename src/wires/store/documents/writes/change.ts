import { isoTime } from '../../../../base/clock.ts'
import { errors } from '../../../../base/errors.ts'
import type { MakeRoom } from '../../../../http/route.ts'
import { noDocument } from '../../errors.ts'
import { checkAudience, type CollectionDefinition } from '../collections/collection.ts'
import type { Viewer } from '../collections/viewer.ts'
import { readDocument, withoutServiceFields, writeDocument, type Fields } from '../document-json.ts'
import { replacementOf } from '../documents.ts'
import { refuseChanges } from '../fields/protection.ts'
import { concealedIn, viewOf } from '../fields/view.ts'
import type { SystemDocument } from '../hooks/system-api.ts'
import type { Json } from '../query/filter.ts'
import type { Path } from '../query/path.ts'
import { checkReferences } from '../relations/references.ts'
import { mayHold, type RuleSubject } from '../rules/rule.ts'
import type { OwnedDocument } from '../sql/document-rows.ts'
import {
  checkSchema,
  documentOf,
  holdsFor,
  notAllowed,
  stepsAround,
  tooManyUpdates,
  UPDATE_TRIES,
  type WriteContext,
} from './write.ts'

/** The fields that a caller may not write. */
export type Protected = {
  /** Not to be sent at all, because they are not shown. */
  readonly concealed: readonly Path[]
  /** Not to be changed. */
  readonly readOnly: readonly Path[]
}

/** What a client wants changed. */
export type DocumentChange = {
  /** @throws VALIDATION_ERROR where it names what is protected, or does not fit the document */
  readonly apply: (fields: Fields, fixed: Protected) => Fields
  /** The versions that the client takes for the current one; undefined for any. */
  readonly expected?: readonly number[] | undefined
  readonly makeRoom?: MakeRoom | undefined
}

/**
 * Changes a document. What is decided on is what is written: if it was changed meanwhile, all is decided again.
 *
 * @throws UNAUTHORIZED, FORBIDDEN, NOT_FOUND, PRECONDITION_FAILED, VALIDATION_ERROR, PAYLOAD_TOO_LARGE, CONFLICT; what a hook throws
 */
export async function changeDocument(
  context: WriteContext,
  collection: CollectionDefinition,
  viewer: Viewer,
  id: string,
  change: DocumentChange,
): Promise<OwnedDocument> {
  const subject = await viewer.subjectFor(collection)
  checkAudience(collection.update.before, subject, true)
  const changeOnce = (attempt: number) =>
    attemptChange(context, collection, viewer, subject, id, change, attempt)
  // A hook may change the document itself, and would wait for its own end.
  if (collection.hooks.beforeUpdate) return untilUnmoved(id, changeOnce)
  return context.mutex.run(`${collection.name}/${id}`, () => untilUnmoved(id, changeOnce))
}

async function untilUnmoved<T>(id: string, attempt: (i: number) => Promise<T | undefined>): Promise<T> {
  for (let i = 0; i < UPDATE_TRIES; i++) {
    const done = await attempt(i)
    if (done) return done
  }
  throw tooManyUpdates(id)
}

/** @returns undefined if the document was changed meanwhile */
async function attemptChange(
  context: WriteContext,
  collection: CollectionDefinition,
  viewer: Viewer,
  subject: RuleSubject,
  id: string,
  { apply, expected, makeRoom }: DocumentChange,
  attempt: number,
): Promise<OwnedDocument | undefined> {
  const { clock, documents, hooks } = context
  const { name } = collection
  // Once, because the room is kept.
  const old = await documents.find(name, id, attempt === 0 ? makeRoom : undefined, (owner) =>
    mayReach(collection, subject, owner),
  )
  if (!old) throw noDocument(name, id)
  const { service, fields } = readDocument(old.body)
  const before = documentOf(service, fields) as SystemDocument & Json
  const isReadable = holdsFor(collection.read, subject, before, old.owner)
  const isAllowed = holdsFor(collection.update.before, subject, before, old.owner)
  // Who may write, but not read, would learn from errors what is in the document; a plain collection has no such errors.
  if (!isReadable && !(isAllowed && collection.isPlain)) throw noDocument(name, id)
  if (expected?.includes(old.version) === false) throw errors.precondition_failed()
  if (!isAllowed) throw notAllowed('update')

  const fixed = protectedFields(collection, viewer, subject, before, old.owner)
  const sent = withoutServiceFields(apply(fields, fixed))
  refuseChanges(fields, sent, [...fixed.concealed, ...fixed.readOnly])
  const next = withoutServiceFields(
    await hooks.runBefore(collection, 'beforeUpdate', viewer, id, { before, next: sent }),
  )
  checkSchema(collection, next)
  const updated = { ...service, updatedAt: isoTime(clock.now()) }
  const after = documentOf(updated, next) as Json
  if (!holdsFor(collection.update.after, subject, after, old.owner)) throw notAllowed('update')

  const body = writeDocument(updated, next)
  const events = [{ action: 'update' as const, id, before: old.body, after: body }]
  const first = await checkReferences(context, collection, viewer, next, fields)
  const others = stepsAround(context, collection, viewer, first, events)
  const written = await documents.writeAll(
    [replacementOf({ collection: name, id, old }, body, { before, after })],
    others,
  )
  return written && { body, version: written[0]![0]!.version, owner: old.owner }
}

/** Whether anything of an owner may be within reach; a large document is not read if not. */
const mayReach = (
  { read, update, isPlain }: CollectionDefinition,
  subject: RuleSubject,
  owner: string,
): boolean => [read, ...(isPlain ? [update.before] : [])].some((rule) => mayHold(rule, subject, owner))

function protectedFields(
  collection: CollectionDefinition,
  viewer: Viewer,
  subject: RuleSubject,
  document: Json,
  owner: string,
): Protected {
  if (viewer.isPrivileged) return { concealed: [], readOnly: [] }
  const view = viewOf(collection, subject)
  return { concealed: view ? concealedIn(view, document, owner) : [], readOnly: collection.readOnly }
}
