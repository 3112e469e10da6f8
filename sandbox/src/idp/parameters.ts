/** The parameters of an OAuth request; empty ones count as absent (RFC 6749, section 3.1). */
export type OAuthParameters = {
  readonly get: (name: string) => string | undefined
  /** A parameter that was sent more than once, for which the request is refused. */
  readonly repeated: string | undefined
}

export function parametersOf(query: URLSearchParams): OAuthParameters {
  return {
    get: (name) => query.get(name) || undefined,
    repeated: [...new Set(query.keys())].find((name) => query.getAll(name).length > 1),
  }
}

/** The parameters in an address. */
export const queryOf = (url: string): URLSearchParams => new URL(url, 'http://here').searchParams
