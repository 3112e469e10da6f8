const ZEROS = Buffer.alloc(65_536)

/** Bytes of a stream, read by how many there are of something. Beyond the end of the stream there are none, and that is no error. */
export class ByteReader {
  readonly #source: AsyncIterator<Buffer>
  #bytes: Buffer = ZEROS.subarray(0, 0)
  #hasEnded = false

  constructor(source: AsyncIterable<Buffer>) {
    this.#source = source[Symbol.asyncIterator]()
  }

  /** The next bytes, which stay to be read: `count`, or fewer at the end. */
  async peek(count: number): Promise<Buffer> {
    const chunks = [this.#bytes]
    for (let length = this.#bytes.length; length < count && !this.#hasEnded;) {
      const next = await this.#source.next()
      if (next.done) this.#hasEnded = true
      else {
        chunks.push(next.value)
        length += next.value.length
      }
    }
    if (chunks.length > 1) this.#bytes = Buffer.concat(chunks)
    return this.#bytes.subarray(0, count)
  }

  /** As many of the next bytes as are there without waiting, at least `count` of them, or fewer at the end; they stay to be read. */
  async peekMore(count: number): Promise<Buffer> {
    await this.peek(count)
    return this.#bytes
  }

  /** The next bytes. */
  async take(count: number): Promise<Buffer> {
    const bytes = await this.peek(count)
    this.#bytes = this.#bytes.subarray(bytes.length)
    return bytes
  }

  /** The next bytes, of which there may be more than fit into memory. */
  async *pass(count: number): AsyncGenerator<Buffer> {
    for (let left = count; left > 0;) {
      const { length } = await this.peekMore(1)
      if (length === 0) return
      const bytes = await this.take(Math.min(left, length))
      left -= bytes.length
      yield bytes
    }
  }

  /** Leaves out the next bytes. @returns how many there were */
  async skip(count: number): Promise<number> {
    let skipped = 0
    for await (const bytes of this.pass(count)) skipped += bytes.length
    return skipped
  }
}

/** This many zeros. */
export function* zeros(count: number): Generator<Buffer> {
  for (let left = count; left > 0; left -= ZEROS.length) yield ZEROS.subarray(0, left)
}
