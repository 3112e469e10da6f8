import type { Database } from '../../../db/database.ts'
import { selectChangesSql, selectStateSql, type LogRow, type LogState } from './log-rows.ts'
import type { LogPosition } from './position.ts'

/** A part of the log, as it was read at one moment. */
export type ChangePage = {
  readonly generation: string
  /** Changes up to here are not there any more. */
  readonly floor: LogPosition
  readonly rows: readonly LogRow[]
  /** The position behind the page. */
  readonly next: LogPosition
  /** Where the log ends. */
  readonly end: LogPosition
  /** Whether more may follow at once. */
  readonly isFull: boolean
  /** Whether changes wait for a transaction that is running. */
  readonly isHeld: boolean
  readonly bytes: number
}

/** The end of the log. */
export type LogEnd = { readonly generation: string; readonly position: LogPosition }

/** What a page has at most. */
export const PAGE = { limit: 500, bytes: 4_194_304 }
// Rows that are passed over in a few milliseconds.
const NEAR = 2000

/**
 * Reads the log page by page.
 *
 * @param caller for whom
 */
export function createLogReader(db: Database, caller?: string) {
  /**
   * @param end where the log ends, about
   * @param bytes of the page
   */
  return async (
    after: LogPosition,
    collections: readonly string[],
    end: LogPosition = after,
    bytes = PAGE.bytes,
  ): Promise<ChangePage> => {
    const query = selectChangesSql(db.dialect, after, collections, { ...PAGE, bytes })
    // What is new is little. To pass over what others have changed in a day holds up nobody else in a scan.
    const isNear = distance(after, end) <= NEAR
    return pageOf(isNear ? await db.all(query) : await db.scan(query, caller === undefined ? {} : { caller }))
  }
}

/** How many changes lie between two positions, about: on PostgreSQL transactions. */
const distance = (from: LogPosition, to: LogPosition): number =>
  to.xid > 0 ? to.xid - from.xid : to.seq - from.seq

export type ReadLog = ReturnType<typeof createLogReader>

/** Reads where the log ends. */
export async function readLogEnd(db: Database): Promise<LogEnd> {
  const state = (await db.get(selectStateSql))!
  return { generation: state.generation, position: endOf(state) }
}

const endOf = ({ end_xid: xid, end_seq: seq }: LogState): LogPosition => ({ xid, seq })

/** The page that a read of up to `limit` rows returned. */
export function pageOf(all: readonly LogRow[], limit = PAGE.limit): ChangePage {
  const state = all[0]!
  const rows = state.seq === null ? [] : all
  const last = rows.at(-1)
  const isFull = last !== undefined && (last.found === limit || rows.length < last.found)
  let bytes = 0
  for (const { old, body } of rows) bytes += (old?.length ?? 0) + (body?.length ?? 0)
  return {
    generation: state.generation,
    floor: { xid: state.floor_xid, seq: state.floor_seq },
    rows,
    next: isFull ? { xid: last.xid, seq: last.seq! } : endOf(state),
    end: endOf(state),
    isFull,
    isHeld: state.is_held === 1,
    bytes,
  }
}
