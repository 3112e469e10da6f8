import type { Caller } from './access.ts'

/** What the log and the metrics record of an answer. */
export type AnswerRecord = {
  requestId: string
  /** The trace id of the request's `traceparent`, if it had a valid one. */
  traceId?: string | undefined
  method: string
  /** The route's pattern; undefined if no route answered. */
  route: string | undefined
  /** The path that was requested, without its query. */
  path: string
  /** 499 if the client disconnected before it had the answer. */
  status: number
  ms: number
  /** The client's address; a forwarded one only from a trusted proxy. */
  ip: string
  /** Who called; undefined for strangers. */
  caller: Caller | undefined
  /** The code of the error that was answered: `NOT_FOUND`. */
  code?: string | undefined
}
