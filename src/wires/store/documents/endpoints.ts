import { Readable } from 'node:stream'

import { Type } from '../../../base/schema.ts'
import type { Static } from 'typebox'

import { errors } from '../../../base/errors.ts'
import { idPattern } from '../../../base/ids.ts'
import { json, type JsonBody } from '../../../http/bodies.ts'
import { namesEtag } from '../../../http/conditions.ts'
import { countedFor } from '../../../http/limits.ts'
import { answer, jsonText, NoBody, endpoint } from '../../../http/route.ts'
import { checkAudience } from './collections/collection.ts'
import type { Collections } from './collections/collections.ts'
import { CollectionName } from './collections/name.ts'
import type { Viewer } from './collections/viewer.ts'
import { writtenAgain, type Fields as DocumentFields } from './document-json.ts'
import { Explanation } from './lists/explain.ts'
import { versionsOf } from './etag.ts'
import { checkProjection, show, viewOf } from './fields/view.ts'
import type { createLists } from './lists/list.ts'
import { parseProjection } from './fields/projection.ts'
import { expand, parseExpand, withExpanded } from './relations/expand.ts'
import { needsAdmin } from './rules/access.ts'
import { mayHold, reachOf } from './rules/rule.ts'
import {
  isReadable,
  shownAfterWrite,
  shownAgain,
  shownFields,
  shownPage,
  type ShownDocument,
} from './fields/shown.ts'
import { updateBy, patchBy } from './writes/body.ts'
import { changeDocument, type DocumentChange } from './writes/change.ts'
import { createDocument, createDocuments } from './writes/create.ts'
import { removeDocument } from './writes/remove.ts'
import type { WriteContext } from './writes/write.ts'
import { noDocument } from '../errors.ts'

const LARGEST_LIST = 1000

const Timestamp = Type.String({ format: 'date-time', description: 'ISO 8601, UTC, with milliseconds.' })

const Document = Type.Object(
  { _id: Type.String(), createdAt: Timestamp, updatedAt: Timestamp },
  {
    title: 'Document',
    additionalProperties: true,
    description: 'The document’s own fields and _id, createdAt and updatedAt.',
  },
)
type Document = Static<typeof Document>

const AnsweredDocument = Type.Object(
  { _id: Type.String(), createdAt: Type.Optional(Timestamp), updatedAt: Type.Optional(Timestamp) },
  {
    title: 'AnsweredDocument',
    additionalProperties: true,
    description:
      'The document’s own fields and _id, createdAt and updatedAt; with the parameter fields only _id and those that it chooses.',
  },
)
type AnsweredDocument = Static<typeof AnsweredDocument>

const IGNORED = { description: 'Set by the server; ignored here.' }
const fieldsSchema = {
  title: 'DocumentFields',
  type: 'object',
  // Named, because client generators make no class of an object without fields, and no union with it.
  properties: { _id: IGNORED, createdAt: IGNORED, updatedAt: IGNORED },
  additionalProperties: true,
  examples: [{ title: 'Momo', year: 1973 }],
  description:
    'Any fields. A name must not begin with $; _id, createdAt and updatedAt are set by the server and ignored.',
}
const Fields = Type.Unsafe<Record<string, unknown>>(fieldsSchema)

// The typed client's `call` takes the first alternative, one document; its `collection` takes several as well. In the order of the alphabet both
// unions come after what they consist of: else the Java generator of OpenAPI Generator writes their documents wrongly.
const OneOrMoreFields = Type.Unsafe<Record<string, unknown>>({
  title: 'DocumentsToCreate',
  examples: fieldsSchema.examples,
  anyOf: [fieldsSchema, { type: 'array', items: fieldsSchema, minItems: 1, maxItems: LARGEST_LIST }],
})
const OneOrMore = Type.Unsafe<Document>(
  Type.Union([Document, Type.Object({ data: Type.Array(Document) }, { title: 'Documents' })], {
    title: 'DocumentsCreated',
  }),
)

const InCollection = Type.Object({ collection: CollectionName })
const OneDocument = Type.Object({
  collection: CollectionName,
  id: Type.String({
    pattern: idPattern,
    description: 'The document’s _id.',
    examples: ['01arz3ndektsv4rrffq69g5fav'],
  }),
})
const IfMatch = Type.Object({
  'if-match': Type.Optional(
    Type.String({ description: 'ETags; fails with 412 unless one is the document’s current one.' }),
  ),
})
const IfNoneMatch = Type.Object({
  'if-none-match': Type.Optional(Type.String({ description: 'ETags; 304 if one is the current one.' })),
})

