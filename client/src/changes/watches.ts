import type { ChangeHandlers } from '../handlers.ts'
import { ROUTE, type FeedChange } from './connection.ts'
import type { CallError } from '../call-error.ts'
import type { WatchKey, News, ServerRefusal, Streams } from './messages.ts'

/** What a watch calls, once it is ready with each change. */
export type Handlers = Omit<ChangeHandlers<{ _id: string }>, 'reset'> & { reset(reason: string): void }

type Entry = {
  readonly handlers: Handlers
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

/** What some watch alike, and whether changes from now on come. */
type Source = { isReady: boolean; readonly entries: Set<Entry> }

/** The watches of one tab, and what it knows of the connections that bring their changes. */
export class Watches {
  /** What all tabs know alike: the next one with the connections goes on from there. */
  streams: Streams = {}
  readonly #sources = new Map<WatchKey, Source>()
  readonly #etags: WeakMap<object, string>
  readonly #Failure: typeof CallError
  readonly #onWants: () => void

  /** @param onWants called when what is watched has changed */
  constructor(etags: WeakMap<object, string>, Failure: typeof CallError, onWants: () => void) {
    this.#etags = etags
    this.#Failure = Failure
    this.#onWants = onWants
  }

  get keys(): readonly WatchKey[] {
    return [...this.#sources.keys()]
  }

  /**
   * Calls handlers until the signal ends it.
   *
   * @returns when it is ready
   * @throws CallError that ends it before; one that ends it later is given to the handlers
   */
  add(key: WatchKey, handlers: Handlers, signal: AbortSignal): Promise<void> {
    let source = this.#sources.get(key)
    if (!source) {
      source = { isReady: false, entries: new Set() }
      this.#sources.set(key, source)
      this.#onWants()
    }
    const { entries } = source
    return new Promise((resolve, reject) => {
      const entry = { handlers, resolve, reject }
      entries.add(entry)
      if (source.isReady) call(() => begin(entry))
      signal.addEventListener('abort', () => {
        if (!entries.delete(entry) || entries.size > 0) return
        this.#sources.delete(key)
        this.#onWants()
      })
      this.#beginReady()
    })
  }

  /** Ends a watch, or all of them, with an error. */
  fail({ status, ...error }: ServerRefusal, only?: WatchKey): void {
    const failure = new this.#Failure(ROUTE, new Response(null, { status }), error)
    for (const [key, { isReady, entries }] of this.#sources)
      if (only === undefined || key === only) {
        this.#sources.delete(key)
        for (const { handlers, reject } of entries)
          if (isReady) call(() => handlers.error?.(failure))
          else reject(failure)
        entries.clear()
      }
    this.#onWants()
  }

  take(news: News): void {
    if (news.kind === 'refusal') this.fail(news.refusal, news.key)
    else if (news.kind === 'change') this.#change(news.stream, news.change)
    else {
      this.streams = news.streams
      this.#beginReady()
    }
  }

  #change(id: string, { event, data, cursor }: FeedChange): void {
    const stream = this.streams[id]
    if (!stream) return
    stream.cursor = cursor
    if (event === 'reset' || (event === 'ready' && !stream.isReady)) {
      stream.isReady = true
      for (const key of stream.keys) this.#begin(key, data.reason ?? 'changed')
      return
    }
    const entries = this.#sources.get(stream.keys[data.watch ?? 0]!)?.entries
    if (event === 'put') {
      this.#etags.set(data.document, data.etag)
      for (const { handlers } of entries ?? []) call(() => handlers.put(data.document, { etag: data.etag }))
    } else if (event === 'gone') for (const { handlers } of entries ?? []) call(() => handlers.gone(data._id))
  }

  /** From now on all changes come; if some came before, others may have been missed between them. */
  #begin(key: WatchKey, reason: string): void {
    const source = this.#sources.get(key)
    if (!source) return
    for (const entry of source.entries)
      call(() => (source.isReady ? entry.handlers.reset(reason) : begin(entry)))
    source.isReady = true
  }

  /** A connection may already bring the changes of a new watch. */
  #beginReady(): void {
    for (const { isReady, keys } of Object.values(this.streams))
      for (const key of keys) if (isReady && this.#sources.get(key)?.isReady === false) this.#begin(key, '')
  }
}

function begin({ handlers, resolve }: Entry): void {
  resolve()
  handlers.ready?.()
}

/** An error of a handler is the application's: it ends nothing here, and is reported as one that nobody catches. */
export function call(handler: () => void): void {
  try {
    handler()
  } catch (error) {
    queueMicrotask(() => {
      throw error
    })
  }
}
