import { PAGE, type ChangePage } from './log.ts'
import { positionOf, type LogRow } from './log-rows.ts'
import { isBefore, LOG_START, type LogPosition } from './position.ts'

const BYTES_MAX = 33_554_432
/** What a row takes in memory beside its documents. */
const ROW_BYTES = 1024

/** The pages of the log that were read last, for followers that are a little behind. */
export class RecentChanges {
  readonly #pages: ChangePage[] = []
  #bytes = 0
  /** Everything between the two is in the pages. */
  #from = LOG_START
  #next = LOG_START

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

  /** Rows behind a position, of some pages; undefined if there were others before. */
  since(position: LogPosition): { readonly rows: readonly LogRow[]; readonly next: LogPosition } | undefined {
    if (isBefore(position, this.#from)) return undefined
    const rows: LogRow[] = []
    for (const page of this.#pages) {
      if (!isBefore(position, page.next)) continue
      for (const row of page.rows) if (isBefore(position, positionOf(row))) rows.push(row)
      if (rows.length >= PAGE.limit) return { rows, next: page.next }
    }
    return { rows, next: this.#next }
  }
}

const sizeOf = ({ bytes, rows }: ChangePage): number => bytes + rows.length * ROW_BYTES
