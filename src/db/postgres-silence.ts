import pg from 'pg'

import { connectLimitOf } from './postgres-connection.ts'
import { isFromServer, SilentServerError } from './postgres-faults.ts'

const PATIENCE_MS = 1_000
const TRIAL_PAUSE_MS = 5_000

// The part of `pg` that @types/pg does not have.
type Inner = { connection: { stream: { destroy(error: Error): void } } }

/** A statement that waits for its answer. */
type Waiting = { readonly client: pg.ClientBase; readonly since: number }

/**
 * Ends the wait for a server that says nothing any more. How long a statement takes does not tell, but a new connection does:
 * if one is tried and gets no answer, all connections whose statements have waited since before are dropped. A pooler may answer
 * in the server's place; then a statement waits until the limit of its connection.
 */
export class PostgresSilence {
  readonly #url: string
  readonly #limitMs: number
  /** Those that wait longest first. */
  readonly #waiting = new Set<Waiting>()
  #look: NodeJS.Timeout | undefined

  /** @param url where the server is */
  constructor(url: string) {
    this.#url = url
    this.#limitMs = connectLimitOf(url)
  }

  /** Watches over a statement that was sent on a connection; returns what to call when it is answered. */
  watch(client: pg.ClientBase): () => void {
    const waiting: Waiting = { client, since: performance.now() }
    this.#waiting.add(waiting)
    if (!this.#look) this.#lookIn(PATIENCE_MS)
    return () => this.#waiting.delete(waiting)
  }

  #lookIn(ms: number): void {
    this.#look = setTimeout(() => void this.#lookAround(), ms).unref()
  }

  async #lookAround(): Promise<void> {
    const [oldest] = this.#waiting
    if (!oldest) {
      this.#look = undefined
      return
    }
    const began = performance.now()
    if (began - oldest.since < PATIENCE_MS) return this.#lookIn(PATIENCE_MS)
    const isSilent = !(await this.#isAnswering())
    if (isSilent)
      for (const { client, since } of this.#waiting)
        if (since < began) (client as unknown as Inner).connection.stream.destroy(new SilentServerError())
    this.#lookIn(isSilent ? PATIENCE_MS : TRIAL_PAUSE_MS)
  }

  /** Whether a new connection is answered, be it by a refusal. */
  async #isAnswering(): Promise<boolean> {
    const client = new pg.Client({
      connectionString: this.#url,
      connectionTimeoutMillis: this.#limitMs,
      application_name: 'sixwire',
    })
    client.on('error', () => undefined)
    try {
      await client.connect()
      return true
    } catch (error) {
      return isFromServer(error)
    } finally {
      void client.end().catch(() => undefined)
    }
  }
}
