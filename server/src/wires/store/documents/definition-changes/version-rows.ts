import type { Static } from 'typebox'

import { requireRow, type Step, type StepWith, type Transaction } from '../../../../db/database.ts'
import { sql, type Sql } from '../../../../db/sql.ts'
import { errors, type ApiError } from '../../../../base/errors.ts'
import { Type } from '../../../../base/schema.ts'
import type { Actor } from '../../../../http/actor.ts'
import type { CollectionDeclaration } from '../definition/collection-option.ts'
import type { Duplicates } from '../storage/indexes/find-duplicates.ts'
import type { DocumentsReport } from './check-documents.ts'

export type VersionState = 'pending' | 'active' | 'past' | 'refused'

/** A version of a collection's definition as it is stored. */
export type VersionRow = {
  readonly collection: string
  readonly version: number
  readonly state: VersionState
  readonly definition: string | null
  /** Changes of documents that come with it. */
  readonly documents: string | null
  readonly report: string | null
  readonly created_by: string
  readonly actor: string | null
  readonly created_at: number
  readonly finished_at: number | null
}

/** Versions of several collections that come into force together, or not at all. */
export const VersionGroup = Type.Object({
  versions: Type.Array(Type.Object({ collection: Type.String(), version: Type.Integer() })),
})
export type VersionGroup = Static<typeof VersionGroup>

/** A definition that is in force. */
export type StoredDefinition = {
  readonly collection: string
  readonly definition: CollectionDeclaration
  /** Another schema: a document may fit this one instead. */
  readonly alsoFits?: CollectionDeclaration['schema']
}

/** What became of a version: how far it is, and why it was refused. */
export type VersionReport = Partial<DocumentsReport> & {
  readonly reason?: string
  /** The collection at fault, if it is another one that was sent with it. */
  readonly causedBy?: string
  /** What keeps fields from becoming unique. */
  readonly duplicates?: Duplicates[]
}

export const reportIn = ({ report }: Pick<VersionRow, 'report'>): VersionReport | undefined =>
  report === null ? undefined : (JSON.parse(report) as VersionReport)

const COLUMNS = sql`collection, version, state, definition, documents, report, created_by, actor, created_at, finished_at`

/**
 * Tells sets of definitions apart: every change makes the sum of all versions larger, and a change of documents is of one version
 * and in one of two parts.
 */
export const selectRevisionSql: Sql<{ revision: string }> = sql`
  select cast(coalesce(sum(version), 0) as text) || coalesce((
    select string_agg(' ' || collection || ' ' || version || case when state = 'settling' then 's' else '' end, ''
      order by collection)
    from store_document_changes where state <> 'waiting'), '') as revision
  from store_collection_versions where state in ('active', 'past')`

export const selectActiveSql: Sql<VersionRow> = sql`
  select ${COLUMNS} from store_collection_versions where state = 'active' order by collection`

export const selectVersionSql = (collection: string, version: number): Sql<VersionRow> => sql`
  select ${COLUMNS} from store_collection_versions where collection = ${collection} and version = ${version}`

/** The version in force and the newest one, which may be the same. */
export const selectNowSql = (collection: string): Sql<VersionRow> => sql`
  select ${COLUMNS} from store_collection_versions
  where collection = ${collection} and (state = 'active' or version = (
    select max(version) from store_collection_versions where collection = ${collection}))
  order by version`

/** All versions behind one, the newest first. */
export const selectVersionsSql = (collection: string, before: number, limit: number): Sql<VersionRow> => sql`
  select ${COLUMNS} from store_collection_versions where collection = ${collection} and version < ${before}
  order by version desc limit ${limit}`

/**
 * Adds a version, which waits to be checked.
 *
 * @param base the version in force that it was made from; 0 for none
 */
export const insertVersionSql = (
  row: Pick<
    VersionRow,
    'collection' | 'version' | 'definition' | 'documents' | 'created_by' | 'actor' | 'created_at'
  >,
  base: number,
  otherwise: () => ApiError,
): StepWith<{ version: number }> =>
  requireRow(
    sql`
      insert into store_collection_versions (collection, version, state, definition, documents, created_by, actor, created_at)
      select ${row.collection}, cast(${row.version} as bigint), 'pending', ${row.definition}, ${row.documents}, ${row.created_by}, ${row.actor},
        cast(${row.created_at} as bigint)
      where cast(${base} as bigint) = (
        select coalesce(max(version), 0) from store_collection_versions
        where collection = ${row.collection} and state = 'active')
      and not exists (select 1 from store_document_changes where collection = ${row.collection})
      on conflict do nothing
      returning version`,
    otherwise,
  )

/** A version was decided meanwhile: put into force, refused, or taken back. */
const isDecided = (): ApiError =>
  errors.conflict({ message: 'The version is decided already: read it again.' })

/**
 * Puts a version into force that waited. The one before becomes a past one first: only one is active. Its batch fails with CONFLICT
 * if the version waits no more.
 */
export const activateSql = (
  { collection, version }: Pick<VersionRow, 'collection' | 'version'>,
  report: VersionReport,
  now: number,
): Step[] => [
  sql`
    update store_collection_versions set state = 'past'
    where collection = ${collection} and state = 'active' and exists (
      select 1 from store_collection_versions
      where collection = ${collection} and version = ${version} and state = 'pending')`,
  requireRow(
    sql`
    update store_collection_versions set state = 'active', report = ${JSON.stringify(report)}, actor = null, finished_at = ${now}
    where collection = ${collection} and version = ${version} and state = 'pending' returning version`,
    isDecided,
  ),
]

/**
 * Puts a definition into force, unless the collection has one, or gets one with a change of its documents that is under way: the row
 * of the new version, if so.
 */
export async function restoreVersion(
  tx: Transaction,
  { id, definition }: { id: string; definition: string },
  { actor, now }: { actor: Actor; now: number },
): Promise<{ version: number } | undefined> {
  await tx.write(sql`
    update store_collection_versions set state = 'past'
    where collection = ${id} and state = 'active' and definition is null
    and not exists (select 1 from store_document_changes where collection = ${id})`)
  const [row] = await tx.write(sql<{ version: number }>`
    insert into store_collection_versions
      (collection, version, state, definition, created_by, created_at, finished_at)
    select cast(${id} as text), coalesce(max(version), 0) + 1, 'active', cast(${definition} as text),
      cast(${actor.id ?? actor.kind} as text), cast(${now} as bigint), cast(${now} as bigint)
    from store_collection_versions where collection = ${id}
    having not exists (
      select 1 from store_collection_versions where collection = ${id} and state = 'active')
    and not exists (select 1 from store_document_changes where collection = ${id})
    returning version`)
  return row
}

/** Refuses a version that waited, or takes it back. Its batch fails with CONFLICT if the version waits no more. */
export const refuseSql = (
  { collection, version }: Pick<VersionRow, 'collection' | 'version'>,
  report: VersionReport,
  now: number,
): StepWith<{ version: number }> =>
  requireRow(
    sql`
  update store_collection_versions set state = 'refused', report = ${JSON.stringify(report)}, actor = null, finished_at = ${now}
  where collection = ${collection} and version = ${version} and state = 'pending' returning version`,
    isDecided,
  )

export const progressSql = (
  { collection, version }: Pick<VersionRow, 'collection' | 'version'>,
  report: VersionReport,
): Sql<{ version: number }> => sql`
  update store_collection_versions set report = ${JSON.stringify(report)}
  where collection = ${collection} and version = ${version} and state = 'pending' returning version`
