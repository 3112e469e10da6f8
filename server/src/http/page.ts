import { Type } from '../base/schema.ts'
import type { Static } from 'typebox'

import { invalid, type ApiError } from '../base/errors.ts'
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

/**
 * The parameter of lists that can be sorted, beside `createdAt`.
 *
 * @param names of what they can be sorted by
 */
export const sortQuery = <const N extends string = never>(...names: readonly N[]) => {
  const all = ['createdAt' as const, ...names]
  const sorts = all.flatMap((name): (N | 'createdAt' | `-${N | 'createdAt'}`)[] => [name, `-${name}`])
  return {
    sort: Type.Optional(
      Type.Enum(sorts, {
        description:
          'The order; a leading minus sorts in descending order. Default: -createdAt, the newest first.',
      }),
    ),
  }
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
  /** The name of the order, behind a minus if it is descending. Default: newest first. */
  sort?: string | undefined
  /** False: the answer has no total. */
  counts?: boolean
}

const isId = new RegExp(idPattern)
/** A position in a list that is sorted by other values than ids: see `orderOf`. */
export const SORTED_POSITION = /^-?\w{1,40} [\w-]{1,64} (?:n-?\d{1,16}|t(?:[\w.!~*'()-]|%[0-9A-F]{2})*)$/

type PageParameters = Static<ReturnType<typeof Type.Object<typeof PageQuery>>>

/**
 * @param position the form of a position. Default: an id, or of a sorted list also what `orderOf` makes
 * @throws VALIDATION_ERROR at `/query/cursor`
 */
export function pageOf(
  query: Omit<PageParameters, 'total'> & Partial<PageParameters> & { sort?: string | undefined },
  position?: RegExp,
): Page {
  const { limit, offset, cursor, total, sort } = query
  const page = { limit: Math.min(limit, LIMIT_MAX), offset, counts: total !== 'none', sort }
  if (cursor === undefined) return { ...page, before: undefined }
  const before = Buffer.from(cursor, 'base64url').toString('latin1')
  const isPosition =
    position?.test(before) ?? (isId.test(before) || (sort !== undefined && SORTED_POSITION.test(before)))
  if (!isPosition) throw notACursor()
  if (offset > 0) throw invalid({ path: '/query/cursor', message: 'give either a cursor or an offset' })
  return { ...page, before }
}

export const notACursor = (): ApiError =>
  invalid({
    path: '/query/cursor',
    message:
      'This is not a cursor of this list: send the nextCursor of the previous page, in the same order.',
  })

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
