import { errors, type ApiError } from '../../../../base/errors.ts'
import { StartError } from '../../../../base/start-error.ts'
import type { Actor } from '../../../../http/actor.ts'
import type { WireContext } from '../../../../kernel/wire/wire.ts'
import { storeErrors } from '../../errors.ts'
import type { VersionJobs } from './apply-version.ts'
import {
  deleteChangeSql,
  insertChangeSql,
  restartSql,
  restartUndoSql,
  selectChangeSql,
  setStateSql,
  type ChangeRow,
} from './change-rows.ts'
import { checkChanges, type FieldMigration } from './field-changes.ts'
import { interimDefinition, protectedBy } from './interim-definition.ts'
import type { CollectionDeclaration } from '../definition/collection-option.ts'
import type { CollectionSet } from '../definition/collections.ts'
import { versionsOf } from '../language/etag.ts'
import { checkSchemaSize, faultOfBody, readChanged, type Configured } from './read-definitions.ts'
import { definitionIn, readStored, type StoredDefinitions } from './stored-definitions.ts'
import {
  insertVersionSql,
  refuseSql,
  selectNowSql,
  selectVersionSql,
  type VersionRow,
} from './version-rows.ts'

/** How long a call waits until its version is in force: small collections take a tenth of a second. */
const WAIT_MS = 10_000
const LOOK_MS = 25

export type DefinitionContext = Pick<WireContext, 'clock' | 'audit'> & {
  /** Refuses writes during a restore. */
  readonly db: WireContext['db']
  readonly configured: Configured
  readonly configFile: string
  readonly stored: StoredDefinitions
  readonly jobs: VersionJobs
}

/** A requested change of a definition. `definition` is null to remove it. */
export type DefinitionChange = {
  readonly name: string
  readonly definition: CollectionDeclaration | null
  /** Changes of the documents that are there; undefined: they stay as they are. */
  readonly documents?: readonly FieldMigration[] | undefined
  readonly ifMatch: string | undefined
  readonly actor: Actor
}

/**
 * Adds a version of a definition, and waits until it is decided, for 10 seconds at most.
 *
 * @throws VALIDATION_ERROR at `/body/…`; CONFLICT for a collection of the configuration, and while another version waits;
 * PRECONDITION_FAILED; DEFINITION_REFUSED if another collection needs what is removed
 */
export async function defineCollection(
  context: DefinitionContext,
  change: DefinitionChange,
): Promise<{ row: VersionRow; underWay: ChangeRow | undefined }> {
  const { name, definition, documents = [] } = change
  await readNext(context, name, definition, documents)
  const version = await addVersion(context, { ...change, documents })
  const decided = await waitUntilDecided(context, name, version)
  if (decided.row.state !== 'pending') await context.stored.refresh()
  return decided
}

export const isConfigured = ({ configured }: DefinitionContext, name: string): boolean =>
  Object.hasOwn(configured.options.collections, name)

export const definitionOf = (row: VersionRow | undefined): CollectionDeclaration | null =>
  row ? definitionIn(row) : null

/** The version in force, and the newest one. */
export async function readNow(
  { db }: DefinitionContext,
  name: string,
): Promise<{ active: VersionRow | undefined; newest: VersionRow | undefined }> {
  const rows = await db.all(selectNowSql(name))
  return { active: rows.find(({ state }) => state === 'active'), newest: rows.at(-1) }
}

/** How far the change of the documents is, if one is under way. */
export const readChange = async (
  { db }: Pick<DefinitionContext, 'db'>,
  name: string,
): Promise<ChangeRow | undefined> => (await db.all(selectChangeSql(name)))[0]

/** @throws CONFLICT for a collection of the configuration; VALIDATION_ERROR */
export async function readNext(
  context: DefinitionContext,
  name: string,
  definition: CollectionDeclaration | null,
  changes: readonly FieldMigration[] = [],
): Promise<CollectionSet> {
  if (isConfigured(context, name))
    throw errors.conflict({
      message: `${name} is defined in ${context.configFile}: change it there, and start the server again.`,
    })
  const stored = await readStored(context.db)
  try {
    const set = readChanged(context.configured, stored, { collection: name, definition })
    if (definition && changes.length > 0) {
      const before = stored.find(({ collection }) => collection === name)?.definition ?? {}
      checkChanges(changes, before)
      // What holds meanwhile.
      for (const interim of [interimDefinition(before, definition, changes), protectedBy(definition, before)])
        readChanged(context.configured, stored, { collection: name, definition: interim })
    }
    if (definition) checkSchemaSize(set.declared.get(name)!)
    return set
  } catch (error) {
    if (!(error instanceof StartError)) throw error
    throw faultOfBody(error, name) ?? storeErrors.definition_refused({ message: error.message })
  }
}

