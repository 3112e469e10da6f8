import type { FeedChange } from './connection.ts'

/** A watch as the server takes it, in JSON: what is watched alike has one key. */
export type WatchKey = string

/** A connection to the server, as each tab knows it. */
export type Stream = {
  keys: readonly WatchKey[]
  /** Connections that it takes the place of, once it is ready. */
  replaces: readonly string[]
  isReady: boolean
  cursor?: string | undefined
}

/** All connections, by their ids, the oldest first. */
export type Streams = { [id: string]: Stream }

/** An error of the server as plain values: a class does not pass between tabs. */
export type ServerRefusal = {
  status: number
  code: string
  message: string
  details?: Record<string, unknown> | undefined
}

/** What the tab with the connections tells all, itself too. */
export type News =
  | { kind: 'streams'; streams: Streams }
  | { kind: 'change'; stream: string; change: FeedChange }
  | { kind: 'refusal'; key: WatchKey; refusal: ServerRefusal }

/** What a tab tells the others: what it wants to know, or that it has the connections now and asks what they want. */
export type Message = News | { kind: 'wants'; tab: string; keys: readonly WatchKey[] } | { kind: 'lead' }
