import type { IncomingHttpHeaders } from 'node:http'

/**
 * A request as it came, before anything has parsed it: what the signature of a webhook is checked over. It is the body
 * that a route with `raw({ … })` is given.
 */
export type RawRequest = {
  headers: IncomingHttpHeaders
  /** The body as it was sent; no content encoding is undone. Empty if there was none. */
  bytes: Buffer
  /** The whole Content-Type header. */
  contentType: string | undefined
  /** Path and query as they were sent. A proxy may have changed the path: sign over the configured public URL. */
  url: string
}
