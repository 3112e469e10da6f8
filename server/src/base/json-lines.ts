import { ApiError, errors, invalid } from './errors.ts'
import { decodeUtf8, parseStrictJson } from './json.ts'

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

/** A line with a JSON object, or what is wrong with it. */
export type JsonLine = { readonly line: number; readonly value: Record<string, unknown> | ApiError }

/**
 * The objects of NDJSON, each on a line of its own; empty lines are left out. A line that cannot be read keeps no other out.
 *
 * @param options.noun what is on each line
 * @param options.instead what else may be sent, for the error
 * @param options.parse reads the JSON of a line
 * @throws PAYLOAD_TOO_LARGE for a line of more than so many bytes; VALIDATION_ERROR at `/body/file` if the first line has no
 *   object, as in an array or an object on several lines
 */
export async function* jsonLinesIn(
  bytes: AsyncIterable<Buffer>,
  {
    lineMax,
    noun,
    instead = ', without an array around them',
    parse,
  }: { lineMax: number; noun: string; instead?: string; parse?: (text: string) => unknown },
): AsyncGenerator<JsonLine> {
  const fault = (line: number) =>
    errors.payload_too_large({ message: `Line ${line} has more than ${lineMax} bytes.` })
  let line = 0
  let isFirst = true
  for await (const lines of linesIn(bytes, { bytes: lineMax, fault }))
    for (const one of lines) {
      line++
      const value = objectOrFault(() => decodeUtf8(one, ''), parse)
      if (!value) continue
      if (isFirst && !/^\s*\{\s*\S/.test(one.toString()))
        throw invalid({
          path: '/body/file',
          message: `has no ${noun} of JSON on its first line: write each ${noun} on one line${instead}`,
        })
      isFirst = false
      yield { line, value }
    }
}

/** Reads the JSON of a record. */
export const parseRecord = (text: string): unknown => parseStrictJson(text, { at: '', takesRounded: true })

/** The object of a text, or what is wrong with it; undefined for blanks. */
export function objectOrFault(
  read: () => string,
  parse: (text: string) => unknown = parseRecord,
): JsonLine['value'] | undefined {
  try {
    const text = read()
    if (text.trim() === '') return undefined
    const value = parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>
    throw invalid({ path: '', message: 'must be an object' })
  } catch (error) {
    if (error instanceof ApiError) return error
    throw error
  }
}
