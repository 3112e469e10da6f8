import type { Static } from 'typebox'

import { Readable } from 'node:stream'

import { Type } from '../../../../base/schema.ts'
import { ApiError, errors, invalid, type Issue } from '../../../../base/errors.ts'
import { idsWithin, newId } from '../../../../base/ids.ts'
import { createPause } from '../../../../base/pause.ts'
import { ownRows } from '../../../../base/row-filter.ts'
import { json, type BodyFiles } from '../../../../http/bodies.ts'
import { namesEtag } from '../../../../http/conditions.ts'
import { countedFor } from '../../../../http/limits.ts'
import type { Caller } from '../../../../http/access.ts'
import { answer, jsonText, NoBody, endpoint, type Call } from '../../../../http/route.ts'
import type { Collections } from '../definition/collections.ts'
import type { Viewer } from '../definition/viewer.ts'
import { writtenAgain, type Fields as DocumentFields } from '../language/document-json.ts'
import { Explanation } from '../lists/explain.ts'
import { etagOf, versionsOf } from '../language/etag.ts'
import { show } from '../language/fields/view.ts'
import type { createLists, ListedDocument } from '../lists/list.ts'
import { parseProjection } from '../language/fields/projection.ts'
import {
  AnsweredDocument,
  ByParameter,
  Document,
  Documents,
  ExpandParameter,
  Fields,
  FieldsParameter,
  IfMatch,
  IfNoneMatch,
  InCollection,
  ListBody,
  ListQuery,
  OneDocument,
  OneOrMore,
  OneOrMoreFields,
  Page,
  ReplaceParameter,
  UpsertParameter,
} from './request-schemas.ts'
import { runPatches } from './costly-patches.ts'
import { readAccess } from './read-access.ts'
import { expand, parseExpand, withExpanded } from '../writes/relations/expand-relations.ts'
import type { ShownFiles } from '../file-fields/shown-files.ts'
import { needsAdmin } from '../language/rules/audience.ts'
import { mayIncludeOwner } from '../language/rules/rule.ts'
import {
  isReadable,
  shownAfterWrite,
  shownAgain,
  shownFields,
  shownPage,
  type ShownDocument,
} from '../writes/shown-documents.ts'
import { patchBy, replaceBy, updateBy } from '../writes/request-body.ts'
import { changeDocument, type DocumentChange } from '../writes/change-document.ts'
import { createDocument, createDocuments, type NewDocumentId } from '../writes/create-document.ts'
import { documentIdOf } from '../language/document-id.ts'
import { acceptFiles, withNewFiles, type ReceiveDocumentFiles } from '../file-fields/new-files.ts'
import { checkAction } from '../writes/access-checks.ts'
import { removeDocument } from '../writes/remove-document.ts'
import type { WriteContext } from '../writes/write-context.ts'
import { maySendIds, upsertDocument, type UpsertKey } from '../writes/upsert-document.ts'
import { noDocument, storeErrors } from '../../errors.ts'

/** What the routes that change a document have in common. */
const CHANGE = {
  access: 'optional',
  params: OneDocument,
  headers: IfMatch,
  reply: { 200: Document },
  errors: [errors.not_found, errors.precondition_failed, errors.payload_too_large],
} as const

const PATCH_BODY = json(Fields, { contentTypes: ['application/merge-patch+json'] })

