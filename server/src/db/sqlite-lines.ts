import type { SqlScalar } from './sql.ts'

const PIECE_BYTES = 128 * 1024
const LINE_BREAK = 0x0a

/**
 * Joins the first column of rows, each followed by a line break, to pieces of UTF-8 that can be transferred to another
 * thread. A line that is larger than a piece is a piece of its own.
 */
export function* joinLines(rows: Iterable<readonly SqlScalar[]>): Generator<Uint8Array<ArrayBuffer>, void> {
  let piece = Buffer.from(new ArrayBuffer(PIECE_BYTES))
  let used = 0
  const end = (): Uint8Array<ArrayBuffer> => {
    const full = piece.subarray(0, used)
    piece = Buffer.from(new ArrayBuffer(PIECE_BYTES))
    used = 0
    return full
  }
  for (const [line] of rows) {
    if (typeof line !== 'string') throw new TypeError(`a line must be text, not ${typeof line}`)
    // A UTF-16 unit takes up to three bytes; what may not fit is measured.
    const isLarge = used + line.length * 3 >= PIECE_BYTES && used + Buffer.byteLength(line) >= PIECE_BYTES
    if (isLarge) {
      if (used > 0) yield end()
      const bytes = Buffer.byteLength(line) + 1
      if (bytes > PIECE_BYTES) {
        const own = Buffer.from(new ArrayBuffer(bytes))
        own.write(line)
        own[bytes - 1] = LINE_BREAK
        yield own
        continue
      }
    }
    used += piece.write(line, used)
    piece[used++] = LINE_BREAK
  }
  if (used > 0) yield end()
}
