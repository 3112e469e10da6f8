import pg from 'pg'

import { connectLimitOf } from './postgres-connection.ts'
import { isFromServer, SilentServerError } from './postgres-faults.ts'

const SLOW_MS = 1_000
const CHECK_INTERVAL_MS = 5_000

// The part of `pg` that @types/pg does not have.
type Inner = { connection: { stream: { destroy(error: Error): void } } }

/** A statement that waits for its answer. */
type Waiting = { readonly client: pg.ClientBase; readonly since: number }

/**
 * Drops connections to a server that hangs. A long statement does not prove that it hangs, so once a statement has waited for a
 * second, a new connection is opened: if that is not answered either, all connections with statements older than it are dropped. A
 * pooler may answer in place of the server; then a statement waits until the limit of its connection.
 */
export class PostgresWatchdog {
  readonly #url: string
  readonly #limitMs: number
  /** The oldest first. */
  readonly #waiting = new Set<Waiting>()
  #timer: NodeJS.Timeout | undefined

  /** @param url where the server is */
  constructor(url: string) {
    this.#url = url
    this.#limitMs = connectLimitOf(url)
  }

  /** Watches a statement that was sent on a connection. Returns the function to call when it is answered. */
  watch(client: pg.ClientBase): () => void {
    const waiting: Waiting = { client, since: performance.now() }
    this.#waiting.add(waiting)
    if (!this.#timer) this.#checkIn(SLOW_MS)
    return () => this.#waiting.delete(waiting)
  }

  #checkIn(ms: number): void {
    this.#timer = setTimeout(() => void this.#check(), ms).unref()
  }

  async #check(): Promise<void> {
    const [oldest] = this.#waiting
    if (!oldest) {
      this.#timer = undefined
      return
    }
    const began = performance.now()
    if (began - oldest.since < SLOW_MS) return this.#checkIn(SLOW_MS)
    const isHanging = !(await this.#isAnswering())
    if (isHanging)
      for (const { client, since } of this.#waiting)
        if (since < began) (client as unknown as Inner).connection.stream.destroy(new SilentServerError())
    this.#checkIn(isHanging ? SLOW_MS : CHECK_INTERVAL_MS)
  }

  /** Whether the server answers a new connection; a refusal is an answer, too. */
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
