import { Type } from '../base/schema.ts'
import type { Static } from 'typebox'

import { invalid } from '../base/errors.ts'
import { idPattern } from '../base/ids.ts'

const LIMIT = 20
const LIMIT_MAX = 1000

/** The query of lists of records, newest first. Where ids sort by time of creation, an id is a position in such a list. */
export const PageQuery = {
  limit: Type.Integer({
    minimum: 1,
    default: LIMIT,
    description: `At most ${LIMIT_MAX}; a larger value counts as ${LIMIT_MAX}.`,
  }),
  offset: Type.Integer({ minimum: 0, default: 0 }),
  cursor: Type.Optional(
    Type.String({
      description: 'The nextCursor of the previous page. Unlike offset, it costs the same at any depth.',
    }),
  ),
  total: Type.Enum(['count', 'none'], {
    default: 'count',
    description: 'With none the records are not counted, and the answer has no total.',
  }),
}

/** The query of lists that are read by their cursor only, and not counted. */
export const CursorQuery = { limit: PageQuery.limit, cursor: PageQuery.cursor }

/**
 * Whether a query is that of a list: an unknown parameter is then refused, because a misspelt filter would show
 * everything.
 *
 * @param names of its parameters
 */
export const isListQuery = (names: readonly string[]): boolean =>
  names.includes('limit') && (names.includes('offset') || names.includes('cursor'))

/** The fields of their answers beside the records. */
export const PageReply = {
  total: Type.Optional(Type.Integer({ description: 'Absent with `total=none`.' })),
  limit: Type.Integer(),
  offset: Type.Integer(),
  nextCursor: Type.Optional(Type.String({ description: 'Absent on the last page.' })),
}

/** The page that a query asks for. */
export type Page = {
  limit: number
  offset: number
  /** Only records behind this position: with a smaller id, if ids sort by time. */
  before: string | undefined
  /** False: the answer has no total. */
  counts?: boolean
}

const isId = new RegExp(idPattern)

type PageParameters = Static<ReturnType<typeof Type.Object<typeof PageQuery>>>

/**
 * @param position the form of a position, if it is no id
 * @throws VALIDATION_ERROR at `/query/cursor`
 */
export function pageOf(
  query: Omit<PageParameters, 'total'> & Partial<PageParameters>,
  position = isId,
): Page {
  const { limit, offset, cursor, total } = query
  const page = { limit: Math.min(limit, LIMIT_MAX), offset, counts: total !== 'none' }
  if (cursor === undefined) return { ...page, before: undefined }
  const before = Buffer.from(cursor, 'base64url').toString('latin1')
  if (!position.test(before))
    throw invalid({
      path: '/query/cursor',
      message: 'This is not a cursor: send the nextCursor of the previous page.',
    })
  if (offset > 0) throw invalid({ path: '/query/cursor', message: 'give either a cursor or an offset' })
  return { ...page, before }
}

/**
 * Cuts rows to a page. There must be one row more than the limit if there is a next page.
 *
 * @param position returns the position of a row
 */
export function cutPage<R>(
  rows: readonly R[],
  { limit }: Page,
  position: (row: R) => string,
): { rows: readonly R[]; nextCursor?: string } {
  if (rows.length <= limit) return { rows }
  const page = rows.slice(0, limit)
  return { rows: page, nextCursor: Buffer.from(position(page.at(-1)!)).toString('base64url') }
}
