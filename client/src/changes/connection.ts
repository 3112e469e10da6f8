import type { CallError } from '../call-error.ts'
import type { AnyInput } from '../route-types.ts'
import { eventReader } from './event-stream.ts'
import { onWake, pause } from './pause.ts'

/** Sends a call with the token of the session, refreshed if need be; throws CallError if the server refuses it. */
export type Raw = (key: string, input: AnyInput) => Promise<Response>

/** What a connection is for, and how far it has come. */
export type FeedPosition = { readonly keys: readonly string[]; cursor?: string | undefined }

/** An event of the server. */
export type FeedChange = {
  event: string
  data: { watch?: number; _id: string; etag: string; document: { _id: string }; reason?: string }
  cursor: string
}

export const ROUTE = 'GET /store/changes'
const FIRST_WAIT_MS = 1_000
const LONGEST_WAIT_MS = 30_000
// Three times that of a ping; on a page that is shown again less is enough to doubt the connection.
const SILENCE_MS = 45_000
const DOUBT_MS = 20_000

/** Whether the server refused a call for good. */
export const isRefused = (error: unknown): boolean => {
  const { status = 0 } = error as Partial<CallError>
  return status >= 400 && status < 500 && status !== 408 && status !== 429
}

/** How long to wait after a number of failures: random, so that not all clients come at once. */
export const waitAfter = (failures: number, firstMs = FIRST_WAIT_MS): number =>
  Math.min(LONGEST_WAIT_MS, firstMs * 2 ** failures) * (0.5 + Math.random() / 2)

/**
 * Follows changes from a position, over as many connections as it takes, until the signal ends it.
 *
 * @param position its cursor moves with each event
 * @throws CallError if the server refuses it for good
 */
export async function followChanges(
  raw: Raw,
  position: FeedPosition,
  onChange: (change: FeedChange) => void,
  signal: AbortSignal,
): Promise<void> {
  const connection = new Connection(raw, position, onChange, signal)
  while (!signal.aborted) await connection.next()
}

class Connection {
  readonly #raw: Raw
  readonly #position: FeedPosition
  readonly #onChange: (change: FeedChange) => void
  readonly #signal: AbortSignal
  #retryMs: number | undefined
  #failures = 0
  // React Native answers only when the whole body is there.
  #isPolling = !('ReadableStream' in globalThis)

  constructor(raw: Raw, position: FeedPosition, onChange: (change: FeedChange) => void, signal: AbortSignal) {
    this.#raw = raw
    this.#position = position
    this.#onChange = onChange
    this.#signal = signal
  }

  /** Follows one connection to its end, and waits as long as the next one should. */
  async next(): Promise<void> {
    let ending: string | undefined
    let askedMs = 0
    try {
      ending = await this.#connect()
    } catch (error) {
      if (this.#signal.aborted) return
      if (isRefused(error)) throw error
      askedMs = Number((error as Partial<CallError>).headers?.get('retry-after')) * 1000 || 0
    }
    const failures = this.#failures++
    if (askedMs) return pause(askedMs, this.#signal, false)
    if (ending === 'restart') return pause(this.#retryMs ?? waitAfter(failures), this.#signal)
    // The token has ended, or is for less: a new one may do, but not again and again.
    if (ending === undefined || failures > 0) await pause(waitAfter(failures, this.#retryMs), this.#signal)
  }

  /** @returns the reason for which the server has ended it, or `poll`; undefined if it was lost */
  async #connect(): Promise<string | undefined> {
    const controller = new AbortController()
    const abort = () => controller.abort()
    let heardAt = Date.now()
    let hasHeard = false
    let timer: ReturnType<typeof setTimeout> | undefined
    const expect = () => {
      heardAt = Date.now()
      clearTimeout(timer)
      timer = setTimeout(() => {
        // Nothing at all: a proxy may keep the stream until it ends.
        if (!hasHeard) this.#isPolling = !this.#isPolling
        abort()
      }, SILENCE_MS)
    }
    const stopWaking = onWake(() => void (Date.now() - heardAt > DOUBT_MS && abort()))
    this.#signal.addEventListener('abort', abort)
    try {
      expect()
      const { cursor, keys } = this.#position
      const response = await this.#raw(ROUTE, {
        query: { watch: `[${keys.join()}]` },
        headers: {
          accept: this.#isPolling ? 'application/json' : 'text/event-stream',
          ...(cursor !== undefined && { 'last-event-id': cursor }),
        },
        signal: controller.signal,
      })
      if (this.#isPolling) return await this.#poll(response)
      return await this.#read(response, () => {
        hasHeard = true
        expect()
      })
    } finally {
      clearTimeout(timer)
      stopWaking()
      this.#signal.removeEventListener('abort', abort)
      abort()
    }
  }

  async #read(response: Response, onBytes: () => void): Promise<string | undefined> {
    let ending: string | undefined
    const read = eventReader({
      onEvent: ({ event, data, id }) => {
        const change = { event, data: JSON.parse(data) as FeedChange['data'], cursor: id }
        if (event === 'end') ending = change.data.reason
        else this.#take(change)
      },
      onRetry: (ms) => (this.#retryMs = ms),
    })
    const reader = (response.body as ReadableStream<Uint8Array>).getReader()
    while (ending === undefined) {
      const { value } = await reader.read()
      if (!value) break
      onBytes()
      read(value)
    }
    return ending
  }

  /** Takes all changes since the position at once. */
  async #poll(response: Response): Promise<string> {
    const { changes, cursor } = (await response.json()) as {
      changes: (FeedChange['data'] & { event: string })[]
      cursor: string
    }
    if (this.#position.cursor === undefined)
      this.#take({ event: 'ready', data: {} as FeedChange['data'], cursor })
    for (const data of changes) this.#take({ event: data.event, data, cursor })
    this.#position.cursor = cursor
    this.#failures = 0
    return 'poll'
  }

  #take(change: FeedChange): void {
    if (this.#signal.aborted) return
    this.#onChange(change)
    this.#position.cursor = change.cursor
    // A server that takes each connection and ends it at once is not asked more often for that.
    if (change.event !== 'ready' && change.event !== 'reset') this.#failures = 0
  }
}
