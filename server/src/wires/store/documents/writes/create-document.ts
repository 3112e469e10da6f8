import { isoTime } from '../../../../base/clock.ts'
import { timeOfId } from '../../../../base/ids.ts'
import type { Issue } from '../../../../base/errors.ts'
import type { Step } from '../../../../db/database.ts'
import type { Growth } from '../../quota.ts'
import type { CollectionDefinition } from '../definition/collection.ts'
import type { Viewer } from '../definition/viewer.ts'
import { takenId } from '../../errors.ts'
import {
  isOfItsTime,
  readDocument,
  withoutServiceFields,
  type Fields,
  type ServiceFields,
} from '../language/document-json.ts'
import type { NewFiles } from '../file-fields/check-files.ts'
import { checkReferences, hasReferences } from './relations/check-references.ts'
import type { NewDocument } from '../storage/documents.ts'
import type { OwnedDocument } from '../storage/sql/document-rows.ts'
import { checkAction, checkResult, newFields, visibleIssues, type AccessRequest } from './access-checks.ts'
import { stepsAround, type WriteContext } from './write-context.ts'

/** The id of a new document. */
export type NewDocumentId = {
  /** One of `newId`: its time is that of the document, which has it as id unless another one is sent. */
  readonly recordId: string
  readonly sent?: string | undefined
  /**
   * What happens if a document has the id that is sent: it is answered, or the call is refused; `answer-own` answers it if this
   * call has created it, which is repeated. Default: refuse.
   */
  readonly ifTaken?: 'answer' | 'answer-own' | 'refuse'
}

const idOf = ({ recordId, sent = recordId }: NewDocumentId): string => sent

/**
 * Creates a document; a collection exists once something is in it.
 *
 * @param id where the document of a repeated call is there already, that is answered
 * @param newFiles those that come with it: their records are inserted with it, or not at all. Those that a repeated call has
 *   brought again are not
 * @throws UNAUTHORIZED, FORBIDDEN; VALIDATION_ERROR, also for a field name that begins with `$`; PAYLOAD_TOO_LARGE over 1 MiB;
 *   CONFLICT naming the fields that must be unique, or if the id is taken; what a hook throws
 */
export async function createDocument(
  context: WriteContext,
  collection: CollectionDefinition,
  viewer: Viewer,
  id: NewDocumentId,
  fields: Fields,
  newFiles?: NewFiles,
): Promise<OwnedDocument> {
  const request = { collection, subject: await viewer.subjectFor(collection) }
  checkAction(request, 'create')
  const { document, first: checks } = await prepareNew(
    context,
    request,
    viewer,
    id,
    fields,
    '/body',
    newFiles,
  )
  const first = [...(newFiles?.steps ?? []), ...checks]
  const { documents } = context
  const { owner, body } = document
  const isNew = await context.quota.run(viewer.caller, [growthOf(document)], (room) => {
    const events = [{ action: 'create' as const, id: document.id, after: body }]
    return documents.insert(document, stepsAround(context, collection, viewer, [...room, ...first], events))
  })
  if (isNew) return { body, version: 1, owner }
  const old = await documents.find(collection.name, document.id)
  if (!isAnswered(id, old, owner)) throw takenId(collection.name, document.id)
  return old ?? { body, version: 1, owner }
}

/**
 * Creates documents, all or none. If it is repeated, those that are still there are answered.
 *
 * @param ids in the order of the list
 * @throws likewise, with the index in the path
 */