export function documentEndpoints({
  collections,
  writing,
  list,
  explain,
  listLimitMs,
  shownFiles,
  receiveFiles,
  bodyFiles,
}: {
  collections: Collections
  writing: WriteContext
  /** How long a list may take, its waiting included. */
  listLimitMs: number
  shownFiles: ShownFiles
  receiveFiles: ReceiveDocumentFiles
  /** What files may come with a document. */
  bodyFiles: BodyFiles
} & ReturnType<typeof createLists>) {
  const { documents } = writing
  const one = ({ body, etag }: ShownDocument, status = 200) =>
    answer<Document>(jsonText(body), { status, headers: { etag } })

  async function answerList(
    call: Pick<Call, 'ip' | 'signal' | 'makeRoom'> & {
      params: { collection: string }
      caller: Caller | undefined
    },
    query: Static<typeof ListQuery>,
  ) {
    const { params, caller, makeRoom } = call
    const name = params.collection
    const projection = query.fields === undefined ? undefined : parseProjection(query.fields)
    const { collection, viewer, rowFilter, view } = await readAccess(collections, name, caller, projection)
    const { owner, preview } = query
    if (owner !== undefined || preview !== undefined) checkOperatorQuery(viewer, query)
    const branches =
      query.expand === undefined
        ? undefined
        : await parseExpand(query.expand, collection, collections, viewer)
    const options = { caller: countedFor(call), signal: () => call.signal }
    const access = { rowFilter: owner === undefined ? rowFilter : ownRows(owner), view }
    const reads = preview === undefined ? undefined : { characters: preview }
    const page = await list({ collection: name, access, parameters: query, reads, options, makeRoom })
    const next = page.nextCursor === undefined ? '' : `,"nextCursor":${JSON.stringify(page.nextCursor)}`
    let bodies: string[]
    if (reads) bodies = page.documents.map(storedPreview)
    else if (view || projection) bodies = await shownPage(view, page.documents, projection)
    else bodies = page.documents.map(({ body }) => body)
    if (branches) {
      const whole = projection ? await shownPage(view, page.documents) : bodies
      const expanded = await expand({ collections, documents, shownFiles, viewer, makeRoom }, branches, whole)
      for (const [i, one] of expanded.entries()) bodies[i] = withExpanded(bodies[i]!, one)
    }
    const total = page.total === Infinity ? '' : `"total":${page.total},`
    return jsonText<Static<typeof Documents>>(
      `{"data":[${bodies.join(',')}],${total}"limit":${page.limit},"offset":${page.offset}${next}}`,
    )
  }

  /** The answer to a create as somebody may see it now. */
  async function replayedCreate(name: string, text: string, viewer: Viewer): Promise<string> {
    const collection = collections.get(name)
    const subject = await viewer.subjectFor(collection)
    const answered = JSON.parse(text) as Document | { data: Document[] }
    const shownNow = async (one: Document): Promise<string> => {
      const now = await documents.find(name, one._id)
      return shownAgain(collection, subject, { body: writtenAgain(one), owner: viewer.owner }, now)
    }
    if ('_id' in answered) return shownNow(answered)
    return `{"data":[${(await Promise.all(answered.data.map(shownNow))).join(',')}]}`
  }

  async function change(
    apply: DocumentChange['apply'],
    { params: { collection: name, id }, headers, caller, makeRoom }: ChangeCall & { params: { id: string } },
  ) {
    const collection = collections.get(name)
    const viewer = collections.viewer(caller)
    const written = await changeDocument(writing, collection, viewer, id, {
      apply,
      expected: versionsOf(headers['if-match']),
      makeRoom,
    })
    return one(shownAfterWrite(collection, await viewer.subjectFor(collection), written))
  }

  /** Changes the document that is meant, or creates it if there is none and the caller asks for that. */
  async function upsert(
    target: UpsertKey,
    apply: DocumentChange['apply'],
    creates: boolean,
    { params, caller, headers, makeRoom }: ChangeCall,
  ) {
    const collection = collections.get(params.collection)
    const viewer = collections.viewer(caller)
    const { document, isNew } = await upsertDocument(writing, collection, viewer, target, {
      apply,
      recordId: newId(writing.clock.now()),
      creates,
      expected: versionsOf(headers['if-match']),
      makeRoom,
    })
    return one(shownAfterWrite(collection, await viewer.subjectFor(collection), document), isNew ? 201 : 200)
  }

  /** Reads a patch and applies it. */
  const patchIn = <R>(
    call: Parameters<typeof countedFor>[0] & { body: DocumentFields },
    work: (apply: DocumentChange['apply']) => Promise<R>,
  ): Promise<R> =>
    runPatches(writing, call, [call.body], async () => {
      const pause = createPause()
      const apply = patchBy(call.body)
      await pause()
      return work(apply)
    })

  return {
    create: endpoint(
      {
        summary: 'Create a document, or several',
        description:
          'A collection exists as soon as it contains a document. An array of up to 1000 documents creates all of them or none, and answers them as `data`, in the same order. As multipart/form-data a document, the part `_json`, comes with its files, each in a part named by its field: all are stored, or nothing.',
        access: 'user',
        idempotent: true,
        replayed: (body, { params, caller }) =>
          replayedCreate((params as { collection: string }).collection, body, collections.viewer(caller)),
        params: InCollection,
        body: json(OneOrMoreFields, { files: bodyFiles }),
        reply: { 201: OneOrMore },
        errors: [errors.conflict, errors.payload_too_large, storeErrors.quota_exceeded, errors.unavailable],
      },
      async (call) => {
        const { body, caller, upload } = call
        const { collection: name } = call.params
        const collection = collections.get(name)
        const viewer = collections.viewer(caller)
        const subject = await viewer.subjectFor(collection)
        const takesIds = maySendIds(collection, caller)
        const idOf = (id: string, fields: DocumentFields, at: string): NewDocumentId => ({
          recordId: id,
          sent: takesIds && fields['_id'] !== undefined ? documentIdOf(fields['_id'], at) : undefined,
          ifTaken: call.isRepeated ? 'answer-own' : 'refuse',
        })
        if (upload) {
          if (Array.isArray(body))
            throw invalid({ path: '/body', message: 'must be one document, if files come with it' })
          checkAction({ collection, subject }, 'create')
          const id = idOf('', body, '/body/_id')
          return receiveFiles(
            { upload, caller, once: call.once!, signal: call.signal },
            { accept: acceptFiles(collection), content: body },
            async (newFiles, made) => {
              const fields = withNewFiles(collection, body, newFiles.named)
              const ifTaken = made.isRepeated ? 'answer-own' : 'refuse'
              const newId = { ...id, recordId: made.id, ifTaken } as const
              const document = await createDocument(writing, collection, viewer, newId, fields, newFiles)
              return one(shownAfterWrite(collection, subject, document), 201)
            },
          )
        }
        const { recordId } = call
        if (Array.isArray(body)) {
          const list = body as DocumentFields[]
          const recordIds = idsWithin(recordId, list.length)
          const ids = list.map((fields, i) => idOf(recordIds[i]!, fields, `/body/${i}/_id`))
          refuseTwice(ids)
          const newDocuments = await createDocuments(writing, collection, viewer, ids, list)
          const bodies = newDocuments.map((document) => shownAfterWrite(collection, subject, document).body)
          return answer<Document>(jsonText(`{"data":[${bodies.join(',')}]}`), { status: 201 })
        }
        const newDocument = await createDocument(
          writing,
          collection,
          viewer,
          idOf(recordId, body, '/body/_id'),
          body,
        )
        return one(shownAfterWrite(collection, subject, newDocument), 201)
      },
    ),
    list: endpoint(
      {
        summary: 'List documents',
        description:
          'Answers a page of the documents that the filter finds, in the order of sort, and how many it finds in all. A query that takes too long is stopped, and answered 503.',
        access: 'optional',
        readsOnly: true,
        params: InCollection,
        query: ListQuery,
        timeLimitMs: listLimitMs,
        reply: { 200: Documents },
      },
      (call) => answerList(call, call.query),
    ),
    query: endpoint(
      {
        summary: 'List documents by a query in the body',
        description:
          'Answers as the list does, of parameters that are too long for an address: a filter of many ids.',
        access: 'optional',
        changesNothing: true,
        params: InCollection,
        body: json(ListBody),
        timeLimitMs: listLimitMs,
        reply: { 200: Documents },
      },
      async (call) => {
        const { filter, ...others } = call.body
        try {
          return await answerList(call, {
            ...others,
            ...(filter !== undefined && { filter: JSON.stringify(filter) }),
          })
        } catch (error) {
          throw inBody(error)
        }
      },
    ),
    explain: endpoint(
      {
        summary: 'Explain how a list is read',
        description:
          'Reads the list of the same parameters, and answers with which index in place of its page.',
        access: 'admin',
        readsOnly: true,
        params: InCollection,
        query: Type.Object(Page),
        timeLimitMs: listLimitMs,
        reply: { 200: Explanation },
      },
      async ({ params: { collection: name }, query, caller, ip, signal, makeRoom }) => {
        const { collection, viewer, rowFilter, view } = await readAccess(collections, name, caller)
        // How much was examined tells of documents that rules and views keep from others.
        if (!viewer.isPrivileged && !collection.isPlain) throw needsAdmin()
        const options = { caller: countedFor({ caller, ip }), signal }
        const access = { rowFilter, view }
        return explain({ collection: name, access, parameters: query, options, makeRoom })
      },
    ),
    get: endpoint(
      {
        summary: 'Get a document',
        access: 'optional',
        readsOnly: true,
        params: OneDocument,
        query: Type.Object(
          { fields: FieldsParameter, expand: ExpandParameter },
          { additionalProperties: false },
        ),
        headers: IfNoneMatch,
        reply: { 200: AnsweredDocument, 304: NoBody },
        errors: [errors.not_found],
      },
      async ({ params: { collection: name, id }, query, headers, caller, makeRoom }) => {
        const projection = query.fields === undefined ? undefined : parseProjection(query.fields)
        const { collection, viewer, rowFilter, view } = await readAccess(
          collections,
          name,
          caller,
          projection,
        )
        const branches =
          query.expand === undefined
            ? undefined
            : await parseExpand(query.expand, collection, collections, viewer)
        const row = await documents.find(name, id, makeRoom, (owner) => mayIncludeOwner(rowFilter, owner))
        if (!row || (rowFilter.rows !== 'all' && !isReadable(rowFilter, row))) throw noDocument(name, id)
        const shown = shownFields(view, row, projection)
        // Its ETag would not tell of changes to the others.
        if (branches) {
          const whole = show(view, row)
          const context = { collections, documents, shownFiles, viewer, makeRoom }
          const [expanded] = await expand(context, branches, [whole])
          return answer<Document>(jsonText(withExpanded(shown.body, expanded!)), {})
        }
        const { 'if-none-match': ifNoneMatch } = headers
        // Not text: that would have a content type of its own.
        if (ifNoneMatch !== undefined && namesEtag(ifNoneMatch, shown.etag, 'weak'))
          return answer<Document>(Readable.from([]), { status: 304, headers: { etag: shown.etag } })
        return one(shown)
      },
    ),
    update: endpoint(
      {
        ...CHANGE,
        summary: 'Update a document',
        description: 'Sets the given top-level fields and keeps the others; null is stored as null.',
        query: Type.Object(
          { replace: ReplaceParameter, upsert: UpsertParameter },
          { additionalProperties: false },
        ),
        body: json(Fields),
        reply: { 200: Document, 201: Document },
        errors: [...CHANGE.errors, errors.conflict],
      },
      (call) => {
        const apply = (call.query.replace ? replaceBy : updateBy)(call.body)
        return mayCreate(call) ? upsert({ id: call.params.id }, apply, true, call) : change(apply, call)
      },
    ),
    updateBy: endpoint(
      {
        ...CHANGE,
        summary: 'Update or create a document by a unique field',
        description:
          'Changes the document that has the values of the body in the fields of by, as a PUT of the document does: 404 if there is none. With upsert it is created then. However many callers do this at once, there is one document.',
        params: InCollection,
        query: Type.Object(
          { by: ByParameter, replace: ReplaceParameter, upsert: UpsertParameter },
          { additionalProperties: false },
        ),
        body: json(Fields),
        reply: { 200: Document, 201: Document },
        errors: [...CHANGE.errors, errors.conflict],
      },
      (call) => {
        const { by, replace } = call.query
        return upsert({ by }, (replace ? replaceBy : updateBy)(call.body), mayCreate(call), call)
      },
    ),
    patch: endpoint(
      {
        ...CHANGE,
        summary: 'Patch a document',
        description:
          'Applies a JSON Merge Patch (RFC 7396): null removes a field, at any depth, and an object changes the fields that it names. Or MongoDB’s update operators, if all names begin with $: $set, $setOnInsert, $unset, $inc, $mul, $min, $max, $currentDate, $push, $addToSet, $pop, $pull, $pullAll and $rename; $[] in a path is each element of an array.',
        query: Type.Object({ upsert: UpsertParameter }, { additionalProperties: false }),
        body: PATCH_BODY,
        reply: { 200: Document, 201: Document },
        errors: [...CHANGE.errors, errors.conflict],
      },
      (call) =>
        patchIn(call, (apply) =>
          mayCreate(call) ? upsert({ id: call.params.id }, apply, true, call) : change(apply, call),
        ),
    ),
    patchBy: endpoint(
      {
        ...CHANGE,
        summary: 'Patch or create a document by a unique field',
        description:
          'Patches the document that has the values of by that the patch gives to a new document, in $set or $setOnInsert, as a PATCH of the document does: 404 if there is none. With upsert it is created then, as the patch makes it out of no fields. However many callers do this at once, there is one document, and each patch is applied once.',
        params: InCollection,
        query: Type.Object({ by: ByParameter, upsert: UpsertParameter }, { additionalProperties: false }),
        body: PATCH_BODY,
        reply: { 200: Document, 201: Document },
        errors: [...CHANGE.errors, errors.conflict],
      },
      (call) => patchIn(call, (apply) => upsert({ by: call.query.by }, apply, mayCreate(call), call)),
    ),
    remove: endpoint(
      {
        summary: 'Delete a document',
        access: 'optional',
        params: OneDocument,
        headers: IfMatch,
        reply: { 200: Type.Object({ message: Type.String() }, { title: 'Confirmation' }) },
        errors: [errors.not_found, errors.precondition_failed],
      },
      async ({ params: { collection, id }, headers, caller }) => {
        const expected = versionsOf(headers['if-match'])
        await removeDocument(writing, collections.get(collection), collections.viewer(caller), id, expected)
        return { message: `The document ${id} is deleted.` }
      },
    ),
  }
}

