import { isoTime } from '../../../base/clock.ts'
import { deriveKey } from '../../../base/crypto.ts'
import { parseJson } from '../../../base/json.ts'
import { createKeyedMutex } from '../../../base/keyed-mutex.ts'
import type { Database } from '../../../db/database.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import type { Quota } from '../quota.ts'
import { createCollections, USER_VALUES_MAX, type ReadMatching } from './definition/collections.ts'
import { decideStored, type DecisionRequest, type StoredDecision } from './routes/dry-run/decide-stored.ts'
import type { DocumentOptions } from './definition/document-options.ts'
import { createDocuments } from './storage/documents.ts'
import { createFileChecks } from './file-fields/check-files.ts'
import type { FilesAccess } from './file-fields/file-access.ts'
import { createFileUses } from './file-fields/file-uses.ts'
import { createReadableFiles } from './file-fields/readable-files.ts'
import { createHookRunner } from './writes/hook-runner.ts'
import type { SystemDocuments } from './definition/system-api.ts'
import { createIndexes } from './storage/indexes/indexes.ts'
import { createAggregates } from './aggregates/aggregate.ts'
import { createAutomaticIndexes } from './lists/automatic-indexes.ts'
import { createLists } from './lists/list.ts'
import type { DeletionContext } from './writes/relations/relation-deletion.ts'
import { createSystemDocuments } from './writes/system-documents.ts'
import type { WriteContext } from './writes/write-context.ts'
import { matchingRows } from './language/rules/rule.ts'

const UPDATES_WAITING = 1000

type List = ReturnType<typeof createLists>['list']

/**
 * Opens the documents of all collections.
 *
 * @param nouns.guardedDb refuses writes during a restore; that of the context does not
 * @param nouns.filesAccess which files somebody may see whatever documents have them
 * @throws StartError for collections of the configuration that cannot work
 */
export function openDocuments(
  context: WireContext,
  { guardedDb: db, quota, filesAccess }: { guardedDb: Database; quota: Quota; filesAccess: FilesAccess },
  options: DocumentOptions,
) {
  const { clock, log, policy, settings } = context
  const collections = createCollections(
    { policy: policy.name, readMatching: readMatchingBy((request) => lists.list(request), log) },
    options,
  )
  const isByOwner = (name: string): boolean => collections.isByOwner(name)
  const indexes = createIndexes(
    { ...context, db },
    { isByOwner, hasAutomatic: options.automaticIndexes !== false },
  )
  const automaticIndexes = createAutomaticIndexes(
    { ...context, db },
    { builds: indexes.builds, isByOwner },
    options.automaticIndexes,
  )
  const documents = createDocuments({ db }, { indexes })
  const reading = {
    db: context.db,
    documents,
    indexes,
    automaticIndexes,
    limitMs: options.queryLimitSeconds * 1000,
    key: deriveKey(settings.secret, 'store.cursors'),
    searchFieldsOf: (name: string) => collections.get(name).search,
  }
  const lists = createLists(reading)
  const aggregates = createAggregates(reading)
  // Hooks get these documents, which are written with hooks.
  const systemAt = (depth: number): SystemDocuments =>
    createSystemDocuments({ collections, writing, list: lists.list }, { depth })
  const hooks = createHookRunner(context, { collectionOf: (name) => collections.get(name), systemAt })
  const mutex = createKeyedMutex({ queue: UPDATES_WAITING, retryAfter: 1 })
  const indexesOf = (name: string) => indexes.recent(name)
  const deletions: DeletionContext = {
    documents,
    indexesOf,
    get incoming() {
      return collections.set.incoming
    },
    now: () => isoTime(clock.now()),
  }
  const fileUses = createFileUses({ db: context.db, collections, documents, indexesOf })
  const readableFiles = createReadableFiles({
    access: filesAccess,
    uses: fileUses,
    viewerOf: collections.viewer,
  })
  const checkFiles = createFileChecks({ db: context.db, readable: readableFiles })
  const writing: WriteContext = {
    clock,
    collections,
    documents,
    hooks,
    deletions,
    checkFiles,
    quota,
    mutex,
  }
  /** Decides on stored documents, and leaves no trace: no use of an index is noted, and none is added. */
  function decide(request: DecisionRequest): Promise<StoredDecision> {
    const { list } = createLists({ ...reading, automaticIndexes: { observe() {}, used() {} } })
    const traceless = createCollections(
      { policy: policy.name, readMatching: readMatchingBy(list, log) },
      { ...options, collections: collections.set.options },
    )
    return decideStored({ clock, policy, collections: traceless, documents }, request)
  }
  return {
    collections,
    indexes,
    automaticIndexes,
    lists,
    aggregates,
    writing,
    fileUses,
    readableFiles,
    decide,
    system: systemAt(0),
  }
}

/** Reads the documents of a value of `store.user`, as the system. */
const readMatchingBy =
  (list: List, log: Pick<WireContext['log'], 'warn'>): ReadMatching =>
  async (collection, filter) => {
    const access = { rowFilter: matchingRows([filter]), view: undefined }
    const parameters = { sort: '_id', limit: USER_VALUES_MAX, offset: 0 }
    const { documents: found, total } = await list({ collection, access, parameters })
    if (found.length === total) return found.map(({ body }) => parseJson(body))
    // Some of the values would not do: a rule may ask for what is not among them.
    log.warn(
      { collection, total },
      'store.user takes at most 1000 documents of 4 MiB together: a rule denies',
    )
    return undefined
  }
