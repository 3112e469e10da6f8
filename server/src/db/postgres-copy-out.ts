import type pg from 'pg'

import { CopiedLines } from './postgres-copied-lines.ts'

// Beyond these the server has to wait, once the buffers of the connection are full.
const PIECES_AHEAD = 2

type Connection = { query(text: string): void; stream: { pause(): void; resume(): void } }

/**
 * A query for `pg` that runs `copy … to stdout (format binary)` of one text column and reads its lines. `pg-copy-streams`
 * copies each row once more: the memory for that made V8 collect garbage for a third of the time of a backup.
 */
export class CopyOut {
  readonly #text: string
  readonly #ready: Buffer[] = []
  readonly #lines = new CopiedLines((piece) => this.#ready.push(piece))
  #stream: Connection['stream'] | undefined
  #isPaused = false
  #isDropped = false
  #hasEnded = false
  #fault: { error: unknown } | undefined
  #wake: () => void = () => undefined

  constructor(text: string) {
    this.#text = text
  }

  /** Called by `pg` when the connection is free. */
  submit(connection: pg.Connection): void {
    const { stream } = connection as unknown as Connection
    this.#stream = stream
    connection.query(this.#text)
  }

  // The bytes are the connection's own, and used again for what comes next.
  handleCopyData({ chunk }: { chunk: Buffer }): void {
    if (this.#isDropped || this.#fault) return
    try {
      this.#lines.add(chunk)
    } catch (error) {
      this.handleError(error)
    }
    if (this.#ready.length === 0) return
    if (this.#ready.length >= PIECES_AHEAD && !this.#isPaused) {
      this.#isPaused = true
      this.#stream!.pause()
    }
    this.#wake()
  }

  handleCommandComplete(): void {}

  handleError(error: unknown): void {
    this.#fault ??= { error }
    this.#wake()
  }

  handleReadyForQuery(): void {
    try {
      if (!this.#fault) this.#lines.end()
    } catch (error) {
      this.#fault = { error }
    }
    this.#hasEnded = true
    this.#wake()
  }

  /** The pieces, in order. */
  async *pieces(): AsyncGenerator<Buffer> {
    try {
      for (;;) {
        const piece = this.#ready.shift()
        if (piece) {
          if (this.#ready.length < PIECES_AHEAD) this.#resume()
          yield piece
        } else if (this.#fault) throw this.#fault.error
        else if (this.#hasEnded) return
        else await new Promise<void>((resolve) => (this.#wake = resolve))
      }
    } finally {
      // What nobody reads is dropped. A connection that stays paused would never see its own end.
      this.#isDropped = true
      this.#resume()
    }
  }

  #resume(): void {
    if (!this.#isPaused) return
    this.#isPaused = false
    this.#stream!.resume()
  }
}
