import { errors, type ApiError } from '../../../../base/errors.ts'
import { StartError } from '../../../../base/start-error.ts'
import type { StepWith } from '../../../../db/database.ts'
import type { Actor } from '../../../../http/actor.ts'
import type { JobKind } from '../../../../kernel/jobs/job.ts'
import type { WireContext } from '../../../../kernel/wire/wire.ts'
import { storeErrors } from '../../errors.ts'
import type { CollectionDeclaration } from '../definition/collection-option.ts'
import type { Collections, CollectionSet } from '../definition/collections.ts'
import { versionsOf } from '../language/etag.ts'
import type { VersionGroup } from './apply-version.ts'
import {
  checkSchemaSize,
  faultOfRequest,
  isFaultOf,
  readChanged,
  type Configured,
} from './read-definitions.ts'
import { definitionIn, readStored, type StoredDefinitions } from './stored-definitions.ts'
import {
  insertVersionSql,
  selectNowSql,
  selectVersionSql,
  type VersionReport,
  type VersionRow,
} from './version-rows.ts'

/** How long a call waits until its version is in force: small collections take a tenth of a second. */
const WAIT_MS = 10_000
const LOOK_MS = 25

export type DefinitionContext = Pick<WireContext, 'clock'> & {
  /** Refuses writes during a restore. */
  readonly db: WireContext['db']
  readonly collections: Collections
  readonly configured: Configured
  readonly configFile: string
  readonly stored: StoredDefinitions
  readonly jobs: JobKind<VersionGroup>
}

/** A requested change of a definition. `definition` is null to remove it. */
export type DefinitionChange = {
  readonly name: string
  readonly definition: CollectionDeclaration | null
  readonly ifMatch?: string | undefined
  /** Where the definition is in the request. */
  readonly at: string
}

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
): Promise<VersionRow[]> {
  await readNext(context, changes)
  const versions = await addVersions(context, changes, actor)
  const rows = await waitUntilDecided(context, versions)
  if (rows.every(({ state }) => state !== 'pending')) await context.stored.refresh()
  return rows
}

export const isConfigured = ({ configured }: DefinitionContext, name: string): boolean =>
  Object.hasOwn(configured.options.collections, name)

export const definitionOf = (row: VersionRow | undefined): CollectionDeclaration | null =>
  row ? definitionIn(row) : null

export const reportIn = ({ report }: VersionRow): VersionReport | undefined =>
  report === null ? undefined : (JSON.parse(report) as VersionReport)

/** The version in force, and the newest one. */
export async function readNow(
  { db }: Pick<DefinitionContext, 'db'>,
  name: string,
): Promise<{ active: VersionRow | undefined; newest: VersionRow | undefined }> {
  const rows = await db.all(selectNowSql(name))
  return { active: rows.find(({ state }) => state === 'active'), newest: rows.at(-1) }
}

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
  try {
    const set = readChanged(
      context.configured,
      stored,
      changes.map(({ name, definition }) => ({ collection: name, definition })),
    )
    for (const { name, definition, at } of changes)
      if (definition) checkSchemaSize(set.declared.get(name)!, at)
    return set
  } catch (error) {
    if (!(error instanceof StartError)) throw error
    const atFault = changes.find(({ name }) => isFaultOf(error, name))
    if (atFault) throw faultOfRequest(error, atFault.name, atFault.at)
    throw storeErrors.definition_refused({ message: error.message })
  }
}

/** @throws PRECONDITION_FAILED; CONFLICT while another version waits */
async function addVersions(
  { db, clock, jobs }: DefinitionContext,
  changes: readonly DefinitionChange[],
  actor: Actor,
): Promise<VersionGroup['versions']> {
  const versions: VersionGroup['versions'] = []
  const steps: StepWith[] = []
  for (const { name, definition, ifMatch } of changes) {
    const { active, newest } = await readNow({ db }, name)
    const base = active?.version ?? 0
    if (versionsOf(ifMatch)?.includes(base) === false || (ifMatch === '*' && base === 0))
      throw errors.precondition_failed({
        message: `The definition of ${name} is not the one that was read: read it again.`,
      })
    const otherChange = (): ApiError =>
      errors.conflict({ message: `Another change of ${name} is under way: try again when it is in force.` })
    if (newest?.state === 'pending') throw otherChange()
    const version = (newest?.version ?? 0) + 1
    versions.push({ collection: name, version })
    const row = {
      collection: name,
      version,
      definition: definition && JSON.stringify(definition),
      created_by: actor.id ?? actor.kind,
      actor: JSON.stringify(actor),
      created_at: clock.now(),
    }
    steps.push(insertVersionSql(row, base, otherChange))
  }
  await db.batch([...steps, jobs.enqueueSql({ versions })])
  return versions
}

/** The versions once they are decided, or after 10 seconds. */
async function waitUntilDecided(
  { db, clock }: DefinitionContext,
  versions: VersionGroup['versions'],
): Promise<VersionRow[]> {
  for (const end = clock.elapsed() + WAIT_MS; ; await clock.sleep(LOOK_MS)) {
    const rows: VersionRow[] = []
    for (const { collection, version } of versions) {
      const [row] = await db.all(selectVersionSql(collection, version))
      if (!row) throw errors.not_found({ message: `Version ${version} of ${collection} is gone.` })
      rows.push(row)
    }
    if (rows.every(({ state }) => state !== 'pending') || clock.elapsed() >= end) return rows
  }
}
