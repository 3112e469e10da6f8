import { once } from 'node:events'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'

import type { Logger } from '../../../../base/logger.ts'
import { checkedStream } from '../../../../base/checked-stream.ts'
import { newId } from '../../../../base/ids.ts'
import { errors } from '../../../../base/errors.ts'
import {
  isCurrentCopy,
  isRangeCurrent,
  type Conditions,
  type Validators,
} from '../../../../http/conditions.ts'
import { answer, type Answer } from '../../../../http/route.ts'
import { storeErrors } from '../../errors.ts'
import { NoSuchObject, type ByteRange } from '../../objects/storage.ts'
import { dispositionOf, isPlayed } from './disposition.ts'
import { lengthOf, rangesOf } from './ranges.ts'
import { SMALL_BYTES, type RecentBytes } from './recent-bytes.ts'
import { NOT_UTF8, plainTypeOf } from '../sniff.ts'

/** Bytes that can be answered. */
export type Content = Validators & {
  /** What it is, for an error: `file 0123`. */
  what: string
  /** The name under which a browser stores it. */
  name: string
  contentType: string
  size: number
  /** Which headers of a request it depends on. */
  vary?: string
  /** How caches may use it; default: after asking each time. */
  cacheControl?: string
  /** Has the bytes in memory if they are small and were asked for recently. */
  recent?: RecentBytes
  /** @throws NoSuchObject; UNAVAILABLE */
  open(range?: ByteRange): Promise<Readable>
}

export type ContentRequest = {
  headers: Conditions & { range?: string }
  isHead: boolean
  isDownload: boolean
  /** Read only if there is something to log. */
  log: () => Logger
}

// Nothing in an answer may run, even if its type were wrong. The directives after the first are for the page that a browser
// makes of an image, a video or a sound. A player asks for its ranges from the origin of that page, so it needs one.
const policyOf = (contentType: string): string =>
  `sandbox${isPlayed(contentType) ? ' allow-same-origin' : ''}; default-src 'none'; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'; frame-ancestors 'none'`

/**
 * Answers bytes as RFC 9110 says: conditions (section 13), then ranges (section 14).
 *
 * @throws PRECONDITION_FAILED, RANGE_NOT_SATISFIABLE, UNAVAILABLE; INTERNAL_ERROR if the bytes are missing
 */
export async function answerContent(content: Content, request: ContentRequest): Promise<Answer<Blob>> {
  const { size, etag } = content
  const { headers: asked, isHead } = request
  const validators = {
    etag,
    'last-modified': new Date(content.modifiedAt).toUTCString(),
    // Who may read a file can change: a copy is shown only after asking, which is a 304.
    'cache-control': content.cacheControl ?? 'private, no-cache',
    // Also of a 304: its headers replace those of the copy.
    'content-security-policy': policyOf(content.contentType),
    ...(content.vary !== undefined && { vary: content.vary }),
  }
  if (isCurrentCopy(asked, content))
    return answer<Blob>(Readable.from([]), { status: 304, headers: validators })

  const type = mediaTypeOf(content.contentType)
  const headers = {
    ...validators,
    'accept-ranges': 'bytes',
    'content-disposition': dispositionOf(plainTypeOf(content.contentType), content.name, request.isDownload),
    'content-type': type,
  }
  const whole = { ...headers, 'content-length': String(size) }
  if (isHead) return answer<Blob>(Readable.from([]), { headers: whole })

  const ranges = isRangeCurrent(asked['if-range'], content) ? rangesOf(asked.range, size) : undefined
  if (ranges === undefined) {
    return answer<Blob>(await wholeOf(content, request), { headers: whole })
  }
  if (ranges === 'unsatisfiable')
    throw storeErrors.range_not_satisfiable({
      message: `No part of the Range is within the ${size} bytes of the file.`,
      headers: { 'content-range': `bytes */${size}` },
    })
  const [range, second] = ranges
  if (!second)
    return answer<Blob>(await openWhole(content, range, request), {
      status: 206,
      headers: {
        ...headers,
        'content-range': contentRange(range!, size),
        'content-length': String(lengthOf(range!)),
      },
    })
  const parts = partsOf(ranges, type, size)
  // Opened before the answer begins, so that missing bytes are known.
  const first = await openWhole(content, range, request)
  const stream = Readable.from(
    multipart(parts, first, (next) => openWhole(content, next, request)),
    { objectMode: false },
  )
  // If the client has gone already, the generator is never begun, and closes nothing.
  stream.once('close', () => first.destroy())
  return answer<Blob>(stream, {
    status: 206,
    headers: {
      ...headers,
      'content-type': `multipart/byteranges; boundary=${parts.boundary}`,
      'content-length': String(parts.length),
    },
  })
}

