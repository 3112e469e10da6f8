import type { FastifyInstance } from 'fastify'

/** What an OAuth request said: each parameter once, empty ones left out (RFC 6749, section 3.1). */
export type Parameters = {
  readonly get: (name: string) => string | undefined
  /** A parameter that came more than once: such a request is refused. */
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

/** Lets a plugin's routes take forms; their body is then a `URLSearchParams`. */
export function takeForms(engine: FastifyInstance): void {
  engine.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string' },
    (_request, body, done) => done(null, new URLSearchParams(body as string)),
  )
}

/** The form of a request; an empty one where it sent something else. */
export const formOf = (body: unknown): URLSearchParams =>
  body instanceof URLSearchParams ? body : new URLSearchParams()
