import type { Actor } from '../../../../http/actor.ts'
import { configFileName } from '../../../../kernel/config/config-file.ts'
import type { WireContext } from '../../../../kernel/wire/wire.ts'
import type { Collections, CollectionsOptions } from '../definition/collections.ts'
import type { Indexes } from '../storage/indexes/indexes.ts'
import { createArchivedDefinitions } from './archived-definitions.ts'
import { createVersionJobs } from './apply-version.ts'
import type { ChangeContext } from './change-documents.ts'
import { defineCollections, type DefinitionChange, type DefinitionContext } from './define-collection.ts'
import type { Configured } from './read-definitions.ts'
import { createStoredDefinitions, readStored } from './stored-definitions.ts'
import { reportIn } from './version-rows.ts'

/**
 * Opens the definitions that are made while the server runs.
 *
 * @param nouns.db refuses writes during a restore
 * @param nouns.follow called when collections are not as they were
 */
export function openDefinitions(
  context: WireContext,
  nouns: {
    db: WireContext['db']
    collections: Collections
    indexes: Indexes
    writing: ChangeContext['writing']
    follow: () => void
  },
  options: CollectionsOptions,
) {
  const { policy, settings } = context
  const configured: Configured = { policy: policy.name, options }
  const stored = createStoredDefinitions(context, nouns, configured)
  const jobs = createVersionJobs(context, { ...nouns, stored }, configured)
  const served: DefinitionContext = {
    ...context,
    db: nouns.db,
    collections: nouns.collections,
    configured,
    configFile: configFileName(settings.appDir) ?? 'the configuration',
    stored,
    jobs,
  }
  return {
    served,
    /** For the command line, which does not start the wire. */
    service: {
      list: () => readStored(context.db),
      async define(changes: readonly DefinitionChange[], actor: Actor) {
        const decided = await defineCollections(served, changes, actor)
        return decided.map(({ row }) => ({ name: row.collection, state: row.state, report: reportIn(row) }))
      },
    },
    /** For backups. */
    archived: createArchivedDefinitions(context, { stored, versionJobs: jobs.versions }, { configured }),
    refresh: () => stored.refresh(),
    start: () => stored.start(),
    close: () => stored.close(),
  }
}