/** What is used of a call that changes a document. */
type ChangeCall = Pick<Call, 'makeRoom'> & {
  readonly params: { collection: string }
  readonly headers: { 'if-match'?: string }
  readonly caller: Caller | undefined
}

/** A version that is expected is that of a document that is there. */
const mayCreate = (call: { query: { upsert: boolean }; headers: { 'if-match'?: string } }): boolean =>
  call.query.upsert && call.headers['if-match'] === undefined

/** @throws VALIDATION_ERROR if an id is sent for two documents */
function refuseTwice(ids: readonly NewDocumentId[]): void {
  const seen = new Set<string>()
  for (const [i, { sent }] of ids.entries()) {
    if (sent === undefined) continue
    if (seen.has(sent))
      throw invalid({
        path: `/body/${i}/_id`,
        message: `${sent} is the _id of another document of this list`,
      })
    seen.add(sent)
  }
}

/** A refusal of a list's parameters, where they are in the body. */
function inBody(error: unknown): unknown {
  const issues = error instanceof ApiError && (error.details as { issues?: Issue[] } | undefined)?.issues
  if (!issues) return error
  const [first, ...others] = issues.map((one) => ({ ...one, path: one.path.replace(/^\/query/, '/body') }))
  return invalid(first!, ...others)
}

/**
 * Checks `owner` and `preview`, which tell of others' documents.
 *
 * @throws FORBIDDEN; VALIDATION_ERROR at `/query/preview`
 */
function checkOperatorQuery(
  { isPrivileged }: Viewer,
  { preview, fields, expand }: { preview?: number; fields?: string; expand?: string },
): void {
  if (!isPrivileged) throw needsAdmin()
  if (preview !== undefined && (fields ?? expand) !== undefined)
    throw invalid({ path: '/query/preview', message: 'cannot be given with fields or expand' })
}

/** A preview with what its document's record says besides. */
const storedPreview = ({ body, owner, version }: ListedDocument): string =>
  `${body.slice(0, -2)},"owner":${JSON.stringify(owner)},"etag":${JSON.stringify(etagOf(version!))}}}`
