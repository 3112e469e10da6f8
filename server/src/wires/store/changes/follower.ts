import type { Path } from '../documents/language/query/path.ts'
import type { FeedEvent } from './change-event.ts'
import type { ResetReason } from './log.ts'
import type { LogPosition } from './position.ts'
import type { DocumentWatch } from './watch.ts'

/** Where a follower's events go. */
export type Output = {
  /** @returns whether more can be taken; if not, `drained` of the follower is called when it can */
  event(event: FeedEvent, watch: number): boolean
  reset(reason: ResetReason): void
  ping?(): void
}

/** Documents from which a value of `store.user` is read, and where in them. */
export type WatchedSource = DocumentWatch & { readonly path: Path }

/** What a caller follows, with the values of the caller in it. */
export type Following = {
  readonly watches: readonly DocumentWatch[]
  /** Documents by which the watches change: those that `store.user` is read from. */
  readonly sources: readonly WatchedSource[]
  /** The second part of its cursors: another one for another caller, other rules or other watches. */
  readonly audience: string
}

/** One stream or poll. What was sent is not kept: the position shows it. */
export type ChangeFollower = {
  following: Following
  /** Sources that changed up to here are in it; undefined if it may be wrong, and is to be read again before anything is delivered. */
  boundAt: LogPosition | undefined
  /** How often the definitions of collections had changed when it was bound. */
  definitions: number
  readonly output: Output
  /** For whom the log is read. */
  readonly caller: string
  /** Reads what it follows again, because a source, or the definition of a collection, has changed. */
  readonly bind: () => Promise<Following>
  /** Everything up to here was sent, and of what is newer all that the feed has come to, unless it is behind. */
  position: LogPosition
  generation: string
  /** The end of the log when the states that it received last were read from it: older ones may be withdrawn. */
  seenAt: LogPosition
  /** How many `reset` events it has received. */
  resets: number
  /** Whether it gets its events from the log, from its position on, and not with the others. */
  isBehind: boolean
  /** Whether its events are being read from the log. */
  isCatchingUp: boolean
  /** Whether the output takes nothing now. */
  isBlocked: boolean
  isClosed: boolean
}
