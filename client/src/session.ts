import { isError } from './call-error.ts'

/** Where a session is kept: `localStorage`, or the storage of React Native, whose functions return promises. */
export type SessionStorage = {
  getItem(key: string): string | null | Promise<string | null>
  setItem(key: string, value: string): unknown
  removeItem(key: string): unknown
}

export type SessionTokens = { token: string; refreshToken: string }

/** The user who is signed in. */
export type SignedInUser = { _id: string; email: string; name?: string }

/** The tokens of a sign-in, and whose they are. */
export type AnsweredSignIn = SessionTokens & { user: SignedInUser; deviceToken?: string }

export type KeptSession = SessionTokens & { user: SignedInUser; renewAt?: number | undefined }

type Listener = (user: SignedInUser | undefined) => void

/** How a tab hears of what other tabs store; only browsers have it. */
type StorageEvents = {
  addEventListener(
    type: 'storage',
    listener: (event: { key: string | null; newValue: string | null; storageArea: unknown }) => void,
  ): void
}

const MARGIN_MS = 30_000

/** When a token has to be renewed by the clock of this machine; unknown if it is not a JWT. */
function renewalOf(token: string): number | undefined {
  try {
    const part = token.split('.')[1]!
    const claims = atob(part.replaceAll('-', '+').replaceAll('_', '/'))
    const { exp, iat } = JSON.parse(claims) as { exp: number; iat: number }
    const lifetimeMs = (exp - iat) * 1000
    return Date.now() + lifetimeMs - Math.min(MARGIN_MS, lifetimeMs / 10) || undefined
  } catch {
    return undefined
  }
}

function parseSession(text: string | null | undefined): KeptSession | undefined {
  try {
    const session = JSON.parse(text!) as KeptSession | null
    return session?.refreshToken ? session : undefined
  } catch {
    return undefined
  }
}

/** Whether the server refused a refresh token for good: after anything else the session may go on. */
const isRefusal = (error: unknown): boolean =>
  isError(error, 'UNAUTHORIZED') || isError(error, 'VALIDATION_ERROR')

/** Runs one work after the other. */
function inTurn(): <T>(work: () => T | Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const done = last.then(work)
    last = done.catch(() => undefined)
    return done
  }
}

/**
 * The session of a client, shared by all tabs that have the same storage.
 *
 * A refresh token is good for one use, so only one tab refreshes at a time, and only if no other has done it.
 */
export class ClientSession {
  declare current: KeptSession | undefined
  /** Why the last sign-in or refresh failed: a second factor may finish it. */
  declare failure: unknown
  /** Resolves when the storage was read. */
  declare readonly loaded: Promise<void>
  readonly #key: string
  readonly #storage: SessionStorage | undefined
  readonly #refresh: (refreshToken: string) => Promise<SessionTokens>
  readonly #listeners = new Set<Listener>()
  readonly #renewals = inTurn()
  /** Reads and writes of the storage: the last write that was begun is the one that stays. */
  readonly #accesses = inTurn()

  constructor(
    key: string,
    storage: SessionStorage | undefined,
    refresh: (refreshToken: string) => Promise<SessionTokens>,
  ) {
    this.#key = key
    this.#storage = storage
    this.#refresh = refresh
    const stored = storage?.getItem(key) ?? null
    if (typeof stored === 'string') this.current = parseSession(stored)
    this.loaded =
      stored && typeof stored === 'object'
        ? stored.then((text) => this.#set(parseSession(text)))
        : Promise.resolve()
    // Each call that waits for it fails with the error.
    this.loaded.catch(() => undefined)
    const { addEventListener } = globalThis as Partial<StorageEvents>
    addEventListener?.('storage', (event) => {
      // A storage that is cleared names no key.
      if (event.storageArea === storage && (event.key === key || event.key === null))
        this.#set(parseSession(event.newValue))
    })
  }

  onChange(listener: Listener): () => void {
    this.#listeners.add(listener)
    void this.loaded.then(
      () => this.#listeners.has(listener) && listener(this.current?.user),
      () => undefined,
    )
    return () => this.#listeners.delete(listener)
  }

  /** Begins a session, or ends it in all tabs. */
  async save(session: KeptSession | undefined): Promise<void> {
    this.#set(session)
    await this.#accesses(() =>
      session
        ? this.#storage?.setItem(this.#key, JSON.stringify(session))
        : this.#storage?.removeItem(this.#key),
    )
  }

  async begin(tokens: SessionTokens, user: SignedInUser): Promise<void> {
    // Else an older session, which is read late, would take its place.
    await this.loaded
    await this.save(sessionOf(tokens, user))
  }

  /** The session with a token that is valid for a while, if it can be had. */
  async usable(): Promise<KeptSession | undefined> {
    await this.loaded
    const { current } = this
    if (!current?.renewAt || current.renewAt > Date.now()) return current
    // The token may still be valid, and the server tells if it is not.
    return this.renew(current).catch(() => this.current)
  }

  /**
   * Exchanges the tokens of a session, unless that is done already.
   *
   * @returns the session that is current then; undefined if there is none
   * @throws the error of the refresh if its outcome is unknown
   */
  renew(stale: KeptSession): Promise<KeptSession | undefined> {
    return this.#alone(async () => {
      await this.#read()
      const { current } = this
      if (current?.token !== stale.token) return current
      const next = await this.refreshed(current)
      // The user may have signed out meanwhile, or another one in.
      await this.#read()
      if (this.current?.refreshToken === current.refreshToken) await this.save(next)
      return this.current
    })
  }

  /**
   * A session with new tokens, which is not saved; undefined if the server refuses to refresh it for good.
   *
   * @throws the error of the refresh if its outcome is unknown
   */
  async refreshed({ refreshToken, user }: KeptSession): Promise<KeptSession | undefined> {
    try {
      return sessionOf(await this.#refresh(refreshToken), user)
    } catch (error) {
      this.failure = error
      if (!isRefusal(error)) throw error
      return undefined
    }
  }

  /** Takes over what other tabs have stored. */
  async #read(): Promise<void> {
    const { current } = this
    const text = await this.#accesses(() => this.#storage?.getItem(this.#key))
    // What was read is out of date if the user has signed in or out here since.
    if (this.#storage && this.current === current) this.#set(parseSession(text))
  }

  #set(session: KeptSession | undefined): void {
    const before = JSON.stringify(this.current?.user)
    this.current = session
    if (JSON.stringify(session?.user) !== before)
      for (const listener of this.#listeners) listener(session?.user)
  }

  /** Runs work while no other tab does, or no other call of this client. */
  #alone<T>(work: () => Promise<T>): Promise<T> {
    const locks = this.#storage && globalThis.navigator?.locks
    if (locks) return locks.request(this.#key, work)
    return this.#renewals(work)
  }
}

const sessionOf = ({ token, refreshToken }: SessionTokens, user: SignedInUser): KeptSession => ({
  token,
  refreshToken,
  user,
  renewAt: renewalOf(token),
})
