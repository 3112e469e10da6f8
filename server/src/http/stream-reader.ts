import type { IncomingMessage } from 'node:http'
import { finished, Readable } from 'node:stream'

import { type ApiError, errors } from '../base/errors.ts'
import type { StreamBody, StreamedBody } from './bodies.ts'

/** Reads a body as it arrives. It leaves the connection open when it fails, so that the error can be answered. */
export class StreamReader implements StreamedBody {
  readonly contentLength: number | undefined
  readonly stream: Readable

  constructor(source: IncomingMessage, { maxBytes }: StreamBody) {
    const { 'content-length': length } = source.headers
    this.contentLength = length === undefined ? undefined : Number(length)
    const tooLarge = () => errors.payload_too_large({ message: `The body is larger than ${maxBytes} bytes.` })
    let size = 0
    const stream = new Readable({
      read: () => void source.resume(),
      destroy(error, done) {
        source.off('data', pass).pause()
        done(error)
      },
    })
    function pass(bytes: Buffer): void {
      size += bytes.length
      if (size > maxBytes) stream.destroy(tooLarge())
      else if (!stream.push(bytes)) source.pause()
    }
    // Nothing is read before it is asked for.
    source.pause().on('data', pass)
    finished(source, { writable: false }, (error) => {
      if (stream.destroyed) return
      if (error) stream.destroy(error)
      else stream.push(null)
    })
    // A handler that reads without listening for errors must not end the process.
    stream.on('error', () => undefined)
    this.stream = stream
    if ((this.contentLength ?? 0) > maxBytes) this.fail(tooLarge())
  }

  /** Stops reading: the stream fails with this error. */
  fail(error: ApiError): void {
    this.stream.destroy(error)
  }

  /** Releases what was not read. */
  close(): void {
    this.stream.destroy()
  }
}
