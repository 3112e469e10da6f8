import { errors } from '../../../../../base/errors.ts'
import { Type } from '../../../../../base/schema.ts'
import { multipart } from '../../../../../http/bodies.ts'
import { answer, endpoint } from '../../../../../http/route.ts'
import type { Collections } from '../../definition/collections.ts'
import { FieldsParameter, InCollection, Page } from '../request-schemas.ts'
import { exportDocuments, type ExportContext } from './export-documents.ts'
import { importDocuments, ImportReport, type ImportContext } from './import-documents.ts'
import { recordsOf } from './import-records.ts'
import { OWNER_PATTERN } from './imported-document.ts'

const FILE_MAX = 4_294_967_296
const RECEIVE_MS = 4 * 3_600_000
const LIMIT = { rate: '600/hour', name: 'transfers' } as const

const CONTENT_TYPES = {
  ndjson: 'application/x-ndjson',
  csv: 'text/csv; charset=utf-8; header=present',
} as const

const Format = Type.Enum(['ndjson', 'csv'], {
  default: 'ndjson',
  description:
    'ndjson: a document of JSON on each line; an import also takes an array of them, and values of MongoDB Extended JSON. csv: a table with headings; what is neither text nor a number is JSON in its cell.',
})
const FieldName = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: 200, description }))
const Lines = Type.Unsafe<Blob>({ type: 'string', contentMediaType: 'application/x-ndjson, text/csv' })

/** Documents as files, out and in. */
export function transferEndpoints(context: ExportContext & ImportContext & { collections: Collections }) {
  const { collections } = context
  return {
    export: endpoint(
      {
        summary: 'Export documents',
        description:
          'Streams all documents that the filter finds, as they are at one moment, in the order of sort. In CSV, text that a spreadsheet would run as a formula begins with an apostrophe, which an import takes away.',
        access: 'operator',
        limit: LIMIT,
        params: InCollection,
        // A misspelt filter would export everything.
        query: Type.Object(
          {
            format: Format,
            filter: Page.filter,
            sort: Page.sort,
            fields: FieldsParameter,
            owner: Type.Optional(
              Type.String({ maxLength: 64, description: 'Only documents of this account or service key.' }),
            ),
            owners: Type.Boolean({
              default: false,
              description: 'Whether each document has its owner, as `$owner`, which an import keeps.',
            }),
          },
          { additionalProperties: false },
        ),
        reply: { 200: Lines },
        errors: [errors.unavailable],
      },
      async ({ params: { collection }, query, actor }) =>
        answer<Blob>(await exportDocuments(context, collection, query, actor), {
          headers: {
            'content-type': CONTENT_TYPES[query.format],
            'content-disposition': `attachment; filename="${collection}.${query.format}"`,
          },
        }),
    ),
    import: endpoint(
      {
        summary: 'Import documents',
        description:
          'Reads a file of documents as it arrives, and creates each as a single create does: schema, unique fields, relations and hooks apply. A line that is refused is reported, and the others are imported. A dry run checks all lines and writes nothing; hooks do not run then.',
        access: 'operator',
        limit: LIMIT,
        params: InCollection,
        // A misspelt dryRun would write.
        query: Type.Object(
          {
            format: Format,
            dryRun: Type.Boolean({ default: false, description: 'Whether the lines are only checked.' }),
            ids: Type.Enum(['keep', 'new'], {
              default: 'keep',
              description:
                'keep: _id, createdAt and updatedAt of a line are kept, if it has them. new: each document gets a new _id.',
            }),
            conflict: Type.Enum(['skip', 'replace', 'fail'], {
              default: 'fail',
              description:
                'What happens to a line with the _id of a document: it is skipped, replaces all fields of the document, or is refused.',
            }),
            createdAt: FieldName(
              'The field that becomes createdAt: a time in ISO 8601 or milliseconds since 1970. _id: the time in an ObjectId of MongoDB. Default: createdAt, if ids are kept.',
            ),
            updatedAt: FieldName('The field that becomes updatedAt, likewise.'),
            owner: Type.Optional(
              Type.String({
                pattern: OWNER_PATTERN,
                description:
                  'The account that documents belong to that name no owner. Default: that of the caller.',
              }),
            ),
            ownerField: FieldName(
              'The field with the id of the account that a document belongs to, where there is no $owner. It stays in the document.',
            ),
          },
          { additionalProperties: false },
        ),
        body: multipart({ file: { maxBytes: FILE_MAX }, receiveMs: RECEIVE_MS }),
        reply: { 200: ImportReport },
        errors: [errors.unavailable],
      },
      async ({ params, query: { owner, ...query }, body, caller, actor }) => {
        const own = collections.viewer(caller)
        const viewer = owner === undefined ? own : { ...own, owner }
        const collection = collections.get(params.collection)
        const records = recordsOf(query.format, body.file.stream, collection.schema)
        const report = await importDocuments(context, collection, viewer, records, query, actor)
        await body.fields()
        return report
      },
    ),
  }
}
