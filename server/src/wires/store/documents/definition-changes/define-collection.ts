import { setImmediate as nextTurn } from 'node:timers/promises'

import { errors, type ApiError } from '../../../../base/errors.ts'
import { StartError } from '../../../../base/start-error.ts'
import type { Step } from '../../../../db/database.ts'
import type { Actor } from '../../../../http/actor.ts'
import type { WireContext } from '../../../../kernel/wire/wire.ts'
import { storeErrors } from '../../errors.ts'
import type { CollectionDeclaration } from '../definition/collection-option.ts'
import type { Collections, CollectionSet } from '../definition/collections.ts'
import { versionsOf } from '../language/etag.ts'
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
import {
  checkSchemaCompiles,
  faultOfRequest,
  isFaultOf,
  readChanged,
  type Configured,
} from './read-definitions.ts'
import { definitionIn, readStored, type StoredDefinitions } from './stored-definitions.ts'
import {
  insertVersionSql,
  refuseSql,
  selectNowSql,
  selectVersionSql,
  type VersionGroup,
  type VersionRow,
} from './version-rows.ts'

/** How long a call waits until its version is in force: small collections take a tenth of a second. */
const WAIT_MS = 10_000
const LOOK_MS = 25

export type DefinitionContext = Pick<WireContext, 'clock' | 'audit'> & {
  /** Refuses writes during a restore. */
  readonly db: WireContext['db']
  readonly collections: Collections
  readonly configured: Configured
  readonly configFile: string
  readonly stored: StoredDefinitions
  readonly jobs: VersionJobs
}

/** A requested change of a definition. `definition` is null to remove it. */
export type DefinitionChange = {
  readonly name: string
  readonly definition: CollectionDeclaration | null
  /** Changes of the documents that are there. Only of a change that is sent alone: others would wait for hours with it. */
  readonly documents?: readonly FieldMigration[] | undefined
  readonly ifMatch?: string | undefined
  /** Where the definition is in the request. */
  readonly at: string
}

/** What became of a version, and how far the change of its documents is, if one is under way. */
export type Decided = { readonly row: VersionRow; readonly underWay: ChangeRow | undefined }

/**
 * Adds versions of definitions that come into force together or not at all, and waits until they are decided, for 10 seconds at most.
 *
 * @returns the versions in the order of the changes
 * @throws VALIDATION_ERROR; CONFLICT for a collection of the configuration, and while another version waits;
 * PRECONDITION_FAILED; DEFINITION_REFUSED if another collection needs what is removed
 */
export async function defineCollections(
  context: DefinitionContext,
  changes: readonly DefinitionChange[],
  actor: Actor,
): Promise<Decided[]> {
  await readNext(context, changes)
  const versions = (await resumed(context, changes)) ?? (await addVersions(context, changes, actor))
  const decided = await waitUntilDecided(context, versions)
  if (decided.every(({ row }) => row.state !== 'pending')) await context.stored.refresh()
  return decided
}

export const isConfigured = ({ configured }: DefinitionContext, name: string): boolean =>
  Object.hasOwn(configured.options.collections, name)

export const definitionOf = (row: VersionRow | undefined): CollectionDeclaration | null =>
  row ? definitionIn(row) : null

