import type { Readable } from 'node:stream'

import { COMMAND_LINE } from '../../../../../http/actor.ts'
import type { Collections } from '../../definition/collections.ts'
import { systemViewer } from '../../definition/viewer.ts'
import { ownerOf } from './imported-document.ts'
import { exportDocuments, type ExportContext, type ExportQuery } from './export-documents.ts'
import {
  importDocuments,
  type ImportContext,
  type ImportOptions,
  type ImportReport,
} from './import-documents.ts'

type Counted = (count: number) => void

/** Documents out and in, as the command line does it. */
export const openTransfer = (
  context: ExportContext & ImportContext & { readonly collections: Collections },
) => ({
  /** See `exportDocuments`. */
  export: (collection: string, query: ExportQuery, counted?: Counted): Promise<Readable> =>
    exportDocuments(context, collection, query, COMMAND_LINE, counted),

  /**
   * See `importDocuments`.
   *
   * @param options.owner of documents whose lines name none; default: none
   */
  import: (
    collection: string,
    bytes: AsyncIterable<Buffer>,
    { owner, ...options }: ImportOptions & { readonly owner?: string },
    counted?: Counted,
  ): Promise<ImportReport> =>
    importDocuments(
      context,
      context.collections.get(collection),
      systemViewer(0, ownerOf(owner, 'owner')),
      bytes,
      options,
      COMMAND_LINE,
      counted,
    ),
})