/** @throws PRECONDITION_FAILED; CONFLICT while another version waits */
async function addVersion(
  context: DefinitionContext,
  {
    name,
    definition,
    documents,
    ifMatch,
    actor,
  }: DefinitionChange & { documents: readonly FieldMigration[] },
): Promise<number> {
  const { db, clock, jobs } = context
  const { active, newest } = await readNow(context, name)
  const base = active?.version ?? 0
  if (versionsOf(ifMatch)?.includes(base) === false || (ifMatch === '*' && base === 0))
    throw errors.precondition_failed()
  const row = {
    collection: name,
    version: (newest?.version ?? 0) + 1,
    definition: definition && JSON.stringify(definition),
    documents: documents.length > 0 ? JSON.stringify(documents) : null,
    created_by: actor.id ?? actor.kind,
    actor: JSON.stringify(actor),
    created_at: clock.now(),
  }
  const underWay = await readChange(context, name)
  const otherChange = (): ApiError =>
    errors.conflict({ message: `Another change of ${name} is under way: try again when it is in force.` })
  if (newest?.state === 'pending' && underWay?.state === 'failed') {
    if (newest.definition !== row.definition || newest.documents !== row.documents)
      throw failed(name, underWay)
    await startAgain(context, underWay)
    return newest.version
  }
  if (newest?.state === 'pending' || underWay) throw otherChange()
  await db.batch([
    insertVersionSql(row, base, otherChange),
    ...(row.documents === null ? [] : [insertChangeSql(row, base)]),
    jobs.versions.enqueueSql({ collection: name, version: row.version }),
  ])
  return row.version
}

const failed = (name: string, { reason }: ChangeRow): ApiError =>
  errors.conflict({
    message: `The change of the documents of ${name} has stopped: ${reason}. Send the same again to go on with it, or DELETE to take it back.`,
  })

/** Goes on with a change that has failed. */
async function startAgain({ db, jobs }: DefinitionContext, change: ChangeRow): Promise<void> {
  await db.batch([
    setStateSql(change, ['failed'], 'changing'),
    restartSql(change),
    jobs.work.enqueueSql({ collection: change.collection }),
  ])
}

/**
 * Takes a version back that is not in force yet, with what it has changed in documents, and waits for that for 10 seconds at most.
 *
 * @throws CONFLICT if it has just been decided
 */
export async function takeBack(
  context: DefinitionContext,
  { collection, version }: VersionRow,
  actor: Actor,
) {
  const { db, clock, audit, jobs } = context
  const change = await readChange(context, collection)
  const hasBegun = change !== undefined && change.state !== 'waiting'
  if (change?.state !== 'undoing')
    await db.batch(
      hasBegun
        ? [
            setStateSql(change, ['changing', 'changed', 'failed'], 'undoing'),
            restartUndoSql(change),
            audit.entrySql(actor, { action: 'documents.change-undone', target: `collection:${collection}` }),
            jobs.work.enqueueSql({ collection }),
          ]
        : [
            refuseSql({ collection, version }, { reason: 'It was taken back' }, clock.now()),
            ...(change ? [deleteChangeSql(change, 'waiting')] : []),
          ],
    )
  return waitUntilDecided(context, collection, version)
}

/** The version once it is decided and its documents are changed or have stopped it, or after 10 seconds. */
async function waitUntilDecided(context: DefinitionContext, name: string, version: number) {
  const { db, clock } = context
  for (const end = clock.elapsed() + WAIT_MS; ; await clock.sleep(LOOK_MS)) {
    // In this order: what is decided has no change any more.
    const underWay = await readChange(context, name)
    const [row] = await db.all(selectVersionSql(name, version))
    if (!row) throw errors.not_found({ message: `Version ${version} of ${name} is gone.` })
    const isDecided = underWay ? underWay.state === 'failed' : row.state !== 'pending'
    if (isDecided || clock.elapsed() >= end) return { row, underWay }
  }
}
