import { Readable } from 'node:stream'

import type { Static } from 'typebox'

import { errors, invalid } from '../../../base/errors.ts'
import { ownRows, type RowFilter } from '../../../base/row-filter.ts'
import { Type } from '../../../base/schema.ts'
import type { Database, ScanOptions } from '../../../db/database.ts'
import { isOneOf } from '../../../db/is-one-of.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import { countedFor } from '../../../http/limits.ts'
import { answer, Bytes, endpoint } from '../../../http/route.ts'
import { isPrivileged } from '../../../kernel/policy/policy.ts'
import { noFile } from '../errors.ts'
import type { Objects } from '../objects/objects.ts'
import { archiveOf } from './file-archive.ts'
import { openWhole } from './file-content.ts'
import { ownersAreForOperators } from './file-endpoints.ts'
import { FileFilterFields, filterSql, whereSql, type FileFilter } from './file-filter.ts'
import type { FilesAccess } from './files.ts'

/** So many files an archive has at most. */
const ARCHIVE_MAX = 10_000
/** As many ids as an address has room for. */
const IDS_MAX = 500
const ID = '[0-9a-hjkmnp-tv-z]{26}'

const ArchiveQuery = Type.Object(
  {
    ids: Type.Optional(
      Type.String({
        pattern: `^${ID}(,${ID}){0,${IDS_MAX - 1}}$`,
        description: `The _ids of up to ${IDS_MAX} files, separated by commas, in place of a filter.`,
      }),
    ),
    ...FileFilterFields,
  },
  { additionalProperties: false },
)

/** What is read of a file for an archive: the metadata of 10,000 files would take too much memory. */
type Row = {
  id: string
  object: string
  original_name: string
  size: number
  created_at: number
}

/** The endpoint that answers many files as one. */
export function archiveEndpoint({
  db,
  access,
  objects,
}: {
  db: Database
  access: FilesAccess
  objects: Objects
}) {
  return endpoint(
    {
      summary: 'Get many files as an archive',
      description: `A zip archive of the files with these ids, or of all that the list finds with a filter, at most ${ARCHIVE_MAX}. It is made while it is sent.`,
      access: 'optional',
      limit: '60/min',
      query: ArchiveQuery,
      reply: { 200: Bytes },
      errors: [errors.not_found, errors.unavailable],
    },
    async (call) => {
      const { query, caller, ip, signal } = call
      if (query.owner !== undefined && !isPrivileged(caller)) throw ownersAreForOperators()
      const options = { caller: countedFor({ caller, ip }), signal }
      const files = await select(db, access.rowFilter(caller, 'read'), query, options)
      let isAnswering = false
      const { size, stream } = await archiveOf(files, async ({ id, object, size: bytes }) => {
        const what = `file ${id}`
        const log = () => call.log
        try {
          return await openWhole(
            { what, size: bytes, open: () => objects.read('uploads', object) },
            undefined,
            { log },
          )
        } catch (error) {
          if (isAnswering)
            log().error({ err: error }, `${what}: the archive was cut off, because it cannot be opened`)
          throw error
        }
      })
      isAnswering = true
      if (call.isHead) stream.destroy()
      return answer<Blob>(call.isHead ? Readable.from([]) : stream, {
        headers: {
          'content-type': 'application/zip',
          'content-length': String(size),
          'content-disposition': 'attachment; filename="files.zip"',
          'cache-control': 'private, no-store',
        },
      })
    },
  )
}

/** The files of an archive in the order of their ids. @throws NOT_FOUND; VALIDATION_ERROR if there are too many */
async function select(
  db: Database,
  within: RowFilter,
  { ids, owner, ...filter }: Static<typeof ArchiveQuery>,
  options: ScanOptions,
): Promise<Row[]> {
  const rowFilter = within.rows === 'all' && owner !== undefined ? ownRows(owner) : within
  const wanted = ids === undefined ? undefined : [...new Set(ids.split(','))]
  if (wanted && (owner !== undefined || Object.keys(filter).length > 0))
    throw invalid({ path: '/query/ids', message: 'give either ids or a filter' })
  const rows = await db.scan(rowsSql(rowFilter, wanted, filter), options)
  if (rows.length > ARCHIVE_MAX)
    throw invalid({
      path: '/query',
      message: `finds more than ${ARCHIVE_MAX} files, the most of an archive: narrow the filter`,
    })
  const found = new Set(rows.map(({ id }) => id))
  const missing = wanted?.find((id) => !found.has(id))
  if (missing !== undefined) throw noFile(missing)
  return rows
}

function rowsSql(rowFilter: RowFilter, ids: readonly string[] | undefined, filter: FileFilter): Sql<Row> {
  const conditions = [
    sql`status = 'ready'`,
    ...(rowFilter.rows === 'all' ? [] : [sql`owner = ${rowFilter.owner}`]),
    ...(ids ? [isOneOf('id', ids)] : filterSql(filter)),
  ]
  return sql`
    select id, object, original_name, size, created_at from store_files ${whereSql(conditions)}
    order by id limit ${ARCHIVE_MAX + 1}`
}