const FieldsParameter = Type.Optional(
  Type.String({
    description:
      'Fields to answer, joined by commas, or to leave out if each begins with a minus. Dotted paths are allowed; _id is always answered.',
    examples: ['title,author.name'],
  }),
)

const ExpandParameter = Type.Optional(
  Type.String({
    description:
      'Relations joined by commas, whose documents are answered as `$expanded`, up to three levels deep, as the caller may see them.',
    examples: ['author,lines.product'],
  }),
)

const Documents = Type.Object(
  {
    data: Type.Array(AnsweredDocument),
    total: Type.Integer({ description: 'How many documents the filter finds, on all pages.' }),
    limit: Type.Integer({ description: 'The limit that was applied.' }),
    offset: Type.Integer(),
    nextCursor: Type.Optional(Type.String({ description: 'Absent on the last page.' })),
  },
  { title: 'DocumentPage' },
)

const Page = {
  limit: Type.Integer({
    minimum: 1,
    default: 20,
    description: 'At most 1000; a larger value counts as 1000.',
  }),
  offset: Type.Integer({ minimum: 0, default: 0, description: 'How many documents to skip.' }),
  sort: Type.Optional(
    Type.String({
      description:
        'Fields joined by commas; dotted paths are allowed, a leading minus sorts in descending order. Or as in MongoDB: {"year":-1,"title":1}. Default: the newest first.',
      examples: ['-year,title'],
    }),
  ),
  filter: Type.Optional(
    Type.String({
      description:
        'A MongoDB query as JSON: values to equal, or operators such as $gt, $in, $or, $exists, $regex and $elemMatch; dotted paths are allowed.',
      examples: ['{"year":{"$lt":2000}}'],
    }),
  ),
  cursor: Type.Optional(
    Type.String({
      description:
        'The nextCursor of the previous page, sent with the same filter and sort. Unlike offset, it costs the same at any depth.',
    }),
  ),
}

