/** A place in the log of changes: the number of the transaction (0 on SQLite) and that of the row. */
export type LogPosition = { readonly xid: number; readonly seq: number }

/** Whether a position comes before another one. */
export const isBefore = (a: LogPosition, b: LogPosition): boolean =>
  a.xid < b.xid || (a.xid === b.xid && a.seq < b.seq)

/** The one of two positions that comes later. */
export const laterOf = (a: LogPosition, b: LogPosition): LogPosition => (isBefore(a, b) ? b : a)
