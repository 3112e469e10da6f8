import type { Static, TSchema } from 'typebox'

import type { FormBody, JsonBody, MultipartBody, RawBody, RouteBody } from '../http/bodies.ts'
import type { Route, RouteKey, RouteSpec } from '../http/route.ts'
import type { ClientCall, CallOptions } from './call.ts'
import { createCollection, type Collection } from './collection.ts'

/** Bytes. A Blob has a content type; for a Uint8Array set it in the headers. */
type Bytes = Blob | Uint8Array<ArrayBuffer>

type SpecOf<Api extends Route, K> = Extract<Api, { key: K }>['spec']
type Schema<S, Part extends string> = S extends { [P in Part]: infer T extends TSchema } ? Static<T> : never

type PathParams<K> = K extends `${string}/:${infer Name}/${infer Rest}`
  ? Name | PathParams<`/${Rest}`>
  : K extends `${string}/:${infer Name}`
    ? Name
    : never

type ParamsInput<K> = [PathParams<K>] extends [never] ? object : { params: Record<PathParams<K>, string> }
/** The body of a call for each kind of body. Only JSON has a type of its own; `fetch` sends the others unchanged. */
type BodyOf<B> =
  B extends JsonBody<infer T>
    ? Static<T>
    : B extends FormBody
      ? URLSearchParams
      : B extends RawBody
        ? Bytes
        : B extends MultipartBody
          ? FormData
          : never
type BodyInput<S> = S extends { body: infer B extends RouteBody } ? { body: BodyOf<B> } : object
type QueryInput<S> = [Schema<S, 'query'>] extends [never] ? object : { query?: Partial<Schema<S, 'query'>> }

type Input<K, S> = ParamsInput<K> & BodyInput<S> & QueryInput<S> & CallOptions

type Successes = 200 | 201 | 202
type Reply<S> = S extends RouteSpec
  ? {
      [C in keyof S['reply'] & Successes]: S['reply'][C] extends TSchema ? Static<S['reply'][C]> : never
    }[keyof S['reply'] & Successes]
  : never

type Arguments<K, S> = object extends Input<K, S> ? [input?: Input<K, S>] : [input: Input<K, S>]

/** A typed client; see `createClient`. */
export type Client<Api extends Route> = {
  /**
   * Calls a route by its method and path, and returns the body of the answer.
   *
   * @param input `params` of the path, `query`, `body`, `headers`, a `token` for this call, and a `signal` that aborts it
   * @throws CallError if the server answers with an error
   * @throws TypeError if a value of `params` cannot be part of a path; otherwise what `fetch` throws
   * @example
   * const { user } = await api.call('POST /auth/login', { body: { email, password } })
   */
  call<K extends Api['key'] & RouteKey>(
    key: K,
    ...input: Arguments<K, SpecOf<Api, K>>
  ): Promise<Reply<SpecOf<Api, K>>>
  /**
   * The documents of a collection of the store.
   *
   * @example
   * const books = api.collection<{ title: string; year: number }>('books')
   * const { data } = await books.list({ filter: { year: { $lt: 1980 } }, sort: ['-year'] })
   */
  collection<T extends object>(name: string): Collection<T>
  /** The token for calls without a token of their own. It can be changed. */
  token: string | undefined
}

/**
 * An error that the server answered.
 *
 * @example
 * try {
 *   await api.call('POST /auth/login', { body })
 * } catch (error) {
 *   if (error instanceof CallError && error.code === 'RATE_LIMITED') await wait(error.headers.get('retry-after'))
 *   else throw error
 * }
 */
export class CallError extends Error {
  override name = 'CallError'
  /** The HTTP status. */
  readonly status: number
  /** The code of the error, such as `NOT_FOUND`; `UNKNOWN` if the answer is not the server's own. */
  readonly code: string
  readonly details: Record<string, unknown> | undefined
  readonly headers: Headers
  constructor(
    response: Response,
    error: { code?: string; message?: string; details?: Record<string, unknown> },
  ) {
    super(error.message ?? `The server answered ${response.status}.`)
    this.status = response.status
    this.code = error.code ?? 'UNKNOWN'
    this.details = error.details
    this.headers = response.headers
  }
}

/** Whether `fetch` sends a body unchanged; `fetch` or the caller sets the content type. */
const isReady = (body: unknown): body is URLSearchParams | FormData | Bytes =>
  [URLSearchParams, FormData, Blob, Uint8Array].some((kind) => body instanceof kind)

/** Encodes a value of the path. An empty value, `.` and `..` are refused, because they would make another path. */
function segment(name: string, value: string | undefined): string {
  if (value === undefined || value === '' || value === '.' || value === '..')
    throw new TypeError(`${name}: "${value ?? ''}" cannot be part of a path`)
  return encodeURIComponent(value)
}

/** The error of an answer; empty if something between client and server answered. */
function errorIn(text: string): { code?: string; message?: string; details?: Record<string, unknown> } {
  try {
    const { error } = JSON.parse(text) as { error?: unknown }
    return typeof error === 'object' && error !== null ? error : {}
  } catch {
    return {}
  }
}

/**
 * Creates a client whose calls are typed by the routes of the server. It needs `fetch` only, so it works in browsers.
 *
 * @param baseUrl the URL of the server, with the path prefix of a proxy if there is one
 * @param options.token the token of calls without a token of their own
 * @param options.fetch replaces the global `fetch`
 * @example
 * const api = createClient<Api>('http://localhost:3000')
 * const { token } = await api.call('POST /auth/login', { body: { email, password } })
 * api.token = token
 */
export function createClient<Api extends Route>(
  baseUrl: string,
  options: { token?: string; fetch?: typeof fetch } = {},
): Client<Api> {
  const send = options.fetch ?? fetch
  const call: ClientCall = async (key, input = {}) => {
    const [method, path] = key.split(' ') as [string, string]
    const filled = path.replaceAll(/:(\w+)/g, (_, name: string) => segment(name, input.params?.[name]))
    const url = new URL(baseUrl.replace(/\/+$/, '') + filled)
    for (const [name, value] of Object.entries(input.query ?? {}))
      if (value !== undefined)
        url.searchParams.set(name, typeof value === 'string' ? value : JSON.stringify(value))
    const token = input.token ?? client.token
    const { body } = input
    const response = await send(url, {
      method,
      headers: {
        ...(body !== undefined && !isReady(body) && { 'content-type': 'application/json' }),
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...input.headers,
      },
      ...(body !== undefined && { body: isReady(body) ? body : JSON.stringify(body) }),
      ...(input.signal && { signal: input.signal }),
    })
    // Bytes of a file, of whatever type.
    if (response.ok && response.headers.has('content-disposition')) return await response.blob()
    const text = await response.text()
    if (!response.ok) throw new CallError(response, errorIn(text))
    return response.headers.get('content-type')?.includes('json') ? (JSON.parse(text) as unknown) : text
  }
  const client: Client<Api> = {
    token: options.token,
    call: (key, ...[input]) => call(key, input) as never,
    collection: (name) => createCollection(call, name),
  }
  return client
}
