import { asset, moduleAddress } from '../../base/asset.ts'
import { backupDiagnosis } from './backups/backup-diagnosis.ts'
import { createSemaphore } from '../../base/semaphore.ts'
import { bytesOf } from '../../base/byte-size.ts'
import { defineWire } from '../../kernel/wire/wire.ts'
import { auth } from '../auth/index.ts'
import { messaging } from '../messaging/index.ts'
import { createBackups } from './backups/backups.ts'
import { refusedWhileRestoring } from './backups/restore-gate.ts'
import { createRestores } from './backups/restore.ts'
import { scheduleBackups } from './backups/backup-schedule.ts'
import { openChanges } from './changes/open-changes.ts'
import { outdateWordsSql } from './documents/storage/sql/index-rows.ts'
import { openDefinitions } from './documents/definition-changes/open-definitions.ts'
import { openDocuments } from './documents/open-documents.ts'
import { decideFor, type Asker, type DecisionContext } from './documents/routes/dry-run/account-decision.ts'
import { describedCollections } from './documents/routes/described-collections.ts'
import { collectionExport } from './documents/routes/transfer/collection-export.ts'
import { openTransfer } from './documents/routes/transfer/transfer.ts'
import { fileFieldsOf, schemasOf } from './documents/definition/answered-schemas.ts'
import { createWordMerge } from './documents/storage/search/merge-words.ts'
import { attachableFiles } from './files/attachable-files.ts'
import { createFileBulk } from './files/lists/file-bulk.ts'
import { createFileList } from './files/lists/file-list.ts'
import { createFilesAccess } from './documents/file-fields/file-access.ts'
import { createDocumentFiles } from './files/of-documents/document-files.ts'
import { FILES_MAX, receiveMsOf } from './files/file-endpoints.ts'
import { createExpandedFiles } from './files/of-documents/expanded-files.ts'
import { createFiles } from './files/files.ts'
import { createInspection } from './files/inspection/inspect.ts'
import { createLinks } from './files/addresses/links.ts'
import { fileExport } from './files/archives/file-export.ts'
import { createFileImports } from './files/file-imports.ts'
import { deleteReleasedFiles } from './files/of-documents/released-files.ts'
import { createResizer } from './files/content/images/resize.ts'
import { createReceiving } from './files/receiving/receive-files.ts'
import { createPublicFiles } from './files/content/public-files.ts'
import { createUploads } from './files/uploads/upload.ts'
import { createUploadLinks } from './files/upload-links/upload-links.ts'
import { createResumableUploads } from './files/resumable/resumable-uploads.ts'
import { createVariants } from './files/content/images/variants.ts'
import { createFileCheck } from './file-check/file-check.ts'
import { fileDiagnosis } from './file-check/file-diagnosis.ts'
import { createHealth } from './health.ts'
import { createObjects } from './objects/objects.ts'
import { readS3Config, warningsOf } from './objects/s3-config.ts'
import { logFaultsOf, openStorages } from './objects/storages.ts'
import { quotasOf, STORE_ENV, STORE_PROVIDERS, STORE_SETTABLE, StoreOptions } from './options.ts'
import { createInstalledFiles } from './transfers/installed-files.ts'
import { storeTables } from './personal-tables.ts'
import { createQuota } from './quota.ts'
import { storeTimeline } from './person-timeline.ts'
import { storedBytes } from './stored-bytes.ts'
import { storeRoutes } from './routes.ts'
import { STORE_COPIES } from './table-copies.ts'
import { storeExport } from './table-exports.ts'

