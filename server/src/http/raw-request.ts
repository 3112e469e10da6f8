import type { IncomingHttpHeaders } from 'node:http'

/**
 * A request that is not parsed, to check the signature of a webhook. It is the body of a route with `raw({ … })`.
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
