import { Readable } from 'node:stream'

import { Type } from '../../../base/schema.ts'
import type { Static } from 'typebox'

import { errors } from '../../../base/errors.ts'
import { idPattern } from '../../../base/ids.ts'
import { json, type JsonBody } from '../../../http/bodies.ts'
import { namesEtag } from '../../../http/conditions.ts'
import { countedFor } from '../../../http/limits.ts'
import { answer, jsonText, NoBody, endpoint } from '../../../http/route.ts'
import { CollectionName, type Collections } from './collections.ts'
import { withoutServiceFields, type Fields as DocumentFields } from './document-json.ts'
import type { StoredDocument } from './sql/document-rows.ts'
import { Explanation } from './explain.ts'
import { etagOf, versionsOf, type Documents } from './documents.ts'
import type { createLists } from './list.ts'
import { mergePatch } from './merge-patch.ts'
import { parseProjection, project, projectAll } from './projection.ts'

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
  documents,
  list,
  explain,
  listLimitMs,
}: {
  collections: Collections
  documents: Documents
  /** How long a list may take, its waiting included. */
  listLimitMs: number
} & ReturnType<typeof createLists>) {
  const one = ({ body, version }: StoredDocument, status = 200) =>
    answer<Document>(jsonText(body), { status, headers: { etag: etagOf(version) } })
  const changeEndpoint = (
    texts: { summary: string; description: string; body: JsonBody<typeof Fields> },
    change: (fields: DocumentFields, changes: DocumentFields) => DocumentFields,
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
      async ({ params: { collection, id }, headers, body, caller, makeRoom }) => {
        const rowFilter = collections.rowFilter(caller, collection, 'update')
        const changed = (fields: DocumentFields) => change(fields, withoutServiceFields(body))
        const expected = versionsOf(headers['if-match'])
        return one(await documents.change(collection, id, rowFilter, changed, expected, makeRoom))
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
        params: InCollection,
        body: json(OneOrMoreFields),
        reply: { 201: OneOrMore },
        errors: [errors.payload_too_large],
      },
      async ({ params: { collection }, body, caller, recordId }) => {
        collections.rowFilter(caller, collection, 'create')
        if (Array.isArray(body)) {
          const made = await documents.createAll(
            collection,
            recordId,
            caller.id,
            body as Record<string, unknown>[],
          )
          return answer<Document>(jsonText(`{"data":[${made.map((one) => one.body).join(',')}]}`), {
            status: 201,
          })
        }
        return one(await documents.create(collection, recordId, caller.id, body), 201)
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
        query: Type.Object({ ...Page, fields: FieldsParameter }),
        timeLimitMs: listLimitMs,
        reply: { 200: Documents },
      },
      async ({ params: { collection }, query, caller, ip, signal, makeRoom }) => {
        const projection = query.fields === undefined ? undefined : parseProjection(query.fields)
        const rowFilter = collections.rowFilter(caller, collection, 'read')
        const options = { caller: countedFor({ caller, ip }), signal }
        const page = await list({ collection, rowFilter, parameters: query, options, makeRoom })
        const next = page.nextCursor === undefined ? '' : `,"nextCursor":${JSON.stringify(page.nextCursor)}`
        const bodies = projection ? await projectAll(page.bodies, projection) : page.bodies
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
      ({ params: { collection }, query, caller, ip, signal, makeRoom }) => {
        const rowFilter = collections.rowFilter(caller, collection, 'read')
        const options = { caller: countedFor({ caller, ip }), signal }
        return explain({ collection, rowFilter, parameters: query, options, makeRoom })
      },
    ),
    get: endpoint(
      {
        summary: 'Get a document',
        access: 'optional',
        readsOnly: true,
        params: OneDocument,
        query: Type.Object({ fields: FieldsParameter }),
        headers: IfNoneMatch,
        reply: { 200: AnsweredDocument, 304: NoBody },
        errors: [errors.not_found],
      },
      async ({ params: { collection, id }, query: { fields }, headers, caller, makeRoom }) => {
        const projection = fields === undefined ? undefined : parseProjection(fields)
        const found = await documents.get(
          collection,
          id,
          collections.rowFilter(caller, collection, 'read'),
          makeRoom,
        )
        const etag = etagOf(found.version)
        const { 'if-none-match': ifNoneMatch } = headers
        // Not text: that would have a content type of its own.
        if (ifNoneMatch !== undefined && namesEtag(ifNoneMatch, etag, 'weak'))
          return answer<Document>(Readable.from([]), { status: 304, headers: { etag } })
        return one(projection ? { ...found, body: project(found.body, projection) } : found)
      },
    ),
    update: changeEndpoint(
      {
        summary: 'Update a document',
        description: 'Sets the given top-level fields and keeps the others; null is stored as null.',
        body: json(Fields),
      },
      (fields, changes) => ({ ...fields, ...changes }),
    ),
    patch: changeEndpoint(
      {
        summary: 'Patch a document',
        description:
          'Applies a JSON Merge Patch (RFC 7396): null removes a field, at any depth, and an object changes the fields that it names.',
        body: json(Fields, { contentTypes: ['application/merge-patch+json'] }),
      },
      mergePatch,
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
        const rowFilter = collections.rowFilter(caller, collection, 'delete')
        await documents.remove(collection, id, rowFilter, versionsOf(headers['if-match']))
        return { message: `The document ${id} is deleted.` }
      },
    ),
  }
}
