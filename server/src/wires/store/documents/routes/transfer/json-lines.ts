const LINE_BREAK = 0x0a

/** The lines of bytes that come in pieces which may end anywhere, those of a piece together; without their breaks. */
export async function* linesIn(
  pieces: AsyncIterable<Buffer>,
  tooLong?: { readonly bytes: number; readonly fault: (line: number) => Error },
): AsyncGenerator<Buffer[]> {
  let rest: Buffer[] = []
  let restBytes = 0
  let count = 0
  for await (const piece of pieces) {
    const lines: Buffer[] = []
    let start = 0
    for (let end = piece.indexOf(LINE_BREAK); end !== -1; end = piece.indexOf(LINE_BREAK, start)) {
      const line = piece.subarray(start, end)
      lines.push(rest.length > 0 ? Buffer.concat([...rest, line]) : line)
      rest = []
      restBytes = 0
      start = end + 1
    }
    count += lines.length
    if (start < piece.length) {
      // The bytes may be used again for what comes next.
      rest.push(Buffer.from(piece.subarray(start)))
      restBytes += piece.length - start
    }
    if (tooLong && restBytes > tooLong.bytes) throw tooLong.fault(count + 1)
    if (lines.length > 0) yield lines
  }
  if (rest.length > 0) yield [Buffer.concat(rest)]
}
