import type { ChangePage } from './log.ts'
import type { LogRow } from './log-rows.ts'
import { isBefore, type LogPosition } from './position.ts'

const BYTES_MAX = 33_554_432

/** The pages of the log that were read last, for followers that are a little behind. */
export class RecentChanges {
  readonly #pages: ChangePage[] = []
  #bytes = 0
  /** Everything behind it is in the pages. */
  #from: LogPosition = { xid: 0, seq: 0 }

  add(page: ChangePage): void {
    this.#pages.push(page)
    this.#bytes += page.bytes
    while (this.#bytes > BYTES_MAX) {
      const first = this.#pages.shift()!
      this.#bytes -= first.bytes
      this.#from = first.next
    }
  }

  /** Forgets all, and begins at a position. */
  clear(from: LogPosition): void {
    this.#pages.length = 0
    this.#bytes = 0
    this.#from = from
  }

  /** The rows behind a position; undefined if there were more. */
  since(position: LogPosition): { readonly rows: readonly LogRow[]; readonly next: LogPosition } | undefined {
    const last = this.#pages.at(-1)
    if (!last || isBefore(position, this.#from)) return undefined
    const pages = this.#pages.filter(({ next }) => isBefore(position, next))
    const isNew = ({ xid, seq }: LogRow) => isBefore(position, { xid, seq: seq! })
    return { rows: pages.flatMap(({ rows }) => rows.filter(isNew)), next: last.next }
  }
}
