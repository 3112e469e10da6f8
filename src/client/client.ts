import type { Static, TSchema } from 'typebox'

import type { FormBody, JsonBody, MultipartBody, RawBody, RouteBody } from '../http/bodies.ts'
import type { Route, RouteKey, RouteSpec } from '../http/route.ts'

/** Bytes with their type, or without one: then name it in the headers. */
type Bytes = Blob | Uint8Array<ArrayBuffer>

type SpecOf<Api extends Route, K> = Extract<Api, { key: K }>['spec']
type Schema<S, Part extends string> = S extends { [P in Part]: infer T extends TSchema } ? Static<T> : never

type PathParams<K> = K extends `${string}/:${infer Name}/${infer Rest}`
  ? Name | PathParams<`/${Rest}`>
  : K extends `${string}/:${infer Name}`
    ? Name
    : never

type ParamsInput<K> = [PathParams<K>] extends [never] ? object : { params: Record<PathParams<K>, string> }
/** What is sent as a body of each kind. Only of JSON the types say more: `fetch` sends the others as they are. */
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

type Input<K, S> = ParamsInput<K> &
  BodyInput<S> &
  QueryInput<S> & { headers?: Record<string, string>; token?: string; signal?: AbortSignal }

type Successes = 200 | 201 | 202
type Reply<S> = S extends RouteSpec
  ? {
      [C in keyof S['reply'] & Successes]: S['reply'][C] extends TSchema ? Static<S['reply'][C]> : never
    }[keyof S['reply'] & Successes]
  : never

type Arguments<K, S> = object extends Input<K, S> ? [input?: Input<K, S>] : [input: Input<K, S>]

/** Calls a route by its name: `call('POST /auth/login', { body: { email, password } })`. */
export type Client<Api extends Route> = {
  call<K extends Api['key'] & RouteKey>(
    key: K,
    ...input: Arguments<K, SpecOf<Api, K>>
  ): Promise<Reply<SpecOf<Api, K>>>
  /** The token sent with calls that name none. */
  token: string | undefined
}

/** The server answered with an error. */
export class CallError extends Error {
  override name = 'CallError'
  readonly status: number
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

type AnyInput = {
  params?: Record<string, string>
  query?: Record<string, unknown>
  body?: unknown
  headers?: Record<string, string>
  token?: string
  signal?: AbortSignal
}

/** Whether a body is sent as it is, with a content type that `fetch` or the caller gives it. */
const isReady = (body: unknown): body is URLSearchParams | FormData | Bytes =>
  [URLSearchParams, FormData, Blob, Uint8Array].some((kind) => body instanceof kind)

/** A value of the path, encoded. Of `.`, `..` and nothing at all an address would be made that is another one. */
function segment(name: string, value: string | undefined): string {
  if (value === undefined || value === '' || value === '.' || value === '..')
    throw new TypeError(`${name}: "${value ?? ''}" can't stand in a path`)
  return encodeURIComponent(value)
}

/** What the server says went wrong; nothing where something in between answered. */
function errorIn(text: string): { code?: string; message?: string; details?: Record<string, unknown> } {
  try {
    const { error } = JSON.parse(text) as { error?: unknown }
    return typeof error === 'object' && error !== null ? error : {}
  } catch {
    return {}
  }
}

/**
 * A client whose calls are typed by the server's own routes.
 *
 *     const api = createClient<Api>('http://localhost:3000')
 *     const { token } = await api.call('POST /auth/login', { body: { email, password } })
 *
 * @param baseUrl where the server is reached, with the prefix of a proxy where there is one
 * @throws CallError for every answer that is not a success; TypeError where a path can't be made of the parameters,
 *   and what `fetch` throws where no answer comes
 */
export function createClient<Api extends Route>(
  baseUrl: string,
  options: { token?: string; fetch?: typeof fetch } = {},
): Client<Api> {
  const send = options.fetch ?? fetch
  const client: Client<Api> = {
    token: options.token,
    async call(key, ...[given]) {
      const input: AnyInput = given ?? {}
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
      const text = await response.text()
      if (!response.ok) throw new CallError(response, errorIn(text))
      return (response.headers.get('content-type')?.includes('json') ? JSON.parse(text) : text) as never
    },
  }
  return client
}
