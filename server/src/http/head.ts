import type { IncomingMessage } from 'node:http'

import { type ApiError, errors, invalid } from '../base/errors.ts'

// The longest filter has 16,384 characters, each of which may be percent-encoded as three.
const ADDRESS_MAX = 51_200
const HEADERS_MAX = 16_384

/** The most that Node reads of an address with its headers. */
export const HEAD_MAX = ADDRESS_MAX + HEADERS_MAX

/** What is wrong with the address and the headers of a request that is valid HTTP. */
export function headFault({ url, headers, rawHeaders, httpVersion }: IncomingMessage): ApiError | undefined {
  let bytes = 0
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!
    bytes += name.length + rawHeaders[at + 1]!.length
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++
  }
  if (url!.length > ADDRESS_MAX)
    return errors.uri_too_long({ message: `The address is over ${ADDRESS_MAX} bytes.` })
  if (bytes > HEADERS_MAX)
    return errors.headers_too_large({ message: `The headers are over ${HEADERS_MAX} bytes.` })
  // A proxy may have routed by the other one: https://www.rfc-editor.org/rfc/rfc9112#section-3.2
  if (hosts > 1) return invalid({ path: '/headers/host', message: 'may be given only once' })
  if (hosts === 0 && httpVersion === '1.1') return invalid({ path: '/headers/host', message: 'is required' })
  const coding = headers['transfer-encoding']
  // https://www.rfc-editor.org/rfc/rfc9112#section-6.1
  if (coding !== undefined && coding.toLowerCase() !== 'chunked')
    return errors.not_implemented({
      message: `Of the header Transfer-Encoding only chunked is supported, not ${coding.slice(0, 40)}.`,
      headers: { connection: 'close' },
    })
  if (headers.expect !== undefined && headers.expect.toLowerCase() !== '100-continue')
    return errors.expectation_failed()
  return undefined
}

/** What the parser of Node reports of a request: https://nodejs.org/api/http.html#event-clienterror */
export type ParserError = { code?: string; rawPacket?: unknown; bytesParsed?: number }

/** The error to answer if no request could be read. */
export function unreadable({ code, rawPacket, bytesParsed = 0 }: ParserError): ApiError {
  if (code === 'HPE_HEADER_OVERFLOW')
    return errors.headers_too_large({
      message: `The address and the headers are over ${HEAD_MAX} bytes together.`,
    })
  if (code === 'HPE_INVALID_URL')
    return invalid({ path: '/params', message: 'the address holds a character that is not percent-encoded' })
  if (code === 'HPE_INVALID_METHOD' && Buffer.isBuffer(rawPacket)) {
    const line = rawPacket.toString('latin1', rawPacket.lastIndexOf('\n', bytesParsed - 1) + 1)
    const [, method] = /^([\w!#$%&'*+.^`|~-]{1,40}) \S+ HTTP\/1\.[01]\r?\n/.exec(line) ?? []
    if (method !== undefined)
      return errors.not_implemented({ message: `This server does not implement the method ${method}.` })
  }
  return errors.validation_error({ message: 'This is not valid HTTP.' })
}

/** The `Origin` in the bytes of a request that could not be read, if they hold it. */
export const originIn = ({ rawPacket }: ParserError): string | undefined =>
  Buffer.isBuffer(rawPacket)
    ? /^origin:[ \t]*(\S+)[ \t]*\r?$/im.exec(rawPacket.toString('latin1'))?.[1]
    : undefined
