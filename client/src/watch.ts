import { orAbort } from './abort.ts'
import type { ClientChanges, Listener, Pages } from './changes/index.ts'
import type { ErrorHandler } from './handlers.ts'

/** A watch, until it is closed. */
export type ClientWatch = {
  /** Resolves when changes come; rejects with the error that ended it before. */
  readonly ready: Promise<void>
  close(): void
}

/** A list that is kept as it changes: a store for React's `useSyncExternalStore`, and for Svelte. */
export type Live<Document> = ClientWatch & {
  /** Resolves when the list is read; rejects with the error that ended it before. */
  readonly ready: Promise<void>
  /**
   * Calls the listener with the list, now and whenever it has changed.
   *
   * @returns a function that ends it
   */
  subscribe(listener: (documents: readonly Document[]) => void): () => void
  /** The list now, which is never changed but replaced; empty until it is read. */
  getSnapshot(): readonly Document[]
}

/** Loads the part of the client that follows changes, at first use. */
export type LoadChanges = () => Promise<ClientChanges>

/** Begins what goes on until it is closed. Errors are given to the handlers as well, so nobody has to await them. */
export function begin(
  load: LoadChanges,
  start: (changes: ClientChanges, signal: AbortSignal) => Promise<void>,
  handlers: ErrorHandler | undefined,
): ClientWatch {
  const controller = new AbortController()
  const { signal } = controller
  const ready = orAbort(
    load().then((changes) => start(changes, signal)),
    signal,
  )
  ready.catch((error: unknown) => signal.aborted || handlers?.error?.(error))
  return { ready, close: () => controller.abort() }
}

/** Begins a list that is kept as it changes. */
export function live<Document extends object>(
  load: LoadChanges,
  collection: string,
  pages: Pages,
  query: object | undefined,
  handlers: ErrorHandler | undefined,
): Live<Document> {
  let documents: readonly Document[] = []
  const listeners = new Set<Listener>([(next) => (documents = next as readonly Document[])])
  return {
    ...begin(
      load,
      (changes, signal) => changes.live(collection, query, pages, listeners, handlers, signal),
      handlers,
    ),
    subscribe(listener) {
      listeners.add(listener as Listener)
      listener(documents)
      return () => listeners.delete(listener as Listener)
    },
    getSnapshot: () => documents,
  }
}
