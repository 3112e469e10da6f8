import { Type } from '../../base/schema.ts'
import { healthRoute } from '../../http/health-route.ts'
import { route } from '../../http/route.ts'
import type { restoreEndpoints } from './backups/restore-endpoints.ts'
import type { backupEndpoints } from './backups/backup-endpoints.ts'
import type { collectionEndpoints } from './documents/routes/collections/collection-endpoints.ts'
import type { bulkEndpoints } from './documents/routes/bulk/bulk-endpoints.ts'
import type { documentEndpoints } from './documents/routes/document-endpoints.ts'
import type { transferEndpoints } from './documents/routes/transfer/transfer-endpoints.ts'
import type { changesEndpoint } from './changes/changes-endpoint.ts'
import type { fileBulkEndpoints } from './files/file-bulk-endpoints.ts'
import type { contentEndpoints } from './files/content-endpoints.ts'
import type { fileEndpoints } from './files/file-endpoints.ts'
import type { StoreHealth } from './health.ts'

const HealthFields = {
  uploads: Type.Object({ provider: Type.String(), status: Type.Enum(['connected', 'unhealthy']) }),
  backup: Type.Object({
    enabled: Type.Boolean({ description: 'Whether backups are scheduled.' }),
    lastBackup: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
      description: 'When the last completed backup was made; null if there is none.',
    }),
  }),
}

/** All routes of the wire. */
export function storeRoutes({
  collections,
  documents,
  bulk,
  transfer,
  changes,
  files,
  fileBulk,
  contents,
  backups,
  restores,
  health,
}: {
  collections: ReturnType<typeof collectionEndpoints>
  documents: ReturnType<typeof documentEndpoints>
  bulk: ReturnType<typeof bulkEndpoints>
  transfer: ReturnType<typeof transferEndpoints>
  changes: ReturnType<typeof changesEndpoint>
  files: ReturnType<typeof fileEndpoints>
  fileBulk: ReturnType<typeof fileBulkEndpoints>
  contents: ReturnType<typeof contentEndpoints>
  backups: ReturnType<typeof backupEndpoints>
  restores: ReturnType<typeof restoreEndpoints>
  health: () => Promise<StoreHealth>
}) {
  return [
    route('POST /store/upload', ...files.upload),
    route('GET /store/files', ...files.list),
    route('POST /store/files/bulk', ...fileBulk.bulk),
    route('GET /store/files/usage', ...fileBulk.usage),
    route('GET /store/files/:id', ...files.get),
    route('DELETE /store/files/:id', ...files.remove),
    route('GET /store/files/:id/content', ...contents.download),
    route('POST /store/files/:id/link', ...contents.createLink),
    route('GET /store/collections', ...collections.list),
    route('DELETE /store/:collection', ...collections.drop),
    route('GET /store/changes', ...changes),
    route('POST /store/:collection', ...documents.create),
    route('GET /store/:collection', ...documents.list),
    route('POST /store/:collection/query', ...documents.query),
    route('GET /store/:collection/explain', ...documents.explain),
    route('GET /store/:collection/fields', ...bulk.fields),
    route('POST /store/:collection/bulk', ...bulk.bulk),
    route('GET /store/:collection/export', ...transfer.export),
    route('POST /store/:collection/import', ...transfer.import),
    route('GET /store/:collection/:id', ...documents.get),
    route('PUT /store/:collection/:id', ...documents.update),
    route('PATCH /store/:collection/:id', ...documents.patch),
    route('DELETE /store/:collection/:id', ...documents.remove),
    route('POST /store/backup', ...backups.create),
    route('GET /store/backups', ...backups.list),
    route('GET /store/backups/:id', ...backups.get),
    route('GET /store/backups/:id/archive', ...backups.download),
    route('GET /store/backups/:id/check', ...restores.check),
    route('DELETE /store/backups/:id', ...backups.remove),
    route('POST /store/backup/:id/restore', ...restores.restore),
    healthRoute(
      'GET /store/health',
      {
        title: 'StoreHealth',
        summary: 'Check whether documents and files can be stored',
        fields: HealthFields,
      },
      health,
    ),
  ] as const
}
