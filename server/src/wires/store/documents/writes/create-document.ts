import { isoTime } from '../../../../base/clock.ts'
import { idsWithin, timeOfId } from '../../../../base/ids.ts'
import type { Issue } from '../../../../base/errors.ts'
import type { Step } from '../../../../db/database.ts'
import type { Growth } from '../../quota.ts'
import type { CollectionDefinition } from '../definition/collection.ts'
import type { Viewer } from '../definition/viewer.ts'
import {
  withoutServiceFields,
  type DocumentRow,
  type Fields,
  type ServiceFields,
} from '../language/document-json.ts'
import { checkReferences } from './relations/check-references.ts'
import type { OwnedDocument } from '../storage/sql/document-rows.ts'
import { checkAction, checkResult, newFields, visibleIssues, type AccessRequest } from './access-checks.ts'
import { stepsAround, type WriteContext } from './write-context.ts'

/**
 * Creates a document; a collection exists once something is in it.
 *
 * @param id the document's id; where it is there already (a repeated call), that document is answered
 * @throws UNAUTHORIZED, FORBIDDEN; VALIDATION_ERROR, also for a field name that begins with `$`; PAYLOAD_TOO_LARGE over 1 MiB;
 *   CONFLICT naming the fields that must be unique; what a hook throws
 */
export async function createDocument(
  context: WriteContext,
  collection: CollectionDefinition,
  viewer: Viewer,
  id: string,
  fields: Fields,
): Promise<OwnedDocument> {
  const request = { collection, subject: await viewer.subjectFor(collection) }
  checkAction(request, 'create')
  const { document, first } = await prepareDocument(context, request, viewer, id, fields)
  const { documents } = context
  const { owner, body } = document
  const isNew = await context.quota.run(viewer.caller, [growthOf(document)], (room) => {
    const events = [{ action: 'create' as const, id, after: body }]
    return documents.insert(document, stepsAround(context, collection, viewer, [...room, ...first], events))
  })
  if (isNew) return { body, version: 1, owner }
  // A repeated call. Somebody else has no document with its id.
  const [old] = await documents.findAll(collection.name, owner, [id])
  return old ? { ...old, owner } : { body, version: 1, owner }
}

/**
 * Creates documents, all or none. If it is repeated, those that are still there are answered.
 *
 * @param recordId what their ids are made from, in the order of the list
 * @throws likewise, with the index in the path
 */
export async function createDocuments(
  context: WriteContext,
  collection: CollectionDefinition,
  viewer: Viewer,
  recordId: string,
  list: readonly Fields[],
): Promise<OwnedDocument[]> {
  const request = { collection, subject: await viewer.subjectFor(collection) }
  checkAction(request, 'create')
  const { documents } = context
  const ids = idsWithin(recordId, list.length)
  const pathOf = (i: number): string => `/body/${i}`
  const prepared: PreparedDocument[] = []
  for (const [i, fields] of list.entries())
    prepared.push(await prepareDocument(context, request, viewer, ids[i]!, fields, pathOf(i)))
  const newDocuments = prepared.map(({ document }) => document)
  const first = prepared.flatMap((one) => one.first)
  const events = newDocuments.map(({ id, body }) => ({ action: 'create' as const, id, after: body }))
  const { owner } = viewer
  const areNew = await context.quota.run(viewer.caller, newDocuments.map(growthOf), (room) => {
    const others = stepsAround(context, collection, viewer, [...room, ...first], events)
    return documents.insertAll(collection.name, newDocuments, pathOf, others)
  })
  if (areNew) return newDocuments.map(({ body }) => ({ body, version: 1, owner }))
  const there = await documents.findAll(collection.name, owner, ids)
  return there.map(({ body, version }) => ({ body, version, owner }))
}

/** What a new document takes. */
export const growthOf = ({ owner, body }: Omit<DocumentRow, 'version'>): Growth => ({
  owner,
  bytes: Buffer.byteLength(body),
})

/** A document that may be created, and the steps in front of its write. */
export type PreparedDocument = { readonly document: Omit<DocumentRow, 'version'>; readonly first: Step[] }

/**
 * Decides on a new document, and writes its JSON.
 *
 * @param times when it was created and changed, if that is not filterIssues by its id
 * @throws as `createDocument`, but no CONFLICT
 */
export async function prepareDocument(
  context: Pick<WriteContext, 'hooks' | 'collections' | 'documents'>,
  request: AccessRequest,
  viewer: Viewer,
  id: string,
  sent: Fields,
  at?: string,
  times?: Omit<ServiceFields, '_id'>,
): Promise<PreparedDocument> {
  const { collection } = request
  const { owner } = viewer
  const time = isoTime(timeOfId(id))
  const service: ServiceFields = { _id: id, createdAt: time, updatedAt: time, ...times }
  const fields = newFields(request, { service, fields: sent, owner }, at)
  const filterIssues = (issues: readonly Issue[]) =>
    visibleIssues(request, { service, fields, owner }, issues, at)
  const next = withoutServiceFields(
    await context.hooks.runBefore(collection, 'beforeCreate', viewer, id, { next: fields, filterIssues }, at),
  )
  const body = checkResult(request, undefined, { service, fields: next, owner }, at)
  const first = await checkReferences(context, collection, viewer, next, undefined, at)
  return { document: { collection: collection.name, id, owner, body }, first }
}