/** The version in force, and the newest one. */
export async function readNow(
  { db }: Pick<DefinitionContext, 'db'>,
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

/** The collections with the changes. @throws CONFLICT for a collection of the configuration; VALIDATION_ERROR; DEFINITION_REFUSED */
export async function readNext(
  context: DefinitionContext,
  changes: readonly DefinitionChange[],
): Promise<CollectionSet> {
  const configured = changes.find(({ name }) => isConfigured(context, name))
  if (configured)
    throw errors.conflict({
      message: `${configured.name} is defined in ${context.configFile}: change it there, and start the server again.`,
    })
  const stored = await readStored(context.db)
  const read = (next: readonly Pick<DefinitionChange, 'name' | 'definition'>[]): CollectionSet =>
    readChanged(
      context.configured,
      stored,
      next.map(({ name, definition }) => ({ collection: name, definition })),
    )
  try {
    const set = read(changes)
    for (const { name, definition, documents = [], at } of changes) {
      if (!definition) continue
      if (documents.length > 0) {
        const before = stored.find(({ collection }) => collection === name)?.definition ?? {}
        checkChanges(documents, before)
        // What holds meanwhile.
        for (const interim of [
          interimDefinition(before, definition, documents),
          protectedBy(definition, before),
        ])
          read([{ name, definition: interim }])
      }
      checkSchemaCompiles(set.declared.get(name)!, at)
      // Each may take half a second: others are answered in between.
      await nextTurn()
    }
    return set
  } catch (error) {
    if (!(error instanceof StartError)) throw error
    const atFault = changes.find(({ name }) => isFaultOf(error, name))
    if (atFault) throw faultOfRequest(error, atFault.name, atFault.at)
    throw storeErrors.definition_refused({ message: error.message })
  }
}

/** The version in force that a change is made from; 0: none. @throws PRECONDITION_FAILED */
function baseOf(
  { name, ifMatch }: Pick<DefinitionChange, 'name' | 'ifMatch'>,
  active: VersionRow | undefined,
): number {
  const base = active?.version ?? 0
  if (versionsOf(ifMatch)?.includes(base) === false || (ifMatch === '*' && base === 0))
    throw errors.precondition_failed({
      message: `The definition of ${name} is not the one that was read: read it again.`,
    })
  return base
}

const storedTexts = ({
  definition,
  documents = [],
}: DefinitionChange): Pick<VersionRow, 'definition' | 'documents'> => ({
  definition: definition && JSON.stringify(definition),
  documents: documents.length > 0 ? JSON.stringify(documents) : null,
})

/**
 * Goes on with a change of documents that has stopped, if the same is sent again.
 *
 * @returns its version; undefined: it is another change
 * @throws PRECONDITION_FAILED
 */
async function resumed(
  context: DefinitionContext,
  [change, ...others]: readonly DefinitionChange[],
): Promise<VersionGroup['versions'] | undefined> {
  if (!change || others.length > 0) return undefined
  const { db, jobs } = context
  const { name } = change
  const { active, newest } = await readNow(context, name)
  const underWay = await readChange(context, name)
  baseOf(change, active)
  if (newest?.state !== 'pending' || underWay?.state !== 'failed') return undefined
  const { definition, documents } = storedTexts(change)
  if (newest.definition !== definition || newest.documents !== documents) return undefined
  await db.batch([
    setStateSql(underWay, ['failed'], 'changing'),
    restartSql(underWay),
    jobs.work.enqueueSql({ collection: name }),
  ])
  return [{ collection: name, version: newest.version }]
}

/** @throws PRECONDITION_FAILED; CONFLICT while another version waits, or documents are being changed */
async function addVersions(
  context: DefinitionContext,
  changes: readonly DefinitionChange[],
  actor: Actor,
): Promise<VersionGroup['versions']> {
  const { db, clock, jobs } = context
  const versions: VersionGroup['versions'] = []
  const steps: Step[] = []
  for (const change of changes) {
    const { name } = change
    const { active, newest } = await readNow(context, name)
    const base = baseOf(change, active)
    const underWay = await readChange(context, name)
    const otherChange = (): ApiError =>
      errors.conflict({ message: `Another change of ${name} is under way: try again when it is in force.` })
    if (underWay?.state === 'failed') throw hasStopped(name, underWay)
    if (newest?.state === 'pending' || underWay) throw otherChange()
    const version = (newest?.version ?? 0) + 1
    versions.push({ collection: name, version })
    const row = {
      collection: name,
      version,
      ...storedTexts(change),
      created_by: actor.id ?? actor.kind,
      actor: JSON.stringify(actor),
      created_at: clock.now(),
    }
    steps.push(insertVersionSql(row, base, otherChange))
    if (row.documents !== null) steps.push(insertChangeSql(row, base))
  }
  await db.batch([...steps, jobs.versions.enqueueSql({ versions })])
  return versions
}

const hasStopped = (name: string, { reason }: ChangeRow): ApiError =>
  errors.conflict({
    message: `The change of the documents of ${name} has stopped: ${reason}. Send the same again to go on with it, or DELETE to take it back.`,
  })

/**
 * Takes a version back that is not in force yet, with what it has changed in documents, and waits for that for 10 seconds at most.
 * Those that were sent with it are refused.
 *
 * @throws PRECONDITION_FAILED; CONFLICT if it has just been decided
 */
export async function takeBack(
  context: DefinitionContext,
  { collection, version }: VersionRow,
  { actor, ifMatch }: { actor: Actor; ifMatch: string | undefined },
): Promise<Decided> {
  const { db, clock, audit, jobs } = context
  baseOf({ name: collection, ifMatch }, (await readNow(context, collection)).active)
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
  return (await waitUntilDecided(context, [{ collection, version }]))[0]!
}

/** The versions once they are decided and their documents are changed or have stopped it, or after 10 seconds. */
async function waitUntilDecided(
  context: DefinitionContext,
  versions: VersionGroup['versions'],
): Promise<Decided[]> {
  const { db, clock } = context
  for (const end = clock.elapsed() + WAIT_MS; ; await clock.sleep(LOOK_MS)) {
    const decided: Decided[] = []
    for (const { collection, version } of versions) {
      // In this order: what is decided has no change any more.
      const underWay = await readChange(context, collection)
      const [row] = await db.all(selectVersionSql(collection, version))
      if (!row) throw errors.not_found({ message: `Version ${version} of ${collection} is gone.` })
      decided.push({ row, underWay })
    }
    if (decided.every(isDecided) || clock.elapsed() >= end) return decided
  }
}

const isDecided = ({ row, underWay }: Decided): boolean =>
  underWay ? underWay.state === 'failed' : row.state !== 'pending'
