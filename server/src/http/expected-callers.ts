import { BoundedMap } from '../base/bounded-map.ts'
import type { Caller, UserCaller } from './access.ts'

const TOKENS = 10_000

/**
 * The last caller of each token. The token may be invalid by now, so work that starts for an expected caller is answered
 * only after the token has been authenticated again, as the same caller.
 */
export class ExpectedCallers {
  readonly #callers = new BoundedMap<string, Caller>(TOKENS)

  get(token: string): Caller | undefined {
    return this.#callers.get(token)
  }

  /** Records the caller of a token once it is authenticated. */
  update(token: string, authentication: Promise<Caller | undefined>): Promise<Caller | undefined> {
    const recording = authentication.then((caller) => {
      const last = this.#callers.get(token)
      // What is known of a caller is found by the object.
      if (last && isSameCaller(caller, last)) return last
      if (caller) this.#callers.set(token, caller)
      else this.#callers.delete(token)
      return caller
    })
    recording.catch(() => undefined) // the caller of `update` handles it
    return recording
  }
}

/** Whether two callers are the same in everything that decides what they may do and see. */
export function isSameCaller(one: Caller | undefined, other: Caller | undefined): boolean {
  if (one === other) return true
  // A service key has a list of scopes; what a user has can be compared without writing it as text.
  if (one?.kind !== 'user' || other?.kind !== 'user') return JSON.stringify(one) === JSON.stringify(other)
  return (Object.keys(one) as (keyof UserCaller)[]).every((name) => one[name] === other[name])
}
