/**
 * The processes that answer one port: the workers of `sixwire start --workers`. What they tell each other is only a matter of
 * speed and of figures: what must be right is in the database, as for servers on several machines.
 *
 * A topic has one handler, the one that was set last: an instance with new settings takes over those of the one before.
 */
export type Siblings = {
  /** How many processes there are, this one included. */
  readonly count: number
  /** Which of them this one is, from 0. What concerns all is logged by 0. */
  readonly index: number
  /**
   * Tells all others. A process that is starting or ending does not hear it, and nobody knows.
   *
   * @param content JSON
   */
  tell(topic: string, content?: unknown): void
  /**
   * Asks all others. Resolves once they have answered, or after `limitMs`.
   *
   * @param content JSON
   * @returns the answers, in any order, and how many did not answer
   */
  ask(topic: string, content?: unknown, limitMs?: number): Promise<{ answers: unknown[]; missing: number }>
  /** Sets what is called when another one tells or asks; `ask` answers what it returns, which is JSON. */
  on(topic: string, handle: (content: unknown) => unknown): void
}

/** A server that is one process. */
export const NO_SIBLINGS: Siblings = {
  count: 1,
  index: 0,
  tell: () => undefined,
  ask: async () => ({ answers: [], missing: 0 }),
  on: () => undefined,
}
