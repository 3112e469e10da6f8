import { errors, type ApiError } from '../../../../base/errors.ts'
import { StartError } from '../../../../base/start-error.ts'
import type { Actor } from '../../../../http/actor.ts'
import type { JobKind } from '../../../../kernel/jobs/job.ts'
import type { WireContext } from '../../../../kernel/wire/wire.ts'
import { storeErrors } from '../../errors.ts'
import type { CollectionDeclaration } from '../definition/collection-option.ts'
import type { Collections, CollectionSet } from '../definition/collections.ts'
import { versionsOf } from '../language/etag.ts'
import { checkSchemaSize, faultOfBody, readChanged, type Configured } from './read-definitions.ts'
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
  readonly jobs: JobKind<{ collection: string; version: number }>
}

/** A requested change of a definition. `definition` is null to remove it. */
export type DefinitionChange = {
  readonly name: string
  readonly definition: CollectionDeclaration | null
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
): Promise<VersionRow> {
  const { name, definition } = change
  await readNext(context, name, definition)
  const version = await addVersion(context, change)
  const row = await waitUntilDecided(context, name, version)
  if (row.state !== 'pending') await context.stored.refresh()
  return row
}

export const isConfigured = ({ configured }: DefinitionContext, name: string): boolean =>
  Object.hasOwn(configured.options.collections, name)

export const definitionOf = (row: VersionRow | undefined): CollectionDeclaration | null =>
  row ? definitionIn(row) : null

export const reportIn = ({ report }: VersionRow): VersionReport | undefined =>
  report === null ? undefined : (JSON.parse(report) as VersionReport)

/** The version in force, and the newest one. */
export async function readNow(
  { db }: DefinitionContext,
  name: string,
): Promise<{ active: VersionRow | undefined; newest: VersionRow | undefined }> {
  const rows = await db.all(selectNowSql(name))
  return { active: rows.find(({ state }) => state === 'active'), newest: rows.at(-1) }
}

/** @throws CONFLICT for a collection of the configuration; VALIDATION_ERROR */
export async function readNext(
  context: DefinitionContext,
  name: string,
  definition: CollectionDeclaration | null,
): Promise<CollectionSet> {
  if (isConfigured(context, name))
    throw errors.conflict({
      message: `${name} is defined in ${context.configFile}: change it there, and start the server again.`,
    })
  const stored = await readStored(context.db)
  try {
    const set = readChanged(context.configured, stored, { collection: name, definition })
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
  { name, definition, ifMatch, actor }: DefinitionChange,
): Promise<number> {
  const { db, clock, jobs } = context
  const { active, newest } = await readNow(context, name)
  const base = active?.version ?? 0
  if (versionsOf(ifMatch)?.includes(base) === false || (ifMatch === '*' && base === 0))
    throw errors.precondition_failed()
  const otherChange = (): ApiError =>
    errors.conflict({ message: `Another change of ${name} is under way: try again when it is in force.` })
  if (newest?.state === 'pending') throw otherChange()
  const version = (newest?.version ?? 0) + 1
  await db.batch([
    insertVersionSql(
      {
        collection: name,
        version,
        definition: definition && JSON.stringify(definition),
        created_by: actor.id ?? actor.kind,
        actor: JSON.stringify(actor),
        created_at: clock.now(),
      },
      base,
      otherChange,
    ),
    jobs.enqueueSql({ collection: name, version }),
  ])
  return version
}

/** The version once it is decided, or after 10 seconds. */
async function waitUntilDecided(
  { db, clock }: DefinitionContext,
  name: string,
  version: number,
): Promise<VersionRow> {
  for (const end = clock.elapsed() + WAIT_MS; ; await clock.sleep(LOOK_MS)) {
    const [row] = await db.all(selectVersionSql(name, version))
    if (!row) throw errors.not_found({ message: `Version ${version} of ${name} is gone.` })
    if (row.state !== 'pending' || clock.elapsed() >= end) return row
  }
}