export function documentEndpoints({
  collections,
  writing,
  list,
  explain,
  listLimitMs,
}: {
  collections: Collections
  writing: WriteContext
  /** How long a list may take, its waiting included. */
  listLimitMs: number
} & ReturnType<typeof createLists>) {
  const { documents } = writing
  const one = ({ body, etag }: ShownDocument, status = 200) =>
    answer<Document>(jsonText(body), { status, headers: { etag } })

  /** What somebody may read of a collection. */
  async function readAccess(name: string, viewer: Viewer) {
    const collection = collections.get(name)
    const subject = await viewer.subjectFor(collection)
    checkAudience(collection.read, subject, false)
    return {
      collection,
      subject,
      reach: reachOf(collection.read, subject),
      view: viewOf(collection, subject),
    }
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

  const changeEndpoint = (
    texts: { summary: string; description: string; body: JsonBody<typeof Fields> },
    applied: (changes: DocumentFields) => DocumentChange['apply'],
  ) =>
    endpoint(
      {
        ...texts,
        access: 'optional',
        params: OneDocument,
        headers: IfMatch,
        reply: { 200: Document },
        errors: [errors.not_found, errors.precondition_failed, errors.payload_too_large],
      },
      async ({ params: { collection: name, id }, headers, body, caller, makeRoom }) => {
        const collection = collections.get(name)
        const viewer = collections.viewer(caller)
        const written = await changeDocument(writing, collection, viewer, id, {
          apply: applied(body),
          expected: versionsOf(headers['if-match']),
          makeRoom,
        })
        return one(shownAfterWrite(collection, await viewer.subjectFor(collection), written))
      },
    )

  return {
    create: endpoint(
      {
        summary: 'Create a document, or several',
        description:
          'A collection exists as soon as it contains a document. An array of up to 1000 documents creates all of them or none, and answers them as `data`, in the same order.',
        access: 'user',
        idempotent: true,
        replayed: (body, { params, caller }) =>
          replayedCreate((params as { collection: string }).collection, body, collections.viewer(caller)),
        params: InCollection,
        body: json(OneOrMoreFields),
        reply: { 201: OneOrMore },
        errors: [errors.payload_too_large],
      },
      async ({ params: { collection: name }, body, caller, recordId }) => {
        const collection = collections.get(name)
        const viewer = collections.viewer(caller)
        const subject = await viewer.subjectFor(collection)
        if (Array.isArray(body)) {
          const list = body as DocumentFields[]
          const made = await createDocuments(writing, collection, viewer, recordId, list)
          const bodies = made.map((document) => shownAfterWrite(collection, subject, document).body)
          return answer<Document>(jsonText(`{"data":[${bodies.join(',')}]}`), { status: 201 })
        }
        const made = await createDocument(writing, collection, viewer, recordId, body)
        return one(shownAfterWrite(collection, subject, made), 201)
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
        query: Type.Object({ ...Page, fields: FieldsParameter, expand: ExpandParameter }),
        timeLimitMs: listLimitMs,
        reply: { 200: Documents },
      },
      async ({ params: { collection: name }, query, caller, ip, signal, makeRoom }) => {
        const projection = query.fields === undefined ? undefined : parseProjection(query.fields)
        const viewer = collections.viewer(caller)
        const { collection, reach, view } = await readAccess(name, viewer)
        checkProjection(view, projection)
        const branches =
          query.expand === undefined
            ? undefined
            : await parseExpand(query.expand, collection, collections, viewer)
        const options = { caller: countedFor({ caller, ip }), signal }
        const access = { reach, view }
        const page = await list({ collection: name, access, parameters: query, options, makeRoom })
        const next = page.nextCursor === undefined ? '' : `,"nextCursor":${JSON.stringify(page.nextCursor)}`
        const bodies = await shownPage(view, page.documents, projection)
        if (branches) {
          const whole = projection ? await shownPage(view, page.documents) : bodies
          const expanded = await expand({ collections, documents, viewer, makeRoom }, branches, whole)
          for (const [i, one] of expanded.entries()) bodies[i] = withExpanded(bodies[i]!, one)
        }
        return jsonText(
          `{"data":[${bodies.join(',')}],"total":${page.total},"limit":${page.limit},"offset":${page.offset}${next}}`,
        )
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
        const viewer = collections.viewer(caller)
        const { collection, reach, view } = await readAccess(name, viewer)
        // How much was examined tells of documents that rules and views keep from others.
        if (!viewer.isPrivileged && !collection.isPlain) throw needsAdmin()
        const options = { caller: countedFor({ caller, ip }), signal }
        return explain({ collection: name, access: { reach, view }, parameters: query, options, makeRoom })
      },
    ),
    get: endpoint(
      {
        summary: 'Get a document',
        access: 'optional',
        readsOnly: true,
        params: OneDocument,
        query: Type.Object({ fields: FieldsParameter, expand: ExpandParameter }),
        headers: IfNoneMatch,
        reply: { 200: AnsweredDocument, 304: NoBody },
        errors: [errors.not_found],
      },
      async ({ params: { collection: name, id }, query, headers, caller, makeRoom }) => {
        const projection = query.fields === undefined ? undefined : parseProjection(query.fields)
        const viewer = collections.viewer(caller)
        const { collection, subject, reach, view } = await readAccess(name, viewer)
        checkProjection(view, projection)
        const branches =
          query.expand === undefined
            ? undefined
            : await parseExpand(query.expand, collection, collections, viewer)
        const found = await documents.find(name, id, makeRoom, (owner) =>
          mayHold(collection.read, subject, owner),
        )
        if (!found || !isReadable(reach, found)) throw noDocument(name, id)
        const shown = shownFields(view, found, projection)
        // Its ETag would not tell of changes to the others.
        if (branches) {
          const whole = show(view, found)
          const [expanded] = await expand({ collections, documents, viewer, makeRoom }, branches, [whole])
          return answer<Document>(jsonText(withExpanded(shown.body, expanded!)), {})
        }
        const { 'if-none-match': ifNoneMatch } = headers
        // Not text: that would have a content type of its own.
        if (ifNoneMatch !== undefined && namesEtag(ifNoneMatch, shown.etag, 'weak'))
          return answer<Document>(Readable.from([]), { status: 304, headers: { etag: shown.etag } })
        return one(shown)
      },
    ),
    update: changeEndpoint(
      {
        summary: 'Update a document',
        description: 'Sets the given top-level fields and keeps the others; null is stored as null.',
        body: json(Fields),
      },
      updateBy,
    ),
    patch: changeEndpoint(
      {
        summary: 'Patch a document',
        description:
          'Applies a JSON Merge Patch (RFC 7396): null removes a field, at any depth, and an object changes the fields that it names. Or MongoDB’s update operators, if all names begin with $: $set, $unset, $inc, $push, $addToSet and $pull.',
        body: json(Fields, { contentTypes: ['application/merge-patch+json'] }),
      },
      patchBy,
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
