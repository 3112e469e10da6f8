import { isDeepStrictEqual } from 'node:util'

import type { Transaction } from '../../../../db/database.ts'
import type { Actor } from '../../../../http/actor.ts'
import type { JobKind } from '../../../../kernel/jobs/job.ts'
import type { WireContext } from '../../../../kernel/wire/wire.ts'
import { declarationOf } from '../definition/collection.ts'
import type { CollectionDeclaration } from '../definition/collection-option.ts'
import { unloggedIn } from '../definition/collections.ts'
import { mergeDefinitions } from '../storage/entries/index-definition.ts'
import { changedSql, insertIndexSql } from '../storage/sql/index-rows.ts'
import { unloggedSql } from '../storage/sql/unlogged.ts'
import { readTogether, type Configured } from './read-definitions.ts'
import { readStored, type StoredDefinitions } from './stored-definitions.ts'
import { restoreVersion, type VersionGroup } from './version-rows.ts'

/** A definition of an archive, as text; its id is the name of the collection. */
type Archived = { readonly id: string; readonly definition: string }

/** A definition of an archive beside the one that the collection has here. */
export type ComparedDefinition = { name: string; here: 'none' | 'same' | 'other' }

/**
 * The definitions of a backup: written into it, compared, restored. A restore keeps a definition that is in force here, so it
 * opens no collection that was closed since the backup. A collection without one gets that of the archive, with its documents.
 */
export function createArchivedDefinitions(
  { db, clock, audit }: Pick<WireContext, 'db' | 'clock' | 'audit'>,
  { stored, versionJobs }: { stored: StoredDefinitions; versionJobs: JobKind<VersionGroup> },
  { configured }: { configured: Configured },
) {
  const { collections } = configured.options
  return {
    refresh: () => stored.refresh(),

    async compare(archived: readonly Archived[]): Promise<ComparedDefinition[]> {
      const here = new Map((await readStored(db)).map((one) => [one.collection, one.definition]))
      for (const [name, option] of Object.entries(collections)) here.set(name, declarationOf(option, name))
      return archived.map(({ id, definition }) => {
        const own = here.get(id)
        if (!own) return { name: id, here: 'none' }
        return { name: id, here: isDeepStrictEqual(own, JSON.parse(definition)) ? 'same' : 'other' }
      })
    },

    /** Puts the definitions into force of collections that have none, in the transaction that replaces the documents. */
    async restore(tx: Transaction, archived: readonly Archived[], actor: Actor): Promise<void> {
      const versions: VersionGroup['versions'] = []
      for (const { id, definition } of archived) {
        if (Object.hasOwn(collections, id)) continue
        const restored = await restoreVersion(tx, { id, definition }, { actor, now: clock.now() })
        if (!restored) continue
        versions.push({ collection: id, version: restored.version })
        const after = JSON.parse(definition) as CollectionDeclaration
        await tx.write(
          audit.entrySql(actor, { action: 'collection.defined', target: `collection:${id}`, after }),
        )
      }
      if (versions.length === 0) return
      const names = new Set(versions.map(({ collection }) => collection))
      // One that cannot be read here is closed, as at a start.
      const { set } = readTogether(configured, await readStored(tx))
      for (const step of unloggedSql(unloggedIn(set))) await tx.write(step)
      for (const collection of names) await tx.write(changedSql(collection))
      for (const one of mergeDefinitions(set.indexes.filter((index) => names.has(index.collection))))
        await tx.write(insertIndexSql(one, 'declared', clock.now()))
      // They are in force: the job builds the indexes.
      await tx.write(versionJobs.enqueueSql({ versions }))
    },
  }
}

export type ArchivedDefinitions = ReturnType<typeof createArchivedDefinitions>
