import { leftOut, type ExportForm, type WireExport } from '../../kernel/wire/table-export.ts'

/** What is written of the store. */
export const storeExport = (forms: readonly ExportForm[]): WireExport => ({
  forms,
  tables: [
    { table: 'store_backups', about: 'Backups, whose archives are in their storage', without: ['process'] },
    { table: 'store_restores', about: 'Restores of backups', without: ['process'] },
    {
      table: 'store_indexes',
      about: 'Indexes of collections: of the configuration, and those that were made automatically',
      json: ['fields'],
      without: ['format', 'build', 'has_arrays', 'has_cut_keys'],
    },
    {
      table: 'store_collection_versions',
      about: 'Definitions of collections that were made while the server ran, with those before',
      json: ['definition', 'documents', 'report'],
    },
    ...leftOut('How documents and files are found, counted and followed', [
      'store_change_readers',
      'store_changes',
      'store_counts',
      'store_entries',
      'store_feed',
      'store_index_sets',
      'store_unlogged',
      'store_usage',
    ]),
    ...leftOut('Smaller versions of images, which are made again', ['store_variants']),
    ...leftOut('Links by which files are uploaded, which end within days', ['store_upload_links']),
    ...leftOut('Changes of the fields of documents under way', [
      'store_changed_documents',
      'store_document_changes',
    ]),
    ...leftOut('Uploads and restores under way', [
      'store_reservations',
      'store_unclaimed',
      'store_upload_pieces',
      'store_uploads',
    ]),
  ],
})
