import { invalid, type ApiError } from '../../../../../base/errors.ts'

const [QUOTE, BACKSLASH, COMMA, LINE_BREAK] = [0x22, 0x5c, 0x2c, 0x0a]
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d]
// Of a byte order mark in UTF-8, and white space.
const BLANK = new Set([0xef, 0xbb, 0xbf, 0x20, 0x09, 0x0d, LINE_BREAK])

/** The text of an element of an array, and the line on which it begins. */
export type JsonElement = { readonly line: number; readonly bytes: Buffer }

/** Bytes that may be read from their beginning again, and whether they begin an array. */
export async function openArray(
  pieces: AsyncIterable<Buffer>,
): Promise<{ isArray: boolean; pieces: AsyncIterable<Buffer> }> {
  const iterator = pieces[Symbol.asyncIterator]()
  const read: Buffer[] = []
  let first: number | undefined
  while (first === undefined) {
    const next = await iterator.next()
    if (next.done) break
    // The bytes may be used again for what comes next.
    read.push(Buffer.from(next.value))
    first = next.value.find((byte) => !BLANK.has(byte))
  }
  async function* all(): AsyncGenerator<Buffer> {
    try {
      yield* read
      for (let next = await iterator.next(); !next.done; next = await iterator.next()) yield next.value
    } finally {
      await iterator.return?.()
    }
  }
  return { isArray: first === OPEN_ARRAY, pieces: all() }
}

/**
 * The elements of an array of JSON, those that end in a piece together. Each is read no further than to its end: what is wrong
 * inside of it is for its reader to find.
 *
 * @param tooLong how many bytes an element has at most
 * @throws VALIDATION_ERROR if the array does not end, or if something comes behind it
 */
export async function* elementsIn(
  pieces: AsyncIterable<Buffer>,
  tooLong: { readonly bytes: number; readonly fault: (line: number) => Error },
): AsyncGenerator<JsonElement[]> {
  let [depth, isInText, isEscaped, isOver] = [0, false, false, false]
  let line = 1
  /** The line of the element that is read; undefined between two. */
  let begun: number | undefined
  let rest: Buffer[] = []
  let restBytes = 0
  for await (const piece of pieces) {
    const elements: JsonElement[] = []
    let start = 0
    const end = (at: number): void => {
      if (begun !== undefined)
        elements.push({ line: begun, bytes: Buffer.concat([...rest, piece.subarray(start, at)]) })
      begun = undefined
      rest = []
      restBytes = 0
      start = at + 1
    }
    for (let i = 0; i < piece.length; i++) {
      const byte = piece[i]!
      if (byte === LINE_BREAK) line++
      if (isInText) {
        if (isEscaped) isEscaped = false
        else if (byte === BACKSLASH) isEscaped = true
        else isInText = byte !== QUOTE
        continue
      }
      if (BLANK.has(byte)) continue
      if (isOver) throw fault(line, 'the array of the file has ended, and more comes behind it')
      if (depth === 0) {
        depth = 1
        start = i + 1
      } else if (depth === 1 && (byte === COMMA || byte === CLOSE_ARRAY)) {
        end(i)
        isOver = byte === CLOSE_ARRAY
      } else {
        begun ??= line
        if (byte === QUOTE) isInText = true
        else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) depth++
        else if ((byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) && depth > 1) depth--
      }
    }
    if (!isOver && start < piece.length) {
      rest.push(Buffer.from(piece.subarray(start)))
      restBytes += piece.length - start
    }
    if (restBytes > tooLong.bytes) throw tooLong.fault(begun ?? line)
    if (elements.length > 0) yield elements
  }
  if (!isOver) throw fault(line, 'the file ends, and its array does not')
}

const fault = (line: number, message: string): ApiError =>
  invalid({ path: '/body/file', message: `Line ${line}: ${message}.` })
