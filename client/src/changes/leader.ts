import type { CallError } from '../call-error.ts'
import { followChanges, type FeedChange, type Raw } from './connection.ts'
import type { WatchKey, News, ServerRefusal, Stream } from './messages.ts'
import type { Watches } from './watches.ts'

const KEYS_MAX = 20
// Watches are in the address, of which proxies take 8 KiB by default.
const CHARACTERS_MAX = 6_000

const UNAUTHORIZED = 401

export const newId = (): string => Math.random().toString(36).slice(2)

const fits = (keys: readonly WatchKey[]): boolean =>
  keys.length <= KEYS_MAX && encodeURIComponent(keys.join()).length <= CHARACTERS_MAX

/**
 * The connections of all tabs of a user, in the one that leads.
 *
 * The server knows a position by its watches, so a connection keeps those that it began with. What is added later gets a
 * second connection; that one is replaced when more is added, which resets its watches, and those of the first one not.
 */
export class Leader {
  /** What each tab wants to know. */
  readonly wants: Map<string, readonly WatchKey[]>
  readonly #raw: Raw
  readonly #watches: Watches
  readonly #tell: (news: News) => void
  readonly #onSignedOut: (refusal: ServerRefusal) => void
  readonly #open = new Map<string, AbortController>()

  constructor(
    raw: Raw,
    watches: Watches,
    wants: Map<string, readonly WatchKey[]>,
    tell: (news: News) => void,
    onSignedOut: (refusal: ServerRefusal) => void,
  ) {
    this.#raw = raw
    this.#watches = watches
    this.wants = wants
    this.#tell = tell
    this.#onSignedOut = onSignedOut
    // Those of a leader before this one go on from where it was.
    for (const id of Object.keys(watches.streams)) this.#follow(id)
  }

  close(): void {
    for (const controller of this.#open.values()) controller.abort()
  }

  /** Opens and closes connections for what the tabs want. */
  arrange(): void {
    const wanted = new Set([...this.wants.values()].flat())
    const isWanted = (key: WatchKey) => wanted.has(key)
    const streams = () => Object.entries(this.#watches.streams)
    for (const [id, { keys }] of streams()) if (!keys.some(isWanted)) this.#close([id])
    const replaced = streams().flatMap(([, { replaces }]) => replaces)
    const current = streams().filter(([id]) => !replaced.includes(id))
    const missing = [...wanted].filter((key) => !current.some(([, { keys }]) => keys.includes(key)))
    const [id, last] = current.length > 1 ? current.at(-1)! : []
    const joined = [...(last?.keys.filter(isWanted) ?? []), ...missing]
    if (missing.length > 0)
      if (last && fits(joined)) this.#begin(joined, [id!, ...last.replaces])
      else this.#beginAll(missing)
    this.#tellStreams()
  }

  #beginAll(keys: readonly WatchKey[]): void {
    let some: WatchKey[] = []
    for (const key of keys) {
      if (some.length > 0 && !fits([...some, key])) {
        this.#begin(some)
        some = []
      }
      some.push(key)
    }
    this.#begin(some)
  }

  #begin(keys: readonly WatchKey[], replaces: readonly string[] = []): void {
    const id = newId()
    this.#watches.streams[id] = { keys, replaces, isReady: false }
    this.#follow(id)
  }

  #follow(id: string): void {
    const controller = new AbortController()
    this.#open.set(id, controller)
    const stream = this.#watches.streams[id]!
    void followChanges(
      this.#raw,
      stream,
      (change) => this.#take(id, stream, change),
      controller.signal,
    ).catch((error: unknown) => this.#refuse(id, stream, error as CallError))
  }

  #take(id: string, stream: Stream, change: FeedChange): void {
    if (stream.replaces.length > 0) {
      this.#close(stream.replaces)
      stream.replaces = []
      this.#tellStreams()
    }
    this.#tell({ kind: 'change', stream: id, change })
  }

  #refuse(id: string, { keys, replaces }: Stream, { status, code, message, details }: CallError): void {
    const refusal = { status, code, message, details }
    if (status === UNAUTHORIZED) return this.#onSignedOut(refusal)
    this.#close([id])
    // One of several is at fault: the others go on without it.
    const half = keys.length >> 1
    if (half > 0) {
      this.#begin(keys.slice(0, half), replaces)
      this.#begin(keys.slice(half), replaces)
    }
    this.#tellStreams()
    if (half === 0) this.#tell({ kind: 'refusal', key: keys[0]!, refusal })
  }

  #close(ids: readonly string[]): void {
    for (const id of ids) {
      this.#open.get(id)?.abort()
      this.#open.delete(id)
      delete this.#watches.streams[id]
    }
  }

  #tellStreams(): void {
    this.#tell({ kind: 'streams', streams: this.#watches.streams })
  }
}
