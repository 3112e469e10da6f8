import { isDeepStrictEqual } from 'node:util'

import { StartError } from '../../../../base/start-error.ts'
import { SYSTEM, type Actor } from '../../../../http/actor.ts'
import type { WireContext } from '../../../../kernel/wire/wire.ts'
import type { CollectionSet } from '../definition/collections.ts'
import { hasAll } from '../storage/entries/index-definition.ts'
import type { Indexes } from '../storage/indexes/indexes.ts'
import { UnfitIndex } from '../storage/indexes/required-indexes.ts'
import type { ChangeContext } from './change-documents.ts'
import type { ChangeRow } from './change-rows.ts'
import { checkDocuments, NOTHING_READ, type DocumentsReport } from './check-documents.ts'
import { checkUnique } from './check-unique.ts'
import { isFaultOf, readChanged, type Configured } from './read-definitions.ts'
import {
  definitionIn,
  fieldChangesIn,
  interimOf,
  readInForce,
  type StoredDefinitions,
} from './stored-definitions.ts'
import { progressSql, type VersionReport, type VersionRow } from './version-rows.ts'

/** How long other servers have until they know of what is in force. */
export const SETTLE_MS = 1_000

/** A version is not put into force, nor are those that were sent with it; the report says why. */
export class RefusedVersion extends Error {
  readonly collection: string
  readonly report: VersionReport

  constructor(collection: string, report: VersionReport) {
    super(report.reason)
    this.collection = collection
    this.report = report
  }
}

/** What versions of definitions are put into force with. */
export type VersionContext = Pick<WireContext, 'log' | 'audit'> &
  ChangeContext & {
    readonly indexes: Indexes
    readonly stored: StoredDefinitions
    readonly configured: Configured
  }

/** Who has sent a version. */
export const actorOf = ({ actor }: VersionRow): Actor =>
  actor === null ? SYSTEM : (JSON.parse(actor) as Actor)

/**
 * The collections with the versions in place of those before.
 *
 * @param change with what holds of the one version in this state of its change, instead
 * @throws RefusedVersion
 */
export async function nextSet(
  { db, configured }: VersionContext,
  rows: readonly VersionRow[],
  change?: ChangeRow,
): Promise<CollectionSet> {
  const fixed = rows.find(({ collection }) => Object.hasOwn(configured.options.collections, collection))
  // Its rules know nothing of documents that are being changed.
  if (fixed)
    throw new RefusedVersion(fixed.collection, {
      reason: `${fixed.collection} is defined in the configuration`,
    })
  const changes = change
    ? [await interimOf(db, change)]
    : rows.map((row) => ({ collection: row.collection, definition: definitionIn(row) }))
  try {
    return readChanged(configured, await readInForce(db), changes)
  } catch (error) {
    if (!(error instanceof StartError)) throw error
    const { collection } = changes.find((one) => isFaultOf(error, one.collection)) ?? changes[0]!
    throw new RefusedVersion(collection, { reason: error.message })
  }
}

/** @throws RefusedVersion if documents do not fit the schema, once they are changed */
export async function checkVersion(
  { db, collections }: VersionContext,
  row: VersionRow,
  next: CollectionSet,
  stopping: AbortSignal,
): Promise<DocumentsReport> {
  const definition = next.declared.get(row.collection)
  const changes = fieldChangesIn(row)
  const isFit =
    changes.length === 0 && isDeepStrictEqual(definition?.schema, collections.get(row.collection).schema)
  if (!definition || isFit) return NOTHING_READ
  const report = await checkDocuments(
    db,
    definition,
    async (soFar) => {
      stopping.throwIfAborted()
      await db.write(progressSql(row, soFar))
    },
    changes,
  )
  if (report.unfit > 0) throw new RefusedVersion(row.collection, { ...report, reason: unfitReason(report) })
  return report
}

const unfitReason = ({ documents, unfit, examples: [first] }: DocumentsReport): string =>
  `${unfit} of ${documents} documents do not fit the schema: change them first${first ? `. The first: ${first._id}, ${first.issues[0]?.path} ${first.issues[0]?.message}` : ''}`

/**
 * Builds what the new set needs beside what there is, which is in use until then.
 *
 * @returns whether there was anything to build
 * @throws RefusedVersion
 */
export async function buildIndexes(
  { db, indexes, collections }: VersionContext,
  next: CollectionSet,
  stopping: AbortSignal,
): Promise<boolean> {
  const now = collections.set
  await indexes.declare([...now.indexes, ...next.indexes], now.indexes)
  try {
    await indexes.complete(() => stopping.throwIfAborted(), { only: (one) => !hasAll(now.indexes, [one]) })
  } catch (error) {
    if (!(error instanceof UnfitIndex)) throw error
    const { collection, reason } = error
    throw new RefusedVersion(collection, {
      reason: `${reason}: change or delete what does not fit, then send it again`,
      duplicates: await checkUnique(db, collection, { now, next }, stopping),
    })
  }
  return !hasAll(now.indexes, next.indexes)
}
