/**
 * Frees the memory of bytes that nothing uses any more. Otherwise they are there until the heap is collected, which may be some
 * hundred megabytes later. A part of a larger memory stays.
 */
export function release({ buffer, length }: Uint8Array): void {
  if (length > 0 && length === buffer.byteLength) (buffer as ArrayBuffer).transfer(0)
}
