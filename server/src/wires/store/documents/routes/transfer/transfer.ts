import type { Readable } from 'node:stream'

import { COMMAND_LINE } from '../../../../../http/actor.ts'
import type { Collections } from '../../definition/collections.ts'
import { systemViewer } from '../../definition/viewer.ts'
import { ownerOf } from './imported-document.ts'
import {
  exportDocuments,
  type ExportContext,
  type ExportQuery,
  type TransferFormat,
} from './export-documents.ts'
import {
  importDocuments,
  type ImportContext,
  type ImportOptions,
  type ImportReport,
  type ImportWatch,
} from './import-documents.ts'
import { recordsOf, type ImportRecord } from './import-records.ts'

type Counted = (count: number) => void

type FileImportOptions = ImportOptions & { readonly format: TransferFormat; readonly owner?: string }

/** Documents out and in, as the command line does it. */
export const openTransfer = (
  context: ExportContext & ImportContext & { readonly collections: Collections },
) => ({
  /** See `exportDocuments`. */
  export: (collection: string, query: ExportQuery, counted?: Counted): Promise<Readable> =>
    exportDocuments(context, collection, query, COMMAND_LINE, counted),

  /**
   * Imports the documents of a file.
   *
   * @param options.owner of documents whose lines name none; default: none
   * @throws VALIDATION_ERROR, PAYLOAD_TOO_LARGE for a file that cannot be read on; what is written until then stays
   */
  import(
    name: string,
    bytes: AsyncIterable<Buffer>,
    { owner, ...options }: FileImportOptions,
    counted?: Counted,
  ): Promise<ImportReport> {
    const collection = context.collections.get(name)
    const viewer = systemViewer(0, ownerOf(owner, 'owner'))
    const records = recordsOf(options.format, bytes, collection.schema)
    return importDocuments(context, collection, viewer, records, options, COMMAND_LINE, {
      ...(counted && { counted }),
    })
  },

  /** See `importDocuments`; `$owner` of a record is the account that it belongs to. */
  importRecords: (
    name: string,
    records: AsyncIterable<ImportRecord>,
    options: ImportOptions,
    watch?: ImportWatch,
  ): Promise<ImportReport> =>
    importDocuments(
      context,
      context.collections.get(name),
      systemViewer(0, undefined),
      records,
      options,
      COMMAND_LINE,
      watch,
    ),
})
