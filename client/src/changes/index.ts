import type { CallError } from '../call-error.ts'
import type { ErrorHandler } from '../handlers.ts'
import type { Owner } from './owner.ts'
import { LiveList, type LiveListQuery, type Pages, type Listener } from './live-list.ts'
import type { WatchKey, ServerRefusal } from './messages.ts'
import { canShare, Tab } from './tabs.ts'
import { Watches, type Handlers } from './watches.ts'

export type { Listener, Pages }

const SIGNED_OUT: ServerRefusal = {
  status: 401,
  code: 'SIGNED_OUT',
  message: 'The user whose changes these were has signed out.',
}

/** All watches and live lists of a client. They end when the user signs out. */
export class ClientChanges {
  readonly #owner: Owner
  readonly #watches: Watches
  readonly #lists = new Map<string, LiveList>()
  #user: string | undefined
  #tab: Tab | undefined
  #isJoining = false

  /**
   * @param Failure is given, because an import would make files of what the client consists of
   * @param etags where the ETags of documents are kept
   */
  constructor(owner: Owner, Failure: typeof CallError, etags: WeakMap<object, string>) {
    this.#owner = owner
    this.#watches = new Watches(etags, Failure, () => this.#announce())
    owner.session.onChange((user) => this.#signIn(user?._id))
  }

  /**
   * Calls handlers with the changes of documents, until the signal ends it.
   *
   * @returns when it is ready
   * @throws CallError that ends it before; one that ends it later is given to the handlers
   */
  watch(
    collection: string,
    { filter, fields }: LiveListQuery,
    handlers: Handlers,
    signal: AbortSignal,
  ): Promise<void> {
    if (signal.aborted) return Promise.resolve()
    const key: WatchKey = JSON.stringify({ collection, filter, fields: fields?.join() || undefined })
    return this.#watches.add(key, handlers, signal)
  }

  /**
   * Calls listeners with a list, and again whenever it has changed, until the signal ends it. Those of one query share it.
   *
   * @returns when it is read; otherwise like `watch`
   */
  live(
    collection: string,
    query: LiveListQuery | undefined = {},
    pages: Pages,
    listeners: ReadonlySet<Listener>,
    handlers: ErrorHandler | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    if (signal.aborted) return Promise.resolve()
    const { filter, fields, sort, limit } = query
    const key = JSON.stringify([collection, filter, fields, sort, limit])
    let list = this.#lists.get(key)
    if (!list) {
      const newList = (list = new LiveList(query, pages))
      this.#lists.set(key, newList)
      newList.end.addEventListener('abort', () => this.#lists.delete(key))
      this.watch(collection, newList.query, newList, newList.end).catch((error: unknown) =>
        newList.error(error),
      )
    }
    return list.add(listeners, handlers, signal)
  }

  /** The watches of a user end with the session; those of nobody go on with what the new user may see. */
  #signIn(user: string | undefined): void {
    if (!this.#tab || user === this.#user) return
    this.#leave()
    if (this.#user !== undefined) this.#watches.fail(SIGNED_OUT)
    this.#announce()
  }

  #announce(): void {
    if (this.#tab) this.#tab.announce()
    else if (!this.#isJoining && this.#watches.keys.length > 0) {
      this.#isJoining = true
      void this.#join()
    }
  }

  async #join(): Promise<void> {
    const { session, baseUrl, options, raw } = this.#owner
    // Calls fail with the error of a storage that cannot be read.
    await session.loaded.catch(() => undefined)
    const user = session.current?.user._id
    // Tabs share a session if they share a storage. A token of the client may be another one in each.
    const isShared = options.storage && canShare() && (user !== undefined || options.token === undefined)
    const name = isShared ? `sixwire changes ${baseUrl} ${await hashOf(user ?? '')}` : undefined
    if (session.current?.user._id !== user) return this.#join()
    this.#isJoining = false
    this.#user = user
    this.#tab = new Tab(name, {
      raw,
      watches: this.#watches,
      onSignedOut: (refusal) => {
        this.#leave()
        this.#watches.fail(refusal)
      },
      onIdle: () => this.#leave(),
    })
  }

  #leave(): void {
    this.#tab?.leave()
    this.#tab = undefined
    this.#watches.streams = {}
  }
}

/** The changes of a client. @param args as its constructor takes them */
export const changesOf = (...args: ConstructorParameters<typeof ClientChanges>): ClientChanges =>
  new ClientChanges(...args)

/** The beginning of a hash in hexadecimal. */
async function hashOf(text: string): Promise<string> {
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
  return new BigUint64Array(hash)[0]!.toString(16)
}