export async function createDocuments(
  context: WriteContext,
  collection: CollectionDefinition,
  viewer: Viewer,
  ids: readonly NewDocumentId[],
  list: readonly Fields[],
): Promise<OwnedDocument[]> {
  const request = { collection, subject: await viewer.subjectFor(collection) }
  checkAction(request, 'create')
  const { documents } = context
  const { name } = collection
  const pathOf = (i: number): string => `/body/${i}`
  const prepared: PreparedDocument[] = []
  for (const [i, fields] of list.entries())
    prepared.push(await prepareNew(context, request, viewer, ids[i]!, fields, pathOf(i)))
  const newDocuments = prepared.map(({ document }) => document)
  const first = prepared.flatMap((one) => one.first)
  const events = newDocuments.map(({ id, body }) => ({ action: 'create' as const, id, after: body }))
  const { owner } = viewer
  const areNew = await context.quota.run(viewer.caller, newDocuments.map(growthOf), (room) => {
    const others = stepsAround(context, collection, viewer, [...room, ...first], events)
    return documents.insertAll(newDocuments, pathOf, others)
  })
  if (areNew) return newDocuments.map(({ body }) => ({ body, version: 1, owner }))
  const there = new Map(
    (await documents.findMany(newDocuments.map(({ id }) => ({ collection: name, id })))).map((one) => [
      one.id,
      one,
    ]),
  )
  const taken = ids.find((id) => !isAnswered(id, there.get(idOf(id)), owner))
  if (taken) throw takenId(name, idOf(taken))
  return ids.flatMap((id) => there.get(idOf(id)) ?? [])
}

/** Whether the document that has the id of a new one is answered in place of it. */
function isAnswered(
  { recordId, sent, ifTaken }: NewDocumentId,
  stored: OwnedDocument | undefined,
  owner: string,
): boolean {
  // No id of `newId` is made twice, so this call has created it; it may be deleted since.
  if (sent === undefined) return true
  if (!stored || ifTaken !== 'answer-own') return ifTaken === 'answer'
  const { createdAt } = readDocument(stored.body).service
  return stored.owner === owner && createdAt === isoTime(timeOfId(recordId))
}

/** Prepares a document of this moment. */
function prepareNew(
  context: WriteContext,
  request: AccessRequest,
  viewer: Viewer,
  id: NewDocumentId,
  fields: Fields,
  at: string,
  newFiles?: NewFiles,
): Promise<PreparedDocument> {
  const time = isoTime(timeOfId(id.recordId))
  return prepareDocument(context, request, viewer, fields, {
    service: { _id: idOf(id), createdAt: time, updatedAt: time },
    at,
    newFiles,
  })
}

/** What a new document takes. */
export const growthOf = ({ owner, body }: NewDocument): Growth => ({
  owner,
  bytes: Buffer.byteLength(body),
})

/** A document that may be created, and the steps in front of its write. */
export type PreparedDocument = { readonly document: NewDocument; readonly first: Step[] }

/**
 * Decides on a new document, and writes its JSON.
 *
 * @param of its id and times, where its fields are in the request, and the files that come with it
 * @throws as `createDocument`, but no CONFLICT
 */
export async function prepareDocument(
  context: Pick<WriteContext, 'hooks' | 'collections' | 'documents' | 'checkFiles'>,
  request: AccessRequest,
  viewer: Viewer,
  sent: Fields,
  {
    service,
    at,
    newFiles,
  }: { readonly service: ServiceFields; readonly at: string; readonly newFiles?: NewFiles | undefined },
): Promise<PreparedDocument> {
  const { collection } = request
  const { owner } = viewer
  const { _id: id } = service
  const fields = newFields(request, { service, fields: sent, owner }, at)
  const filterIssues = (issues: readonly Issue[]) =>
    visibleIssues(request, { service, fields, owner }, issues, at)
  const next = collection.hooks.beforeCreate
    ? withoutServiceFields(
        await context.hooks.runBefore(
          collection,
          'beforeCreate',
          viewer,
          id,
          { next: fields, filterIssues },
          at,
        ),
      )
    : fields
  const body = checkResult(request, undefined, { service, fields: next, owner }, at)
  const first = hasReferences(collection)
    ? await checkReferences(context, collection, viewer, { fields: next, at }, newFiles)
    : []
  const document = { collection: collection.name, id, owner, body, breaksIdOrder: !isOfItsTime(service) }
  return { document, first }
}
