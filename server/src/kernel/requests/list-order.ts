import { sql, type Sql } from '../../db/sql.ts'
import { notACursor, type Page } from '../../http/page.ts'

/**
 * A column that a list can be sorted by, of the table `R`. An index has it and behind it the id, so that any page costs the
 * same; it is never null, and text is compared by its bytes or as the database does everywhere.
 */
export type SortColumn<R> = {
  readonly key: Sql
} & (
  | { readonly isNumber?: false; readonly valueOf: (row: R) => string }
  | { readonly isNumber: true; readonly valueOf: (row: R) => number }
)

/** A text column by its bytes, on both engines. */
export const byBytes = (column: string): Sql =>
  sql`${sql.either({ sqlite: sql.literal(column), postgres: sql.literal(`(${column}) collate "C"`) })}`

/** By id, which begins with the time of creation. */
export const BY_ID = 'id'

/** What a list can be sorted by, by the names of the parameter `sort`. */
export type SortColumns<R> = Readonly<Record<string, SortColumn<R> | typeof BY_ID>>

/** The order of a page. */
export type PageOrder<R> = {
  /** Behind `order by`. */
  readonly by: Sql
  /** The condition of the rows behind the cursor; none on the first page. */
  readonly behind: readonly Sql[]
  /** The place of a row in the order, of which a cursor is made. */
  readonly positionOf: (row: R) => string
}

/**
 * The order that a page asks for. The position of a row names the order and has the row's id and value, so a cursor serves the
 * order only that it is of; by id it is the id.
 *
 * @throws VALIDATION_ERROR at `/query/cursor`
 */
export function orderOf<R extends { id: string }>(columns: SortColumns<R>, page: Page): PageOrder<R> {
  const sort = page.sort ?? '-createdAt'
  const isDown = sort.startsWith('-')
  const column = columns[isDown ? sort.slice(1) : sort]!
  const direction = sql.literal(isDown ? 'desc' : 'asc')
  const less = sql.literal(isDown ? '<' : '>')
  if (column === BY_ID) {
    if (page.before?.includes(' ')) throw notACursor()
    return {
      by: sql`id ${direction}`,
      behind: page.before === undefined ? [] : [sql`id ${less} ${page.before}`],
      positionOf: ({ id }) => id,
    }
  }
  const { key } = column
  const place = page.before === undefined ? undefined : placeOf(page.before, sort, column.isNumber === true)
  return {
    by: sql`${key} ${direction}, id ${direction}`,
    behind: place ? [sql`(${key}, id) ${less} (${place.value}, ${place.id})`] : [],
    positionOf: (row) => `${sort} ${row.id} ${writtenValue(column.valueOf(row))}`,
  }
}

const writtenValue = (value: string | number): string =>
  typeof value === 'number' ? `n${value}` : `t${encodeURIComponent(value)}`

function placeOf(position: string, sort: string, isNumber: boolean): { id: string; value: string | number } {
  const [of, id, value = ''] = position.split(' ') as [string, string?, string?]
  if (of !== sort || id === undefined || value.startsWith('n') !== isNumber) throw notACursor()
  const text = value.slice(1)
  try {
    return { id, value: isNumber ? Number(text) : decodeURIComponent(text) }
  } catch {
    throw notACursor() // the bytes are no text
  }
}
