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

/** Finds the type of a file while its bytes pass by. */
export type Sniffer = {
  /** The same bytes. */
  pass(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer>
  /**
   * The type, once all bytes have passed: that of their signature; without one, the declared type if it is a type of text
   * and all bytes are text (UTF-8 without U+0000); else `application/octet-stream`.
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
      const isText = isTextType && textCheck.isText()
      if (signature === undefined) return isText ? declared : UNKNOWN_TYPE
      if (!isText) return signature
      // <?xml begins documents of many types; the declared one says which.
      if (XML_TYPE.test(signature) && XML_TYPE.test(declared)) return declared
      return TEXT_FORMAT.test(signature) ? signature : declared
    },
  }
}

/** Checks that bytes are UTF-8 without U+0000, chunk by chunk. */
function createTextCheck() {
  let isText = true
  // The beginning of a character whose end is in the next chunk.
  let rest: Buffer = Buffer.alloc(0)
  return {
    add(chunk: Buffer): void {
      if (!isText) return
      const bytes = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk
      const end = endOfLastCharacter(bytes)
      rest = bytes.subarray(end)
      isText = !chunk.includes(0) && isUtf8(bytes.subarray(0, end))
    },
    isText: (): boolean => isText && rest.length === 0,
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
