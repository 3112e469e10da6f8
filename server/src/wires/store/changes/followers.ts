import type { LoggedChange } from './logged-change.ts'
import type { ChangeFollower } from './follower.ts'
import type { DocumentWatch } from './watch.ts'
import { WatchIndex, type WatchGroup } from './watch-index.ts'

/** A follower, and which of its watches. */
export type Member = { readonly follower: ChangeFollower; readonly watch: number }

/** Who follows, and by what they are found. */
export class Followers {
  readonly #watches = new WatchIndex<Member>()
  readonly #sources = new WatchIndex<ChangeFollower>()
  readonly #members = new Map<ChangeFollower, ReadonlyMap<DocumentWatch, Member>>()

  get size(): number {
    return this.#members.size
  }

  [Symbol.iterator](): Iterator<ChangeFollower> {
    return this.#members.keys()
  }

  /** The collections that are watched, or whose documents are sources. */
  collections(): Set<string> {
    return new Set([...this.#watches.collections(), ...this.#sources.collections()])
  }

  add(follower: ChangeFollower): void {
    const { watches, sources } = follower.following
    const members = new Map(watches.map((one, watch) => [one, { follower, watch }]))
    for (const [watch, member] of members) this.#watches.add(watch, member)
    for (const source of sources) this.#sources.add(source, follower)
    this.#members.set(follower, members)
  }

  remove(follower: ChangeFollower): void {
    const members = this.#members.get(follower)
    if (!members) return
    for (const [watch, member] of members) this.#watches.remove(watch, member)
    for (const source of follower.following.sources) this.#sources.remove(source, follower)
    this.#members.delete(follower)
  }

  /** The watches that a change may concern. */
  near(change: LoggedChange): Iterable<WatchGroup<Member>> {
    return this.#watches.near(change)
  }

  /** Those that may follow something else because of a change, by their sources. */
  nearSource(change: LoggedChange): Iterable<WatchGroup<ChangeFollower>> {
    return this.#sources.near(change)
  }
}
