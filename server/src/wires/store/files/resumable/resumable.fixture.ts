// Uploads by tus as clients make them: tus-js-client, and requests that are cut off.
import { createHash } from 'node:crypto'
import { request, type ClientRequest } from 'node:http'

import { Upload, type UploadOptions } from 'tus-js-client'

import type { TestAnswer, TestApp } from '../../../../testing/app.ts'

export const PIECE = { 'content-type': 'application/offset+octet-stream', 'tus-resumable': '1.0.0' }

export const sha256Of = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** Uploads by tus-js-client. @returns the address of the upload, and the last answer’s header Upload-File */
export function uploadByTus(
  url: string,
  token: string,
  bytes: Buffer,
  options: Partial<UploadOptions> = {},
): { upload: Upload; done: Promise<{ url: string; file: string | undefined }> } {
  const done = Promise.withResolvers<{ url: string; file: string | undefined }>()
  const upload = new Upload(bytes, {
    endpoint: `${url}/store/uploads`,
    headers: { authorization: `Bearer ${token}` },
    metadata: { filename: 'a.bin' },
    retryDelays: null,
    onError: (error) => done.reject(error),
    onSuccess: ({ lastResponse }) =>
      done.resolve({ url: upload.url!, file: lastResponse.getHeader('upload-file') }),
    ...options,
  })
  upload.start()
  return { upload, done: done.promise }
}

/** Creates an upload. @returns its path */
export async function create(
  app: TestApp,
  token: string,
  size: number,
  headers: Record<string, string> = {},
): Promise<string> {
  const { body, status, text } = await app.request('POST', '/store/uploads', {
    token,
    headers: { 'upload-length': String(size), ...headers },
  })
  if (status !== 201) throw new Error(`creation answered ${status}: ${text}`)
  return `/store/uploads/${body._id}`
}

/** Appends a whole body. */
export const append = (
  app: TestApp,
  token: string,
  path: string,
  { offset, bytes, headers }: { offset: number; bytes: Buffer; headers?: Record<string, string> },
): Promise<TestAnswer> =>
  app.request('PATCH', path, {
    token,
    raw: new Uint8Array(bytes),
    headers: { ...PIECE, 'upload-offset': String(offset), ...headers },
  })

/** Begins a body of which more is announced than is sent. @returns once that is on its way */
export async function beginAppend(
  app: TestApp,
  token: string,
  path: string,
  {
    offset,
    bytes,
    length,
    headers,
  }: { offset: number; bytes: Buffer; length: number; headers?: Record<string, string> },
): Promise<ClientRequest> {
  const begun = request(app.url + path, {
    method: 'PATCH',
    headers: {
      ...PIECE,
      authorization: `Bearer ${token}`,
      'upload-offset': String(offset),
      'content-length': String(length),
      ...headers,
    },
  })
  // Its connection is cut.
  begun.on('error', () => undefined)
  await new Promise((resolve) => begun.write(bytes, resolve))
  return begun
}

/** How many bytes the server has, by HEAD. */
export async function offsetOf(app: TestApp, token: string, path: string): Promise<number> {
  const { headers } = await app.request('HEAD', path, { token })
  return Number(headers.get('upload-offset'))
}

/** The bytes of a file as they are served. */
export async function contentOf(app: { url: string }, token: string, file: string): Promise<Buffer> {
  const answer = await fetch(`${app.url}/store/files/${file}/content`, {
    headers: { authorization: `Bearer ${token}` },
  })
  return Buffer.from(await answer.arrayBuffer())
}