export type {
  CollectionDeclaration,
  CollectionOption,
  UpdateRuleOption,
} from './documents/definition/collection-option.ts'
export type { HookCall, HookCaller, Hooks } from './documents/definition/hooks.ts'
export type {
  SystemDocument,
  SystemDocuments,
  SystemList,
  SystemListQuery,
} from './documents/definition/system-api.ts'
export type { FileFieldOption } from './documents/definition/file-field.ts'
export type { RelationOption } from './documents/definition/relation.ts'
export type { RuleFilter, RuleOption } from './documents/language/rules/rule.ts'
export type { ImportReport, RefusedDocument } from './documents/routes/transfer/import-documents.ts'
export { recordsOf, type ImportRecord } from './documents/routes/transfer/import-records.ts'
export { isDocumentId } from './documents/language/document-id.ts'
export { SERVICE_FIELDS } from './documents/language/document-json.ts'
export { declarationOf } from './documents/definition/collection.ts'
export { isCollectionName } from './documents/language/collection-name.ts'
export type { FileScan, ScannedFile, ScanVerdict } from './files/inspection/scan.ts'
export type { FileImports } from './files/file-imports.ts'
export { messageOf } from './documents/routes/bulk/bulk.ts'
export { readArchive } from './backups/archive-reader.ts'
export type { Manifest as ArchiveManifest } from './backups/archive-format.ts'
export type { RestorePreview } from './backups/restore-preview.ts'
export type { BackupRecord } from './backups/backups.ts'
export type { FileCheckReport, LostRecord, ObjectSum } from './file-check/file-check.ts'
export type { UnattachedFile } from './file-check/unattached-files.ts'
export { copyFiles, type CopiedFiles } from './transfers/copy-files.ts'
export { storageFault } from './transfers/storage-fault.ts'
export { openNewStorage, openTargetStorage, type TargetStorage } from './transfers/target-storage.ts'
export { decide, type DecisionCall, type DecisionUser } from './documents/routes/dry-run/dry-run.ts'
export type { Decision } from './documents/routes/dry-run/decision.ts'

// Each has a connection of its own, and may take hours.
const EXPORTS = { limit: 2, queue: 10, retryAfter: 10 }
// How long a list may wait besides.
const LIST_WAIT_SECONDS = 5

