const PIECE_BYTES = 128 * 1024
const LINE_BREAK = 0x0a

// The signature, the flags, and the length of an extension that no version has.
const HEADER_BYTES = 19
// The number of fields, and the length of the only one.
const ROW_HEAD_BYTES = 6
const END_OF_ROWS = -1
const NULL_LENGTH = -1

/**
 * Reads what `copy … to stdout (format binary)` sends of one text column, and joins its values, each followed by a line
 * break, to pieces. Lengths stand before the values, so nothing in them is escaped.
 * https://www.postgresql.org/docs/current/sql-copy.html, "Binary Format"
 */
export class CopiedLines {
  readonly #onPiece: (piece: Buffer) => void
  #piece = Buffer.allocUnsafeSlow(PIECE_BYTES)
  #used = 0
  /** A header that is not whole yet. */
  readonly #head = Buffer.alloc(HEADER_BYTES)
  #headUsed = 0
  #headBytes = HEADER_BYTES
  /** Bytes of the current value that are still to come; undefined between values. */
  #left: number | undefined

  /** @param onPiece takes the pieces that are full */
  constructor(onPiece: (piece: Buffer) => void) {
    this.#onPiece = onPiece
  }

  add(bytes: Buffer): void {
    for (let at = 0; at < bytes.length;) {
      if (this.#left === undefined) {
        at = this.#readHead(bytes, at)
        continue
      }
      const isWhole = this.#left <= bytes.length - at
      const copied = bytes.copy(this.#piece, this.#used, at, isWhole ? at + this.#left : bytes.length)
      at += copied
      this.#used += copied
      this.#left -= copied
      if (this.#used === PIECE_BYTES) this.#endPiece()
      if (this.#left > 0) continue
      this.#left = undefined
      this.#piece[this.#used++] = LINE_BREAK
      if (this.#used === PIECE_BYTES) this.#endPiece()
    }
  }

  /** Ends the last piece. */
  end(): void {
    const isEnd = this.#left === undefined && this.#headUsed === 2 && this.#head.readInt16BE() === END_OF_ROWS
    if (!isEnd) throw new Error('the rows of a copy end too early')
    if (this.#used > 0) this.#endPiece()
  }

  /** @returns where the bytes behind the header begin */
  #readHead(bytes: Buffer, at: number): number {
    const copied = bytes.copy(this.#head, this.#headUsed, at, at + this.#headBytes - this.#headUsed)
    this.#headUsed += copied
    if (this.#headUsed === this.#headBytes) {
      if (this.#headBytes === ROW_HEAD_BYTES) {
        this.#left = this.#head.readInt32BE(2)
        if (this.#left === NULL_LENGTH) throw new TypeError('a line must be text, not null')
      }
      this.#headBytes = ROW_HEAD_BYTES
      this.#headUsed = 0
    }
    return at + copied
  }

  #endPiece(): void {
    const piece = this.#piece.subarray(0, this.#used)
    this.#piece = Buffer.allocUnsafeSlow(PIECE_BYTES)
    this.#used = 0
    this.#onPiece(piece)
  }
}
