/** What is larger is read each time. */
export const SMALL_BYTES = 65_536
const MOST_BYTES = 16 * 1024 * 1024
/** What an entry takes beside its bytes. */
const ENTRY_BYTES = 256

/**
 * The small contents that were answered most recently, by their ETags, which are hashes of the bytes. From memory one is answered
 * in a fraction of the time: a file is opened, read and closed by other threads.
 */
export function createRecentBytes() {
  const recent = new Map<string, Buffer>()
  let size = 0

  function add(etag: string, bytes: Buffer): void {
    if (recent.has(etag)) return
    recent.set(etag, bytes)
    size += bytes.length + ENTRY_BYTES
    for (const [oldest, { length }] of recent) {
      if (size <= MOST_BYTES) return
      recent.delete(oldest)
      size -= length + ENTRY_BYTES
    }
  }

  /** @param read answers all bytes, or rejects */
  return async (etag: string, read: () => Promise<Buffer>): Promise<Buffer> => {
    const known = recent.get(etag)
    if (!known) {
      const bytes = await read()
      add(etag, bytes)
      return bytes
    }
    // The last one of a Map is the most recent.
    recent.delete(etag)
    recent.set(etag, known)
    return known
  }
}

export type RecentBytes = ReturnType<typeof createRecentBytes>
