import { Channels } from './channels.ts'

const POLL_MS = 50

/** Channels of the processes that use one file: commits of others are seen by the revision, which costs microseconds. */
export class SqliteSignals {
  readonly #channels = new Channels()
  readonly #revision: () => number
  #poll: NodeJS.Timeout | undefined

  constructor(revision: () => number) {
    this.#revision = revision
  }

  listen(channel: string, heard: () => void): () => void {
    const remove = this.#channels.add(channel, heard)
    this.#poll ??= this.#startPoll()
    return () => {
      remove()
      if (this.#channels.names.length === 0) this.close()
    }
  }

  notify(channel: string): void {
    this.#channels.hear(channel)
  }

  #startPoll(): NodeJS.Timeout {
    let known = this.#revision()
    return setInterval(() => {
      const revision = this.#revision()
      if (revision === known) return
      known = revision
      this.#channels.hearAll()
    }, POLL_MS).unref()
  }

  close(): void {
    clearInterval(this.#poll)
    this.#poll = undefined
  }
}
