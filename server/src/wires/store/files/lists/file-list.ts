import { invalid } from '../../../../base/errors.ts'
import { ownRows } from '../../../../base/row-filter.ts'
import { cachedUntilWrite } from '../../../../db/cached-until-write.ts'
import type { Database, ScanOptions } from '../../../../db/database.ts'
import { sql, type Sql } from '../../../../db/sql.ts'
import { isWithinFiles, type FilesRowFilter } from '../../documents/file-fields/file-access.ts'
import { decodeFileCursor, encodeFileCursor } from './file-cursor.ts'
import { filterSql, whereSql, type FileFilter } from './file-filter.ts'
import { FILE_COLUMNS, type FileRow } from '../files.ts'

const LARGEST_LIMIT = 1000
// A page of this many rows, those skipped included, is read on the event loop; a longer one where it stalls nobody.
const SHORT_PAGE = 100

/** The fields that a list sorts by, with their columns. Ids sort by the time of creation. */
const SORT_COLUMNS = {
  createdAt: 'id',
  originalName: 'original_name',
  contentType: 'content_type',
  size: 'size',
} as const
type SortField = keyof typeof SORT_COLUMNS
export type FileSort = SortField | `-${SortField}`
export const FILE_SORTS = (Object.keys(SORT_COLUMNS) as SortField[]).flatMap(
  (field) => [field, `-${field}`] as const,
)

export type FileQuery = FileFilter & {
  limit: number
  offset: number
  cursor?: string
  sort: FileSort
  /** With none nothing is counted. */
  total?: 'count' | 'none'
}

export type FilePage = {
  files: FileRow[]
  total: number | undefined
  limit: number
  offset: number
  nextCursor: string | undefined
}

/** Reads a page of the files within the row filter. @throws VALIDATION_ERROR at `/query/cursor` */
export type FileList = (
  rowFilter: FilesRowFilter,
  query: FileQuery,
  options?: ScanOptions,
) => Promise<FilePage>

export function createFileList(db: Database): FileList {
  const stored = cachedUntilWrite(db, async (owner) => {
    const row = await db.get<{ files: number }>(sql`
      select cast(coalesce(sum(files), 0) as bigint) as files from store_usage where owner = ${owner}`)
    return row!.files
  })

  async function count(conditions: readonly Sql[], options?: ScanOptions): Promise<number> {
    const [row] = await db.scan<{ total: number }>(
      sql`select count(*) as total from store_files ${whereSql(conditions)}`,
      options,
    )
    return row!.total
  }

  return async (within, query, options) => {
    const rowFilter = within.rows === 'all' && query.owner !== undefined ? ownRows(query.owner) : within
    const { offset, sort, cursor, q, name, contentType } = query
    if (cursor !== undefined && offset > 0)
      throw invalid({ path: '/query/cursor', message: 'give either a cursor or an offset' })
    const limit = Math.min(query.limit, LARGEST_LIMIT)
    const isDescending = sort.startsWith('-')
    const columnName = SORT_COLUMNS[sort.replace('-', '') as SortField]
    const column = sql.literal(columnName)
    const direction = sql.literal(isDescending ? 'desc' : 'asc')
    const comparison = sql.literal(isDescending ? '<' : '>')

    const isWithin = isWithinFiles(rowFilter)
    // Of which the number is not counted as they are written.
    const isPart = rowFilter.rows !== 'all' && rowFilter.rows !== 'own'
    const filters = [...(isPart && isWithin ? [isWithin] : []), ...filterSql({ q, name, contentType })]
    const own = !isPart && isWithin ? [isWithin] : []
    const conditions = [...own, ...filters]
    const list = JSON.stringify([sort, contentType, name, q, query.owner])
    const position = cursor === undefined ? undefined : decodeFileCursor(cursor, list, columnName === 'size')
    const place =
      position === undefined
        ? []
        : columnName === 'id'
          ? [sql`id ${comparison} ${position.id}`]
          : [sql`(${column}, id) ${comparison} (${position.value}, ${position.id})`]
    const orderBy = columnName === 'id' ? sql`id ${direction}` : sql`${column} ${direction}, id ${direction}`
    const page = sql<FileRow>`
      select ${FILE_COLUMNS} from store_files ${whereSql([...conditions, ...place])}
      order by ${orderBy} limit ${limit + 1} offset ${offset}`
    const isShort = filters.length === 0 && columnName === 'id' && limit + offset <= SHORT_PAGE
    const [rows, total] = await Promise.all([
      isShort ? db.all(page) : db.scan(page, options),
      query.total === 'none'
        ? undefined
        : filters.length === 0
          ? stored(rowFilter.rows === 'own' ? rowFilter.owner : '')
          : (position?.total ?? count(conditions, options)),
    ])

    const files = rows.slice(0, limit)
    const last = files.at(-1)
    const nextCursor =
      last && rows.length > limit
        ? encodeFileCursor(
            { value: last[columnName], id: last.id, total: filters.length === 0 ? undefined : total },
            list,
          )
        : undefined
    return { files, total, limit, offset, nextCursor }
  }
}
