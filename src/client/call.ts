/** What any call takes: headers, a token of its own, and a signal that aborts it. */
export type CallOptions = { headers?: Record<string, string>; token?: string; signal?: AbortSignal }

type AnyInput = CallOptions & {
  params?: Record<string, string>
  query?: Record<string, unknown>
  body?: unknown
}

/** A call of any route, without its types. */
export type ClientCall = (key: string, input?: AnyInput) => Promise<unknown>
