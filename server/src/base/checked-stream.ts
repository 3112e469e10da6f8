import { finished, Readable } from 'node:stream'

/** What is checked of bytes while they pass. An error that is returned ends the stream. */
export type StreamChecks = {
  chunk(bytes: Buffer): Error | undefined
  end?(): Error | undefined
  /** The error of the stream for one of its source, which may also be that it was closed too early. */
  failure?(error: Error): Error
}

/**
 * Passes the bytes of a source on while they are checked; both streams are closed together. A pipeline with a Transform
 * took a quarter of what the event loop does for a small download.
 */
export function checkedStream(source: Readable, checks: StreamChecks): Readable {
  const fail = (error: Error) => stream.destroy(error)
  const stream = new Readable({
    read: () => source.resume(),
    destroy(error, done) {
      source.destroy()
      done(error)
    },
  })
  // Nothing is read before it is asked for.
  source.pause()
  source.on('data', (bytes: Buffer) => {
    const wrong = checks.chunk(bytes)
    if (wrong) fail(wrong)
    else if (!stream.push(bytes)) source.pause()
  })
  finished(source, { writable: false }, (error) => {
    const wrong = error ? (checks.failure?.(error) ?? error) : checks.end?.()
    if (wrong) fail(wrong)
    else stream.push(null)
  })
  return stream
}
