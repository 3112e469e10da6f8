/**
 * A place in the log of changes: the number of the transaction (0 on SQLite), that of the row, and when it was written. The time
 * tells the row from one with the same numbers, which there is once an older copy of the database was put back.
 */
export type LogPosition = { readonly xid: number; readonly seq: number; readonly at: number }

/** Before the first row. */
export const LOG_START: LogPosition = { xid: 0, seq: 0, at: 0 }

/** Whether a position comes before another one. */
export const isBefore = (a: LogPosition, b: LogPosition): boolean =>
  a.xid < b.xid || (a.xid === b.xid && a.seq < b.seq)

/** The one of two positions that comes later. */
export const laterOf = (a: LogPosition, b: LogPosition): LogPosition => (isBefore(a, b) ? b : a)
