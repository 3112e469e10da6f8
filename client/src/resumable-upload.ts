import { isError } from './call-error.ts'
import { sleep } from './retry.ts'
import type { AnyInput } from './route-types.ts'
import type { SendWithProgress, UploadCalls, UploadOptions } from './upload-calls.ts'
import type { UploadPart } from './upload-parts.ts'

type UploadState = { _id: string; offset: number; file?: string; parts?: UploadPart[] }

// Each request has so much, which proxies take; of a lost one at most so much is sent again.
const PIECE_BYTES = 8_388_608
const FIRST_WAIT_MS = 250
const LONGEST_WAIT_MS = 30_000
/** How often it is tried again without a byte more: for about two minutes. */
const TRIES = 12
const READ_FILE = 'GET /store/files/:id'

/**
 * Stores a large file by several requests (https://tus.io/protocols/resumable-upload), and returns its record. It continues after
 * a lost connection or a start of the server, and after a reload of the page when the same file is given again.
 *
 * @param send sends a part to a bucket
 * @throws CallError if the server refuses it, or twelve attempts in a row bring nothing
 */
export async function uploadInPieces(
  calls: UploadCalls,
  file: Blob,
  { name, metadata, access, direct, onProgress, ...input }: UploadOptions,
  send: SendWithProgress,
): Promise<unknown> {
  const { size, type } = file
  const { name: ownName, lastModified } = file as Partial<File>
  const { headers: given, signal } = input
  const fields: [string, string | undefined][] = [
    // A form names a Blob so.
    ['filename', name ?? ownName ?? 'blob'],
    ['filetype', type],
    ['metadata', metadata && JSON.stringify(metadata)],
    ['access', access],
  ]
  const sent = fields.flatMap(([key, value]) => (value ? `${key} ${base64(value)}` : [])).join()
  // Which upload a file has, for the next start of the page. Bytes without a name may be any.
  const place = ownName ? `sixwire ${calls.baseUrl} upload ${size} ${lastModified} ${sent}` : ''
  const inputOf = (id: string, more: AnyInput = {}): AnyInput => ({ ...input, params: { id }, ...more })
  // If the answer is lost, the next attempt finds what the first has created.
  const idempotencyKey = `${Date.now()}-${Math.random()}`
  let id = recall(place)
  let offset: number | undefined
  let parts: UploadPart[] | undefined
  let furthest = 0
  let tries = 0
  for (;;) {
    try {
      if (!id) {
        const created = (await calls.call('POST /store/uploads', {
          ...input,
          idempotencyKey,
          headers: {
            ...given,
            'upload-length': String(size),
            'upload-metadata': sent,
            ...(direct && { 'upload-direct': 'true' }),
          },
        })) as UploadState
        id = created._id
        offset = 0
        parts = created.parts
        recall(place, id)
      } else if (offset === undefined || offset === size) {
        const state = (await calls.call('GET /store/uploads/:id', inputOf(id))) as UploadState
        offset = state.offset
        parts = state.parts
        if (state.file) {
          recall(place, '')
          return await calls.call(READ_FILE, inputOf(state.file))
        }
      }
      if (offset > furthest) {
        furthest = offset
        tries = 0
      }
      if (parts) {
        await (await import('./upload-parts.ts')).sendParts(send, file, parts, { offset, onProgress, signal })
        offset = undefined
        // They count once the server finds them in the bucket.
        if (++tries > TRIES) throw new Error('The bucket lists no parts')
        continue
      }
      const start = offset
      const { headers } = await calls.raw(
        'PATCH /store/uploads/:id',
        inputOf(id, {
          body: file.slice(start, start + PIECE_BYTES),
          headers: {
            ...given,
            'content-type': 'application/offset+octet-stream',
            'upload-offset': String(start),
          },
          ...(onProgress && {
            onProgress: ({ loaded }: { loaded: number }) =>
              onProgress({ loaded: Math.min(size, start + loaded), total: size }),
          }),
        }),
      )
      offset = Number(headers.get('upload-offset'))
      onProgress?.({ loaded: offset, total: size })
    } catch (error) {
      if (signal?.aborted) throw error
      // It has expired, or another account has begun it. A file that may not be read is not sent again.
      if (id && isError(error, 'NOT_FOUND') && error.route !== READ_FILE) {
        recall(place, (id = ''))
        offset = undefined
      } else if (!mayPass(error)) throw error
      // The server still reads the file, which may take long.
      if (isError(error, 'UPLOAD_BUSY')) tries = 0
      if (++tries > TRIES) throw error
      offset = undefined
      const ms = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (tries - 1)) * (0.5 + Math.random() / 2)
      await sleep(ms, signal)
    }
  }
}

/** Whether it may go on: a connection was lost, a server starts, or another request has continued. */
const mayPass = (error: unknown): boolean =>
  !isError(error) || error.status >= 500 || [408, 409, 423, 429].includes(error.status)

const base64 = (text: string): string =>
  btoa(Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join(''))

/** Reads which upload is under way, or writes it; nothing if the page may store nothing. */
function recall(place: string, id?: string): string {
  try {
    // Node has one as well, and warns.
    const storage = place && 'document' in globalThis ? localStorage : undefined
    if (id) storage?.setItem(place, id)
    else if (id === '') storage?.removeItem(place)
    return storage?.getItem(place) ?? ''
  } catch {
    return ''
  }
}
