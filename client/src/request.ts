import type { AnyInput } from './route-types.ts'

// By their names, because React Native has no streams.
const isOf = (name: string, value: unknown): boolean => {
  const kind = (globalThis as unknown as Record<string, (new () => unknown) | undefined>)[name]
  return kind !== undefined && value instanceof kind
}

const isStream = (body: unknown): boolean => isOf('ReadableStream', body)

/** Whether `fetch` sends a body unchanged; `fetch` or the caller sets the content type. */
const isReady = (body: unknown): boolean =>
  ['ReadableStream', 'URLSearchParams', 'FormData', 'Blob', 'Uint8Array'].some((name) => isOf(name, body))

/** A stream is used up by its first attempt. */
export const isRepeatable = ({ body }: AnyInput): boolean => !isStream(body)

/** Encodes a value of the path. An empty value, `.` and `..` are refused, because they would make another path. */
function segment(name: string, value: string | undefined): string {
  if (value === undefined || value === '' || value === '.' || value === '..')
    throw new TypeError(`${name}: "${value ?? ''}" cannot be part of a path`)
  return encodeURIComponent(value)
}

/** The address of a call. */
export function urlOf(baseUrl: string, key: string, { params, query }: AnyInput): string {
  const path = key.slice(key.indexOf(' ') + 1)
  const filled = path.replaceAll(/:(\w+)/g, (_, name: string) => segment(name, params?.[name]))
  // Not by URLSearchParams, which React Native has in part only.
  const search = Object.entries(query ?? {})
    .flatMap(([name, value]) =>
      value === undefined
        ? []
        : [name, typeof value === 'string' ? value : JSON.stringify(value)].map(encodeURIComponent).join('='),
    )
    .join('&')
  return baseUrl.replace(/\/+$/, '') + filled + (search && `?${search}`)
}

/** What `fetch` takes for a call. */
export function requestOf(
  key: string,
  { body, signal }: AnyInput,
  given: Headers,
  token: string | undefined,
) {
  const isJson = body !== undefined && !isReady(body)
  const headers = new Headers(given)
  const setDefault = (name: string, value: string) => headers.has(name) || headers.set(name, value)
  if (isJson) setDefault('content-type', 'application/json')
  if (token) setDefault('authorization', `Bearer ${token}`)
  return {
    method: key.slice(0, key.indexOf(' ')),
    headers,
    body: isJson ? JSON.stringify(body) : (body as NonNullable<RequestInit['body']>),
    // A stream needs it.
    duplex: 'half' as const,
    signal,
  }
}

/** The body of a successful answer: a value of JSON, text, or a Blob of a file. */
export async function readBody(response: Response): Promise<unknown> {
  if (response.headers.has('content-disposition')) return response.blob()
  const text = await response.text()
  return text && response.headers.get('content-type')?.includes('json')
    ? (JSON.parse(text) as unknown)
    : text || undefined
}
