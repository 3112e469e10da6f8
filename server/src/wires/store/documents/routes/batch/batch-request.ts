import type { Static } from 'typebox'

import { invalid } from '../../../../../base/errors.ts'
import { Type } from '../../../../../base/schema.ts'
import { CollectionName } from '../../language/collection-name.ts'
import { DocumentId } from '../../language/document-id.ts'
import { ByParameter, Document } from '../request-schemas.ts'

/** How many operations a batch has at most. */
export const OPERATIONS_MAX = 100

export const BatchOperation = Type.Object(
  {
    op: Type.Enum(['create', 'update', 'replace', 'patch', 'upsert', 'delete'], {
      description:
        'create as a POST of the collection; update, replace, patch and delete as PUT, PUT with replace, PATCH and DELETE of the document; upsert as PUT with upsert, or with operators as PATCH with upsert.',
      examples: ['create'],
    }),
    collection: CollectionName,
    id: Type.Optional({
      ...DocumentId,
      description: 'The document’s _id. Not of create, and of upsert either this or by.',
    }),
    by: Type.Optional({
      ...ByParameter,
      description: 'Of upsert: the unique fields by which the document is found.',
    }),
    ifMatch: Type.Optional(
      Type.String({
        description:
          'ETags, as the header If-Match: 412 unless one is the document’s current one. Not of create and upsert.',
      }),
    ),
    document: Type.Optional(
      Type.Unsafe<Record<string, unknown>>({
        type: 'object',
        additionalProperties: true,
        description:
          'The body of the single call: fields, or a patch. Required unless the operation is delete.',
        examples: [{ title: 'Momo', year: 1973 }],
      }),
    ),
  },
  { additionalProperties: false, title: 'BatchOperation' },
)
export type BatchOperation = Static<typeof BatchOperation>

export const BatchBody = Type.Object(
  {
    operations: Type.Array(BatchOperation, {
      minItems: 1,
      maxItems: OPERATIONS_MAX,
      description: 'In their order: each finds what those before it have done.',
      examples: [[{ op: 'create', collection: 'books', document: { title: 'Momo', year: 1973 } }]],
    }),
  },
  { additionalProperties: false, title: 'Batch' },
)

export const BatchResults = Type.Object(
  {
    results: Type.Array(
      Type.Object(
        {
          status: Type.Integer({ description: 'That of the single call: 201 if it has created a document.' }),
          collection: Type.String(),
          _id: Type.String(),
          etag: Type.Optional(Type.String({ description: 'The document’s ETag then. Absent after delete.' })),
          document: Type.Optional(Document),
        },
        { title: 'BatchResult' },
      ),
      { description: 'In the order of the operations.' },
    ),
  },
  { title: 'BatchResults' },
)

/** The parts that an operation must have, and those that it may have. */
const PARTS: Record<BatchOperation['op'], { needs: readonly Part[]; takes: readonly Part[] }> = {
  create: { needs: ['document'], takes: [] },
  update: { needs: ['id', 'document'], takes: ['ifMatch'] },
  replace: { needs: ['id', 'document'], takes: ['ifMatch'] },
  patch: { needs: ['id', 'document'], takes: ['ifMatch'] },
  upsert: { needs: ['document'], takes: ['id', 'by'] },
  delete: { needs: ['id'], takes: ['ifMatch'] },
}

type Part = Exclude<keyof BatchOperation, 'op' | 'collection'>

/** @throws VALIDATION_ERROR for an operation that lacks a part, or has one that is not for it */
export function checkOperations(operations: readonly BatchOperation[]): void {
  for (const [i, one] of operations.entries()) {
    const { needs, takes } = PARTS[one.op]
    const at = `/body/operations/${i}`
    for (const part of needs)
      if (one[part] === undefined)
        throw invalid({ path: `${at}/${part}`, message: `is required: it is needed to ${one.op} a document` })
    for (const part of ['id', 'by', 'ifMatch', 'document'] as const)
      if (one[part] !== undefined && !needs.includes(part) && !takes.includes(part))
        throw invalid({ path: `${at}/${part}`, message: `is not for ${one.op}: leave it out` })
    if (one.op === 'upsert' && (one.id === undefined) === (one.by === undefined))
      throw invalid({ path: `${at}/id`, message: 'give either id or by, by which the document is found' })
  }
}
