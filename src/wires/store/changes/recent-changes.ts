import type { ChangePage } from './log.ts'
import type { LogRow } from './log-rows.ts'
import { isBefore, type LogPosition } from './position.ts'

const BYTES_MAX = 33_554_432
/** What a row takes in memory beside its documents. */
const ROW_BYTES = 1024

/** The pages of the log that were read last, for followers that are a little behind. */
export class RecentChanges {
  readonly #pages: ChangePage[] = []
  #bytes = 0
  /** Everything between the two is in the pages. */
  #from: LogPosition = { xid: 0, seq: 0 }
  #next: LogPosition = this.#from

  add(page: ChangePage): void {
    this.#next = page.next
    // Most have none: what others write, nobody here watches.
    if (page.rows.length === 0) return
    this.#pages.push(page)
    this.#bytes += sizeOf(page)
    while (this.#bytes > BYTES_MAX) {
      const first = this.#pages.shift()!
      this.#bytes -= sizeOf(first)
      this.#from = first.next
    }
  }

  /** Forgets all, and begins at a position. */
  clear(from: LogPosition): void {
    this.#pages.length = 0
    this.#bytes = 0
    this.#from = from
    this.#next = from
  }

  /** The rows behind a position; undefined if there were more. */
  since(position: LogPosition): { readonly rows: readonly LogRow[]; readonly next: LogPosition } | undefined {
    if (isBefore(position, this.#from)) return undefined
    const pages = this.#pages.filter(({ next }) => isBefore(position, next))
    const isNew = ({ xid, seq }: LogRow) => isBefore(position, { xid, seq: seq! })
    return { rows: pages.flatMap(({ rows }) => rows.filter(isNew)), next: this.#next }
  }
}

const sizeOf = ({ bytes, rows }: ChangePage): number => bytes + rows.length * ROW_BYTES
