import type { Database } from '../../../db/database.ts'
import {
  endOf,
  positionOf,
  selectChangesSql,
  selectStateSql,
  type LogRow,
  type LogState,
  type PageSize,
} from './log-rows.ts'
import { isBefore, type LogPosition } from './position.ts'

/** The log at one moment. */
export type LogView = {
  readonly generation: string
  /** Changes up to here are not there any more. */
  readonly floor: LogPosition
  readonly end: LogPosition
  /** Whether the position that was asked for is one of this log. */
  readonly isSame: boolean
}

/** A part of the log, as it was read at one moment. */
export type ChangePage = LogView & {
  readonly rows: readonly LogRow[]
  /** The position behind the page. */
  readonly next: LogPosition
  /** Whether more may follow at once. */
  readonly isFull: boolean
  /** Whether changes wait for a transaction that is running. */
  readonly isHeld: boolean
  /** Of its documents. */
  readonly bytes: number
}

/** A position in a log, such as its end. */
export type LogEnd = { readonly generation: string; readonly position: LogPosition }

/** Why a follower has to list again: the log does not reach back so far, a backup was restored, or rights have changed. */
export type ResetReason = 'expired' | 'restored' | 'changed'

/** What a page has at most. */
export const PAGE: PageSize = { limit: 500, bytes: 4_194_304 }
/** What is read at once, without a thread or a queue. */
const SMALL: PageSize = { limit: 50, bytes: 65_536, isStrict: true }
const FIRST_LIMIT = 8

/** How many rows to choose from next: on SQLite to look up the length of a document costs as much as to read it. */
export const limitAfter = (page?: ChangePage): number =>
  Math.min(PAGE.limit, Math.max(FIRST_LIMIT, 2 * (page?.rows.length ?? 0)))

/** Reads a page by a scan. It waits in the share of its caller, and holds up nobody else. */
export async function readPage(
  db: Database,
  after: LogPosition,
  collections: readonly string[],
  { caller, ...size }: Partial<PageSize> & { caller?: string } = {},
): Promise<ChangePage> {
  const { limit, bytes } = { ...PAGE, ...size }
  const query = selectChangesSql(db.dialect, after, collections, { limit, bytes })
  return pageOf(await db.scan(query, caller === undefined ? {} : { caller }), limit)
}

/** How much the reader of all followers reads next. Little is new if it has reached the end, and what was written is not large. */
export const sizeAfter = (page?: ChangePage): PageSize =>
  page && !page.isFull && page.bytes <= SMALL.bytes ? SMALL : { ...PAGE, limit: limitAfter(page) }

/** Reads a page for all followers: at once if it is small. */
export async function readLivePage(
  db: Database,
  after: LogPosition,
  collections: readonly string[],
  size: PageSize,
): Promise<ChangePage> {
  if (size.isStrict) {
    const rows = await db.all(selectChangesSql(db.dialect, after, collections, size))
    if (rows[0]!.is_read !== 0) return pageOf(rows, size.limit)
  }
  return readPage(db, after, collections, { limit: size.limit })
}

/** Reads where the log ends. */
export async function readLogEnd(db: Database): Promise<LogEnd> {
  const { generation, end } = await readLog(db)
  return { generation, position: end }
}

/** Reads the state of the log, for one who wants to go on from a position. */
export const readLog = async (db: Database, position?: LogPosition): Promise<LogView> =>
  viewOf((await db.get(selectStateSql(position)))!)

const viewOf = (state: LogState): LogView => ({
  generation: state.generation,
  floor: { xid: state.floor_xid, seq: state.floor_seq, at: 0 },
  end: endOf(state),
  isSame: state.is_same === 1,
})

/** Why nobody can go on from a position: its changes are deleted, or it is one of another log, or of one that was put back. */
export function resetReason({ generation, position }: LogEnd, log: LogView): ResetReason | undefined {
  if (log.generation !== generation || isBefore(log.end, position)) return 'restored'
  if (isBefore(position, log.floor)) return 'expired'
  return log.isSame ? undefined : 'restored'
}

/** The page that a read of up to `limit` rows returned. */
export function pageOf(all: readonly LogRow[], limit: number): ChangePage {
  const state = all[0]!
  const rows = state.seq === null ? [] : all.map(withBody())
  const last = rows.at(-1)
  const isFull = last !== undefined && (last.found === limit || rows.length < last.found)
  return {
    ...viewOf(state),
    rows,
    next: isFull ? positionOf(last) : endOf(state),
    isFull,
    isHeld: state.is_held === 1,
    // A document that is in several rows is one text.
    bytes: all.reduce((sum, { old, body }) => sum + (old?.length ?? 0) + (body?.length ?? 0), 0),
  }
}

/** Adds the document to rows behind its first one. */
function withBody(): (row: LogRow) => LogRow {
  const bodies = new Map<string, string>()
  return (row) => {
    const key = `${row.collection} ${row.id}`
    if (row.body !== null) bodies.set(key, row.body)
    return { ...row, body: bodies.get(key) ?? null }
  }
}
