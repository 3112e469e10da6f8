/** A place in the order of one field: the bytes of a key, or its beginning where it is too long for a cursor. */
export type Bound = { readonly bytes: Buffer; readonly isCut: boolean }

/** A place in a list, just behind one document: what that one sorts by. */
export type Position = {
  readonly bounds: readonly Bound[]
  readonly id: string
  /** Of a hit. */ readonly score?: number | undefined
}

/** The smallest bytes behind all that begin with these. */
export function endOfCut(bytes: Buffer): Buffer {
  let length = bytes.length
  while (bytes[length - 1] === 0xff) length--
  const end = Buffer.from(bytes.subarray(0, length))
  end[length - 1]!++
  return end
}
