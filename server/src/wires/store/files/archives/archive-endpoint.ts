import { Readable } from 'node:stream'

import type { Static } from 'typebox'

import { errors, invalid } from '../../../../base/errors.ts'
import { ownRows } from '../../../../base/row-filter.ts'
import { Type } from '../../../../base/schema.ts'
import type { Database, ScanOptions } from '../../../../db/database.ts'
import { isOneOf } from '../../../../db/is-one-of.ts'
import { sql, type Sql } from '../../../../db/sql.ts'
import type { Caller } from '../../../../http/access.ts'
import { countedFor } from '../../../../http/limits.ts'
import { answer, Bytes, endpoint } from '../../../../http/route.ts'
import {
  isWithinFiles,
  type FilesAccess,
  type FilesRowFilter,
  type OwnedFile,
} from '../../documents/file-fields/file-access.ts'
import type { ReadableFiles } from '../../documents/file-fields/readable-files.ts'
import { noFile } from '../../errors.ts'
import type { Objects } from '../../objects/objects.ts'
import { archiveOf } from './file-archive.ts'
import { openWhole } from '../content/file-content.ts'
import { FileFilterFields, filterSql, whereSql } from '../lists/file-filter.ts'

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
type Row = OwnedFile & {
  object: string
  original_name: string
  size: number
  created_at: number
}

/** The endpoint that answers many files as one. */
export function archiveEndpoint({
  db,
  access,
  readable,
  objects,
}: {
  db: Database
  access: FilesAccess
  readable: ReadableFiles
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
      const { caller, ip, signal } = call
      const query = await access.withOwner(caller, call.query)
      const options = { caller: countedFor({ caller, ip }), signal }
      const files = await (query.ids === undefined
        ? selectFound(db, access.rowFilter(caller, 'read'), query, options)
        : selectNamed({ db, readable }, caller, query, options))
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

type Query = Static<typeof ArchiveQuery>

/** The files that a filter finds, in the order of their ids. @throws VALIDATION_ERROR if there are too many */
async function selectFound(
  db: Database,
  within: FilesRowFilter,
  { owner, ...filter }: Query,
  options: ScanOptions,
): Promise<Row[]> {
  const rowFilter = within.rows === 'all' && owner !== undefined ? ownRows(owner) : within
  const isWithin = isWithinFiles(rowFilter)
  const rows = await db.scan(rowsSql([...(isWithin ? [isWithin] : []), ...filterSql(filter)]), options)
  if (rows.length > ARCHIVE_MAX)
    throw invalid({
      path: '/query',
      message: `finds more than ${ARCHIVE_MAX} files, the most of an archive: narrow the filter`,
    })
  return rows
}

/** The files with some ids, each of which the caller may read, likewise. @throws UNAUTHORIZED, NOT_FOUND */
async function selectNamed(
  { db, readable }: { db: Database; readable: ReadableFiles },
  caller: Caller | undefined,
  { ids = '', ...filter }: Query,
  options: ScanOptions,
): Promise<Row[]> {
  if (Object.keys(filter).length > 0)
    throw invalid({ path: '/query/ids', message: 'give either ids or a filter' })
  const wanted = [...new Set(ids.split(','))]
  const rows = await db.scan(rowsSql([isOneOf('id', wanted)]), options)
  const found = new Map(rows.map((row) => [row.id, row]))
  for (const id of wanted) await readable.require(caller, found.get(id), () => noFile(id))
  return rows
}

const rowsSql = (conditions: readonly Sql[]): Sql<Row> => sql`
  select id, owner, attached_by, object, original_name, size, created_at from store_files
  ${whereSql([sql`status = 'ready'`, ...conditions])}
  order by id limit ${ARCHIVE_MAX + 1}`
