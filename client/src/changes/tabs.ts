import type { Raw } from './connection.ts'
import { Leader, newId } from './leader.ts'
import type { WatchKey, Message, News, ServerRefusal } from './messages.ts'
import type { Watches } from './watches.ts'

/** What a tab belongs to. */
export type Host = {
  readonly raw: Raw
  readonly watches: Watches
  /** The server does not take the session of this tab any more. */
  readonly onSignedOut: (refusal: ServerRefusal) => void
  /** Nothing is watched here any more. */
  readonly onIdle: () => void
}

// Timers of hidden pages may be a minute late.
const BEAT_MS = 20_000
const SILENCE_MS = 90_000
const ANSWER_MS = 5_000
const GATHER_MS = 5

/** Whether tabs can agree which of them has the connections. */
export const canShare = (): boolean =>
  Boolean(globalThis.navigator?.locks) &&
  'BroadcastChannel' in globalThis &&
  Boolean(globalThis.crypto?.subtle)

/**
 * One of the tabs of a user: the one that has the lock leads, which means that it has the connections, and tells the others
 * what they bring. All know how far each connection has come, so if the leader ends, the next one goes on from there.
 */
export class Tab {
  readonly #id = newId()
  readonly #wants = new Map<string, readonly WatchKey[]>()
  readonly #name: string | undefined
  readonly #host: Host
  readonly #leaving = new AbortController()
  #channel: BroadcastChannel | undefined
  #leader: Leader | undefined
  #announcing: ReturnType<typeof setTimeout> | undefined
  #silence: ReturnType<typeof setTimeout> | undefined
  #beat: ReturnType<typeof setInterval> | undefined

  /** @param name that all tabs of this user have in common; undefined if this one is for itself */
  constructor(name: string | undefined, host: Host) {
    this.#name = name
    this.#host = host
    if (name === undefined) this.#lead()
    else this.#join(name)
  }

  /** Tells soon what this tab wants to know. */
  announce(): void {
    clearTimeout(this.#announcing)
    this.#announcing = setTimeout(() => this.#announce(), GATHER_MS)
  }

  leave(): void {
    clearTimeout(this.#announcing)
    clearTimeout(this.#silence)
    clearInterval(this.#beat)
    this.#leader?.close()
    this.#channel?.postMessage({ kind: 'wants', tab: this.#id, keys: [] } satisfies Message)
    this.#channel?.close()
    // The last: another tab leads from here on.
    this.#leaving.abort()
  }

  #join(name: string): void {
    this.#channel = new BroadcastChannel(name)
    this.#channel.addEventListener('message', ({ data }) => this.#hear(data as Message))
    // As long as this tab lives it has a lock of its own, by which the leader sees its end.
    this.#lock(`${name} ${this.#id}`, () => this.announce())
    this.#lock(name, () => this.#lead())
  }

  /** Has a lock, once it is free, until this tab leaves or another one takes it away. */
  #lock(name: string, onLock: () => void, steal = false): void {
    const { signal } = this.#leaving
    const hold = () => {
      if (!signal.aborted) onLock()
      return new Promise<void>((resolve) => {
        if (signal.aborted) resolve()
        signal.addEventListener('abort', () => resolve())
      })
    }
    void navigator.locks.request(name, steal ? { steal } : { signal }, hold).catch((error: unknown) => {
      if (signal.aborted) return
      if ((error as Error).name === 'AbortError') this.#follow()
      // A browser may have locks and not give them, as in a frame without an origin.
      else this.#lead()
    })
  }

  #lead(): void {
    clearTimeout(this.#silence)
    if (this.#leader) return
    const { raw, watches, onSignedOut } = this.#host
    this.#leader = new Leader(raw, watches, this.#wants, (news) => this.#tell(news), onSignedOut)
    for (const tab of this.#wants.keys()) this.#awaitEnd(tab)
    this.#channel?.postMessage({ kind: 'lead' } satisfies Message)
    if (this.#channel) this.#beat = setInterval(() => this.#tellStreams(), BEAT_MS)
    this.announce()
  }

  /** Another tab has taken the lead, because it heard nothing of this one. */
  #follow(): void {
    clearInterval(this.#beat)
    this.#leader?.close()
    this.#leader = undefined
    this.#lock(this.#name!, () => this.#lead())
    this.#announce()
  }

  #announce(): void {
    const { keys } = this.#host.watches
    if (keys.length === 0) return this.#host.onIdle()
    this.#wants.set(this.#id, keys)
    this.#channel?.postMessage({ kind: 'wants', tab: this.#id, keys } satisfies Message)
    if (this.#leader) this.#leader.arrange()
    else this.#expect(ANSWER_MS)
  }

  #tellStreams(): void {
    this.#tell({ kind: 'streams', streams: this.#host.watches.streams })
  }

  #tell(news: News): void {
    this.#channel?.postMessage(news satisfies Message)
    this.#host.watches.take(news)
  }

  #hear(message: Message): void {
    if (message.kind === 'wants') {
      const isNew = !this.#wants.has(message.tab)
      this.#wants.set(message.tab, message.keys)
      if (this.#leader && isNew) this.#awaitEnd(message.tab)
      this.#leader?.arrange()
    } else if (!this.#leader) {
      this.#expect(SILENCE_MS)
      if (message.kind === 'lead') this.#announce()
      else this.#host.watches.take(message)
    }
  }

  /** Takes the lead if the leader is not heard of: its page may be frozen, and have its lock all the same. */
  #expect(ms: number): void {
    clearTimeout(this.#silence)
    this.#silence = setTimeout(() => this.#lock(this.#name!, () => this.#lead(), true), ms)
  }

  /** Wants nothing for a tab any more when it has ended. */
  #awaitEnd(tab: string): void {
    if (tab === this.#id) return
    const { signal } = this.#leaving
    const forget = () => {
      this.#wants.delete(tab)
      this.#leader?.arrange()
    }
    void navigator.locks.request(`${this.#name} ${tab}`, { signal }, forget).catch(() => undefined)
  }
}
