import { abortError } from './abort.ts'
import type { AnyInput } from './route-types.ts'
import type { UploadCalls, UploadOptions } from './upload-calls.ts'

type Progress = NonNullable<AnyInput['onProgress']>
type Request = {
  method: string
  headers: Headers
  body?: unknown
  signal?: AbortSignal
}

type Listen<E> = (type: string, listener: (event: E) => void) => void

/** What is used of XMLHttpRequest, whose types are those of browsers. */
type Xhr = {
  open(method: string, url: string): void
  setRequestHeader(name: string, value: string): void
  send(body: unknown): void
  abort(): void
  getAllResponseHeaders(): string
  responseType: string
  response: Blob
  status: number
  upload: { addEventListener: Listen<{ loaded: number; total: number }> }
  addEventListener: Listen<unknown>
}

const linesOf = (lines: string): [string, string][] =>
  lines
    .trim()
    .split(/[\r\n]+/)
    .map((line) => line.split(/: ?(.*)/s) as unknown as [string, string])
    .map(([name, value]) => [name, value])

/** `fetch` that tells how much of the body is sent, if there is an XMLHttpRequest. */
export const sendWithProgress = (
  url: string,
  request: Request & RequestInit,
  onProgress: Progress,
): Promise<Response> =>
  'XMLHttpRequest' in globalThis ? sendByXhr(url, request, onProgress) : fetch(url, request)

const sendByXhr = (
  url: string,
  { method, headers, body, signal }: Request,
  onProgress: Progress,
): Promise<Response> =>
  new Promise((resolve, reject) => {
    if (signal?.aborted) throw abortError(signal)
    const xhr = new (globalThis as unknown as { XMLHttpRequest: new () => Xhr }).XMLHttpRequest()
    xhr.open(method, url)
    headers.forEach((value, name) => xhr.setRequestHeader(name, value))
    xhr.responseType = 'blob'
    xhr.upload.addEventListener('progress', ({ loaded, total }) => onProgress({ loaded, total }))
    xhr.addEventListener('load', () => {
      const { status, response } = xhr
      const answered = { status, headers: linesOf(xhr.getAllResponseHeaders()) }
      resolve(new Response(status === 204 || status === 304 ? null : response, answered))
    })
    xhr.addEventListener('error', () => reject(new TypeError(`${method} ${url} failed`)))
    xhr.addEventListener('abort', () => reject(abortError(signal!)))
    signal?.addEventListener('abort', () => xhr.abort())
    xhr.send(body)
  })

const isOne = (files: Blob | Iterable<Blob>): files is Blob => !(Symbol.iterator in files)

/** A larger file is sent by several requests. */
const LARGE_BYTES = 8_388_608
/** Longer metadata may not fit into the header of an upload by several requests. */
const HEADER_CHARACTERS = 3_072

/** Stores a file, or several by one call, and returns its record, or a list of theirs. */
export async function upload(
  calls: UploadCalls,
  files: Blob | Iterable<Blob>,
  options: UploadOptions = {},
): Promise<unknown> {
  const { name, metadata, access, direct, ...input } = options
  const json = metadata && JSON.stringify(metadata)
  const isInPieces =
    isOne(files) &&
    files.size > (direct ? 0 : LARGE_BYTES) &&
    // A key is of one request.
    input.idempotencyKey === undefined &&
    (json ?? '').length <= HEADER_CHARACTERS
  if (isInPieces)
    return (await import('./resumable-upload.ts')).uploadInPieces(calls, files, options, sendWithProgress)
  const body = new FormData()
  if (name !== undefined && isOne(files)) body.append('file', files, name)
  else appendFiles(body, 'file', files)
  if (json) body.append('metadata', json)
  if (access) body.append('access', access)
  if (isOne(files)) return calls.call('POST /store/upload', { ...input, body })
  return ((await calls.call('POST /store/files', { ...input, body })) as { files: unknown[] }).files
}

/** The body of a document that is created with its files, by the names of their fields. */
export function documentForm(
  document: object,
  files: Record<string, Blob | Iterable<Blob> | undefined>,
): FormData {
  const body = new FormData()
  // The server reads it first.
  body.append('_json', JSON.stringify(document))
  for (const [field, given] of Object.entries(files)) if (given) appendFiles(body, field, given)
  return body
}

function appendFiles(body: FormData, field: string, files: Blob | Iterable<Blob>): void {
  for (const file of isOne(files) ? [files] : files) body.append(field, file)
}