/** JSON documents in collections, files, and backups of both. */
export const store = defineWire({
  name: 'store',
  description: 'JSON documents in collections, with filters, sorting and pages; files; and backups.',
  needs: [messaging.optional, auth.optional],
  options: StoreOptions,
  env: STORE_ENV,
  providers: STORE_PROVIDERS,
  settable: STORE_SETTABLE,
  migrations: asset('wires/store/migrations/'),
  tableCopies: STORE_COPIES,
  sqliteFunctions: moduleAddress('wires/store/documents/storage/sql/sqlite/functions'),
  async setup(context, options) {
    const { clock, jobs, policy, settings } = context
    const db = refusedWhileRestoring(context.db)
    const storages = await openStorages(context, options)
    const objects = createObjects(context, { storages })
    const backups = createBackups(context, { objects })
    const quota = createQuota({ db, clock }, quotasOf(options.quota, settings.production))
    scheduleBackups(jobs, backups, options.backups)
    const access = createFilesAccess(context, { rule: options.fileAccess })
    const {
      collections,
      indexes,
      automaticIndexes,
      lists,
      aggregates,
      writing,
      fileUses,
      readableFiles,
      decide,
      system,
    } = openDocuments(context, { guardedDb: db, quota, filesAccess: access }, options)
    const changes = openChanges(context, { collections }, options.changes)
    const definitions = openDefinitions(
      context,
      { db, collections, indexes, writing, follow: changes.bindAll },
      options,
    )
    const decisions: DecisionContext = {
      decide: (request) => definitions.refresh().then(() => decide(request)),
      accounts: context.auth?.users,
    }
    const restores = createRestores(context, {
      objects,
      backups,
      indexes,
      definitions: definitions.archived,
    })
    const resizer = createResizer(context)
    const inspection = createInspection({ ...context, db }, { objects, resizer }, options.files)
    const files = createFiles({ db }, { objects, quota, uses: fileUses, readable: readableFiles, inspection })
    const receive = createReceiving({ db, clock }, { objects, quota }, options.files)
    const { upload, uploadAll } = createUploads({ receive, files })
    const uploads = createResumableUploads({ ...context, db }, { objects, quota })
    const links = createLinks(context, settings)
    const publicFiles = createPublicFiles({ db }, { uses: fileUses }, settings)
    const { sizes } = options.files
    const variants = createVariants({ ...context, db }, { objects, resizer }, { sizes })
    context.metrics.gauge(
      {
        name: 'sixwire_backup_age_seconds',
        help: 'Time since the last completed backup, from the database; missing if there is none',
        labels: [],
      },
      async () => {
        const at = await backups.lastCompletedAt()
        return at === null ? [] : [{ labels: {}, value: (clock.now() - Date.parse(at)) / 1000 }]
      },
    )
    deleteReleasedFiles(context, { db, objects, uses: fileUses })
    context.messaging?.setFileSource(attachableFiles({ policy, files, objects }))
    const uploadLimit = bytesOf(options.uploadLimit)
    const health = () => db.ping()
    const listLimitMs = (options.queryLimitSeconds + LIST_WAIT_SECONDS) * 1000
    const documents = {
      db,
      audit: context.audit,
      idempotency: context.idempotency,
      collections,
      writing,
      ...lists,
      ...aggregates,
      listLimitMs,
      receiveFiles: createDocumentFiles({ receive, files, access }),
      bodyFiles: { max: FILES_MAX, maxBytes: uploadLimit, receiveMs: receiveMsOf(uploadLimit) },
      shownFiles: createExpandedFiles({ db }, { readable: readableFiles, publicFiles, links }, settings),
      deletions: writing.deletions,
      declaredNow: () => ({ declared: collections.set.options, configured: options.collections }),
      policy: policy.name,
      scanLimitMs: options.queryLimitSeconds * 1000,
      exporting: createSemaphore(EXPORTS),
    }
    const routes = storeRoutes({
      documents,
      definitions: definitions.served,
      can: decisions,
      changes: changes.served,
      files: {
        db,
        files,
        publicFiles,
        list: createFileList(db),
        upload,
        uploadAll,
        uploadLinks: createUploadLinks({ db, clock }, settings),
        uploads,
        clock,
        access,
        readable: readableFiles,
        links,
        objects,
        variants,
        uses: fileUses,
        bulk: createFileBulk({ db, objects, audit: context.audit, uses: fileUses }),
        sizes,
        limit: uploadLimit,
        publicUrl: settings.publicUrl,
      },
      backups: { backups, restores, clock },
      health: createHealth({
        database: health,
        uploads: storages.uploads,
        isScheduled: options.backups.every !== undefined,
        lastBackup: () => backups.lastCompletedAt(),
      }),
    })
    return {
      routes,
      variants: (isTaken) =>
        describedCollections(
          routes,
          schemasOf(collections.set.options),
          (name) => collections.get(name).concealed,
          isTaken,
        ),
      variantsOf: () => collections.set,
      scheduleContext: { documents: system },
      service: {
        documents: system,
        transfer: openTransfer(documents),
        list: lists.list,
        // The command line does not start the wire.
        decideFor: (asker: Asker, request: Parameters<typeof decideFor>[2]) =>
          decideFor(decisions, asker, request),
        files,
        definitions: definitions.service,
        fileImports: createFileImports({ upload }),
        fileCheck: createFileCheck(context, { objects, uses: fileUses }),
        installedFiles: createInstalledFiles(context, { uploads: storages.uploads }),
        backups,
        restores,
        indexes,
        automaticIndexes,
        get schemas() {
          return schemasOf(collections.set.options)
        },
        get fileFields() {
          return fileFieldsOf(collections.set.options)
        },
      },
      async start() {
        await definitions.start()
        await changes.start()
        await backups.failLapsed()
        await restores.recover()
        await indexes.declare(collections.set.indexes)
        if (context.processes.hasOlder()) {
          await db.write(outdateWordsSql)
          context.log.warn(
            'an older version of this program runs on the database: what it writes now is found by search after the next start only',
          )
        }
        void logFaultsOf(storages, context.log)
      },
      ready: (goOn) =>
        indexes.complete(goOn, {
          // What only a running server can change keeps none from its start.
          mayFail: ({ collection }) => !Object.hasOwn(options.collections, collection),
        }),
      exports: storeExport([
        collectionExport({ declaredNow: () => collections.set.options }),
        fileExport({ objects }),
      ]),
      health,
      figures: [
        {
          name: 'last-backup',
          title: 'Last backup',
          kind: 'time',
          isWarning: settings.production,
          read: () => backups.lastCompletedAt(),
        },
      ],
      series: [storedBytes({ db })],
      timeline: storeTimeline({ db }),
      diagnoses: [
        backupDiagnosis(clock, { every: options.backups.every, production: settings.production }, () =>
          backups.lastCompletedAt(),
        ),
        fileDiagnosis({ db, clock }, { storages }),
      ],
      personalTables: storeTables(
        { db, clock },
        { collections, writing, objects, uploads, words: createWordMerge({ db, clock, jobs }) },
      ),
      archives: storages.uploads,
      warnings: warningsOf(readS3Config(options.s3)),
      // Of files: documents can be stored without them.
      checks: new Map(
        Object.entries(storages).map(([name, storage]) => [
          `${name} in ${storage.name}`,
          () => storage.check?.() ?? storage.ping(),
        ]),
      ),
      async close() {
        await definitions.close()
        await changes.close()
        await automaticIndexes.idle()
        await restores.close()
        await backups.close()
        await objects.close()
      },
    }
  },
})
