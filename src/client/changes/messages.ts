import type { Change } from './connection.ts'

/** A watch as the server takes it, in JSON: what is watched alike has one key. */
export type Key = string

/** A connection to the server, as each tab knows it. */
export type Stream = {
  keys: readonly Key[]
  /** Connections that it takes the place of, once it is ready. */
  replaces: readonly string[]
  isReady: boolean
  cursor?: string | undefined
}

/** All connections, by their ids, the oldest first. */
export type Streams = { [id: string]: Stream }

/** An error of the server as plain values: a class does not pass between tabs. */
export type Refusal = {
  status: number
  code: string
  message: string
  details?: Record<string, unknown> | undefined
}

/** What the tab with the connections tells all, itself too. */
export type News =
  | { kind: 'streams'; streams: Streams }
  | { kind: 'change'; stream: string; change: Change }
  | { kind: 'refusal'; key: Key; refusal: Refusal }

/** What a tab tells the others: what it wants to know, or that it has the connections now and asks what they want. */
export type Message = News | { kind: 'wants'; tab: string; keys: readonly Key[] } | { kind: 'lead' }
