import type pg from 'pg'

type Connection = {
  query(text: string): void
  sendCopyFromChunk(chunk: Buffer): void
  endCopyFrom(): void
  sendCopyFail(reason: string): void
  stream: { writableNeedDrain: boolean; once(event: 'drain', listener: () => void): void }
}

/**
 * A query for `pg` that runs `copy … from stdin` and sends what `pieces` yields, which is asked for as fast as the server
 * takes it.
 */
export class CopyIn {
  readonly #text: string
  readonly #pieces: AsyncIterable<Buffer>
  readonly #done: PromiseWithResolvers<void> = Promise.withResolvers()
  #fault: { error: unknown } | undefined

  constructor(text: string, pieces: AsyncIterable<Buffer>) {
    this.#text = text
    this.#pieces = pieces
  }

  /** Resolves when the server has taken all of it; rejects with its error, or with what the pieces throw. */
  get done(): Promise<void> {
    return this.#done.promise
  }

  /** Called by `pg` when the connection is free. */
  submit(connection: pg.Connection): void {
    ;(connection as unknown as Connection).query(this.#text)
  }

  handleCopyInResponse(connection: Connection): void {
    void this.#send(connection)
  }

  async #send(connection: Connection): Promise<void> {
    try {
      for await (const piece of this.#pieces) {
        if (this.#fault) return
        connection.sendCopyFromChunk(piece)
        if (connection.stream.writableNeedDrain)
          await new Promise<void>((resolve) => connection.stream.once('drain', resolve))
      }
      connection.endCopyFrom()
    } catch (error) {
      this.#fault ??= { error }
      connection.sendCopyFail('the rows could not be read')
    }
  }

  handleCommandComplete(): void {}

  /** After it `pg` tells nothing more. An own fault comes first: the server answers it with one of its own. */
  handleError(error: unknown): void {
    this.#fault ??= { error }
    this.#done.reject(this.#fault.error)
  }

  handleReadyForQuery(): void {
    this.#done.resolve()
  }
}
