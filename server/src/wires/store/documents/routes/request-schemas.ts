import type { Static } from 'typebox'

import { Type } from '../../../../base/schema.ts'
import { CollectionName } from '../language/collection-name.ts'
import { DocumentId } from '../language/document-id.ts'

const LARGEST_LIST = 1000

const Timestamp = Type.String({ format: 'date-time', description: 'ISO 8601, UTC, with milliseconds.' })

export const Document = Type.Object(
  { _id: Type.String(), createdAt: Timestamp, updatedAt: Timestamp },
  {
    title: 'Document',
    additionalProperties: true,
    description: 'The document’s own fields and _id, createdAt and updatedAt.',
  },
)
export type Document = Static<typeof Document>

export const AnsweredDocument = Type.Object(
  { _id: Type.String(), createdAt: Type.Optional(Timestamp), updatedAt: Type.Optional(Timestamp) },
  {
    title: 'AnsweredDocument',
    additionalProperties: true,
    description:
      'The document’s own fields and _id, createdAt and updatedAt; with the parameter fields only _id and those that it chooses.',
  },
)
export type AnsweredDocument = Static<typeof AnsweredDocument>

const IGNORED = { description: 'Set by the server; ignored here.' }
const OWN_ID = {
  description:
    'Of a document to be created: kept from service keys, and in collections with ids: client. Otherwise ignored.',
}
const fieldsSchema = {
  title: 'DocumentFields',
  type: 'object',
  // Named, because client generators make no class of an object without fields, and no union with it.
  properties: { _id: OWN_ID, createdAt: IGNORED, updatedAt: IGNORED },
  additionalProperties: true,
  examples: [{ title: 'Momo', year: 1973 }],
  description:
    'Any fields. A name must not begin with $; createdAt and updatedAt are set by the server and ignored.',
}
export const Fields = Type.Unsafe<Record<string, unknown>>(fieldsSchema)

// The typed client's `call` takes the first alternative, one document; its `collection` takes several as well. In the order of the alphabet both
// unions come after what they consist of: else the Java generator of OpenAPI Generator writes their documents wrongly.
export const OneOrMoreFields = Type.Unsafe<Record<string, unknown>>({
  title: 'DocumentsToCreate',
  examples: fieldsSchema.examples,
  anyOf: [fieldsSchema, { type: 'array', items: fieldsSchema, minItems: 1, maxItems: LARGEST_LIST }],
})
export const OneOrMore = Type.Unsafe<Document>(
  Type.Union([Document, Type.Object({ data: Type.Array(Document) }, { title: 'Documents' })], {
    title: 'DocumentsCreated',
  }),
)

export const InCollection = Type.Object({ collection: CollectionName })
export const OneDocument = Type.Object({
  collection: CollectionName,
  id: DocumentId,
})
export const IfMatch = Type.Object({
  'if-match': Type.Optional(
    Type.String({ description: 'ETags; fails with 412 unless one is the document’s current one.' }),
  ),
})
export const IfNoneMatch = Type.Object({
  'if-none-match': Type.Optional(Type.String({ description: 'ETags; 304 if one is the current one.' })),
})

export const ReplaceParameter = Type.Boolean({
  default: false,
  description:
    'Whether the fields that the body does not have are removed: the document is then as it was sent. Fields that the caller may not see or change stay.',
})

export const UpsertParameter = Type.Boolean({
  default: false,
  description:
    'Whether the document is created if there is none: 201. By _id it is for service keys, and in collections with ids: client.',
})

export const ByParameter = Type.String({
  pattern: '.',
  maxLength: 1000,
  description:
    'The unique field by which the document is found, or those that are unique together, joined by commas. The body has their values.',
  examples: ['email'],
})

export const FieldsParameter = Type.Optional(
  Type.String({
    description:
      'Fields to answer, joined by commas, or to leave out if each begins with a minus. Dotted paths are allowed; _id is always answered.',
    examples: ['title,author.name'],
  }),
)

export const ExpandParameter = Type.Optional(
  Type.String({
    description:
      'Relations joined by commas, such as author,lines.product, whose documents are answered as `$expanded`, up to three levels deep, as the caller may see them.',
  }),
)

export const Documents = Type.Object(
  {
    data: Type.Array(AnsweredDocument),
    total: Type.Optional(
      Type.Integer({
        description: 'How many documents the filter finds, on all pages. Absent with total=none.',
      }),
    ),
    limit: Type.Integer({ description: 'The limit that was applied.' }),
    offset: Type.Integer(),
    nextCursor: Type.Optional(Type.String({ description: 'Absent on the last page.' })),
  },
  { title: 'DocumentPage' },
)

export const Page = {
  limit: Type.Integer({
    minimum: 1,
    default: 20,
    description: 'At most 1000; a larger value counts as 1000.',
  }),
  offset: Type.Integer({ minimum: 0, default: 0, description: 'How many documents to skip.' }),
  sort: Type.Optional(
    Type.String({
      description:
        'Fields joined by commas; dotted paths are allowed, a leading minus sorts in descending order. Or as in MongoDB: {"year":-1,"title":1}. Default: the newest first; of a search, $score: the best first.',
      examples: ['-year,title'],
    }),
  ),
  filter: Type.Optional(
    Type.String({
      description:
        'A MongoDB query as JSON: values to equal, or operators such as $gt, $in, $or, $exists, $regex, $elemMatch and $expr; dotted paths are allowed.',
      examples: ['{"year":{"$lt":2000}}'],
    }),
  ),
  search: Type.Optional(
    Type.String({
      description:
        'Words that documents must have in the fields that the collection declares for it: all of them, "a phrase", -word for one that must be missing, word* for its beginning. Sorted by $score unless sort says otherwise.',
    }),
  ),
  cursor: Type.Optional(
    Type.String({
      description:
        'The nextCursor of the previous page, sent with the same filter, search and sort. Unlike offset, it costs the same at any depth.',
    }),
  ),
}

const CUT_CHARACTERS_MAX = 1000

/** What a list takes beside its page. */
export const ListOnly = {
  total: Type.Enum(['count', 'none'], {
    default: 'count',
    description:
      'none: the documents that the filter finds are not counted, so a page need not look at all of them.',
  }),
  owner: Type.Optional(
    Type.String({
      maxLength: 64,
      description: 'Only documents of this account or service key. For administrators and service keys.',
    }),
  ),
  preview: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: CUT_CHARACTERS_MAX,
      description:
        'Cuts text of more characters, and arrays and objects with more characters of JSON; a document has about 4 KiB then. `$preview` in each document has what was cut, how many fields are left out, its owner and its ETag. For administrators and service keys, and without fields and expand.',
    }),
  ),
}

/** The query parameters of a list. */
export const ListQuery = Type.Object({
  ...Page,
  ...ListOnly,
  fields: FieldsParameter,
  expand: ExpandParameter,
})

/** The same as a body. */
export const ListBody = Type.Object(
  {
    ...ListQuery.properties,
    filter: Type.Optional(
      Type.Unsafe<Record<string, unknown>>({
        type: 'object',
        additionalProperties: true,
        description: 'A MongoDB query, as the parameter filter of a list.',
        examples: [{ year: { $lt: 2000 } }],
      }),
    ),
  },
  { title: 'DocumentQuery', additionalProperties: false },
)
