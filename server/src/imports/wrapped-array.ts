/** What may stand behind the last element of an array, or between two of them. */
const CLOSING = new Set(Buffer.from(']} \t\r\n'))
const OPENS = 0x5b

/** The bytes of the array in an object of JSON with one member, such as `{"results": […]}`. */
export async function* wrappedArray(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let isInside = false
  // What ends the array may be in here, as long as nothing else follows.
  let closing: Buffer = Buffer.alloc(0)
  for await (const piece of pieces) {
    const start = isInside ? 0 : piece.indexOf(OPENS)
    if (start === -1) continue
    isInside = true
    const bytes = Buffer.concat([closing, piece.subarray(start)])
    let end = bytes.length
    while (end > 0 && CLOSING.has(bytes[end - 1]!)) end--
    yield bytes.subarray(0, end)
    closing = bytes.subarray(end)
  }
  yield closing.subarray(0, closing.lastIndexOf(']') + 1)
}