/** The type with the encoding, if that is known. */
const mediaTypeOf = (contentType: string): string =>
  contentType.startsWith('text/') && !contentType.endsWith(NOT_UTF8)
    ? `${contentType}; charset=utf-8`
    : plainTypeOf(contentType)

const contentRange = ({ start, end }: ByteRange, size: number): string => `bytes ${start}-${end}/${size}`

/** All bytes. */
async function wholeOf(content: Content, request: ContentRequest): Promise<Readable | Buffer> {
  const open = () => openWhole(content, undefined, request)
  if (!content.recent || content.size > SMALL_BYTES) return open()
  return content.recent(content.etag, async () => buffer(await open()))
}

/** A stream of exactly the bytes that were announced. Its first bytes have been read when this resolves. */
export async function openWhole(
  content: Pick<Content, 'what' | 'size' | 'open'>,
  range: ByteRange | undefined,
  { log }: Pick<ContentRequest, 'log'>,
): Promise<Readable> {
  const length = range ? lengthOf(range) : content.size
  let isAnswering = false
  try {
    const source = await content.open(range)
    const stream = exactly(source, length, (error) => {
      if (isAnswering)
        log().error(
          { err: error },
          `${content.what}: the answer was cut off, because its bytes cannot be read`,
        )
    })
    await once(stream, 'readable')
    isAnswering = true
    return stream
  } catch (error) {
    if (!(error instanceof NoSuchObject) && !(error instanceof WrongLength)) throw error
    throw errors.internal_error({
      message: `The bytes of ${content.what} are missing in the storage: an operator can restore them.`,
      cause: error,
    })
  }
}

class WrongLength extends Error {}

/** Passes bytes on, and fails unless there are as many as announced: an answer that is cut short must not end well. */
function exactly(source: Readable, length: number, onFailure: (error: Error) => void): Readable {
  let bytesLeft = length
  const wrong = () =>
    new WrongLength(`the storage has ${bytesLeft > 0 ? 'fewer' : 'more'} than ${length} bytes of this`)
  const stream = checkedStream(source, {
    chunk(bytes) {
      bytesLeft -= bytes.length
      return bytesLeft < 0 ? wrong() : undefined
    },
    end: () => (bytesLeft === 0 ? undefined : wrong()),
  })
  return stream.on('error', onFailure)
}

type Parts = {
  boundary: string
  heads: readonly { range: ByteRange; head: string }[]
  end: string
  length: number
}

/** The parts of `multipart/byteranges`, RFC 9110 section 14.6. */
function partsOf(ranges: readonly ByteRange[], type: string, size: number): Parts {
  const boundary = newId()
  const heads = ranges.map((range) => ({
    range,
    head: `\r\n--${boundary}\r\ncontent-type: ${type}\r\ncontent-range: ${contentRange(range, size)}\r\n\r\n`,
  }))
  const end = `\r\n--${boundary}--\r\n`
  const length = heads.reduce((sum, { range, head }) => sum + head.length + lengthOf(range), end.length)
  return { boundary, heads, end, length }
}

async function* multipart(
  { heads, end }: Parts,
  first: Readable,
  open: (range: ByteRange) => Promise<Readable>,
): AsyncGenerator<Buffer> {
  for (const [n, { range, head }] of heads.entries()) {
    const stream = n === 0 ? first : await open(range)
    // Closes the stream also if the client goes away meanwhile.
    try {
      yield Buffer.from(head, 'latin1')
      for await (const chunk of stream) yield chunk as Buffer
    } finally {
      stream.destroy()
    }
  }
  yield Buffer.from(end)
}
