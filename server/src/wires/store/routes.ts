import { Type } from '../../base/schema.ts'
import { healthRoute } from '../../http/health-route.ts'
import { route } from '../../http/route.ts'
import { restoreEndpoints } from './backups/restore-endpoints.ts'
import { backupEndpoints } from './backups/backup-endpoints.ts'
import { collectionEndpoints } from './documents/routes/collections/collection-endpoints.ts'
import { batchEndpoint } from './documents/routes/batch/batch-endpoint.ts'
import { bulkEndpoints } from './documents/routes/bulk/bulk-endpoints.ts'
import { definitionEndpoints } from './documents/definition-changes/definition-endpoints.ts'
import { aggregateEndpoint } from './documents/aggregates/aggregate-endpoint.ts'
import { canEndpoint } from './documents/routes/dry-run/can-endpoint.ts'
import { documentEndpoints } from './documents/routes/document-endpoints.ts'
import { transferEndpoints } from './documents/routes/transfer/transfer-endpoints.ts'
import { changesEndpoint } from './changes/changes-endpoint.ts'
import { archiveEndpoint } from './files/archives/archive-endpoint.ts'
import { fileBulkEndpoints } from './files/lists/file-bulk-endpoints.ts'
import { contentEndpoints } from './files/content/content-endpoints.ts'
import { fileEndpoints } from './files/file-endpoints.ts'
import { uploadLinkEndpoints } from './files/upload-links/upload-link-endpoints.ts'
import { uploadEndpoints } from './files/resumable/upload-endpoints.ts'
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

type StoreParts = {
  documents: Parameters<typeof collectionEndpoints>[0] &
    Parameters<typeof documentEndpoints>[0] &
    Parameters<typeof aggregateEndpoint>[0] &
    Parameters<typeof batchEndpoint>[0] &
    Parameters<typeof bulkEndpoints>[0] &
    Parameters<typeof transferEndpoints>[0]
  definitions: Parameters<typeof definitionEndpoints>[0]
  can: Parameters<typeof canEndpoint>[0]
  changes: Parameters<typeof changesEndpoint>[0]
  files: Parameters<typeof fileEndpoints>[0] &
    Parameters<typeof archiveEndpoint>[0] &
    Parameters<typeof contentEndpoints>[0] &
    Parameters<typeof fileBulkEndpoints>[0] &
    Parameters<typeof uploadLinkEndpoints>[0] &
    Parameters<typeof uploadEndpoints>[0]
  backups: Parameters<typeof backupEndpoints>[0] & Parameters<typeof restoreEndpoints>[0]
  health: () => Promise<StoreHealth>
}

/** All routes of the wire. */
export function storeRoutes(wire: StoreParts) {
  const collections = collectionEndpoints(wire.documents)
  const definitions = definitionEndpoints(wire.definitions)
  const documents = documentEndpoints(wire.documents)
  const bulk = bulkEndpoints(wire.documents)
  const transfer = transferEndpoints(wire.documents)
  const changes = changesEndpoint(wire.changes)
  const files = fileEndpoints(wire.files)
  const archive = archiveEndpoint(wire.files)
  const contents = contentEndpoints(wire.files)
  const fileBulk = fileBulkEndpoints(wire.files)
  const uploadLinks = uploadLinkEndpoints(wire.files)
  const uploads = uploadEndpoints(wire.files)
  const backups = backupEndpoints(wire.backups)
  const restores = restoreEndpoints(wire.backups)
  return [
    route('POST /store/upload', ...files.upload),
    route('POST /store/upload-links', ...uploadLinks.create),
    route('POST /store/upload-links/:id', ...uploadLinks.upload),
    route('GET /store/upload-links/:id', ...uploadLinks.get),
    route('DELETE /store/upload-links/:id', ...uploadLinks.remove),
    route('POST /store/uploads', ...uploads.create),
    route('GET /store/uploads/:id', ...uploads.get),
    route('PATCH /store/uploads/:id', ...uploads.append),
    route('DELETE /store/uploads/:id', ...uploads.remove),
    route('POST /store/files', ...files.uploadSeveral),
    route('GET /store/files', ...files.list),
    route('POST /store/files/bulk', ...fileBulk.bulk),
    route('GET /store/files/usage', ...fileBulk.usage),
    route('GET /store/files/archive', ...archive),
    route('GET /store/files/public/:name', ...contents.public),
    route('GET /store/files/:id', ...files.get),
    route('PATCH /store/files/:id', ...files.update),
    route('GET /store/files/:id/uses', ...files.uses),
    route('DELETE /store/files/:id', ...files.remove),
    route('GET /store/files/:id/content', ...contents.download),
    route('POST /store/files/:id/link', ...contents.createLink),
    route('GET /store/collections', ...collections.list),
    route('PUT /store/collections', ...definitions.putAll),
    route('GET /store/collections/:name', ...definitions.get),
    route('PUT /store/collections/:name', ...definitions.put),
    route('DELETE /store/collections/:name', ...definitions.remove),
    route('GET /store/collections/:name/versions', ...definitions.versions),
    route('POST /store/collections/:name/can', ...canEndpoint(wire.can)),
    route('DELETE /store/:collection', ...collections.drop),
    route('GET /store/changes', ...changes),
    route('POST /store/batch', ...batchEndpoint(wire.documents)),
    route('POST /store/:collection', ...documents.create),
    route('PUT /store/:collection', ...documents.updateBy),
    route('PATCH /store/:collection', ...documents.patchBy),
    route('GET /store/:collection', ...documents.list),
    route('POST /store/:collection/query', ...documents.query),
    route('GET /store/:collection/explain', ...documents.explain),
    route('GET /store/:collection/aggregate', ...aggregateEndpoint(wire.documents)),
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
      wire.health,
    ),
  ] as const
}
