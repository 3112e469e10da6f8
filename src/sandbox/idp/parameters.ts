/** The parameters of an OAuth request: each once, empty ones left out (RFC 6749, section 3.1). */
export type Parameters = {
  readonly get: (name: string) => string | undefined
  /** A parameter that was sent more than once, for which the request is refused. */
  readonly repeated: string | undefined
}

export function parametersOf(given: URLSearchParams): Parameters {
  return {
    get: (name) => given.get(name) || undefined,
    repeated: [...new Set(given.keys())].find((name) => given.getAll(name).length > 1),
  }
}

/** The parameters in an address. */
export const queryOf = (url: string): URLSearchParams => new URL(url, 'http://here').searchParams
