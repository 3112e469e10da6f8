import type { Clock } from '../../../../base/clock.ts'
import { errors } from '../../../../base/errors.ts'

/** How long a piece is: what a lost connection takes at most, together with the time below. */
const PIECE_BYTES = 8 * 1_048_576
/** How long a piece is open. On a slow line it is shorter then, so that what has arrived counts. */
const PIECE_MS = 10_000

/** Cuts bytes into pieces while they arrive. What came before a failure is a piece as well. */
export class PieceReader {
  /** What has ended the bytes before their end. */
  fault: Error | undefined
  readonly #bytes: AsyncIterator<Buffer>
  readonly #clock: Clock
  #left: number
  #isOver = false
  /** A part of a chunk that belongs to the next piece. */
  #rest: Buffer | undefined
  #pending: Promise<Buffer | undefined> | undefined

  /** @param maxBytes how many there may be */
  constructor({ clock }: { clock: Clock }, bytes: AsyncIterable<Buffer>, maxBytes: number) {
    this.#clock = clock
    this.#bytes = bytes[Symbol.asyncIterator]()
    this.#left = maxBytes
  }

  /** Waits for the next byte. */
  async hasMore(): Promise<boolean> {
    if (this.#rest === undefined) this.#rest = await this.#next()
    return this.#rest !== undefined
  }

  /** The next piece, which must be read to its end. */
  async *piece(): AsyncGenerator<Buffer> {
    const timeout = Promise.withResolvers<'over'>()
    const clear = this.#clock.timer(PIECE_MS, () => timeout.resolve('over'))
    try {
      for (let room = PIECE_BYTES; room > 0;) {
        const chunk = this.#rest ?? (await Promise.race([this.#next(), timeout.promise]))
        if (chunk === 'over' || chunk === undefined) return
        const taken = chunk.subarray(0, room)
        this.#rest = taken.length < chunk.length ? chunk.subarray(taken.length) : undefined
        this.#pending = undefined
        room -= taken.length
        yield taken
      }
    } finally {
      clear()
    }
  }

  /** The next chunk: the same until it is taken. Never rejects. */
  #next(): Promise<Buffer | undefined> {
    return (this.#pending ??= this.#read())
  }

  async #read(): Promise<Buffer | undefined> {
    if (this.#isOver) return undefined
    try {
      for (;;) {
        const result = await this.#bytes.next()
        if (result.done) break
        const { value } = result
        if (value.length > this.#left) throw tooLong()
        this.#left -= value.length
        if (value.length > 0) return value
      }
    } catch (error) {
      this.fault = error as Error
    }
    this.#isOver = true
    return undefined
  }
}

export const tooLong = () =>
  errors.payload_too_large({ message: 'The body is longer than what is left of the upload.' })
