// What two processes write to each other: frames, each a message in JSON and the bytes that go with it.

/** The lengths of both parts, 32 bits each. */
const LENGTHS_BYTES = 8

export type FrameLimits = { messageBytes: number; attachedBytes: number }

/** The beginning of a frame, which that many bytes follow. */
export function frameStart(message: object, attachedBytes: number): Buffer {
  const text = Buffer.from(JSON.stringify(message))
  const lengths = Buffer.alloc(LENGTHS_BYTES)
  lengths.writeUInt32BE(text.length)
  lengths.writeUInt32BE(attachedBytes, 4)
  return Buffer.concat([lengths, text])
}

/**
 * Puts frames together.
 *
 * @returns takes the pieces in which they arrive, and keeps none of them. It throws if a frame is longer than the limits, or no frame
 */
export function frameReader(
  limits: FrameLimits,
  receive: (message: unknown, bytes: Buffer) => void,
): (piece: Buffer) => void {
  const parts = partsOf(limits, receive)
  let part = parts.next().value
  let filled = 0
  return (piece) => {
    for (let at = 0; at < piece.length;) {
      const count = piece.copy(part, filled, at)
      at += count
      filled += count
      if (filled < part.length) continue
      part = parts.next().value
      filled = 0
    }
  }
}

/** Each part of the frames as a buffer, which is full when the next one is asked for. */
function* partsOf(
  limits: FrameLimits,
  receive: (message: unknown, bytes: Buffer) => void,
): Generator<Buffer, never> {
  for (;;) {
    const lengths = Buffer.alloc(LENGTHS_BYTES)
    yield lengths
    const text = bufferOf(lengths.readUInt32BE(), limits.messageBytes)
    yield text
    // Of a memory of its own, which goes with it.
    const bytes = bufferOf(lengths.readUInt32BE(4), limits.attachedBytes)
    if (bytes.length > 0) yield bytes
    receive(JSON.parse(text.toString()), bytes)
  }
}

function bufferOf(length: number, limit: number): Buffer {
  if (length > limit) throw new Error(`a frame has a part of ${length} bytes: ${limit} are allowed`)
  return Buffer.allocUnsafeSlow(length)
}
