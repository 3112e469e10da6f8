import { isUtf8 } from 'node:buffer'

/** The type of bytes of which nothing is known. */
const UNKNOWN_TYPE = 'application/octet-stream'
/** How much of a file is searched for a signature. */
const SAMPLE_BYTES = 16_384

const MEDIA_TYPE = /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}$/
// Types whose bytes are text, beside text/*.
const TEXT_TYPE =
  /^(text\/.*|application\/(json|xml|javascript|ecmascript|x-javascript|x-ndjson|jsonl|yaml|x-yaml|toml|sql|graphql|x-sh)|.*\+(json|xml|yaml))$/
const XML_TYPE = /^(text\/xml|application\/xml|.*\+xml)$/
// Formats with a signature that can be text throughout. `BM` or `MZ` may also be how a sentence begins.
const TEXT_FORMAT = /^(text\/.*|application\/(xml|rtf|pdf|postscript|eps))$/

/** Types of formats that other formats are written in, each with those that a client may declare it to be. */
const CONTAINERS = new Map([
  ['application/x-cfb', /^application\/(?:msword|vnd\.(?:ms-|visio)[\w.+-]*|x-msi|x-hwp)$/],
  ['application/zip', /^application\/(?:vnd\.[\w.+-]+|[\w.-]+\+zip|java-archive|x-[\w.-]+)$/],
])
/** Behind a type of text that is not UTF-8, as it is stored: its encoding is not known (RFC 1428). */
export const NOT_UTF8 = '; charset=unknown-8bit'
/** Bytes that no text has (https://mimesniff.spec.whatwg.org/#binary-data-byte). */
const BINARY = /[\0-\x08\x0b\x0e-\x1a\x1c-\x1f]/
const BYTE_ORDER_MARK = /^(?:\xfe\xff|\xff\xfe)/

/** The media type of a file, without a parameter, of the type as it is stored. */
export const plainTypeOf = (stored: string): string =>
  stored.endsWith(NOT_UTF8) ? stored.slice(0, -NOT_UTF8.length) : stored

/** Finds the type of a file while its bytes pass by. */
export type Sniffer = {
  /** The same bytes. */
  pass(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer>
  /**
   * The type, once all bytes have passed: that of their signature; without one, the declared type if it is a type of text
   * and all bytes are text, with `NOT_UTF8` behind it if they are not UTF-8; else `application/octet-stream`.
   */
  contentType(): Promise<string>
}

/** @param declaredType by the client: a media type without parameters */
export function createSniffer(declaredType: string): Sniffer {
  const declared = declaredType.toLowerCase()
  const isTextType = MEDIA_TYPE.test(declared) && TEXT_TYPE.test(declared)
  const textCheck = createTextCheck()
  const sample: Buffer[] = []
  let sampleBytes = 0

  return {
    async *pass(bytes) {
      for await (const chunk of bytes) {
        if (sampleBytes < SAMPLE_BYTES) {
          const part = chunk.subarray(0, SAMPLE_BYTES - sampleBytes)
          sample.push(part)
          sampleBytes += part.length
        }
        if (isTextType) textCheck.add(chunk)
        yield chunk
      }
    },

    async contentType() {
      // Loaded when the first file is uploaded.
      const { fileTypeFromBuffer } = await import('file-type')
      const signature = (await fileTypeFromBuffer(Buffer.concat(sample)))?.mime
      const encoding = isTextType ? textCheck.encoding() : undefined
      if (signature === undefined)
        return encoding === undefined ? UNKNOWN_TYPE : encoding === 'utf-8' ? declared : declared + NOT_UTF8
      if (CONTAINERS.get(signature)?.test(declared)) return declared
      if (encoding !== 'utf-8') return signature
      // <?xml begins documents of many types; the declared one says which.
      if (XML_TYPE.test(signature) && XML_TYPE.test(declared)) return declared
      return TEXT_FORMAT.test(signature) ? signature : declared
    },
  }
}

/** Checks whether bytes are text, chunk by chunk: UTF-8 without U+0000, or without bytes that no text has. */
function createTextCheck() {
  let isUtf8Text = true
  let isOtherText: boolean | undefined
  let hasMark = false
  // The beginning of a character whose end is in the next chunk.
  let rest: Buffer = Buffer.alloc(0)
  return {
    add(chunk: Buffer): void {
      if (isOtherText === undefined) hasMark = BYTE_ORDER_MARK.test(chunk.toString('latin1', 0, 2))
      isOtherText = hasMark || (isOtherText !== false && !BINARY.test(chunk.toString('latin1')))
      if (!isUtf8Text) return
      const bytes = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk
      const end = endOfLastCharacter(bytes)
      rest = bytes.subarray(end)
      isUtf8Text = !chunk.includes(0) && isUtf8(bytes.subarray(0, end))
    },
    /** Undefined if they are no text. */
    encoding: (): 'utf-8' | 'other' | undefined =>
      isUtf8Text && rest.length === 0 ? 'utf-8' : isOtherText ? 'other' : undefined,
  }
}

/** Where the last character ends that the bytes hold as a whole. */
function endOfLastCharacter(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back]!
    if (byte < 0x80) break
    if (byte < 0xc0) continue
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2
    return length > back ? bytes.length - back : bytes.length
  }
  return bytes.length
}
