/**
 * The processes that answer one port: the workers of `sixwire start --workers`. What they tell each other is a matter of
 * speed and of figures only: what must be right is in the database, as for servers on several machines.
 *
 * All contents are JSON. A topic has one handler, the one that was set last: an instance with new settings takes over from
 * the one before.
 */
export type Siblings = {
  /** How many processes there are, this one included. */
  readonly count: number
  /** Which of them this one is, from 0. */
  readonly index: number
  /**
   * Whether this one starts the server. It says what is said at a start, and its port is open from the beginning. The others
   * start when it answers, or take the place of one that has ended.
   */
  readonly isFirst: boolean
  /** Tells all others. A process that is starting or ending does not hear it, and nobody knows. */
  tell(topic: string, content?: unknown): void
  /** Asks all others. Resolves once they have answered, or after `limitMs`; default 1000. */
  ask(topic: string, content?: unknown, limitMs?: number): Promise<Answers>
  /** Sets what is called when another one tells or asks; `ask` answers what it returns. */
  on(topic: string, handle: (content: unknown) => unknown): void
  /** Has something kept that stands in for answers of this process, and that its successor inherits if it dies. */
  keep(topic: string, content: unknown): void
  /** What the process whose place this one took had kept; undefined if there is nothing. */
  inherited(topic: string): unknown
}

/** What the others answered, in any order, and what those have kept that did not answer; undefined for nothing. */
export type Answers = { readonly answers: readonly unknown[]; readonly missing: readonly unknown[] }

/** A server that is one process. */
export const NO_SIBLINGS: Siblings = {
  count: 1,
  index: 0,
  isFirst: true,
  tell: () => undefined,
  ask: async () => ({ answers: [], missing: [] }),
  on: () => undefined,
  keep: () => undefined,
  inherited: () => undefined,
}
