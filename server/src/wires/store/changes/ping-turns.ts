import type { ChangeFollower } from './follower.ts'

/** Followers by the second of the interval in which they are pinged: a few each time. */
export class PingTurns {
  readonly #turns: readonly Set<ChangeFollower>[]
  #turn = 0

  constructor(turns: number) {
    this.#turns = Array.from({ length: turns }, () => new Set())
  }

  add(follower: ChangeFollower): void {
    this.#turns.reduce((least, one) => (one.size < least.size ? one : least)).add(follower)
  }

  delete(follower: ChangeFollower): void {
    for (const turn of this.#turns) turn.delete(follower)
  }

  /** Those whose turn it is. */
  next(): Iterable<ChangeFollower> {
    this.#turn = (this.#turn + 1) % this.#turns.length
    return this.#turns[this.#turn]!
  }
}
