import { isoTime } from '../../../../base/clock.ts'
import type { Issue } from '../../../../base/errors.ts'
import type { MakeRoom } from '../../../../http/route.ts'
import { noDocument } from '../../errors.ts'
import type { CollectionDefinition } from '../definition/collection.ts'
import type { Viewer } from '../definition/viewer.ts'
import { readDocument, withoutServiceFields } from '../language/document-json.ts'
import { replacementOf } from '../storage/documents.ts'
import type { Json } from '../language/query/filter.ts'
import { checkReferences } from './relations/check-references.ts'
import { mayIncludeOwner, rowFilterOf } from '../language/rules/rule.ts'
import type { OwnedDocument } from '../storage/sql/document-rows.ts'
import {
  changeFields,
  checkAction,
  checkResult,
  checkStored,
  documentOf,
  visibleIssues,
  type AccessRequest,
  type ApplyChange,
} from './access-checks.ts'
import { stepsAround, tooManyUpdates, UPDATE_TRIES, type WriteContext } from './write-context.ts'

/** What a client wants changed. */
export type DocumentChange = {
  readonly apply: ApplyChange
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
  const request = { collection, subject: await viewer.subjectFor(collection) }
  checkAction(request, 'update')
  const changeOnce = (attempt: number) => attemptChange(context, request, viewer, id, change, attempt)
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
  request: AccessRequest,
  viewer: Viewer,
  id: string,
  { apply, expected, makeRoom }: DocumentChange,
  attempt: number,
): Promise<OwnedDocument | undefined> {
  const { clock, documents, hooks } = context
  const { collection, subject } = request
  const { name } = collection
  const rules = collection.isPlain ? [collection.read, collection.update.before] : [collection.read]
  // Once, because the room is kept.
  const old = await documents.find(name, id, attempt === 0 ? makeRoom : undefined, (owner) =>
    rules.some((rule) => mayIncludeOwner(rowFilterOf(rule, subject), owner)),
  )
  if (!old) throw noDocument(name, id)
  const { service, fields } = readDocument(old.body)
  const { owner } = old
  const stored = { service, fields, owner }
  checkStored(request, 'update', stored, { version: old.version, expected })
  const sent = changeFields(request, stored, apply, { isInsert: false, now: isoTime(clock.now()) })
  const before = documentOf(service, fields)
  const filterIssues = (issues: readonly Issue[]) => visibleIssues(request, stored, issues)
  const next = withoutServiceFields(
    await hooks.runBefore(collection, 'beforeUpdate', viewer, id, { before, next: sent, filterIssues }),
  )
  const updated = { ...service, updatedAt: isoTime(clock.now()) }
  const body = checkResult(request, stored, { service: updated, fields: next, owner })
  const events = [{ action: 'update' as const, id, before: old.body, after: body }]
  const first = await checkReferences(context, collection, viewer, {
    fields: next,
    before: fields,
    at: '/body',
  })
  const parsed = { before: before as Json, after: documentOf(updated, next) as Json }
  const growth = [{ owner, bytes: Buffer.byteLength(body) - Buffer.byteLength(old.body) }]
  const written = await context.quota.run(viewer.caller, growth, (room) =>
    documents.writeAll(
      [replacementOf({ collection: name, id, old }, body, parsed)],
      stepsAround(context, collection, viewer, [...room, ...first], events),
    ),
  )
  return written && { body, version: written[0]![0]!.version, owner }
}
