import { createHash } from 'node:crypto'

/** The same bytes, and the SHA-256, in hex, of those that have passed. */
export function withSha256(source: AsyncIterable<Buffer>): {
  bytes: AsyncGenerator<Buffer>
  digest: () => string
} {
  const hash = createHash('sha256')
  async function* pass(): AsyncGenerator<Buffer> {
    for await (const piece of source) {
      hash.update(piece)
      yield piece
    }
  }
  return { bytes: pass(), digest: () => hash.digest('hex') }
}
